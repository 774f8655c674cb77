// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/show.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "suites/checkpoint/build.hpp"
#include "suites/checkpoint/tsv.hpp"

using namespace w4;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

TEST_CASE("show: every layer of a sharded checkpoint in one table") {
  const auto report =
      show_layers(open_checkpoint(layers + "/minilm-l2-gptq-actorder"), "", V1Zeros::d1);
  CHECK_THAT(
      report.text,
      StartsWith("model.safetensors.index.json   2 shards, 6 quantised layers, 4 other tensors\n"));
  CHECK_THAT(report.text,
             ContainsSubstring("encoder.layer.2.output.dense            gptq v1  1536  384   128   "
                               " 2..16  act-order  16 of 16    4.2e-3 .. 4.2e-1  1 of 4608"));
  CHECK_THAT(
      report.text,
      ContainsSubstring("\nwhy gptq v1: names qweight, qzeros, scales, g_idx; qweight [K/8, N]"));
  CHECK(report.errors.empty());
  REQUIRE(report.warnings.size() == 1);
  CHECK_THAT(report.warnings[0],
             ContainsSubstring("minilm-l2-gptq-actorder: encoder.layer.2.output.dense: 1 of 4608"));
}

TEST_CASE("show: a single layer with the histogram of its codes") {
  const auto report = show_layers(open_checkpoint(layers + "/minilm-l2-gptq-sym"),
                                  "encoder.layer.2.output.dense", V1Zeros::d1);
  CHECK_THAT(report.text, ContainsSubstring("all zeros stored as 7 (v1 reads 8)") &&
                              ContainsSubstring("no checkpoint_format"));
  CHECK_THAT(report.text,
             ContainsSubstring("\nshare   0.2  0.5  0.7  1.6  3.2  6.1 10.6 16.6 20.7 16.6 10.7  "
                               "6.1  3.2  1.6  0.8  0.7  % of 589824 codes"));
  CHECK_THAT(report.text, ContainsSubstring("\nmean code - zero  "));
}

TEST_CASE("show: no line ends in blanks") {
  const auto text =
      show_layers(open_checkpoint(layers + "/minilm-l2-gptq-actorder"), "", V1Zeros::d1).text;
  CHECK(text.find(" \n") == std::string::npos);
  CHECK(text.back() == '\n');
}

TEST_CASE("show: an odd scale stands in the note and in the warning") {
  const auto report = show_layers(open_checkpoint(vectors + "/damaged/gptq_scale_zero.safetensors"),
                                  "", V1Zeros::d1);
  CHECK_THAT(report.text, ContainsSubstring("scale 0 at group 0, column 2"));
  CHECK(report.warnings.size() == 1);
}

TEST_CASE("show: a layer that cannot be read is listed beside those that can") {
  TemporaryFolder folder;
  auto tensors = tensors_of({});
  tensors.push_back({"bad.qweight", "I32", {1, 8}, std::string(32, '\0')});
  const auto report = show_layers(
      open_checkpoint(folder.write("m.safetensors", container(tensors))), "", V1Zeros::d1);
  CHECK_THAT(report.text, ContainsSubstring("2 quantised layers") && ContainsSubstring("not read"));
  REQUIRE(report.errors.size() == 1);
  CHECK_THAT(report.errors[0], ContainsSubstring("layer: bad: no scales"));
}

TEST_CASE("show: where no layer can be read the first error is thrown") {
  const auto checkpoint = open_checkpoint(vectors + "/foreign/hqq_axis1.safetensors");
  CHECK_THAT(error_of([&] { show_layers(checkpoint, "", V1Zeros::d1); }), ContainsSubstring("HQQ"));
  const auto sound = open_checkpoint(layers + "/minilm-l2-gptq-sym");
  CHECK_THAT(error_of([&] { show_layers(sound, "query", V1Zeros::d1); }),
             ContainsSubstring("no quantised layer \"query\""));
}

TEST_CASE("show: AWQ and compressed-tensors layers by their usual names") {
  const auto text = [](const std::string& path) {
    return show_layers(open_checkpoint(path), "", V1Zeros::d1).text;
  };
  CHECK_THAT(text(layers + "/minilm-l2-awq-g64"), ContainsSubstring("awq gemm") &&
                                                      ContainsSubstring("4..11") &&
                                                      ContainsSubstring("0..14"));
  CHECK_THAT(text(layers + "/minilm-l2-ct-sym"), ContainsSubstring("compressed-tensors"));
  CHECK_THAT(text(vectors + "/awq_gemv_fast/k128n64_g64.safetensors"),
             ContainsSubstring("awq gemv-fast") && ContainsSubstring("~0..15") &&
                 ContainsSubstring("mean code - zero"));
}
