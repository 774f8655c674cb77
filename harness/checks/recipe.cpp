// SPDX-License-Identifier: Apache-2.0
#include "harness/checks/recipe.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace w4 {
namespace {

// Least b with v <= 2^b.
int bits_for(std::int64_t v) {
  return v <= 1 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(v - 1)));
}

DenseRecipe recipe_for(const Problem& p, int magnitude, int difference_bits, int x_spread) {
  const int fraction = p.zero == Zero::real ? 1 : 0;
  const auto room = [&](int a) {
    return 24 - bits_for(p.k) - bits_for(a) - difference_bits - fraction - x_spread;
  };
  if (quantises_x(p)) magnitude = static_cast<int>(x_unit(p));
  while (!quantises_x(p) && magnitude > 1 && room(magnitude) < 2) magnitude /= 2;
  DenseRecipe recipe;
  recipe.magnitude = magnitude;
  recipe.x_scale_spread = x_spread;
  recipe.matrix.spread = std::clamp(room(magnitude), 0, 8);
  recipe.x_scale_lowest = has_x_scale(p) ? -6 : 0;
  const int top = bits_for(p.k) + bits_for(magnitude) + difference_bits + recipe.matrix.spread +
                  recipe.x_scale_lowest + x_spread;
  // D4 multiplies 1024 + q by the scale: the highest is 2^5.
  recipe.matrix.lowest = std::clamp(15 - top, -14, 5 - recipe.matrix.spread);
  if (p.y == Type::s32) recipe.matrix.lowest = 0, recipe.x_scale_lowest = 0;
  return recipe;
}

}  // namespace

DenseRecipe dense_recipe(const Problem& p, int magnitude) {
  return recipe_for(p, magnitude, 5, has_x_scale(p) ? 2 : 0);
}

DenseRecipe extreme_recipe(const Problem& p, int magnitude, int difference) {
  auto recipe = recipe_for(p, magnitude, 4, 0);
  recipe.matrix.fixed_difference = difference;
  return recipe;
}

Activations dense_rows(const Problem& p, std::int64_t m, const DenseRecipe& recipe) {
  auto x = zero_rows(p, m);
  const auto most = static_cast<std::uint64_t>(recipe.magnitude);
  for (std::size_t i = 0; i < x.words.size(); ++i) {
    const auto bits = draw(p.seed, recipe.magnitude == 1 ? "x" : "wide x", i);
    const auto pick = bits >> 8;
    double value = 1;
    if (recipe.magnitude > 1)
      value = static_cast<double>(is_float(p.x) && !quantises_x(p) ? 1 + 2 * (pick & 1)
                                                                   : 1 + pick % most);
    // The absolute maximum of every block that is quantised.
    const auto k = static_cast<std::int64_t>(i) % p.k;
    if (quantises_x(p) && k % p.x_group == 0) value = x_unit(p);
    x.words[i] = x_word(p, bits & 1 ? value : -value);
  }
  vary_x_scale(x, recipe.x_scale_lowest, recipe.x_scale_spread);
  return x;
}

Activations constant_rows(const Problem& p, std::int64_t m, double value,
                          const DenseRecipe& recipe) {
  auto x = zero_rows(p, m);
  if (quantises_x(p)) value = std::copysign(x_unit(p), value);
  std::fill(x.words.begin(), x.words.end(), x_word(p, value));
  vary_x_scale(x, recipe.x_scale_lowest, recipe.x_scale_spread);
  return x;
}

}  // namespace w4
