// SPDX-License-Identifier: Apache-2.0
// Writing a layer and reading it again, in every format and from each to each other.
#include "harness/checkpoint/convert.hpp"

#include <filesystem>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <sys/stat.h>

#include "harness/checkpoint/form.hpp"
#include "harness/checkpoint/safetensors.hpp"
#include "harness/checkpoint/safetensors_write.hpp"
#include "suites/checkpoint/matrices.hpp"
#include "suites/checkpoint/tsv.hpp"
#include "suites/support/property.hpp"

using namespace w4;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

// A shape that every layout takes.
struct Shape {
  std::int64_t k, n, group;
};
Shape draw_shape() {
  const std::int64_t group = *rc::gen::element<std::int64_t>(32, 64, 128, 192);
  const std::int64_t k = group * *rc::gen::inRange<std::int64_t>(1, 6) * (group == 32 ? 2 : 1);
  return {k, 8 * *rc::gen::inRange<std::int64_t>(1, 6), group};
}

// Zeros of 1..15 that are not all alike: every layout has them, and no reader takes them for
// symmetric ones.
QuantizedMatrix draw_matrix(const Shape& s) {
  const Type scale = *rc::gen::element(Type::f16, Type::bf16, Type::f32);
  Walk walk{*rc::gen::arbitrary<std::uint32_t>()};
  QuantizedMatrix w = random_matrix(s.k, s.n, s.group, Zero::code, scale, walk);
  for (auto& z : w.zeros) z = 1 + z % 15;
  w.zeros[0] = 3, w.zeros[1] = 11;
  return w;
}

Layer read_file_layer(const std::string& path) {
  return read_layer(open_checkpoint(path), "", V1Zeros::d1);
}

// The zero points as integers, whatever the form.
QuantizedMatrix with_integers(QuantizedMatrix w) {
  if (w.zero != Zero::add) return w;
  for (std::size_t i = 0; i < w.zeros.size(); ++i) w.zeros[i] = zero_point_of(w, i).value_or(99);
  w.zero = Zero::code;
  return w;
}

std::string refusal(const QuantizedMatrix& w, const std::string& layout) {
  TemporaryFolder folder;
  const auto error = error_of([&] {
    write_layer({"l", w, "", {}}, layout, "in.h5", folder / "m.safetensors");
  });
  if (!error.empty()) CHECK(folder.names().empty());
  return error;
}

QuantizedMatrix plain(Zero zero = Zero::code) {
  return random_matrix(128, 16, 64, zero, Type::f16, Walk{5});
}

}  // namespace

TEST_CASE("convert: every layout of a checkpoint is written and read back as the same weight") {
  check_property("read(write(w)) == w", [] {
    const QuantizedMatrix w = draw_matrix(draw_shape());
    for (const auto& layout : checkpoint_layouts()) {
      TemporaryFolder folder;
      const Layer back = read_file_layer(write_matrix(folder, w, layout));
      RC_ASSERT(back.format == layout);
      RC_ASSERT(back.warnings == std::vector<std::string>{} || w.codes.size() < 1024);
      RC_ASSERT(same_weight(with_integers(back.matrix), w));
      RC_ASSERT(folder.names() == (std::vector<std::string>{"m.config.json", "m.safetensors"}));
    }
  });
}

TEST_CASE("convert: to another layout and back is the identity") {
  check_property("convert(convert(file)) == file", [] {
    const QuantizedMatrix w = draw_matrix(draw_shape());
    const auto from = *rc::gen::elementOf(checkpoint_layouts());
    const auto to = *rc::gen::elementOf(checkpoint_layouts());
    TemporaryFolder folder;
    const auto a = write_matrix(folder, w, from);
    convert_layer(a, "l", V1Zeros::d1, to, folder / "b.safetensors");
    convert_layer(folder / "b.safetensors", "", V1Zeros::d1, from, folder / "c.safetensors");
    RC_ASSERT(read_file(folder / "c.safetensors") == read_file(a));
    RC_ASSERT(read_file(folder / "c.config.json") == read_file(folder / "m.config.json"));
  });
}

TEST_CASE("convert: act-order goes between GPTQ and compressed-tensors") {
  check_property("g_idx is kept", [] {
    Walk walk{*rc::gen::arbitrary<std::uint32_t>()};
    QuantizedMatrix w = draw_matrix({128, 16, 32});
    shuffle_groups(w, walk);
    TemporaryFolder folder;
    const auto a = write_matrix(folder, w, "gptq_v2");
    convert_layer(a, "", V1Zeros::d1, "compressed_tensors", folder / "b.safetensors");
    const Layer b = read_file_layer(folder / "b.safetensors");
    RC_ASSERT(b.act_order);
    RC_ASSERT(same_weight(b.matrix, w));
    convert_layer(folder / "b.safetensors", "", V1Zeros::d1, "gptq_v2", folder / "c.safetensors");
    RC_ASSERT(read_file(folder / "c.safetensors") == read_file(a));
  });
}

TEST_CASE("convert: shapes that only compressed-tensors takes") {
  check_property("ragged k and n", [] {
    const auto k = *rc::gen::inRange<std::int64_t>(1, 70),
               n = *rc::gen::inRange<std::int64_t>(1, 20);
    Walk walk{*rc::gen::arbitrary<std::uint32_t>()};
    for (const Zero zero : {Zero::eight, Zero::code}) {
      const QuantizedMatrix w = random_matrix(k, n, k, zero, Type::f16, walk);
      TemporaryFolder folder;
      const Layer back = read_file_layer(write_matrix(folder, w, "compressed_tensors"));
      RC_ASSERT(same_weight(back.matrix, w));
    }
  });
}

TEST_CASE("convert: symmetric layers stay symmetric wherever zeros are integers") {
  const QuantizedMatrix w = plain(Zero::eight);
  for (const auto& layout : checkpoint_layouts()) {
    TemporaryFolder folder;
    const Layer back = read_file_layer(write_matrix(folder, w, layout));
    CHECK(same_weight(with_integers(back.matrix), w));
    CHECK((back.matrix.zero == Zero::eight) == (layout != "awq_gemv_fast"));
  }
}

TEST_CASE("convert: the packers' own files, each to each") {
  for (const auto& row : read_tsv(vectors + "/index.tsv")) {
    if (row.at("format") != "awq_gemm" && row.at("format") != "awq_gemv") continue;
    const auto path = vectors + '/' + row.at("format") + '/' + row.at("case") + ".safetensors";
    const Layer layer = read_file_layer(path);
    for (const auto& to : checkpoint_layouts()) {
      DYNAMIC_SECTION(row.at("format") << ' ' << row.at("case") << " to " << to) {
        TemporaryFolder folder;
        const auto error =
            error_of([&] { convert_layer(path, "", V1Zeros::d1, to, folder / "m.safetensors"); });
        INFO(error);
        if (error.empty()) {
          const Layer back = read_file_layer(folder / "m.safetensors");
          CHECK(back.prefix == layer.prefix);
          CHECK(same_weight(with_integers(back.matrix), layer.matrix));
          CHECK(back.bias.has_value() == layer.bias.has_value());
        } else {
          CHECK(to != "gptq_v2");
          CHECK(to != "compressed_tensors");
          CHECK(folder.names().empty());
        }
      }
    }
  }
}

TEST_CASE("convert: a real layer of AWQ GEMM becomes GEMV-fast and comes back bit for bit") {
  TemporaryFolder folder;
  const std::string prefix = "encoder.layer.2.attention.self.query";
  convert_layer(layers + "/minilm-l2-awq-g64", prefix, V1Zeros::d1, "awq_gemv_fast",
                folder / "fast.safetensors");
  convert_layer(folder / "fast.safetensors", "", V1Zeros::d1, "awq_gemm",
                folder / "gemm.safetensors");
  const auto want = read_layer(open_checkpoint(layers + "/minilm-l2-awq-g64"), prefix, V1Zeros::d1);
  const auto checkpoint = open_checkpoint(folder / "gemm.safetensors");
  const auto got = read_layer(checkpoint, prefix, V1Zeros::d1);
  CHECK(got.sha256 == want.sha256);
  CHECK(stored_words(got) == stored_words(want));
}

TEST_CASE("convert: a v1 layer read by D3 becomes the v2 layer of its zero points") {
  TemporaryFolder folder;
  const std::string from = layers + "/minilm-l2-gptq-actorder",
                    prefix = "encoder.layer.2.output.dense";
  convert_layer(from, prefix, V1Zeros::d3, "gptq_v2", folder / "v2.safetensors");
  const Layer back = read_file_layer(folder / "v2.safetensors");
  CHECK(back.matrix.zeros[99] == 0);
  CHECK(back.matrix.zeros[100] == 8);
  CHECK_THAT(error_of([&] {
               convert_layer(from, prefix, V1Zeros::d3, "gptq_v1", folder / "v1.safetensors");
             }),
             ContainsSubstring("zero point 0 at group 0, n 99 does not fit layout gptq_v1"));
}

TEST_CASE("convert: what a layout cannot express is refused with the reason, and no file is left") {
  QuantizedMatrix ordered = plain();
  shuffle_groups(ordered, Walk{6});
  for (const char* layout : {"awq_gemm", "awq_gemv", "awq_gemv_fast"})
    CHECK_THAT(refusal(ordered, layout),
               StartsWith("in.h5: convert: layout ") && ContainsSubstring("has no g_idx"));
  QuantizedMatrix zero = plain();
  zero.zeros[3] = 0;
  CHECK_THAT(refusal(zero, "gptq_v1"), ContainsSubstring("does not fit layout gptq_v1"));
  QuantizedMatrix sixteen = plain(Zero::code_m1);
  sixteen.zeros[17] = 16;
  for (const char* layout : {"gptq_v2", "awq_gemm", "awq_gemv", "compressed_tensors"})
    CHECK_THAT(refusal(sixteen, layout), ContainsSubstring("zero point 16 at group "));
  CHECK_THAT(refusal(sixteen, "awq_gemv_fast"), ContainsSubstring("zero point 16 at group "));
  CHECK_THAT(refusal(random_matrix(64, 12, 32, Zero::code, Type::f16, Walk{7}), "awq_gemm"),
             ContainsSubstring("n=12 is not a multiple of 8"));
  CHECK_THAT(refusal(random_matrix(80, 8, 40, Zero::code, Type::f16, Walk{7}), "awq_gemv"),
             ContainsSubstring("not g=40"));
  CHECK_THAT(refusal(plain(), "codes"), ContainsSubstring("is not one of a checkpoint: gptq_v1"));
  CHECK_THAT(refusal(plain(), "awq"), ContainsSubstring("\"awq\" is not one of a checkpoint"));
}

TEST_CASE("convert: zeros that a reader would take for others are refused") {
  QuantizedMatrix sevens = plain();
  std::fill(sevens.zeros.begin(), sevens.zeros.end(), 7u);  // v2 words 77777777: symmetric v1
  CHECK_THAT(refusal(sevens, "gptq_v2"), ContainsSubstring("would be read as gptq_v1"));
  QuantizedMatrix nines = plain();
  std::fill(nines.zeros.begin(), nines.zeros.end(), 9u);
  CHECK_THAT(refusal(nines, "gptq_v1"), ContainsSubstring("would be read as gptq_v2"));
  CHECK(refusal(sevens, "awq_gemm").empty());
}

TEST_CASE("convert: a scale of 0 hides a zero point, so it cannot become GEMV-fast") {
  QuantizedMatrix w = plain();
  w.scales[18] = 0;
  CHECK_THAT(refusal(w, "awq_gemv_fast"),
             ContainsSubstring("at group 1, column 2 cannot be told from -(z*s)"));
  w = plain();
  w.scales[5] = 0x7bff;  // 65504: z*s is past fp16 for z above 1
  w.zeros[5] = 9;
  CHECK_THAT(refusal(w, "awq_gemv_fast"), ContainsSubstring("at group 0, column 5"));
}

TEST_CASE("convert: GEMV-fast whose sums come from no zero point stays where it is") {
  TemporaryFolder folder;
  QuantizedMatrix w = plain();
  w = in_form_of(*find_layout("awq_gemv_fast"), w);
  w.zeros[20] = from_double(Type::f16, -2.5 * to_double(Type::f16, w.scales[20]));
  const auto path = write_matrix(folder, w, "awq_gemv_fast");
  CHECK(read_file_layer(path).matrix.zeros == w.zeros);
  CHECK_THAT(
      error_of([&] { convert_layer(path, "", V1Zeros::d1, "awq_gemm", folder / "b.safetensors"); }),
      StartsWith(path + ": convert: ") &&
          ContainsSubstring("what is added at group 1, column 4 is -(z*s) of no z in 0..15"));
}

TEST_CASE("convert: the bias and the prefix go along, other tensors do not") {
  TemporaryFolder folder;
  TestLayer source;
  source.bias_dtype = "BF16";
  source.zeros = 0x78787878;  // z 9, 8, ...
  auto tensors = tensors_of(source);
  for (auto& t : tensors) t.name = "m\xc3\xa9." + t.name.substr(t.name.rfind('.') + 1);
  tensors.push_back({"norm.weight", "F16", {4}, std::string(8, '\1')});
  const auto path = folder.write("in.safetensors", container(tensors));
  const auto converted =
      convert_layer(path, "", V1Zeros::d1, "awq_gemm", folder / "out.safetensors");
  CHECK(converted.from == "gptq_v1");
  CHECK(converted.prefix == "m\xc3\xa9");
  CHECK_THAT(converted.warnings.at(0), ContainsSubstring("in.safetensors: m\xc3\xa9: no config"));
  const auto checkpoint = open_checkpoint(folder / "out.safetensors");
  CHECK(checkpoint.tensors.size() == 4);
  CHECK(checkpoint.tensors.at("m\xc3\xa9.bias").dtype == "BF16");
}

TEST_CASE("convert: files are laid out as safetensors wants them") {
  const auto bytes = safetensors_bytes({{"a", "F16", {3}, std::vector<std::byte>(6)},
                                        {"q\"\n\\", "I64", {1}, std::vector<std::byte>(8)},
                                        {"b", "I32", {2}, std::vector<std::byte>(8)}});
  const auto file = read_safetensors("m", bytes);
  CHECK(file.warnings.empty());
  CHECK(file.tensors.size() == 3);
  CHECK(file.tensors.count("q\"\n\\") == 1);
  for (const auto& [name, tensor] : file.tensors) {
    const auto at = tensor.bytes.data() - bytes.data();
    CHECK(at % (*dtype_bits(tensor.dtype) / 8) == 0);
  }
}

TEST_CASE("convert: targets that are no file, no safetensors or the source are refused") {
  TemporaryFolder folder;
  const auto path = write_matrix(folder, plain(), "gptq_v2");
  const auto convert = [&](const std::string& out) {
    return error_of([&] { convert_layer(path, "", V1Zeros::d1, "awq_gemm", out); });
  };
  CHECK_THAT(convert(path), ContainsSubstring("convert: is the file that is read"));
  CHECK_THAT(convert(folder / "out.bin"), ContainsSubstring("must end in .safetensors"));
  CHECK_THAT(convert(folder / ".safetensors"), ContainsSubstring("must end in .safetensors"));
  CHECK_THAT(convert(folder / "no/out.safetensors"), ContainsSubstring("write: No such file"));
  REQUIRE(mkfifo((folder / "pipe.safetensors").c_str(), 0600) == 0);
  CHECK_THAT(convert(folder / "pipe.safetensors"), ContainsSubstring("not a regular file"));
  CHECK(folder.names() ==
        std::vector<std::string>{"m.config.json", "m.safetensors", "pipe.safetensors"});
}

TEST_CASE("convert: an existing target is replaced whole, through a link") {
  TemporaryFolder folder;
  const auto path = write_matrix(folder, plain(), "gptq_v2");
  folder.write("real.safetensors", "old");
  std::filesystem::create_symlink("real.safetensors", folder / "link.safetensors");
  convert_layer(path, "", V1Zeros::d1, "awq_gemm", folder / "link.safetensors");
  CHECK(std::filesystem::is_symlink(folder / "link.safetensors"));
  CHECK(read_file_layer(folder / "link.safetensors").format == "awq_gemm");
  CHECK(read_file(folder / "real.safetensors").size() > 3);
}
