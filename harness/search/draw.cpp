// SPDX-License-Identifier: Apache-2.0
// The only file outside the suites that includes RapidCheck. Its generators draw from an explicit
// Random, so a number in the sequence needs nothing of those before it.
#include "harness/search/draw.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <rapidcheck.h>

#include "reference/error.hpp"
#include "reference/layout/layout.hpp"

namespace w4 {

namespace {

using Sizes = std::vector<std::int64_t>;

// Both sides of every tile edge, and the sizes at which real kernels broke (scaled down where the
// size itself is not the point).
const Sizes m_sizes{1,  2,  3,  4,  5,  6,   7,   8,   9,   15,  16,  17,  31, 32,
                    33, 50, 63, 64, 65, 127, 128, 129, 255, 256, 257, 329, 666};
const Sizes n_sizes{1,  2,  3,  4,  5,  6,  7,  8,   9,   15,  16,  17,  24,  31,  32,  33,
                    40, 48, 63, 64, 65, 72, 96, 104, 127, 128, 129, 232, 255, 256, 257, 464};
const Sizes k_sizes{1,   2,   3,   4,   5,   6,   7,   8,   9,   15,  16,   17,   24,   31,
                    32,  33,  40,  48,  63,  64,  65,  72,  80,  96,  127,  128,  129,  160,
                    192, 255, 256, 257, 320, 384, 416, 448, 512, 544, 1040, 1376, 2080, 2880};
const Sizes usual_groups{16, 32, 64, 128, 256};

class Draw {
 public:
  explicit Draw(rc::Random random) : random_(random) {}

  template <typename T>
  T operator()(const rc::Gen<T>& gen) {
    return gen(random_.split(), 100).value();
  }
  bool one_in(int n) { return (*this)(rc::gen::inRange(0, n)) == 0; }
  std::int64_t within(std::int64_t low, std::int64_t high) {
    return (*this)(rc::gen::inRange(low, high + 1));
  }
  // One of the sizes up to `most`, now and then any number.
  std::int64_t size(const Sizes& sizes, std::int64_t most) {
    if (one_in(5)) return within(1, std::min(most, sizes.back()));
    const auto end = std::upper_bound(sizes.begin(), sizes.end(), std::max<std::int64_t>(most, 1));
    return (*this)(rc::gen::elementOf(Sizes(sizes.begin(), end)));
  }

 private:
  rc::Random random_;
};

void draw_shape(Draw& draw, Problem& p) {
  const std::int64_t work = draw(rc::gen::weightedElement<std::int64_t>(
      {{3, 1 << 9}, {8, 1 << 12}, {2, 1 << 15}, {1, 1 << 18}}));
  struct Dimension {
    std::int64_t Problem::*value;
    const Sizes* sizes;
  };
  std::vector<Dimension> order{
      {&Problem::k, &k_sizes}, {&Problem::n, &n_sizes}, {&Problem::m, &m_sizes}};
  // The first one has the most room; a long k shows the most.
  if (draw.one_in(3)) std::swap(order[0], order[draw.one_in(2) ? 1 : 2]);
  if (draw.one_in(2)) std::swap(order[1], order[2]);
  std::int64_t room = work;
  for (const Dimension& d : order) {
    p.*d.value = draw.size(*d.sizes, room);
    room = std::max<std::int64_t>(room / (p.*d.value), 1);
  }
}

std::string any_permutation(Draw& draw) {
  std::string digits = "01234567";
  if (draw.one_in(4)) return digits;
  if (draw.one_in(3)) return "02461357";
  for (std::int64_t i = 7; i > 0; --i)
    std::swap(digits[static_cast<std::size_t>(i)],
              digits[static_cast<std::size_t>(draw.within(0, i))]);
  return digits;
}

void draw_layout(Draw& draw, Problem& p) {
  const auto names = layout_names();
  const int which = draw(rc::gen::weightedElement<int>({{3, 0}, {3, 1}, {1, 2}, {5, 3}}));
  p.layout = which == 0   ? "codes"
             : which == 1 ? "kpack:" + any_permutation(draw)
             : which == 2 ? "npack:" + any_permutation(draw)
                          : draw(rc::gen::elementOf(names));
  const Layout layout = *find_layout(p.layout);
  std::vector<Zero> forms;
  for (auto z = static_cast<unsigned>(Zero::signed_codes); z <= static_cast<unsigned>(Zero::add_8);
       ++z)
    if (layout_stores(layout, static_cast<Zero>(z))) forms.push_back(static_cast<Zero>(z));
  p.zero = draw(rc::gen::elementOf(forms));
}

void draw_types(Draw& draw, Problem& p) {
  p.x = draw(rc::gen::weightedElement<Type>(
      {{8, Type::f16}, {4, Type::bf16}, {2, Type::f32}, {2, Type::s8}, {1, Type::s4}}));
  p.mul = p.x;
  if (is_float(p.x) && draw.one_in(10)) p.mul = draw.one_in(3) ? Type::s4 : Type::s8;
  p.y = draw(rc::gen::weightedElement<Type>({{4, Type::f16}, {2, Type::bf16}, {3, Type::f32}}));
  p.scale = draw(rc::gen::weightedElement<Type>(
      {{4, Type::none}, {2, Type::f16}, {1, Type::bf16}, {1, Type::f32}}));
  p.zero_type = Type::none;
  if (!has_integer_zero(p.zero) && draw.one_in(3))
    p.zero_type = draw(rc::gen::element(Type::f16, Type::bf16, Type::f32));
  p.bias = draw(rc::gen::weightedElement<Type>(
      {{9, Type::none}, {1, Type::f16}, {1, Type::bf16}, {1, Type::f32}}));
}

void draw_groups(Draw& draw, Problem& p) {
  const int which = draw(rc::gen::weightedElement<int>({{4, 0}, {2, 1}, {2, 2}, {1, 3}, {1, 4}}));
  p.group = which == 0   ? draw(rc::gen::elementOf(usual_groups))
            : which == 1 ? p.k
            : which == 2 ? draw.within(1, p.k)  // k % g != 0, mostly
            : which == 3 ? (p.k + 2) / 3        // an odd count of groups
                         : draw.within(1, 4);   // many groups
  p.group = std::clamp<std::int64_t>(p.group, 1, p.k);
  p.groups = (p.k + p.group - 1) / p.group;
  p.order =
      draw(rc::gen::weightedElement<Order>({{6, Order::none}, {1, Order::perm}, {1, Order::gidx}}));
  if (p.order == Order::gidx && draw.one_in(2)) p.groups += draw.within(1, 5);
  p.x_group = p.k;
  if (bits_of(p.mul) <= 8 && draw.one_in(2))
    p.x_group = std::min(p.k, draw(rc::gen::elementOf(usual_groups)));
}

void draw_strides(Draw& draw, Problem& p) {
  const auto gap = [&draw] { return draw.one_in(2) ? draw.within(1, 9) : 8 * draw.within(1, 4); };
  p.x_stride = p.k + (draw.one_in(4) ? gap() : 0);
  p.y_stride = p.n + (draw.one_in(4) ? gap() : 0);
  if (draw.one_in(4)) p.align = std::int64_t{1} << draw.within(1, 8);
}

// Layouts that store whole words refuse other k or n.
void round_up(Problem& p) {
  p.k = (p.k + 7) / 8 * 8;
  p.n = (p.n + 7) / 8 * 8;
}

Problem attempt(Draw& draw, std::uint64_t seed) {
  Problem p;
  draw_shape(draw, p);
  draw_layout(draw, p);
  draw_types(draw, p);
  p.group = p.groups = p.k;
  const Layout layout = *find_layout(p.layout);
  if (!layout.refuses({p.k, p.n, p.k, p.zero, Type::f16, Type::f16}).empty()) round_up(p);
  draw_groups(draw, p);
  draw_strides(draw, p);
  p.seed = seed;
  if (draw.one_in(2)) p.seed = static_cast<std::uint64_t>(draw.within(1, 0xffff));
  return with_defaults(p);
}

}  // namespace

Problem draw_problem(std::uint64_t seed, std::uint64_t index) {
  Draw draw(rc::Random(rc::Random::Key{seed, index, 0, 0}));
  for (int tries = 0; tries < 100; ++tries) {
    Problem p = attempt(draw, seed);
    if (contradiction(p).empty()) return p;
  }
  throw Error("a hundred draws that all contradict themselves", Blame::internal);
}

}  // namespace w4
