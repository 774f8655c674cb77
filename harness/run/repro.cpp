// SPDX-License-Identifier: Apache-2.0
// Writing and reading repro lines.
#include "harness/run/repro.hpp"

#include <utility>

#include "reference/error.hpp"

namespace w4 {

std::string make_repro(const std::string& kernel, const std::string& check,
                       const std::string& plugin, const std::string& problem_line,
                       const std::string& path) {
  std::string line = "kernel=" + encode_value(kernel) + " check=" + check;
  if (!plugin.empty()) line += " plugin=" + encode_value(plugin);
  if (!path.empty()) line += " path=" + encode_value(path);
  return line + " " + problem_line;
}

Repro parse_repro(std::string_view text) {
  Repro repro;
  for (auto& [key, value] : split_line(text, {"kernel", "check", "plugin", "path"}).pairs) {
    if (key == "kernel")
      repro.kernel = decode_value(value);
    else if (key == "check")
      repro.check = value;
    else if (key == "plugin")
      repro.plugin = decode_value(value);
    else if (key == "path")
      repro.path = decode_value(value);
    else
      repro.problem.pairs.emplace_back(std::move(key), std::move(value));
  }
  if (repro.kernel.empty()) throw Error("kernel= is missing");
  if (repro.check.empty()) throw Error("check= is missing");
  return repro;
}

}  // namespace w4
