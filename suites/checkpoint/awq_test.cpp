// SPDX-License-Identifier: Apache-2.0
// AWQ layers with one trait at a time: which of the three formats, how many groups, who wins.
#include <filesystem>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "harness/checkpoint/checkpoint.hpp"
#include "harness/checkpoint/detect.hpp"
#include "harness/checkpoint/layer_reader.hpp"
#include "suites/checkpoint/matrices.hpp"

using namespace w4;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Case {
  TemporaryFolder folder;
  std::string path;
  Case(std::int64_t k, std::int64_t n, std::int64_t group, const std::string& layout,
       Zero zero = Zero::code)
      : path(write_matrix(folder, random_matrix(k, n, group, zero, Type::f16, Walk{1}), layout)) {}
  void config(const std::string& text) const { folder.write("m.config.json", text); }
  void no_config() const { std::filesystem::remove(folder / "m.config.json"); }
  Layer read() const { return read_layer(open_checkpoint(path), "", V1Zeros::d1); }
  std::string error() const {
    return error_of([&] { read(); });
  }
};

bool warns(const Layer& layer, const std::string& fragment) {
  for (const auto& w : layer.warnings)
    if (w.find(fragment) != std::string::npos) return true;
  return false;
}

std::string read_format(const std::string& path) {
  return read_layer(open_checkpoint(path), "", V1Zeros::d1).format;
}

}  // namespace

TEST_CASE("awq: GEMV is told from the formats whose shapes it can have") {
  CHECK(read_format(Case(128, 64, 64, "awq_gemv").path) == "awq_gemv");  // [64, 16] twice: GPTQ's
  CHECK(read_format(Case(256, 24, 64, "awq_gemv").path) == "awq_gemv");  // twice as wide: Marlin's
  CHECK(read_format(Case(32, 8, 32, "awq_gemv").path) == "awq_gemv");    // an eighth: AWQ GEMM's
}

TEST_CASE("awq: without a config GEMV's shapes are GEMV") {
  for (const auto& [k, n, group] : {std::tuple{128, 64, 64}, {256, 24, 64}, {32, 8, 32}}) {
    const Case c(k, n, group, "awq_gemv");
    c.no_config();
    const Layer layer = c.read();
    CHECK(layer.format == "awq_gemv");
    CHECK(layer.matrix.group == group);
    CHECK(warns(layer, "no config"));
  }
}

TEST_CASE("awq: GEMM with groups of one row is GEMM where its config says so") {
  CHECK(read_format(Case(16, 16, 1, "awq_gemm").path) == "awq_gemm");
}

TEST_CASE("awq: a square GEMM is not GPTQ") {
  CHECK(read_format(Case(64, 64, 32, "awq_gemm").path) == "awq_gemm");
}

TEST_CASE("awq: the tensors win over a version and say so") {
  const Case c(128, 64, 64, "awq_gemv");
  c.config(R"({"quant_method": "awq", "bits": 4, "group_size": 64, "version": "gemv_fast"})");
  const Layer layer = c.read();
  CHECK(layer.format == "awq_gemv");
  CHECK(warns(layer, "says version gemv_fast, but the tensors are awq_gemv"));
}

TEST_CASE("awq: versions are read in any case") {
  const Case c(128, 64, 64, "awq_gemm");
  c.config(R"({"w_bit": 4, "q_group_size": 64, "version": "GEMM", "zero_point": true})");
  CHECK(c.read().warnings.empty());
}

TEST_CASE("awq: a group size that divides K but not as the tensors do loses with a warning") {
  const Case gemm(128, 64, 32, "awq_gemm");
  gemm.config(R"({"quant_method": "awq", "bits": 4, "group_size": 64, "version": "gemm"})");
  const Layer a = gemm.read();
  CHECK(a.matrix.group == 32);
  CHECK(warns(a, "conflict, the tensors win (group 32)"));
  const Case gemv(256, 64, 32, "awq_gemv");
  gemv.config(R"({"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemv"})");
  const Layer b = gemv.read();
  CHECK(b.matrix.group == 32);
  CHECK(warns(b, "conflict, the tensors win (group 32)"));
}

TEST_CASE("awq: a group size that does not divide K is refused") {
  const Case c(128, 64, 32, "awq_gemv");
  c.config(R"({"quant_method": "awq", "bits": 4, "group_size": 96, "version": "gemv"})");
  CHECK_THAT(c.error(), ContainsSubstring("AWQ GEMV") &&
                            ContainsSubstring("group_size 96, which does not divide K = 128"));
}

TEST_CASE("awq: the groups of GEMV-fast without a config come from the scales that are not 0") {
  const Case c(640, 8, 64, "awq_gemv_fast");
  c.no_config();
  const Layer layer = c.read();
  CHECK(layer.format == "awq_gemv_fast");
  CHECK(layer.matrix.groups == 10);
  CHECK(warns(layer, "10 groups with scales, 16 with padding, over K = 640"));
}

TEST_CASE("awq: padding that is not 0 is told and ignored") {
  const Case c(128, 8, 64, "awq_gemv");
  auto bytes = read_file(c.path);
  bytes[bytes.size() - 1] = 0x3c;  // the last padding scale
  c.folder.write("m.safetensors", bytes);
  const Layer layer = c.read();
  CHECK(layer.matrix.groups == 2);
  CHECK(warns(layer, "padding is not 0: of scales"));
}

TEST_CASE("awq: all zeros 8 is symmetric") {
  const Layer layer = Case(128, 64, 64, "awq_gemm", Zero::eight).read();
  CHECK(layer.matrix.zero == Zero::eight);
  CHECK(layer.qzeros == std::vector<std::byte>(2 * 8 * 4, std::byte{0x88}));
}

TEST_CASE("awq: a config of another method is refused, one of bits 8 too") {
  const Case c(128, 64, 64, "awq_gemm");
  c.config(R"({"quant_method": "hqq", "bits": 4, "group_size": 64})");
  CHECK_THAT(c.error(),
             ContainsSubstring("says quant_method \"hqq\", but the tensors look like AWQ"));
  c.config(R"({"quant_method": "fancyq", "bits": 4, "group_size": 64})");
  CHECK_THAT(c.error(), ContainsSubstring("unknown quant_method \"fancyq\""));
  c.config(R"({"quant_method": "awq", "bits": 8, "group_size": 64})");
  CHECK_THAT(c.error(), ContainsSubstring("bits 8, but the tensors are 4-bit sized"));
}

TEST_CASE("awq: GEMV-fast zeros of another type than the scales are refused") {
  TemporaryFolder folder;
  const auto zeros = [](std::size_t bytes) { return std::string(bytes, '\0'); };
  const auto path =
      folder.write("m.safetensors", container({{"l.qweight", "I16", {2, 64}, zeros(256)},
                                               {"l.qzeros", "F32", {16, 8}, zeros(512)},
                                               {"l.scales", "F16", {16, 8}, zeros(256)}}));
  CHECK_THAT(error_of([&] { read_layer(open_checkpoint(path), "", V1Zeros::d1); }),
             ContainsSubstring("qzeros F32 [16, 8]: must have the type of scales, F16"));
}

TEST_CASE("awq: shapes that contradict each other are refused") {
  TemporaryFolder folder;
  const auto zeros = [](std::size_t bytes) { return std::string(bytes, '\0'); };
  const auto error = [&](std::vector<TestTensor> tensors) {
    const auto path = folder.write("m.safetensors", container(tensors));
    return error_of([&] { read_layer(open_checkpoint(path), "", V1Zeros::d1); });
  };
  CHECK_THAT(error({{"l.qweight", "I32", {64, 2}, zeros(512)},
                    {"l.qzeros", "I32", {2, 1}, zeros(8)},
                    {"l.scales", "F16", {2, 16}, zeros(64)}}),
             ContainsSubstring("qzeros I32 [2, 1]: must be [groups, N/8] = [2, 2]"));
  CHECK_THAT(error({{"l.qweight", "I32", {4, 16}, zeros(256)},
                    {"l.qzeros", "I32", {4, 1}, zeros(16)},
                    {"l.scales", "F16", {4, 16}, zeros(128)}}),
             ContainsSubstring("scales F16 [4, 16]: must be [N, 8 * zero words] = [4, 8]"));
  CHECK_THAT(error({{"l.qweight", "I16", {2, 64}, zeros(256)},
                    {"l.qzeros", "F16", {16, 8}, zeros(256)},
                    {"l.scales", "F16", {16, 4}, zeros(128)}}),
             ContainsSubstring("scales F16 [16, 4]: must be [padded groups, N] = [16, 8]"));
}
