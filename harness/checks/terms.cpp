// SPDX-License-Identifier: Apache-2.0
#include "harness/checks/terms.hpp"

#include <cmath>
#include <cstdio>
#include <numeric>

#include "harness/checks/data.hpp"

namespace w4 {
namespace {

constexpr std::size_t shown_at_either_end = 6;

std::string show(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string bits(std::uint32_t word, int from, int count) {
  std::string text;
  for (int b = from + count - 1; b >= from; --b) text += word >> b & 1 ? '1' : '0';
  return text;
}

int exponent_bits(Type type) {
  return type == Type::f16 ? 5 : 8;  // bf16, f32
}

std::string site_of(const Problem& p, const QuantizedMatrix& matrix, std::int64_t k,
                    std::int64_t n) {
  const auto layout = *find_layout(p.layout);
  const auto bit = layout.code_site(layout, geometry_of(matrix), k, n).bit;
  if (layout.word_bits == 8) return "byte " + std::to_string(bit / 8);
  return "word " + std::to_string(bit / layout.word_bits) + " nibble " +
         std::to_string(bit % layout.word_bits / 4);
}

std::vector<std::string> term_row(const Problem& p, const ExactOperands& operands, std::int64_t m,
                                  std::int64_t n, std::int64_t k, double term) {
  const auto& [matrix, x] = operands;
  const auto group = matrix.group_of(k);
  const auto cell = matrix.at(group, n);
  const double scale = to_double(matrix.scale_type, matrix.scales[cell]);
  double value = to_double(x.type, x.words[static_cast<std::size_t>(m * x.k + k)]);
  const auto blocks = x.scale.empty() ? 0 : (x.k + x.group - 1) / x.group;
  if (blocks > 0)
    value *= static_cast<double>(x.scale[static_cast<std::size_t>(m * blocks + k / x.group)]);
  const auto zero = matrix.zeros.empty() ? std::string(matrix.zero == Zero::eight ? "8" : "-")
                                         : show(zero_value(matrix, matrix.zeros[cell]));
  return {std::to_string(k),
          site_of(p, matrix, k, n),
          std::to_string(code_value(matrix.zero, matrix.codes[matrix.at(k, n)])),
          std::to_string(group),
          zero,
          show(scale),
          show(value),
          show(term)};
}

}  // namespace

std::vector<double> leaves(const Problem& p, const ExactOperands& operands, std::int64_t m,
                           std::int64_t n) {
  const auto& [matrix, x] = operands;
  std::vector<double> leaf(static_cast<std::size_t>(matrix.k));
  const auto blocks = x.scale.empty() ? 0 : (x.k + x.group - 1) / x.group;
  for (std::int64_t k = 0; k < matrix.k; ++k) {
    const auto terms = weight_terms(matrix, Dequant::d5, p.mul, k, n);
    const double w = std::ldexp(static_cast<double>(terms.term[0].mant), terms.term[0].exp) +
                     std::ldexp(static_cast<double>(terms.term[1].mant), terms.term[1].exp);
    const double scale =
        x.scale.empty()
            ? 1.0
            : static_cast<double>(x.scale[static_cast<std::size_t>(m * blocks + k / x.group)]);
    leaf[static_cast<std::size_t>(k)] =
        to_double(x.type, x.words[static_cast<std::size_t>(m * x.k + k)]) * scale * w;
  }
  return leaf;
}

double bias_of(const QuantizedMatrix& matrix, std::int64_t n) {
  return matrix.bias.empty()
             ? 0.0
             : to_double(matrix.bias_type, matrix.bias[static_cast<std::size_t>(n)]);
}

Table show_words(Type type, const std::vector<NamedWord>& words) {
  Table table;
  for (const auto& [name, word] : words) {
    const int width = bits_of(type), exponent = exponent_bits(type);
    const int fraction = width - 1 - exponent;
    table.push_back({name, show_word(type, word)});
    if (!is_float(type)) continue;
    table.back().push_back("sign " + bits(word, width - 1, 1));
    table.back().push_back("exponent " + bits(word, fraction, exponent));
    table.back().push_back("fraction " + bits(word, 0, fraction));
  }
  return table;
}

Table show_terms(const Problem& p, const ExactOperands& operands, std::int64_t m, std::int64_t n) {
  const auto leaf = leaves(p, operands, m, n);
  std::vector<std::int64_t> active;
  for (std::size_t k = 0; k < leaf.size(); ++k)
    if (leaf[k] != 0) active.push_back(static_cast<std::int64_t>(k));
  Table table{{"k", "stored in", "code", "group", "zero", "scale", "x", "term"}};
  double middle = 0;
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < active.size(); ++i) {
    const auto k = active[i];
    const double term = leaf[static_cast<std::size_t>(k)];
    const bool shown = i < shown_at_either_end || i + shown_at_either_end >= active.size();
    if (!shown) {
      middle += term, ++left_out;
      continue;
    }
    if (left_out > 0)
      table.push_back(
          {"...", std::to_string(left_out) + " more", "", "", "", "", "", show(middle)});
    left_out = 0;
    table.push_back(term_row(p, operands, m, n, k, term));
  }
  const double bias = bias_of(operands.matrix, n);
  if (!operands.matrix.bias.empty()) table.push_back({"bias", "", "", "", "", "", "", show(bias)});
  table.push_back(
      {"sum", "", "", "", "", "", "", show(std::accumulate(leaf.begin(), leaf.end(), bias))});
  return table;
}

}  // namespace w4
