// SPDX-License-Identifier: Apache-2.0
// Files of real packers, read and compared with what their packers were given.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "harness/checkpoint/checkpoint.hpp"
#include "harness/checkpoint/config.hpp"
#include "reference/layout/layout.hpp"
#include "suites/checkpoint/build.hpp"
#include "suites/checkpoint/compare_truth.hpp"
#include "suites/checkpoint/tsv.hpp"

using namespace w4;
using Catch::Matchers::ContainsSubstring;

namespace {

// The reader that undoes the writer named in the case, where one can.
V1Zeros reader_for(const std::string& name) {
  if (name.find("_E1") != std::string::npos) return V1Zeros::d2;
  if (name.find("_E2") != std::string::npos) return V1Zeros::d3;
  return V1Zeros::d1;
}

bool zeros_are_lost(const std::string& name) {
  return name.find("_E3") != std::string::npos;
}

bool warns(const Layer& layer, const std::string& fragment) {
  for (const auto& w : layer.warnings)
    if (w.find(fragment) != std::string::npos) return true;
  return false;
}

void check_vector(const TsvRow& row) {
  const auto& name = row.at("case");
  const auto path = vectors + '/' + row.at("format") + '/' + name;
  const Layer layer = read_layer(open_checkpoint(path + ".safetensors"), "", reader_for(name));
  const Truth truth = read_truth(path + ".truth.h5");
  CHECK(layer.format == (row.at("format") == "llm_awq" ? "awq_gemv_fast" : row.at("format")));
  const auto group = row.at("group") == "-1" ? layer.matrix.k : std::stoll(row.at("group"));
  CHECK(layer.matrix.group == group);
  CHECK(layer.ambiguous_zeros == (row.at("expect") == "decode-ambiguous"));
  CHECK(warns(layer, "ambiguous") == layer.ambiguous_zeros);
  CHECK(warns(layer, "wins") == (row.at("expect") == "decode-mislabelled"));
  if (zeros_are_lost(name)) {
    check_codes_scales_order(layer, truth);
    CHECK(warns(layer, "zeros above it are lost"));
  } else {
    check_truth(layer, truth);
  }
}

std::size_t check_format(const std::string& format) {
  std::size_t count = 0;
  for (const auto& row : read_tsv(vectors + "/index.tsv")) {
    if (row.at("format") != format) continue;
    DYNAMIC_SECTION(row.at("case")) {
      check_vector(row);
    }
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("vectors: gptq_v1 decodes to truth") {
  CHECK(check_format("gptq_v1") == 16);
}
TEST_CASE("vectors: gptq_v2 decodes to truth") {
  CHECK(check_format("gptq_v2") == 8);
}

TEST_CASE("vectors: awq_gemm decodes to truth") {
  CHECK(check_format("awq_gemm") == 7);
}
TEST_CASE("vectors: awq_gemv decodes to truth") {
  CHECK(check_format("awq_gemv") == 6);
}
TEST_CASE("vectors: awq_gemv_fast decodes to truth") {
  CHECK(check_format("awq_gemv_fast") == 6);
}
TEST_CASE("vectors: llm_awq decodes to truth") {
  CHECK(check_format("llm_awq") == 4);
}
TEST_CASE("vectors: compressed_tensors decodes to truth") {
  CHECK(check_format("compressed_tensors") == 10);
}

TEST_CASE(
    "vectors: AWQ and compressed-tensors files are read without a warning but where it is due") {
  for (const auto& row : read_tsv(vectors + "/index.tsv")) {
    const auto& format = row.at("format");
    if (format.starts_with("gptq")) continue;
    DYNAMIC_SECTION(format << ' ' << row.at("case")) {
      const Layer layer = read_layer(
          open_checkpoint(vectors + '/' + format + '/' + row.at("case") + ".safetensors"), "",
          V1Zeros::d1);
      std::size_t due = 0;
      for (const auto& w : layer.warnings)
        due += w.find("scale negative") == 0 || w.find("weight_g_idx holds -1") == 0;
      CHECK(layer.warnings.size() == due);
    }
  }
}

TEST_CASE("vectors: packing a decoded layer gives the file's bytes") {
  for (const auto& row : read_tsv(vectors + "/index.tsv")) {
    DYNAMIC_SECTION(row.at("format") << ' ' << row.at("case")) {
      const auto path = vectors + '/' + row.at("format") + '/' + row.at("case") + ".safetensors";
      const Layer layer = read_layer(open_checkpoint(path), "", V1Zeros::d1);
      const auto layout = find_layout(kernel_layout(layer));
      REQUIRE(layout);
      const Packed packed = pack(*layout, layer.matrix);
      CHECK(packed.codes == layer.qweight);
      CHECK(packed.zero == layer.qzeros);
      CHECK(packed.scale == layer.scales);
      CHECK(stored_words(layer) == packed);
    }
  }
}

TEST_CASE("vectors: what kernels get after readers D2 and D3 has the matrix's zeros") {
  for (const auto& row : read_tsv(vectors + "/index.tsv")) {
    if (row.at("format") != "gptq_v1") continue;
    for (const auto reader : {V1Zeros::d2, V1Zeros::d3}) {
      DYNAMIC_SECTION(row.at("case") << " reader " << static_cast<int>(reader)) {
        const auto path = vectors + "/gptq_v1/" + row.at("case") + ".safetensors";
        const Layer layer = read_layer(open_checkpoint(path), "", reader);
        const auto layout = find_layout(kernel_layout(layer));
        REQUIRE(layout);
        const auto back =
            unpack(*layout, {layer.qweight, layer.scales, kernel_zeros(layer)}, layer.matrix);
        CHECK(back.zeros == layer.matrix.zeros);
        CHECK(back.codes == layer.matrix.codes);
      }
    }
  }
}

TEST_CASE("layers: every linear decodes to truth") {
  std::size_t count = 0;
  for (const auto& row : read_tsv(layers + "/index.tsv")) {
    DYNAMIC_SECTION(row.at("folder") << ' ' << row.at("prefix")) {
      const bool ambiguous = row.at("expect") == "decode-ambiguous";
      const auto reader = ambiguous ? V1Zeros::d3 : V1Zeros::d1;
      const Layer layer =
          read_layer(open_checkpoint(layers + '/' + row.at("folder")), row.at("prefix"), reader);
      check_truth(layer, read_truth(layers + '/' + row.at("truth")));
      CHECK(layer.act_order == (row.at("desc_act") == "1"));
      CHECK((layer.matrix.zero == Zero::eight) == (row.at("sym") == "1"));
      CHECK(layer.ambiguous_zeros == ambiguous);
      CHECK(layer.bias.has_value());
    }
    ++count;
  }
  CHECK(count == 14);
}

TEST_CASE(
    "layers: the one ambiguous zero is named with its neighbour, its writer and the reader to "
    "take") {
  const auto checkpoint = open_checkpoint(layers + "/minilm-l2-gptq-actorder");
  const Layer layer = read_layer(checkpoint, "encoder.layer.2.output.dense", V1Zeros::d1);
  REQUIRE(layer.warnings.size() == 1);
  CHECK_THAT(layer.warnings[0],
             ContainsSubstring("1 of 4608") &&
                 ContainsSubstring("group 0, column 99 reads 16 (D1), 0 (D2), 0 (D3)") &&
                 ContainsSubstring("column 100 reads 7 (D1), 7 (D2), 8 (D3)") &&
                 ContainsSubstring("gptqmodel:7.7.0") && ContainsSubstring("--v1-zeros D3"));
  CHECK(layer.matrix.zeros[99] == 16);
  CHECK(layer.matrix.zeros[100] == 7);
}
