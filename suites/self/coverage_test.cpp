// SPDX-License-Identifier: Apache-2.0
// What the data of the built-in list cover: codes, nibble slots, zero points, signs, group edges,
// ragged tails. A check sees nothing of what its data leave out.
#include <cmath>
#include <map>
#include <set>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "harness/checks/data.hpp"
#include "harness/checks/recipe.hpp"
#include "harness/run/problems.hpp"

namespace {

using namespace w4;

const std::vector<Problem>& smoke() {
  static const std::vector<Problem> problems = [] {
    LayerStore store({});
    std::vector<Problem> out;
    for (const auto& p : resolve_all(problem_lines("smoke", smoke_list()), 7, store))
      out.push_back(p.problem);
    return out;
  }();
  return problems;
}

QuantizedMatrix dense(const Problem& p) {
  return exact_matrix({p, nullptr, {}}, dense_recipe(p, 1).matrix);
}

// What the checks of sums and of values bind on this problem.
std::vector<QuantizedMatrix> matrices(const Problem& p) {
  const CaseContext c{p, nullptr, {}};
  ExactRecipe sparse;
  sparse.lowest = -4, sparse.spread = 1, sparse.small_differences = true;
  return {dense(p), exact_matrix(c, sparse), generic_matrix(c, 1), generic_matrix(c, 11)};
}

std::string family(const std::string& layout) {
  return layout.substr(0, layout.find(':'));
}

}  // namespace

TEST_CASE("every layout gets every code in every nibble of its words") {
  std::map<std::string, std::set<std::pair<std::int64_t, int>>> seen;
  std::map<std::string, std::int64_t> slots;
  for (const Problem& p : smoke()) {
    const Layout layout = *find_layout(p.layout);
    const Geometry g{p.k, p.n, p.groups, p.zero, p.scale, p.zero_type};
    for (const auto& matrix : matrices(p))
      for (std::int64_t k = 0; k < p.k; ++k)
        for (std::int64_t n = 0; n < p.n; ++n) {
          const Site site = layout.code_site(layout, g, k, n);
          const std::int64_t slot = site.bit % layout.word_bits / site.width;
          seen[family(p.layout)].insert({slot, matrix.codes[matrix.at(k, n)]});
          slots[family(p.layout)] = layout.word_bits / site.width;
        }
  }
  for (const auto& [layout, pairs] : seen) {
    INFO(layout);
    CHECK(pairs.size() == static_cast<std::size_t>(16 * slots[layout]));
  }
}

TEST_CASE(
    "every integer zero point occurs under every zero form, half of them under every layout") {
  std::map<std::pair<std::string, Zero>, std::set<std::uint32_t>> seen;
  std::map<Zero, std::set<std::uint32_t>> all;
  for (const Problem& p : smoke()) {
    if (p.zero != Zero::code && p.zero != Zero::code_m1) continue;
    for (const auto& matrix : matrices(p)) {
      seen[{family(p.layout), p.zero}].insert(matrix.zeros.begin(), matrix.zeros.end());
      all[p.zero].insert(matrix.zeros.begin(), matrix.zeros.end());
    }
  }
  for (std::uint32_t z = 0; z < 16; ++z) {
    CHECK(all[Zero::code].contains(z));
    CHECK(all[Zero::code_m1].contains(z + 1));
  }
  CHECK(seen.size() >= 6);
  for (const auto& [key, values] : seen) {
    INFO(key.first << " " << to_string(key.second));
    CHECK(values.size() >= 8);
  }
}

TEST_CASE("both signs of weight, scale and activation occur") {
  std::set<Zero> positive, negative;
  bool negative_scale = false, negative_x = false, positive_x = false;
  for (const Problem& p : smoke()) {
    const auto matrix = dense(p);
    for (std::int64_t k = 0; k < p.k; ++k)
      for (std::int64_t n = 0; n < p.n; ++n) {
        const auto terms = weight_terms(matrix, Dequant::d5, p.mul, k, n);
        double w = 0;
        for (const auto& t : terms.term) w += std::ldexp(static_cast<double>(t.mant), t.exp);
        if (w > 0) positive.insert(p.zero);
        if (w < 0) negative.insert(p.zero);
      }
    for (const auto s : generic_matrix({p, nullptr, {}}).scales)
      negative_scale = negative_scale || to_double(p.scale, s) < 0;
    for (const auto word : dense_rows(p, 2, dense_recipe(p, 1)).words) {
      negative_x = negative_x || to_double(p.x, word) < 0;
      positive_x = positive_x || to_double(p.x, word) > 0;
    }
  }
  CHECK(positive.size() == 7);
  CHECK(negative.size() == 7);
  CHECK(negative_scale);
  CHECK((negative_x && positive_x));
}

// Groups that no k belongs to hold poison.
TEST_CASE("scales and stored zeros differ across every group edge and column of every problem") {
  for (const Problem& p : smoke()) {
    const auto matrix = dense(p);
    INFO(to_string(p));
    std::set<std::int64_t> used;
    for (std::int64_t k = 0; k < p.k; ++k) used.insert(matrix.group_of(k));
    const auto differ = [&](const std::vector<std::uint32_t>& values) {
      for (const std::int64_t g : used)
        for (std::int64_t n = 0; n < matrix.n; ++n) {
          const auto here = values[matrix.at(g, n)];
          if (n > 0 && here == values[matrix.at(g, n - 1)]) return false;
          if (used.contains(g - 1) && here == values[matrix.at(g - 1, n)]) return false;
        }
      return true;
    };
    CHECK(differ(matrix.scales));
    if (!matrix.zeros.empty()) CHECK(differ(matrix.zeros));
  }
}

TEST_CASE("the list has every kind of tail") {
  const auto some = [](auto holds) { return std::any_of(smoke().begin(), smoke().end(), holds); };
  CHECK(some([](const Problem& p) { return p.k % p.group != 0; }));
  CHECK(some([](const Problem& p) { return p.k % 8 != 0 && p.layout.starts_with("kpack:"); }));
  CHECK(some([](const Problem& p) { return p.n % 8 != 0 && p.layout.starts_with("npack:"); }));
  for (const std::int64_t tile : {8, 16, 32, 64}) {
    INFO(tile);
    CHECK(some([tile](const Problem& p) { return p.k > tile && p.k % tile != 0; }));
    CHECK(some([tile](const Problem& p) { return p.n > tile && p.n % tile != 0; }));
  }
  for (const std::int64_t tile : {8, 16, 32}) {
    INFO(tile);
    CHECK(some([tile](const Problem& p) { return p.m > tile && p.m % tile != 0; }));
  }
}
