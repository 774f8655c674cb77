// SPDX-License-Identifier: Apache-2.0
// Formats that are recognised and refused by name.
#include <filesystem>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "harness/checkpoint/checkpoint.hpp"
#include "suites/checkpoint/build.hpp"
#include "suites/checkpoint/tsv.hpp"

using namespace w4;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Row {
  const char *file, *called;
};

const Row rows[] = {
    {"bitsandbytes_4bit", "bitsandbytes 4-bit"},
    {"cutlass_int4", "compressed-tensors int-quantized or CUTLASS int4"},
    {"fastertransformer_sm80", "FasterTransformer"},
    {"ggml_q4_0", "ggml"},
    {"ggml_q4_1", "ggml"},
    {"ggml_q4_k", "ggml"},
    {"hqq_axis0", "HQQ"},
    {"hqq_axis1", "HQQ"},
    {"machete", "Machete"},
    {"marlin", "Marlin"},
    {"nunchaku_w4a16", "nunchaku AWQ W4A16"},
    {"nunchaku_w4a4", "nunchaku SVDQuant W4A4"},
    {"onnx_matmulnbits", "ONNX MatMulNBits"},
    {"qqq", "QQQ"},
    {"qserve_per_channel", "QServe"},
    {"qserve_per_group", "QServe"},
    {"qserve_per_group_deepcompressor", "QServe"},
    {"quarot_int4", "QuaRot"},
    {"trtllm_mixed", "TensorRT-LLM"},
    {"vllm_awq_marlin", "Marlin under GPTQ's names"},
    {"vllm_gptq_marlin", "Marlin under GPTQ's names"},
    {"vllm_marlin_a8", "Marlin under GPTQ's names"},
};

}  // namespace

TEST_CASE("foreign formats are named and refused") {
  for (const Row& row : rows) {
    DYNAMIC_SECTION(row.file) {
      const auto checkpoint = open_checkpoint(vectors + "/foreign/" + row.file + ".safetensors");
      CHECK(quantised_prefixes(checkpoint).size() == 1);
      const auto error = error_of([&] { read_layer(checkpoint, "", V1Zeros::d1); });
      CHECK_THAT(error, ContainsSubstring("detect: ") &&
                            ContainsSubstring(std::string("looks like ") + row.called) &&
                            ContainsSubstring("not read by this build"));
    }
  }
}

TEST_CASE("foreign formats: each file has a row") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(vectors + "/foreign"))
    files += entry.path().extension() == ".safetensors";
  CHECK(files == std::size(rows));
}

TEST_CASE("foreign formats: without any config they are still not taken for GPTQ") {
  for (const Row& row : rows) {
    DYNAMIC_SECTION(row.file) {
      TemporaryFolder folder;
      const auto bytes = read_file(vectors + "/foreign/" + row.file + ".safetensors");
      const auto checkpoint = open_checkpoint(folder.write("m.safetensors", bytes));
      CHECK_THAT(error_of([&] { read_layer(checkpoint, "", V1Zeros::d1); }),
                 ContainsSubstring("not read by this build"));
    }
  }
}
