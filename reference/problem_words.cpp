// SPDX-License-Identifier: Apache-2.0
// The words of the problem line: what a mistyped one was meant to be, and values with bytes that a
// line cannot hold.
#include "reference/problem_words.hpp"

#include <algorithm>
#include <array>

#include "reference/error.hpp"
#include "reference/layout/layout.hpp"

namespace w4 {
namespace {

constexpr std::size_t longest_compared = 48;

// Edits (insert, delete, replace, swap of neighbours) from a to b.
std::size_t edits(std::string_view a, std::string_view b) {
  using Line = std::array<std::size_t, longest_compared + 1>;
  a = a.substr(0, longest_compared);
  b = b.substr(0, longest_compared);
  Line before{}, last{}, now{};
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before = last;
    last = now;
  }
  return last[b.size()];
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_plain(char c) {
  return c > ' ' && c <= '~';
}

constexpr std::string_view layer_prefix = "layer:", hash_mark = "@sha256:";

}  // namespace

std::string nearest_word(std::string_view word, const std::vector<std::string_view>& known) {
  const auto nearest = std::min_element(known.begin(), known.end(), [word](auto a, auto b) {
    return edits(word, a) < edits(word, b);
  });
  return nearest == known.end() ? "" : std::string(*nearest);
}

std::string quoted(std::string_view word) {
  constexpr std::size_t most = 40;
  std::string shown(word.substr(0, most));
  for (char& c : shown)
    if (!is_plain(c) && c != ' ') c = '?';
  return "'" + shown + (word.size() > most ? "...'" : "'");
}

std::string past_storage(std::string_view what, std::string_view figure, std::int64_t most) {
  return std::string(what) + std::string(figure) + " is past what can be stored (at most " +
         std::to_string(most) + ")";
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known) {
  return quoted(word) + ", did you mean '" + nearest_word(word, known) + "'?";
}

std::string unknown_layout(std::string_view name) {
  if (find_layout(name)) return "";
  const std::string_view family = name.substr(0, name.find(':'));
  if (family == "kpack" || family == "npack")
    return "layout " + quoted(name) + " needs eight digits, a permutation of 0..7, as in " +
           std::string(family) + ":02461357";
  const std::vector<std::string> names = layout_names();
  return "unknown layout " + did_you_mean(name, {names.begin(), names.end()});
}

std::string encode_value(std::string_view value) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  std::string out;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(c) && c != '%' && c != '#' && c != '@')
      out += c;
    else
      out.append({'%', hex[byte >> 4], hex[byte & 15]});
  }
  return out;
}

std::string decode_value(std::string_view value) {
  std::string out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '%') {
      out += value[i];
      continue;
    }
    const int high = i + 2 < value.size() ? hex_digit(value[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(value[i + 2]) : -1;
    if (low < 0)
      throw Error("'%' without two hex digits in " + quoted(value) + " (a '%' itself is %25)");
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

bool is_layer(const Problem& p) {
  return p.data.starts_with(layer_prefix);
}

LayerSource layer_source(std::string_view data) {
  if (!data.starts_with(layer_prefix))
    throw Error("data=" + quoted(data) + " does not begin with layer:");
  std::string_view rest = data.substr(layer_prefix.size());
  LayerSource source;
  if (const std::size_t mark = rest.rfind(hash_mark); mark != std::string_view::npos) {
    source.sha256 = rest.substr(mark + hash_mark.size());
    rest = rest.substr(0, mark);
    if (source.sha256.size() != 12 ||
        source.sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
      throw Error("data=layer: has sha256 " + quoted(source.sha256) +
                  ", which is not 12 hex digits (0-9 a-f)");
  }
  const std::size_t mark = rest.find('#');
  source.path = decode_value(rest.substr(0, mark));
  if (mark != std::string_view::npos) source.prefix = decode_value(rest.substr(mark + 1));
  if (source.path.empty()) throw Error("data=layer: names no path");
  return source;
}

std::string to_string(const LayerSource& source) {
  std::string text = std::string(layer_prefix) + encode_value(source.path);
  if (!source.prefix.empty()) text += "#" + encode_value(source.prefix);
  if (!source.sha256.empty()) text += std::string(hash_mark) + source.sha256;
  return text;
}

std::string data_fault(std::string_view data) {
  if (data == "gen") return "";
  for (const char c : data)
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f)
      return "data=" + quoted(data) + " holds a blank or control byte; write it as %XX";
  const std::vector<std::string_view> kinds = {"gen", "layer:", "bundle:", "golden:"};
  const std::string_view kind = data.substr(0, std::min(data.find(':'), data.size() - 1) + 1);
  if (kind == "gen" || std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
    return "unknown data " + did_you_mean(kind, kinds);
  if (kind == data) return "data=" + std::string(kind) + " names no path";
  try {
    if (kind == layer_prefix)
      layer_source(data);
    else
      decode_value(data);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace w4
