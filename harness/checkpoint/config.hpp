// SPDX-License-Identifier: Apache-2.0
// What the files beside a checkpoint say about its quantisation: what bytes cannot tell, and what
// they may contradict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace w4 {

// Absent where the file does not say it, or says null.
struct QuantConfig {
  std::string file;                         // base name
  std::string method;                       // quant_method or method, lower case
  std::string format;                       // checkpoint_format or format, lower case
  std::string version, packing_format;      // AWQ; AutoRound; lower case
  std::optional<std::int64_t> bits, group;  // group: -1 is one group
  std::optional<bool> desc_act, sym, static_groups, marlin;
  std::string actorder, number;        // compressed-tensors: "group", "true"; "int" or "float"
  bool overrides{};                    // a `dynamic` table, or config_groups that differ
  std::vector<std::string> quantizer;  // meta.quantizer: "gptqmodel:7.7.0"
};

// nullopt: the text holds no quantisation settings (a config.json of a float model). Throws Error
// with the cause alone.
std::optional<QuantConfig> parse_config(const std::string& file, std::string_view text);

struct ConfigFiles {
  std::vector<QuantConfig> found;      // the preferred one first
  std::vector<std::string> conflicts;  // "quantize_config.json says ..., config.json says ..."
  std::string text;                    // of the preferred one
};

// Every config that applies to a checkpoint in `folder`: `<stem>.config.json` (stem "": none),
// quantize_config.json, quant_config.json, config.json, preferred in that order. Throws
// Error(input) `path: config: cause`.
ConfigFiles read_configs(const std::string& folder, const std::string& stem);

}  // namespace w4
