// SPDX-License-Identifier: Apache-2.0
#include "harness/fixture/unpack.hpp"

#include <cmath>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <sys/stat.h>

#include "harness/fixture/hdf5_file.hpp"
#include "suites/checkpoint/build.hpp"
#include "suites/checkpoint/truth.hpp"
#include "suites/checkpoint/tsv.hpp"

using namespace w4;
using Catch::Matchers::ContainsSubstring;

namespace {

void check_same(const Truth& got, const Truth& want) {
  CHECK(got.codes == want.codes);
  CHECK(got.scales == want.scales);
  CHECK(got.zeros == want.zeros);
  CHECK(got.g_idx == want.g_idx);
  if (!want.dequant.empty()) CHECK(got.dequant == want.dequant);
}

std::string damaged(const char* name) {
  return vectors + "/damaged/" + name + ".safetensors";
}

}  // namespace

TEST_CASE("unpack: the file holds what truth holds") {
  TemporaryFolder folder;
  for (const char* name : {"gptq_v1/k160n32_g128_asym_desc_tail", "gptq_v1/k192n96_gm1_sym",
                           "gptq_v1/k128n32_g64_asym_bf16", "gptq_v2/k72n40_g24_asym_mult8",
                           "gptq_v1/k512n64_g128_asym_extreme"}) {
    DYNAMIC_SECTION(name) {
      unpack_layer(vectors + '/' + name + ".safetensors", "", V1Zeros::d1, folder / "out.h5");
      check_same(read_truth(folder / "out.h5"), read_truth(vectors + '/' + name + ".truth.h5"));
    }
  }
}

TEST_CASE("unpack: a layer over two shards, by its prefix") {
  TemporaryFolder folder;
  const std::string prefix = "encoder.layer.2.intermediate.dense",
                    from = layers + "/minilm-l2-gptq-actorder";
  const auto unpacked = unpack_layer(from, prefix, V1Zeros::d1, folder / "out.h5");
  CHECK(unpacked.warnings.empty());
  check_same(read_truth(folder / "out.h5"), read_truth(from + "/truth/" + prefix + ".truth.h5"));
}

TEST_CASE("unpack: the same layer gives the same bytes") {
  TemporaryFolder folder;
  const auto path = vectors + "/gptq_v1/k64n32_g32_sym_negscale.safetensors";
  unpack_layer(path, "", V1Zeros::d1, folder / "a.h5");
  unpack_layer(path, "", V1Zeros::d1, folder / "b.h5");
  CHECK(read_file(folder / "a.h5") == read_file(folder / "b.h5"));
}

TEST_CASE("unpack: NaN and infinite scales stay what they are") {
  TemporaryFolder folder;
  const auto nan = unpack_layer(damaged("gptq_scale_nan"), "", V1Zeros::d1, folder / "nan.h5");
  CHECK(nan.warnings.size() == 1);
  const auto read = read_truth(folder / "nan.h5");
  CHECK(std::isnan(read.scales[3]));
  CHECK(std::isnan(read.dequant[3]));
  CHECK_FALSE(std::isnan(read.dequant[4]));
  unpack_layer(damaged("gptq_scale_inf"), "", V1Zeros::d1, folder / "inf.h5");
  CHECK(std::isinf(read_truth(folder / "inf.h5").scales[0]));
}

TEST_CASE("unpack: a refused layer leaves no file") {
  TemporaryFolder folder;
  CHECK_FALSE(error_of([&] {
                unpack_layer(damaged("gptq_gidx_negative"), "", V1Zeros::d1, folder / "out.h5");
              }).empty());
  CHECK(folder.names().empty());
}

TEST_CASE("unpack: outputs that cannot be written are one line and leave nothing") {
  TemporaryFolder folder;
  const auto path = vectors + "/gptq_v1/k64n32_g32_sym_negscale.safetensors";
  const auto to = [&](const std::string& out) {
    return error_of([&] { unpack_layer(path, "", V1Zeros::d1, out); });
  };
  CHECK_THAT(to(folder / "no/such/out.h5"), ContainsSubstring("out.h5: write: No such file"));
  CHECK_THAT(to(folder.path()), ContainsSubstring("write: exists and is not a regular file"));
  REQUIRE(mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK_THAT(to(folder / "fifo"), ContainsSubstring("not a regular file"));
  CHECK(folder.names() == std::vector<std::string>{"fifo"});
}

TEST_CASE("hdf5 writer: without commit the old file stays and the new one goes") {
  TemporaryFolder folder;
  const auto path = folder.write("out.h5", "old");
  const std::int64_t shape[] = {2};
  const float values[] = {1, 2};
  {
    Hdf5Writer writer(path);
    writer.array("a", shape, std::span<const float>(values));
  }
  CHECK(read_file(path) == "old");
  CHECK(folder.names() == std::vector<std::string>{"out.h5"});
}

TEST_CASE("hdf5 writer: a name used twice is an error, not a crash") {
  TemporaryFolder folder;
  const std::int64_t shape[] = {2};
  const float values[] = {1, 2};
  Hdf5Writer writer(folder / "out.h5");
  writer.array("a", shape, std::span<const float>(values));
  CHECK_THAT(error_of([&] { writer.array("a", shape, std::span<const float>(values)); }),
             ContainsSubstring("dataset a could not be written"));
}

TEST_CASE("hdf5 writer: a link is written through") {
  TemporaryFolder folder;
  folder.write("real.h5", "old");
  std::filesystem::create_symlink("real.h5", folder / "link.h5");
  unpack_layer(vectors + "/gptq_v1/k64n32_g32_sym_negscale.safetensors", "", V1Zeros::d1,
               folder / "link.h5");
  CHECK(std::filesystem::is_symlink(folder / "link.h5"));
  CHECK(read_truth(folder / "real.h5").k == 64);
}

TEST_CASE("dequantised: one rounding of an exact product") {
  QuantizedMatrix w;
  w.k = 2;
  w.n = 1;
  w.group = 2;
  w.groups = 1;
  w.zero = Zero::code;
  w.scale_type = Type::f32;
  w.codes = {15, 1};
  w.scales = {0x3eaaaaab};  // the fp32 nearest to 1/3: times 14 needs a rounding
  w.zeros = {1};
  const auto values = dequantised(w);
  CHECK(values[0] == static_cast<float>(14.0 * static_cast<double>(0x1.555556p-2f)));
  CHECK(values[1] == 0.0f);
}

TEST_CASE("sha256: the digest of nothing and of abc") {
  CHECK(sha256_hex({}) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex(bytes_of("abc")) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
