// SPDX-License-Identifier: Apache-2.0
// Plain arrays packed again: the files of real packers come back, and arrays that contradict
// themselves do not.
#include "harness/fixture/pack.hpp"

#include <limits>

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
    for (const auto& layout : checkpoint_layouts()) {
      TemporaryFolder folder;
      const auto path = write_matrix(folder, w, layout);
      unpack_layer(path, "", V1Zeros::d1, folder / "a.h5");
      pack_layer(folder / "a.h5", layout, folder / "b.safetensors");
      RC_ASSERT(read_file(folder / "b.safetensors") == read_file(path));
      RC_ASSERT(read_file(folder / "b.config.json") == read_file(folder / "m.config.json"));
    }
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

TEST_CASE("pack: a file that is no HDF5 file is refused") {
  TemporaryFolder folder;
  const auto path = folder.write("in.h5", "no HDF5");
  CHECK_THAT(error_of([&] { pack_layer(path, "gptq_v2", folder / "out.safetensors"); }),
             ContainsSubstring("in.h5: open: "));
}
