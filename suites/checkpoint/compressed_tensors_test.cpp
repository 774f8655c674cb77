// SPDX-License-Identifier: Apache-2.0
// compressed-tensors layers with one trait at a time.
#include <filesystem>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "harness/checkpoint/checkpoint.hpp"
#include "suites/checkpoint/matrices.hpp"

using namespace w4;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string config(const std::string& weights, const std::string& more = "") {
  return R"({"quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized",
    "config_groups": {"group_0": {"weights": )" +
         weights + "}" + more + "}}}";
}

struct Case {
  TemporaryFolder folder;
  std::string path;
  explicit Case(const QuantizedMatrix& w) : path(write_matrix(folder, w, "compressed_tensors")) {}
  void config(const std::string& text) const { folder.write("m.config.json", text); }
  Layer read() const { return read_layer(open_checkpoint(path), "", V1Zeros::d1); }
  std::string error() const {
    return error_of([&] { read(); });
  }
};

QuantizedMatrix sound(Zero zero = Zero::code) {
  return random_matrix(96, 12, 32, zero, Type::bf16, Walk{3});
}

QuantizedMatrix ordered() {
  QuantizedMatrix w = sound();
  shuffle_groups(w, Walk{4});
  return w;
}

bool warns(const Layer& layer, const std::string& fragment) {
  for (const auto& w : layer.warnings)
    if (w.find(fragment) != std::string::npos) return true;
  return false;
}

constexpr const char* asym = R"({"num_bits": 4, "type": "int", "symmetric": false,
    "strategy": "group", "group_size": 32, "actorder": null})";

}  // namespace

TEST_CASE("compressed-tensors: a config that says symmetric loses to a zero point that is there") {
  const Case c(sound());
  c.config(config(R"({"num_bits": 4, "symmetric": true, "group_size": 32})"));
  const Layer layer = c.read();
  CHECK(layer.matrix.zero == Zero::code);
  CHECK(warns(layer, "says symmetric true, but weight_zero_point is there"));
}

TEST_CASE("compressed-tensors: without zero point and config it is taken as symmetric, and said") {
  const Case c(sound(Zero::eight));
  std::filesystem::remove(c.folder / "m.config.json");
  const Layer layer = c.read();
  CHECK(layer.matrix.zero == Zero::eight);
  CHECK(layer.qzeros.empty());
  CHECK(warns(layer, "z = 8 is taken"));
}

TEST_CASE("compressed-tensors: act-order is the tensor's, whatever the config says") {
  const Case c(ordered());
  CHECK(c.read().act_order);
  CHECK(c.read().warnings.empty());
  c.config(config(asym));
  CHECK(c.read().act_order);
  CHECK(warns(c.read(), "the tensor wins, act-order is on"));
}

TEST_CASE("compressed-tensors: act-order by groups without weight_g_idx is refused") {
  const Case c(sound());
  for (const char* order : {"\"group\"", "\"dynamic\"", "true"}) {
    c.config(
        config(std::string(R"({"num_bits": 4, "group_size": 32, "actorder": )") + order + "}"));
    CHECK_THAT(c.error(), ContainsSubstring("the order of groups is lost"));
  }
  for (const char* order : {"\"weight\"", "\"static\"", "false", "null"}) {
    c.config(
        config(std::string(R"({"num_bits": 4, "group_size": 32, "actorder": )") + order + "}"));
    CHECK(c.read().warnings.empty());
  }
}

TEST_CASE("compressed-tensors: a config of floats, other formats or bits is refused") {
  const Case c(sound());
  c.config(config(R"({"num_bits": 4, "type": "float", "group_size": 32})"));
  CHECK_THAT(c.error(), ContainsSubstring("FP4, not INT4"));
  c.config(config(R"({"num_bits": 8, "type": "int", "group_size": 32})"));
  CHECK_THAT(c.error(), ContainsSubstring("bits 8, but the tensors are 4-bit sized"));
  c.config(R"({"quantization_config": {"quant_method": "compressed-tensors",
    "format": "marlin-24", "config_groups": {}}})");
  CHECK_THAT(c.error(), ContainsSubstring("Marlin"));
  c.config(R"({"quant_method": "awq", "bits": 4, "group_size": 32})");
  CHECK_THAT(c.error(), ContainsSubstring("but the tensors look like compressed-tensors"));
}

TEST_CASE("compressed-tensors: config groups that differ are not applied") {
  const Case c(sound());
  c.config(config(asym, R"(, "group_1": {"weights": {"num_bits": 8}})"));
  const Layer layer = c.read();
  CHECK(layer.matrix.group == 32);
  CHECK(warns(layer, "config_groups that differ"));
}

TEST_CASE("compressed-tensors: a partial last group is refused") {
  const Case c(sound());
  c.config(config(R"({"num_bits": 4, "group_size": 64})"));
  CHECK_THAT(c.error(), ContainsSubstring("group_size 64, which does not divide K = 96"));
}

TEST_CASE("compressed-tensors: weight_g_idx outside the groups or of another length is refused") {
  const Case c(ordered());
  auto bytes = read_file(c.path);
  const auto checkpoint = open_checkpoint(c.path);
  const auto& g_idx = checkpoint.tensors.at("l.weight_g_idx");
  const std::string stored(reinterpret_cast<const char*>(g_idx.bytes.data()), g_idx.bytes.size());
  const auto at = bytes.find(stored);
  REQUIRE(at != std::string::npos);
  bytes[at + 8] = 3;
  c.folder.write("m2.safetensors", bytes);
  CHECK_THAT(
      error_of([&] { read_layer(open_checkpoint(c.folder / "m2.safetensors"), "", V1Zeros::d1); }),
      ContainsSubstring("weight_g_idx[2] is 3: must be 0..2"));
}

TEST_CASE(
    "compressed-tensors: without weight_shape K is what groups make of it, within the words") {
  const auto zeros = [](std::size_t bytes) { return std::string(bytes, '\0'); };
  const auto read = [&](const std::string& group) {
    TemporaryFolder folder;
    const auto path =
        folder.write("m.safetensors", container({{"l.weight_packed", "I32", {8, 8}, zeros(256)},
                                                 {"l.weight_scale", "F16", {8, 3}, zeros(48)}}));
    folder.write("m.config.json",
                 config(R"({"num_bits": 4, "symmetric": true, "group_size": )" + group + "}"));
    return read_layer(open_checkpoint(path), "", V1Zeros::d1).matrix.k;
  };
  CHECK(read("20") == 60);
  CHECK_THAT(error_of([&] { read("32"); }), ContainsSubstring("3 groups over K = 64"));
  CHECK_THAT(error_of([&] { read("9223372036854775807"); }),
             ContainsSubstring("3 groups over K = 64"));
}
