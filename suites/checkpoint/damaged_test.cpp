// SPDX-License-Identifier: Apache-2.0
// Every row of the damaged files: refused or reported in words that name the cause, or decoded to
// truth.
#include <algorithm>
#include <filesystem>
#include <set>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "harness/checkpoint/checkpoint.hpp"
#include "harness/checkpoint/show.hpp"
#include "suites/checkpoint/build.hpp"
#include "suites/checkpoint/tsv.hpp"
#ifdef W4_HAVE_HDF5
#include "suites/checkpoint/compare_truth.hpp"
#endif

using namespace w4;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Row {
  const char* name;
  std::vector<std::string> says;  // all of them, in the error or in one warning
};

const std::vector<Row> rows{
    {"empty_file", {"header: ", "0 bytes"}},
    {"seven_bytes", {"header: ", "7 bytes", "shorter than the 8"}},
    {"truncated_header", {"header: ", "header length 424", "exceeds the file"}},
    {"truncated_data", {"header: ", "q_proj.scales\"", "past the end of the file"}},
    {"header_len_beyond_file", {"header: ", "exceeds the file"}},
    {"header_len_all_ones", {"header: ", "18446744073709551615", "limit"}},
    {"header_len_2p40", {"header: ", "1099511627776", "limit"}},
    {"header_len_zero", {"header: ", "empty", "must be a JSON object"}},
    {"header_garbage", {"header: ", "not JSON"}},
    {"header_is_array", {"header: ", "an array", "must be a JSON object"}},
    {"header_not_utf8", {"header: ", "not JSON", "UTF-8"}},
    {"header_bom", {"header: ", "byte order mark", "must begin with {"}},
    {"header_lone_surrogate", {"header: ", "surrogate"}},
    {"duplicate_tensor_key", {"header: ", "q_proj.g_idx\" twice"}},
    {"duplicate_inner_key", {"header: ", "\"shape\" twice", "q_proj.g_idx"}},
    {"deep_nesting", {"header: ", "nested deeper"}},
    {"overlapping_offsets", {"header: ", "q_proj.qweight", "q_proj.g_idx", "overlap"}},
    {"offsets_beyond_data", {"header: ", "q_proj.scales", "past the end of the file"}},
    {"offsets_reversed", {"header: ", "q_proj.g_idx", "[256, 0]", "backwards"}},
    {"offsets_negative", {"header: ", "q_proj.g_idx", "data_offsets holds -8"}},
    {"offsets_fraction", {"header: ", "q_proj.g_idx", "data_offsets holds 0.5", "whole numbers"}},
    {"offsets_three", {"header: ", "q_proj.g_idx", "data_offsets holds 3 numbers"}},
    {"offsets_gap", {"header: ", "32 bytes before", "q_proj.qweight", "gap"}},
    {"trailing_bytes", {"header: ", "64 trailing bytes"}},
    {"dtype_size_mismatch", {"header: ", "q_proj.g_idx", "needs 128 bytes", "hold 256"}},
    {"shape_size_mismatch", {"header: ", "q_proj.g_idx", "needs 260 bytes", "hold 256"}},
    {"shape_product_wraps", {"header: ", "inv_freq", "[4294967296, 4294967296]"}},
    {"shape_negative", {"header: ", "q_proj.qweight", "shape holds -8"}},
    {"shape_fraction", {"header: ", "q_proj.g_idx", "shape holds 64.5"}},
    {"dtype_unknown", {"layer: ", "g_idx", "unknown dtype \"I4\""}},
    {"dtype_missing", {"header: ", "q_proj.g_idx", "no dtype"}},
    {"metadata_not_strings", {"header: ", "__metadata__", "ignored"}},
    {"legal_big_header_padding", {}},
    {"legal_header_order_differs", {}},
    {"legal_unaligned_tensors", {}},
    {"legal_header_unpadded", {}},
    {"legal_empty_tensors", {}},
    {"gptq_missing_qzeros", {"layer: ", "no qzeros", "sym false"}},
    {"gptq_sym_missing_qzeros", {"no qzeros", "z = 8", "sym true"}},
    {"gptq_missing_scales", {"layer: ", "no scales"}},
    {"gptq_missing_qweight", {"layer: ", "no qweight", "scales"}},
    {"gptq_gidx_too_large", {"layer: ", "g_idx[5] is 2", "0..1"}},
    {"gptq_gidx_negative", {"layer: ", "g_idx[7] is -1"}},
    {"gptq_gidx_short", {"layer: ", "g_idx has 56", "K is 64"}},
    {"gptq_gidx_float", {"layer: ", "g_idx F32"}},
    {"gptq_gidx_dropped", {"no g_idx", "consecutive"}},
    {"gptq_qweight_rank1", {"layer: ", "qweight", "rank 1"}},
    {"gptq_qweight_rank3", {"layer: ", "qweight", "rank 3"}},
    {"gptq_qweight_i64", {"layer: ", "qweight I64", "32-bit"}},
    {"gptq_scales_i32", {"layer: ", "scales I32", "F16"}},
    {"gptq_scales_transposed",
     {"layer: ", "scales F16 [32, 2]", "qweight I32 [8, 32]", "transposed"}},
    {"gptq_qzeros_narrow", {"layer: ", "qzeros I32 [2, 3]", "[2, 4]"}},
    {"gptq_scale_nan", {"scale NaN", "group 0, column 3", "group 1, column 31"}},
    {"gptq_scale_inf", {"scale infinite", "group 0, column 0", "group 1, column 1"}},
    {"gptq_scale_zero", {"scale 0", "group 0, column 2", "group 1, column 4 (-0)"}},
    {"gptq_config_group_conflict", {"group_size 64", "2 groups over K = 64", "conflict"}},
    {"gptq_config_bits3", {"layer: ", "bits 3", "4-bit sized"}},
    {"gptq_config_bits8", {"layer: ", "bits 8", "K = 64 at 4 bits and 32 at 8", "g_idx has 64"}},
    {"gptq_config_desc_act_false_but_permuted",
     {"real permutation", "desc_act false", "the tensor wins"}},
    {"gptq_config_group_zero", {"config: ", "group_size is 0"}},
    {"gptq_config_group_string", {"config: ", "group_size is \"thirty-two\""}},
    {"config_not_json", {"config_not_json.config.json: config: not JSON"}},
    {"config_unknown_method", {"detect: ", "unknown quant_method \"fancyq\"", "look like GPTQ"}},
    {"config_missing", {"no config", "GPTQ", "v1 is assumed"}},
    {"awq_missing_qzeros", {"layer: ", "AWQ GEMM", "no qzeros"}},
    {"awq_called_gptq", {"says gptq", "awq_gemm", "the tensors win"}},
    {"awq_group_not_dividing_K",
     {"layer: ", "AWQ GEMM", "group_size 64", "does not divide K = 96", "3 groups"}},
    {"awq_partial_last_group",
     {"layer: ", "AWQ GEMM", "group_size 64", "2 groups", "no partial last group"}},
    {"ct_weight_shape_conflict",
     {"layer: ", "weight_shape says", "K = 128", "weight_packed I32 [32, 8]", "K up to 64"}},
    {"ct_missing_weight_shape", {"no weight_shape", "K = 64 is assumed"}},
    {"ct_asym_without_zero_point", {"layer: ", "no weight_zero_point", "symmetric false"}},
    {"ct_nvfp4_uint8", {"detect: ", "FP4", "weight_packed U8", "not INT4"}},
    {"sharded_missing_shard/",
     {"index: ", "model-00002-of-00002.safetensors", "not there", "q_proj.qzeros",
      "q_proj.scales"}},
    {"sharded_tensor_not_in_shard/",
     {"index: ", "q_proj.scales", "is not in shard", "model-00002-of-00002.safetensors"}},
    {"sharded_path_escape/",
     {"index: ", "../model-00002-of-00002.safetensors", "outside the folder"}},
    {"sharded_index_not_json/", {"index: ", "not JSON"}},
    {"legal_sharded/", {}},
    {"config_files_disagree/",
     {"config: ", "quantize_config.json", "config.json", "gptq against gptq_v2"}},
};

std::string path_of(const std::string& name) {
  const auto path = vectors + "/damaged/" + name;
  return name.ends_with('/') ? path.substr(0, path.size() - 1) : path + ".safetensors";
}

bool says_all(const std::string& text, const std::vector<std::string>& fragments) {
  for (const auto& fragment : fragments)
    if (text.find(fragment) == std::string::npos) return false;
  return true;
}

struct Heard {
  std::string error;
  std::vector<std::string> warnings;
};

Heard listen(const std::string& path) {
  Heard heard;
  heard.error = error_of(
      [&] { heard.warnings = show_layers(open_checkpoint(path), "", V1Zeros::d1).warnings; });
  return heard;
}

void check_rejected(const Row& row, const Heard& heard) {
  INFO("error: " << heard.error);
  REQUIRE_FALSE(heard.error.empty());
  CHECK(heard.error.starts_with(vectors + "/damaged/"));
  CHECK(heard.error.find('\n') == std::string::npos);
  CHECK(heard.error.find("terminate") == std::string::npos);
  for (const auto& fragment : row.says) CHECK_THAT(heard.error, ContainsSubstring(fragment));
}

void check_reported(const Row& row, const Heard& heard) {
  if (!heard.error.empty()) return check_rejected(row, heard);
  std::string all;
  bool said = false;
  for (const auto& warning : heard.warnings) {
    CHECK(warning.find('\n') == std::string::npos);
    said = said || says_all(warning, row.says);
    all += warning + '\n';
  }
  INFO("warnings: " << all);
  CHECK(said);
}

void check_decoded(const std::string& name) {
  const auto checkpoint = open_checkpoint(path_of(name));
  CHECK(checkpoint.warnings.empty());
  const Layer layer = read_layer(checkpoint, "", V1Zeros::d1);
  CHECK(layer.warnings.empty());
#ifdef W4_HAVE_HDF5
  const auto truth = name.ends_with('/') ? "/damaged/" + name + "model.truth.h5"
                                         : "/damaged/" + name + ".truth.h5";
  check_truth(layer, read_truth(vectors + truth));
#endif
}

void check_level(const std::string& level) {
  std::size_t seen = 0;
  for (const auto& line : read_tsv(vectors + "/damaged/expectations.tsv")) {
    if (line.at("level") != level) continue;
    const auto& name = line.at("case");
    DYNAMIC_SECTION(name << ": " << line.at("must_say")) {
      const auto row =
          std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.name == name; });
      REQUIRE(row != rows.end());
      if (line.at("expect") == "decode") {
        check_decoded(name);
      } else {
        REQUIRE_FALSE(row->says.empty());
        const auto heard = listen(path_of(name));
        line.at("expect") == "reject" ? check_rejected(*row, heard) : check_reported(*row, heard);
      }
    }
    ++seen;
  }
  CHECK(seen >= 5);
}

}  // namespace

TEST_CASE("damaged files: containers") {
  check_level("container");
}
TEST_CASE("damaged files: tensors and configs that contradict each other") {
  check_level("semantic");
}
TEST_CASE("damaged files: shards") {
  check_level("sharded");
}

TEST_CASE("damaged files: each file has a row, each row a file") {
  std::set<std::string> listed, known, there;
  for (const auto& line : read_tsv(vectors + "/damaged/expectations.tsv"))
    listed.insert(line.at("case"));
  for (const Row& row : rows) known.insert(row.name);
  for (const auto& entry : std::filesystem::directory_iterator(vectors + "/damaged")) {
    const auto name = entry.path().filename().string();
    if (entry.is_directory()) there.insert(name + "/");
    if (name.ends_with(".safetensors")) there.insert(entry.path().stem().string());
  }
  CHECK(known == listed);
  CHECK(there == listed);
}

TEST_CASE("damaged files: odd scales are decoded as they stand") {
  const auto layer = read_layer(open_checkpoint(path_of("gptq_scale_nan")), "", V1Zeros::d1);
  CHECK(is_nan(layer.matrix.scale_type, layer.matrix.scales[3]));
  CHECK(is_nan(layer.matrix.scale_type, layer.matrix.scales[63]));
}
