// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/text.hpp"

#include <algorithm>

namespace w4 {

std::string in_quotes(std::string_view text) {
  return '"' + printable(text) + '"';
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

std::string some_of(const std::vector<std::string>& all, std::size_t shown, const char* separator) {
  std::string out;
  for (std::size_t i = 0; i < std::min(shown, all.size()); ++i)
    out += (i ? separator : "") + all[i];
  if (all.size() > shown) out += " and " + std::to_string(all.size() - shown) + " more";
  return out;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace w4
