// SPDX-License-Identifier: Apache-2.0
// Numbers and lists as people read them.
#include "harness/report/words.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "reference/number/number.hpp"

namespace w4 {

std::string hex(std::uint64_t value, int digits) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%0*" PRIx64, digits, value);
  return text;
}

std::string word_and_value(Type type, std::uint32_t word) {
  char value[40];
  std::snprintf(value, sizeof value, "%.9g", to_double(type, word));
  return hex(word, bits_of(type) / 4) + " (" + value + ")";
}

std::string in_words(Outcome outcome) {
  std::string text(to_string(outcome));
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string counted(std::int64_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i)
    out += (i == 0 ? "" : std::string(separator)) + parts[i];
  return out;
}

std::string worst_text(const Worst& worst, Type y) {
  std::string text = "y[" + std::to_string(worst.row) + "," + std::to_string(worst.col) + "] = ";
  text += word_and_value(y, worst.want_lo_bits);
  if (worst.want_hi_bits != worst.want_lo_bits)
    text += " .. " + word_and_value(y, worst.want_hi_bits);
  text += ";  got " + word_and_value(y, worst.got_bits);
  if (worst.ulps == 0) return text;
  return text + ", " + std::to_string(worst.ulps < 0 ? -worst.ulps : worst.ulps) + " ulp " +
         (worst.ulps < 0 ? "low" : "high");
}

std::string shell_quoted(std::string_view text) {
  if (text.find_first_of("\"$`\\!") == std::string_view::npos)
    return "\"" + std::string(text) + "\"";
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace w4
