// SPDX-License-Identifier: Apache-2.0
#include "harness/checks/effect.hpp"

#include <algorithm>

#include "harness/checks/data.hpp"
#include "harness/checks/recipe.hpp"

namespace w4 {
namespace {

std::string show_stray(const Stray& s) {
  return std::to_string(s.bytes) + (s.bytes == 1 ? " byte " : " bytes ") + s.where + " (offset " +
         std::to_string(s.offset) + ") were changed";
}

}  // namespace

ExactOperands exact_operands(Rig& rig, std::int64_t rows, std::uint64_t salt) {
  auto context = rig.context();
  auto& p = context.problem;
  p.seed += salt;
  auto recipe = dense_recipe(p, 1);
  if (!declares_narrow_sums(context.plan))
    return {exact_matrix(context, recipe.matrix), dense_rows(p, rows, recipe)};
  recipe.matrix = {-4, 1, true, false, 0};
  ExactOperands operands{exact_matrix(context, recipe.matrix), dense_rows(p, rows, recipe)};
  const std::int64_t count = (p.k + 127) / 128;
  for (std::int64_t m = 0; m < rows; ++m)
    for (std::int64_t k = 0; k < p.k; ++k)
      if (k % count != m % count)
        operands.x.words[static_cast<std::size_t>(m * p.k + k)] = x_word(p, 0);
  std::fill(operands.x.scale.begin(), operands.x.scale.end(), 1.0F);
  std::fill(operands.matrix.bias.begin(), operands.matrix.bias.end(), 0u);
  return operands;
}

std::int64_t some_rows(const Rig& rig, std::int64_t at_least) {
  return std::max(rig.problem().m, at_least);
}

Verdict stray_failure(const Reply& reply) {
  Evidence::List list;
  for (const auto& s : reply.strays)
    list.emplace_back(
        Evidence::Object{{"where", s.where}, {"offset", s.offset}, {"bytes", s.bytes}});
  auto verdict =
      failed("memory that is not the kernel's was written: " + reply.strays.front().where,
             Evidence::Object{{"kind", "stray_write"}, {"strays", list}});
  verdict.where = show_stray(reply.strays.front());
  return verdict;
}

Difference differences(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  Difference d{a.size(), 0};
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (d.count++ == 0) d.index = i;
  }
  return d;
}

std::string at(const Problem& p, std::size_t index) {
  const auto i = static_cast<std::int64_t>(index);
  return "y[" + std::to_string(i / p.n) + "," + std::to_string(i % p.n) + "]";
}

Verdict bits_changed(const Problem& p, std::string what, std::span<const std::uint32_t> first,
                     std::span<const std::uint32_t> now, const Difference& d) {
  auto verdict = failed(
      std::move(what),
      Evidence::Object{{"kind", "bits_changed"}, {"outputs", d.count}, {"first", at(p, d.index)}});
  verdict.where = std::to_string(d.count) + " of " + std::to_string(first.size()) +
                  " outputs, first " + at(p, d.index);
  verdict.expected_got = show_word(p.y, first[d.index]) + ";  got " + show_word(p.y, now[d.index]);
  return verdict;
}

}  // namespace w4
