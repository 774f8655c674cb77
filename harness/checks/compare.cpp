// SPDX-License-Identifier: Apache-2.0
#include "harness/checks/compare.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <set>

#include "harness/checks/terms.hpp"
#include "reference/fast/multiply.hpp"

namespace w4 {
namespace {

struct Miss {
  std::int64_t m{}, n{};
  std::uint32_t got{}, want{};
};

struct Scene {
  const Problem& p;
  const ExactOperands& operands;
  std::span<const std::uint32_t> got, want;
  std::vector<Miss> misses;
  std::uint32_t poison{};
};

struct Cause {
  const char* kind;
  std::string what, why;
};

std::vector<double> leaves(const Scene& s, std::int64_t m, std::int64_t n) {
  return leaves(s.p, s.operands, m, n);
}

std::optional<Cause> never_written(const Scene& s) {
  const bool all = std::all_of(s.misses.begin(), s.misses.end(),
                               [&](const Miss& m) { return m.got == s.poison; });
  if (!all) return std::nullopt;
  return Cause{"not_written", "outputs are never written",
               "the poison put there before the call is still there"};
}

std::optional<Cause> truncated(const Scene& s) {
  if (s.p.y == Type::f32 || s.p.y == Type::s32) return std::nullopt;
  for (const auto& miss : s.misses) {
    double sum = bias_of(s.operands.matrix, miss.n);
    for (const double leaf : leaves(s, miss.m, miss.n)) sum += leaf;
    const auto exact =
        decode(Type::f32, std::bit_cast<std::uint32_t>(static_cast<float>(sum))).value;
    if (truncate_to(s.p.y, exact.mant, exact.exp) != miss.got) return std::nullopt;
    if (&miss - s.misses.data() == 63) break;
  }
  return Cause{"truncation", "results are truncated, not rounded, to the output type",
               "each wrong word is the exact sum cut toward zero"};
}

std::optional<Cause> another_row(const Scene& s) {
  std::set<std::int64_t> rows;
  for (const auto& miss : s.misses) rows.insert(miss.m);
  const auto n = static_cast<std::size_t>(s.p.n);
  const auto row = [&](std::span<const std::uint32_t> words, std::int64_t m) {
    return words.subspan(static_cast<std::size_t>(m) * n, n);
  };
  std::string text;
  for (const auto m : rows) {
    std::int64_t source = -1;
    for (std::int64_t other = 0; other < s.operands.x.m && source < 0; ++other)
      if (other != m && std::ranges::equal(row(s.got, m), row(s.want, other))) source = other;
    if (source < 0) return std::nullopt;
    if (text.empty())
      text = "row " + std::to_string(m) + " of y holds the product of row " +
             std::to_string(source) + " of x";
  }
  return Cause{"rows", "rows of x and y are mixed up", text};
}

std::optional<Cause> dropped_tail(const Scene& s) {
  if (s.misses.size() < 4) return std::nullopt;  // fewer words fit some tail by chance
  std::set<std::int64_t> common;
  // One output alone may be explained by several tails; all of the first few must agree on one.
  for (std::int64_t t = 1; t <= std::min<std::int64_t>(s.p.k, 512); ++t) common.insert(t);
  for (std::size_t i = 0; i < std::min<std::size_t>(16, s.misses.size()); ++i) {
    const auto leaf = leaves(s, s.misses[i].m, s.misses[i].n);
    double sum = bias_of(s.operands.matrix, s.misses[i].n);
    std::vector<double> prefix{sum};
    for (const double v : leaf) prefix.push_back(sum += v);
    std::erase_if(common, [&](std::int64_t t) {
      return !same_word(s.p.y,
                        from_double(s.p.y, prefix[leaf.size() - static_cast<std::size_t>(t)]),
                        s.misses[i].got);
    });
  }
  if (common.empty()) return std::nullopt;
  return Cause{"dropped",
               "the last " + std::to_string(*common.begin()) + " of k are dropped from the sum",
               "leaving them out gives each wrong word"};
}

// The sum with the running total rounded to the 16-bit type after every `step` terms.
std::uint32_t narrow_chain(const Scene& s, const std::vector<double>& leaf, double bias,
                           std::size_t step) {
  const Type narrow = s.p.mul == Type::bf16 ? Type::bf16 : Type::f16;
  double total = 0, part = 0;
  for (std::size_t k = 0; k < leaf.size(); ++k) {
    part += leaf[k];
    if ((k + 1) % step != 0 && k + 1 != leaf.size()) continue;
    total = to_double(narrow, from_double(narrow, total + part));
    part = 0;
  }
  return from_double(s.p.y, total + bias);
}

// 16-bit running sums in k order, the rounding interval found by trying.
std::optional<Cause> narrow_sums(const Scene& s) {
  for (const std::size_t step : {1, 2, 4, 8, 16, 32, 64, 128, 256}) {
    bool fits = true;
    for (std::size_t i = 0; i < std::min<std::size_t>(16, s.misses.size()) && fits; ++i) {
      const auto& miss = s.misses[i];
      const auto word =
          narrow_chain(s, leaves(s, miss.m, miss.n), bias_of(s.operands.matrix, miss.n), step);
      fits = same_word(s.p.y, word, miss.got);
    }
    if (!fits) continue;
    const std::string type = s.p.mul == Type::bf16 ? "bf16" : "fp16";
    return Cause{"narrow_sums", "sums are rounded to " + type + " on the way",
                 "rounding the running sum to " + type + " after every " + std::to_string(step) +
                     (step == 1 ? " term" : " terms") + " gives each wrong word"};
  }
  return std::nullopt;
}

// Many small errors, none larger than a few roundings of the largest partial sum to 16 bits.
std::optional<Cause> small_errors(const Scene& s) {
  if (s.misses.size() * 8 < s.got.size()) return std::nullopt;
  for (std::size_t i = 0; i < std::min<std::size_t>(64, s.misses.size()); ++i) {
    const auto& miss = s.misses[i];
    if (is_nan(s.p.y, miss.got) || is_inf(s.p.y, miss.got)) return std::nullopt;
    double magnitude = 0;
    for (const double leaf : leaves(s, miss.m, miss.n)) magnitude += std::abs(leaf);
    const double error = std::abs(to_double(s.p.y, miss.got) - to_double(s.p.y, miss.want));
    if (error > (s.p.mul == Type::bf16 ? 0x1p-7 : 0x1p-10) * magnitude) return std::nullopt;
  }
  return Cause{"lost_bits", "sums lose low bits on the way",
               "errors in many outputs, none larger than 16-bit rounding of partial sums can make"};
}

Verdict describe(const Scene& s, const Cause& cause) {
  const auto& first = s.misses.front();
  std::set<std::int64_t> columns, rows;
  for (const auto& miss : s.misses) columns.insert(miss.n), rows.insert(miss.m);
  auto verdict = failed(cause.what, Evidence::Object{{"kind", cause.kind},
                                                     {"wrong", s.misses.size()},
                                                     {"outputs", s.got.size()},
                                                     {"rows", rows.size()},
                                                     {"columns", columns.size()},
                                                     {"first_row", *rows.begin()},
                                                     {"last_row", *rows.rbegin()},
                                                     {"first_column", *columns.begin()},
                                                     {"last_column", *columns.rbegin()}});
  verdict.where = std::to_string(s.misses.size()) + " of " + std::to_string(s.got.size()) +
                  " outputs, rows " + show_range(*rows.begin(), *rows.rbegin()) + ", columns " +
                  show_range(*columns.begin(), *columns.rbegin()) + "; first y[" +
                  std::to_string(first.m) + "," + std::to_string(first.n) + "]";
  verdict.expected_got = show_word(s.p.y, first.want) + ";  got " + show_word(s.p.y, first.got);
  verdict.why = cause.why;
  verdict.details = {show_words(s.p.y, {{"expected", first.want}, {"got", first.got}}),
                     show_terms(s.p, s.operands, first.m, first.n)};
  Worst worst{first.m, first.n, first.got, first.want, first.want, 0};
  for (const auto& miss : s.misses) {
    if (is_nan(s.p.y, miss.got) || is_nan(s.p.y, miss.want)) continue;
    const auto ulps = ulps_between(s.p.y, miss.got, miss.want);
    if (std::abs(ulps) > std::abs(worst.ulps))
      worst = {miss.m, miss.n, miss.got, miss.want, miss.want, ulps};
  }
  verdict.worst = worst;
  if (s.misses.size() == 1 && worst.ulps != 0)
    verdict.expected_got +=
        ", " + std::to_string(std::abs(worst.ulps)) + " ulp " + (worst.ulps < 0 ? "low" : "high");
  return verdict;
}

}  // namespace

std::vector<std::uint32_t> expected_words(const Problem& p, const ExactOperands& operands) {
  return fast::multiply(operands.x, operands.matrix, Dequant::d5, p.mul, p.y);
}

Verdict compare_exact(const Problem& p, const ExactOperands& operands,
                      std::span<const std::uint32_t> got, std::uint8_t poison) {
  const auto want = expected_words(p, operands);
  Scene scene{p, operands, got, want, {}, poison_word(p.y, poison)};
  bool follows_x = false;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    follows_x =
        follows_x || !same_word(p.y, want[i], from_double(p.y, bias_of(operands.matrix, at % p.n)));
    if (same_word(p.y, got[i], want[i])) continue;
    scene.misses.push_back({at / p.n, at % p.n, got[i], want[i]});
  }
  if (scene.misses.empty())
    return follows_x ? passed("every word is the exact sum, rounded once")
                     : with(Outcome::vacuous, "every expected output is what x = 0 gives");
  constexpr std::array causes{never_written, truncated,   another_row,
                              dropped_tail,  narrow_sums, small_errors};
  for (const auto& cause : causes)
    if (const auto found = cause(scene)) return describe(scene, *found);
  return describe(scene, {"unknown", "outputs differ from the exact sum",
                          "the data are exact in fp32 in any order and any dequantisation class"});
}

std::size_t sums_wider_than(const Problem& p, const ExactOperands& operands, int bits) {
  Problem wide = p;
  wide.y = Type::f32;
  std::size_t count = 0;
  for (const auto word : expected_words(wide, operands)) {
    const auto mant = static_cast<std::uint64_t>(std::abs(decode(Type::f32, word).value.mant));
    if (mant == 0) continue;
    count += static_cast<int>(std::bit_width(mant >> std::countr_zero(mant))) > bits;
  }
  return count;
}

}  // namespace w4
