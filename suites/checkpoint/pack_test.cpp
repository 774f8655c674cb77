// SPDX-License-Identifier: Apache-2.0
// Plain arrays packed again: the files of real packers come back, and arrays that contradict
// themselves do not.
#include "harness/fixture/pack.hpp"

#include <limits>
#include <map>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "harness/fixture/hdf5_file.hpp"
#include "harness/fixture/unpack.hpp"
#include "suites/checkpoint/matrices.hpp"
#include "suites/checkpoint/tsv.hpp"
#include "suites/support/property.hpp"

using namespace w4;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Arrays {
  std::vector<std::uint8_t> codes = std::vector<std::uint8_t>(64 * 8, 5);
  std::vector<float> scales = std::vector<float>(2 * 8, 0.5f);
  std::vector<float> zeros = std::vector<float>(2 * 8, 3.0f);
  std::vector<std::int32_t> g_idx{};
  std::string scale_type{};
  std::map<std::string, std::int64_t> sizes{};  // attributes
};

std::string pack_error(const Arrays& arrays, const std::string& layout = "gptq_v2") {
  TemporaryFolder folder;
  Hdf5Writer file(folder / "in.h5");
  const std::int64_t full[] = {64, 8}, per_group[] = {2, 8};
  file.array("codes", full, arrays.codes);
  file.array("scales", per_group, arrays.scales);
  file.array("zeros", per_group, arrays.zeros);
  if (!arrays.g_idx.empty()) {
    const std::int64_t rows[] = {static_cast<std::int64_t>(arrays.g_idx.size())};
    file.array("g_idx", rows, arrays.g_idx);
  }
  if (!arrays.scale_type.empty()) file.attribute("scale_type", arrays.scale_type);
  for (const auto& [name, value] : arrays.sizes) file.attribute(name, value);
  file.commit();
  return error_of([&] { pack_layer(folder / "in.h5", layout, folder / "out.safetensors"); });
}

}  // namespace

TEST_CASE("pack: unpacked vectors come back with the file's words") {
  for (const auto& row : read_tsv(vectors + "/index.tsv")) {
    const auto& format = row.at("format");
    if (row.at("expect") != "decode") continue;
    DYNAMIC_SECTION(format << ' ' << row.at("case")) {
      TemporaryFolder folder;
      const auto path = vectors + '/' + format + '/' + row.at("case") + ".safetensors";
      const auto unpacked = unpack_layer(path, "", V1Zeros::d1, folder / "a.h5");
      const auto packed =
          pack_layer(folder / "a.h5", unpacked.layer.format, folder / "b.safetensors");
      CHECK(packed.prefix == unpacked.layer.prefix);
      const auto checkpoint = open_checkpoint(folder / "b.safetensors");
      const Layer back = read_layer(checkpoint, packed.prefix, V1Zeros::d1);
      CHECK(stored_words(back) == stored_words(unpacked.layer));
      CHECK(back.matrix.g_idx == unpacked.layer.matrix.g_idx);
      REQUIRE(back.bias.has_value() == unpacked.layer.bias.has_value());
      if (back.bias) {
        CHECK(back.bias->dtype == unpacked.layer.bias->dtype);
        CHECK(std::equal(back.bias->bytes.begin(), back.bias->bytes.end(),
                         unpacked.layer.bias->bytes.begin(), unpacked.layer.bias->bytes.end()));
      }
    }
  }
}

TEST_CASE("pack: write, unpack, pack is the identity for every layout") {
  check_property("pack(unpack(file)) == file", [] {
    const Type scale = *rc::gen::element(Type::f16, Type::bf16, Type::f32);
    QuantizedMatrix w =
        random_matrix(128, 8 * *rc::gen::inRange<std::int64_t>(1, 4), 64, Zero::code, scale,
                      Walk{*rc::gen::arbitrary<std::uint32_t>()});
    for (auto& z : w.zeros) z = 1 + z % 15;
    w.zeros[0] = 3, w.zeros[1] = 11;
    const auto layout = *rc::gen::elementOf(checkpoint_layouts());
    TemporaryFolder folder;
    const auto path = write_matrix(folder, w, layout);
    unpack_layer(path, "", V1Zeros::d1, folder / "a.h5");
    pack_layer(folder / "a.h5", layout, folder / "b.safetensors");
    RC_ASSERT(read_file(folder / "b.safetensors") == read_file(path));
    RC_ASSERT(read_file(folder / "b.config.json") == read_file(folder / "m.config.json"));
  });
}

TEST_CASE("pack: arrays that contradict themselves are refused") {
  CHECK(pack_error({}).empty());
  Arrays a;
  a.codes[9] = 16;
  CHECK_THAT(pack_error(a), ContainsSubstring("in.h5: read: codes holds 16 at [1, 1]"));
  a = {};
  a.zeros[10] = 3.5f;
  CHECK_THAT(pack_error(a), ContainsSubstring("at [1, 2]: must be whole numbers of 0..16"));
  a = {};
  a.zeros[10] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THAT(pack_error(a), ContainsSubstring("must be whole numbers"));
  a = {};
  a.g_idx.assign(64, 0);
  a.g_idx[7] = 2;
  CHECK_THAT(pack_error(a), ContainsSubstring("g_idx[7] is 2: must be 0..1"));
  a.g_idx.assign(63, 0);
  CHECK_THAT(pack_error(a), ContainsSubstring("g_idx is [63]: must be [64]"));
  a = {};
  a.scales[3] = 1.0f / 3;
  a.scale_type = "f16";
  CHECK_THAT(pack_error(a),
             ContainsSubstring("scales holds values that are not of scale_type f16"));
  a.scale_type = "f8";
  CHECK_THAT(pack_error(a), ContainsSubstring("scale_type is \"f8\""));
  CHECK_THAT(pack_error({}, "kpack:01234567"), ContainsSubstring("is not one of a checkpoint"));
}

TEST_CASE("pack: attributes that contradict the arrays are refused by name") {
  const auto says = [](const Arrays& arrays) {
    const auto error = pack_error(arrays, "compressed_tensors");
    const auto at = error.find("in.h5: read: ");
    return at == std::string::npos ? error : error.substr(at + 13);
  };
  Arrays a;
  a.sizes = {{"K", 64}, {"N", 8}, {"group", 32}};
  CHECK(says(a).empty());
  a.sizes = {{"K", 65}};
  CHECK(says(a) == "attribute K is 65: codes is [64, 8]");
  a.sizes = {{"N", 7}};
  CHECK(says(a) == "attribute N is 7: codes is [64, 8]");
  for (const bool listed : {false, true}) {
    a.g_idx.clear();
    for (int k = 0; listed && k < 64; ++k) a.g_idx.push_back(k / 32);
    for (const std::int64_t group : {0, -1}) {
      a.sizes = {{"group", group}};
      CHECK(says(a) == "attribute group is " + std::to_string(group) + ": must be at least 1");
    }
    a.sizes = {{"group", 7}};
    CHECK(says(a) == (listed ? "attribute group is 7: g_idx has groups of 32"
                             : "attribute group is 7: K = 64 makes 10 such groups, scales has 2"));
  }
  // An order of its own: more groups than K and the attribute make are only left out.
  for (auto& group : a.g_idx) group = 1 - group;
  CHECK(says(a) == "attribute group is 7: K = 64 makes 10 such groups, scales has 2");
  a.sizes = {{"group", 32}};
  CHECK(says(a).empty());
}

TEST_CASE("pack: a file that is no HDF5 file is refused") {
  TemporaryFolder folder;
  const auto path = folder.write("in.h5", "no HDF5");
  CHECK_THAT(error_of([&] { pack_layer(path, "gptq_v2", folder / "out.safetensors"); }),
             ContainsSubstring("in.h5: read: it is not an HDF5 file"));
}

namespace {

// A script's arrays: codes of 64-bit integers, scales as 32-bit words of their element.
std::string pack_words(const std::vector<std::int64_t>& codes, Hdf5Element scale_element,
                       const std::vector<std::uint32_t>& scales) {
  TemporaryFolder folder;
  Hdf5Writer file(folder / "in.h5");
  const std::int64_t full[] = {64, 8}, per_group[] = {2, 8};
  file.words("codes", Hdf5Element::s64, full, std::as_bytes(std::span(codes)));
  file.words("scales", scale_element, per_group, std::as_bytes(std::span(scales)));
  file.commit();
  return error_of([&] {
    pack_layer(folder / "in.h5", "gptq_v2", folder / "out.safetensors");
    const auto checkpoint = open_checkpoint(folder / "out.safetensors");
    const Layer back = read_layer(checkpoint, "", V1Zeros::d1);
    CHECK(back.matrix.codes == std::vector<std::uint8_t>(codes.begin(), codes.end()));
  });
}

}  // namespace

TEST_CASE("pack: integers of any width are codes where they are 0..15, and are never clamped") {
  std::vector<std::int64_t> codes(64 * 8);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::int64_t>(i % 16);
  const std::vector<std::uint32_t> ones(16, 0x3f800000), threes(16, 3);
  CHECK(pack_words(codes, Hdf5Element::f32, ones).empty());
  CHECK(pack_words(codes, Hdf5Element::s32, threes).empty());
  codes[9] = 16;
  CHECK_THAT(pack_words(codes, Hdf5Element::f32, ones),
             ContainsSubstring("codes holds 16 at [1, 1]: must be 0..15"));
  codes[9] = -1;
  CHECK_THAT(pack_words(codes, Hdf5Element::f32, ones), ContainsSubstring("codes holds -1 at"));
  codes[9] = (std::int64_t{1} << 32) + 3;
  CHECK_THAT(pack_words(codes, Hdf5Element::f32, ones),
             ContainsSubstring("codes holds 4294967299 at"));
}

TEST_CASE("pack: what is missing, of another kind or not exact is named") {
  TemporaryFolder folder;
  const auto pack_file = [&](auto fill) {
    Hdf5Writer file(folder / "in.h5");
    fill(file);
    file.commit();
    return error_of([&] { pack_layer(folder / "in.h5", "gptq_v2", folder / "out.safetensors"); });
  };
  const std::int64_t full[] = {64, 8}, per_group[] = {2, 8};
  const std::vector<std::uint8_t> codes(64 * 8, 5);
  const std::vector<float> halves(16, 0.5f), float_codes(64 * 8, 5.0f);
  CHECK_THAT(pack_file([&](Hdf5Writer& f) { f.array("codes", full, codes); }),
             ContainsSubstring("in.h5: read: no dataset /scales"));
  CHECK_THAT(pack_file([&](Hdf5Writer& f) { f.array("codes", full, float_codes); }),
             ContainsSubstring("in.h5: read: codes is float32 [64, 8]: must be integers"));
  const std::vector<std::int64_t> large(16, (std::int64_t{1} << 53) + 1);
  CHECK_THAT(pack_file([&](Hdf5Writer& f) {
               f.array("codes", full, codes);
               f.words("scales", Hdf5Element::s64, per_group, std::as_bytes(std::span(large)));
             }),
             ContainsSubstring("scales holds an integer past 2^53"));
  const std::vector<std::int64_t> odd(16, (std::int64_t{1} << 24) + 1);
  CHECK_THAT(pack_file([&](Hdf5Writer& f) {
               f.array("codes", full, codes);
               f.words("scales", Hdf5Element::s64, per_group, std::as_bytes(std::span(odd)));
             }),
             ContainsSubstring("scales holds values that are not of f32"));
  CHECK_THAT(pack_file([&](Hdf5Writer& f) {
               f.array("codes", full, codes);
               f.array("scales", per_group, halves);
               f.attribute("scale_type", std::int64_t{16});
             }),
             ContainsSubstring("attribute scale_type of / is not text"));
  CHECK(folder.names() == std::vector<std::string>{"in.h5"});
}

TEST_CASE("pack: dequant is not looked at") {
  TemporaryFolder folder;
  Hdf5Writer file(folder / "in.h5");
  const std::int64_t full[] = {64, 8}, per_group[] = {2, 8}, huge[] = {1 << 20, 1 << 14};
  file.array("codes", full, std::vector<std::uint8_t>(64 * 8, 5));
  file.array("scales", per_group, std::vector<float>(16, 0.5f));
  file.blank("dequant", Hdf5Element::f32, huge, 0);
  file.commit();
  CHECK(error_of([&] {
          pack_layer(folder / "in.h5", "gptq_v2", folder / "out.safetensors");
        }).empty());
}

TEST_CASE("pack: a damaged file is refused in one line, or packed whole; never half") {
  TemporaryFolder folder;
  unpack_layer(vectors + "/gptq_v1/k64n32_g32_sym_negscale.safetensors", "", V1Zeros::d1,
               folder / "whole.h5");
  const std::string whole = read_file(folder / "whole.h5");
  const auto in = folder / "in.h5", out = folder / "out.safetensors";
  const std::vector<std::string> before{"in.h5", "out.config.json", "out.safetensors", "whole.h5"};
  int refused = 0, packed = 0;
  const auto feed = [&](const std::string& bytes) {
    folder.write("in.h5", bytes);
    folder.write("out.safetensors", "before");
    folder.write("out.config.json", "before");
    const auto error = error_of([&] { pack_layer(in, "gptq_v1", out); });
    INFO(error);
    CHECK(folder.names() == before);
    if (error.empty()) {
      ++packed;
      CHECK(open_checkpoint(out).tensors.size() == 4);
      return;
    }
    ++refused;
    CHECK((error.starts_with(in + ": read: ") || error.starts_with(in + ": convert: ")));
    CHECK(read_file(out) == "before");
    CHECK(read_file(folder / "out.config.json") == "before");
  };
  Walk walk{11};
  for (int i = 0; i < 300; ++i) {
    auto bytes = whole;
    // The structure is in a few hundred bytes at both ends of the file; half of the flips go there.
    const auto place = i % 2 ? walk(static_cast<std::uint32_t>(bytes.size())) : walk(1024);
    bytes[place] = static_cast<char>(bytes[place] ^ static_cast<char>(1 + walk(255)));
    INFO("byte " << place);
    feed(bytes);
  }
  CHECK(refused > 50);
  CHECK(packed > 50);
  const int refused_before = refused;
  for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 40)
    feed(whole.substr(0, size));
  CHECK(refused - refused_before >= 40);
}
