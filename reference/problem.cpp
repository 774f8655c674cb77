// SPDX-License-Identifier: Apache-2.0
// The problem line: a key is a row that reads and shows one field, and the order of the rows is the
// canonical order.
#include "reference/problem.hpp"

#include <algorithm>
#include <charconv>

#include "reference/error.hpp"
#include "reference/layout/layout.hpp"
#include "reference/problem_words.hpp"

namespace w4 {
namespace {

using Text = std::string_view;

std::int64_t read_number(Text key, Text text) {
  std::int64_t value = 0;
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == Text::npos;
  if (!digits) throw Error(std::string(key) + "=" + quoted(text) + " is not a decimal number");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value > max_dimension)
    throw Error(past_storage(std::string(key) + "=", quoted(text), max_dimension));
  return value;
}

// 0 stands for "not said" in a draft, so it cannot be said where 1 is the least.
std::int64_t read_count(Text key, Text text) {
  const std::int64_t value = read_number(key, text);
  if (value == 0) throw Error(std::string(key) + "=0 is below 1");
  return value;
}

std::int64_t read_count_or_all(Text key, Text text) {
  return text == "all" ? 0 : read_count(key, text);
}

std::uint64_t read_seed(Text text) {
  const bool hex = text.starts_with("0x");
  const Text digits = hex ? text.substr(2) : text;
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error == std::errc::result_out_of_range)
    throw Error("seed=" + quoted(text) + " is past 64 bits");
  if (error != std::errc{} || end != digits.data() + digits.size())
    throw Error("seed=" + quoted(text) + " is not a number (decimal, or hex with 0x)");
  return value;
}

std::string show_seed(std::uint64_t seed) {
  char digits[16];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, seed, 16);
  return "0x" + std::string(digits, end);
}

template <typename T>
struct Word {
  Text text;
  T value;
};
constexpr Word<Order> orders[] = {
    {"none", Order::none}, {"perm", Order::perm}, {"gidx", Order::gidx}};
constexpr Word<V1Zeros> readers[] = {{"D1", V1Zeros::d1}, {"D2", V1Zeros::d2}, {"D3", V1Zeros::d3}};

template <typename T>
T read_word(Text key, Text text, std::span<const Word<T>> words) {
  std::vector<Text> known;
  for (const auto& w : words) {
    if (w.text == text) return w.value;
    known.push_back(w.text);
  }
  std::string all;
  for (const Text k : known) all += (all.empty() ? "" : " ") + std::string(k);
  throw Error("unknown " + std::string(key) + " " + did_you_mean(text, known) + " (" + all + ")");
}

template <typename T>
std::string show_word(T value, std::span<const Word<T>> words) {
  for (const auto& w : words)
    if (w.value == value) return std::string(w.text);
  return "?";
}

Type read_type(Text key, Text text, std::span<const Type> allowed) {
  std::vector<Word<Type>> words;
  for (const Type t : allowed) words.push_back({to_string(t), t});
  return read_word<Type>(key, text, words);
}

Zero read_zero(Text text) {
  std::vector<Word<Zero>> words;
  for (auto z = Zero::signed_codes; z <= Zero::add_8;
       z = static_cast<Zero>(static_cast<unsigned>(z) + 1))
    words.push_back({to_string(z), z});
  return read_word<Zero>("zero", text, words);
}

std::string read_layout(Text text) {
  if (const std::string fault = unknown_layout(text); !fault.empty()) throw Error(fault);
  return std::string(text);
}

Type default_scale(Type x) {
  return bits_of(x) > 8 ? x : Type::f16;
}
std::int64_t default_groups(const Problem& p) {
  return p.group > 0 ? (p.k + p.group - 1) / p.group : 0;
}

std::string show(std::int64_t value, std::int64_t usual) {
  return value == usual ? "" : std::to_string(value);
}
std::string show(Type value, Type usual) {
  return value == usual ? "" : std::string(to_string(value));
}

// A default is shown as "".
struct Key {
  Text name;
  void (*read)(Problem&, Text);
  std::string (*show)(const Problem&);
};
using P = Problem&;
using C = const Problem&;
// clang-format off
constexpr Key keys[] = {
    {"m", [](P p, Text t) { p.m = read_number("m", t); }, [](C p) { return std::to_string(p.m); }},
    {"n", [](P p, Text t) { p.n = read_count("n", t); }, [](C p) { return show(p.n, 0); }},
    {"k", [](P p, Text t) { p.k = read_count("k", t); }, [](C p) { return show(p.k, 0); }},
    {"g", [](P p, Text t) { p.group = read_count_or_all("g", t); }, [](C p) { return show(p.group, p.k); }},
    {"groups", [](P p, Text t) { p.groups = read_count("groups", t); }, [](C p) { return show(p.groups, default_groups(p)); }},
    {"zero", [](P p, Text t) { p.zero = read_zero(t); }, [](C p) { return std::string(p.zero == Zero::eight ? "" : to_string(p.zero)); }},
    {"layout", [](P p, Text t) { p.layout = read_layout(t); }, [](C p) { return p.layout == "codes" ? "" : p.layout; }},
    {"x", [](P p, Text t) { p.x = read_type("x", t, x_types); }, [](C p) { return show(p.x, Type::f16); }},
    {"mul", [](P p, Text t) { p.mul = read_type("mul", t, x_types); }, [](C p) { return show(p.mul, p.x); }},
    {"y", [](P p, Text t) { p.y = read_type("y", t, y_types); }, [](C p) { return show(p.y, Type::f16); }},
    {"scale", [](P p, Text t) { p.scale = read_type("scale", t, scale_types); }, [](C p) { return show(p.scale, default_scale(p.x)); }},
    {"ztype", [](P p, Text t) { p.zero_type = read_type("ztype", t, zero_types); }, [](C p) { return show(p.zero_type, default_zero_type(p)); }},
    {"s2", [](P p, Text t) { p.scale2 = read_type("s2", t, scale2_types); }, [](C p) { return show(p.scale2, Type::none); }},
    {"xg", [](P p, Text t) { p.x_group = read_count_or_all("xg", t); }, [](C p) { return show(p.x_group, p.k); }},
    {"order", [](P p, Text t) { p.order = read_word<Order>("order", t, orders); }, [](C p) { return p.order == Order::none ? "" : show_word<Order>(p.order, orders); }},
    {"bias", [](P p, Text t) { p.bias = read_type("bias", t, bias_types); }, [](C p) { return show(p.bias, Type::none); }},
    {"xs", [](P p, Text t) { p.x_stride = read_count("xs", t); }, [](C p) { return show(p.x_stride, p.k); }},
    {"ys", [](P p, Text t) { p.y_stride = read_count("ys", t); }, [](C p) { return show(p.y_stride, p.n); }},
    {"align", [](P p, Text t) { p.align = read_count("align", t); }, [](C p) { return show(p.align, 16); }},
    {"v1zeros", [](P p, Text t) { p.v1zeros = read_word<V1Zeros>("v1zeros", t, readers); }, [](C p) { return p.v1zeros == V1Zeros::d1 ? "" : show_word<V1Zeros>(p.v1zeros, readers); }},
    {"data", [](P p, Text t) { p.data = t; }, [](C p) { return p.data == "gen" ? "" : p.data; }},
    {"seed", [](P p, Text t) { p.seed = read_seed(t); }, [](C p) { return p.seed == 7 ? "" : show_seed(p.seed); }},
};
// clang-format on

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::pair<std::string, std::string> split_pair(Text word, const std::vector<Text>& known) {
  const std::size_t equals = word.find('=');
  if (equals == Text::npos || equals == 0) throw Error(quoted(word) + " is not key=value");
  const Text key = word.substr(0, equals), value = word.substr(equals + 1);
  if (std::find(known.begin(), known.end(), key) == known.end())
    throw Error("unknown key " + did_you_mean(key, known));
  if (value.empty()) throw Error(std::string(key) + "= has no value");
  return {std::string(key), std::string(value)};
}

}  // namespace

const std::string* Line::find(std::string_view key) const {
  for (const auto& [name, value] : pairs)
    if (name == key) return &value;
  return nullptr;
}

Line split_line(std::string_view text, const std::vector<std::string_view>& extra) {
  std::vector<Text> known;
  for (const Key& key : keys) known.push_back(key.name);
  known.insert(known.end(), extra.begin(), extra.end());
  Line line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_blank(text[i])) continue;
    const std::size_t begin = i;
    while (i < text.size() && !is_blank(text[i])) ++i;
    auto pair = split_pair(text.substr(begin, i - begin), known);
    if (line.find(pair.first)) throw Error("key '" + pair.first + "' is written twice");
    line.pairs.push_back(std::move(pair));
  }
  return line;
}

Type default_zero_type(const Problem& p) {
  if (!has_integer_zero(p.zero)) return p.scale;
  const auto layout = find_layout(p.layout);
  return layout ? stored_zero_type(*layout, p.zero, p.scale) : Type::u8;
}

Problem with_defaults(Problem p) {
  if (p.mul == Type::none) p.mul = p.x;
  if (p.scale == Type::none) p.scale = default_scale(p.x);
  if (has_integer_zero(p.zero) || !is_float(p.zero_type)) p.zero_type = default_zero_type(p);
  if (p.k > 0 && (p.group == 0 || p.group > p.k)) p.group = p.k;
  if (p.k > 0 && (p.x_group == 0 || p.x_group > p.k)) p.x_group = p.k;
  if (p.groups == 0) p.groups = default_groups(p);
  if (p.x_stride == 0) p.x_stride = p.k;
  if (p.y_stride == 0) p.y_stride = p.n;
  return p;
}

Problem parse_problem(const Line& line) {
  Problem p;
  p.mul = p.scale = p.zero_type = Type::none;
  for (const Key& key : keys)
    if (const std::string* value = line.find(key.name)) key.read(p, *value);
  for (const Text key : {"m", "n", "k"})
    if (!line.find(key) && (key == "m" || !is_layer(p)))
      throw Error(std::string(key) + "= is missing");
  const Type written_zero_type = p.zero_type;
  p = with_defaults(std::move(p));
  if (written_zero_type != Type::none) p.zero_type = written_zero_type;
  if (const std::string fault = contradiction(p); !fault.empty()) throw Error(fault);
  return p;
}

Problem parse_problem(std::string_view line) {
  return parse_problem(split_line(line));
}

std::vector<std::string_view> problem_keys() {
  std::vector<std::string_view> names;
  for (const Key& key : keys) names.push_back(key.name);
  return names;
}

std::string_view to_string(V1Zeros reader) {
  for (const auto& w : readers)
    if (w.value == reader) return w.text;
  return "?";
}

std::optional<V1Zeros> v1_zeros_named(std::string_view name) {
  for (const auto& w : readers)
    if (w.text == name) return w.value;
  return std::nullopt;
}

std::string to_string(const Problem& p) {
  std::string text;
  for (const Key& key : keys)
    if (const std::string value = key.show(p); !value.empty())
      text += (text.empty() ? "" : " ") + std::string(key.name) + "=" + value;
  return text;
}

}  // namespace w4
