// SPDX-License-Identifier: Apache-2.0
// Globs over names, with the nearest name where one matches nothing.
#include "harness/run/select.hpp"

#include <algorithm>

#include <fnmatch.h>

#include "reference/error.hpp"
#include "reference/problem.hpp"

namespace w4 {

std::vector<std::string> split_list(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

namespace {

bool has_wildcard(const std::string& pattern) {
  return pattern.find_first_of("*?[") != std::string::npos;
}

bool choose(const std::vector<std::string_view>& names, const std::string& pattern,
            Selection& selection) {
  bool any = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (fnmatch(pattern.c_str(), std::string(names[i]).c_str(), 0) != 0) continue;
    selection.chosen[i] = any = true;
    if (!has_wildcard(pattern)) selection.literal[i] = true;
  }
  return any;
}

std::string without_wildcards(std::string pattern) {
  std::erase_if(pattern, [](char c) { return c == '*' || c == '?' || c == '[' || c == ']'; });
  return pattern;
}

}  // namespace

Selection select(const std::vector<std::string_view>& names,
                 const std::vector<std::string>& patterns, const std::string& path,
                 const std::string& kind) {
  Selection selection{std::vector<bool>(names.size(), patterns.empty()),
                      std::vector<bool>(names.size(), false)};
  for (const std::string& list : patterns) {
    for (const std::string& pattern : split_list(list, ',')) {
      if (choose(names, pattern, selection)) continue;
      const std::string nearest = nearest_word(without_wildcards(pattern), names);
      fail_input(path, kind,
                 "no " + kind + " matches \"" + pattern + "\"" +
                     (nearest.empty() ? "" : "; nearest is " + nearest));
    }
  }
  return selection;
}

}  // namespace w4
