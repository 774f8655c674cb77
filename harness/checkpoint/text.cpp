// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/text.hpp"

#include <algorithm>

namespace w4 {

namespace {

// Length of the UTF-8 sequence at the front, 0 if there is none. Overlong forms do not matter for
// showing.
std::size_t sequence_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead < 0x80                   ? 1u
                             : lead >= 0xc2 && lead < 0xe0 ? 2u
                             : lead >= 0xe0 && lead < 0xf0 ? 3u
                             : lead >= 0xf0 && lead < 0xf5 ? 4u
                                                           : 0u;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  return length;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::size_t limit = 160;
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    if (out.size() >= limit) return out + "...";
    const auto byte = static_cast<unsigned char>(text.front());
    const std::size_t length = byte < 0x20 || byte == 0x7f ? 0 : sequence_length(text);
    if (length > 0) {
      out += text.substr(0, length);
    } else {
      out += "\\x";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

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
