// SPDX-License-Identifier: Apache-2.0
// RapidCheck's own shrinking knows no deadline and no keys that depend on each other.
#include "harness/search/shrink.hpp"

#include <algorithm>
#include <string>

#include "reference/layout/layout.hpp"

namespace w4 {

namespace {

class Steps {
 public:
  explicit Steps(const Problem& from) : from_(from) {}

  // Offers the edited problem if it says something and contradicts nothing.
  template <typename Edit>
  void offer(Edit edit) {
    Problem p = from_;
    edit(p);
    if (p == from_ || !contradiction(p).empty()) return;
    if (std::find(out_.begin(), out_.end(), p) == out_.end()) out_.push_back(std::move(p));
  }
  const Problem& from() const { return from_; }
  std::vector<Problem> take() { return std::move(out_); }

 private:
  const Problem& from_;
  std::vector<Problem> out_;
};

std::int64_t groups_needed(const Problem& p) {
  return (p.k + p.group - 1) / p.group;
}

// k and group together; gaps between rows and spare groups stay as they are.
void set_k(Problem& p, std::int64_t k, std::int64_t group) {
  const std::int64_t spare = p.groups - groups_needed(p), gap = p.x_stride - p.k;
  const bool one_x_group = p.x_group >= p.k;
  p.k = k;
  p.group = std::min(group, k);
  p.groups = groups_needed(p) + spare;
  p.x_group = one_x_group ? k : std::min(p.x_group, k);
  p.x_stride = k + gap;
}

void set_n(Problem& p, std::int64_t n) {
  const std::int64_t gap = p.y_stride - p.n;
  p.n = n;
  p.y_stride = n + gap;
}

// Below `value`, small ones first, then close ones.
std::vector<std::int64_t> smaller(std::int64_t value, std::int64_t least) {
  std::vector<std::int64_t> out;
  for (const std::int64_t v :
       {least, std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{4}, std::int64_t{8},
        value / 4, value / 2, (value + 1) / 2, value * 3 / 4, value / 8 * 8, value - 8,
        value - 1}) {
    if (v >= least && v < value && std::find(out.begin(), out.end(), v) == out.end())
      out.push_back(v);
  }
  return out;
}

void offer_sizes(Steps& steps) {
  const Problem& p = steps.from();
  for (const std::int64_t m : smaller(p.m, 0)) {
    if (m > 0) steps.offer([m](Problem& q) { q.m = m; });
  }
  for (const std::int64_t n : smaller(p.n, 1)) steps.offer([n](Problem& q) { set_n(q, n); });
  const bool one_group = p.group >= p.k;
  for (const std::int64_t k : smaller(p.k, 1))
    steps.offer([=](Problem& q) { set_k(q, k, one_group ? k : q.group); });
  if (one_group) return;
  // The number of groups, with groups as long as they are; then as many groups, but shorter ones.
  for (const std::int64_t count : smaller(groups_needed(p), 2))
    steps.offer([count](Problem& q) { set_k(q, count * q.group, q.group); });
  for (const std::int64_t group : smaller(p.group, 1)) {
    if (group * groups_needed(p) < p.k)
      steps.offer([group](Problem& q) { set_k(q, group * groups_needed(q), group); });
    steps.offer([group](Problem& q) {
      set_k(q, group * (groups_needed(q) - 1) + std::min(group, (q.k - 1) % q.group + 1), group);
    });
  }
}

void offer_defaults(Steps& steps) {
  const Problem& p = steps.from();
  steps.offer([](Problem& q) { q.bias = Type::none; });
  steps.offer([](Problem& q) { q.align = 16; });
  steps.offer([](Problem& q) { q.x_stride = q.k; });
  steps.offer([](Problem& q) { q.y_stride = q.n; });
  steps.offer([](Problem& q) {
    q.order = Order::none;
    q.groups = groups_needed(q);
  });
  if (p.order == Order::gidx) {
    steps.offer([](Problem& q) { q.groups = groups_needed(q); });
    steps.offer([](Problem& q) {
      q.order = Order::perm;
      q.groups = groups_needed(q);
    });
  }
  steps.offer([](Problem& q) { set_k(q, q.k, q.k); });
  steps.offer([](Problem& q) { q.x_group = q.k; });
  steps.offer([](Problem& q) { q.seed = 7; });
}

// Types, zero form and layout towards the defaults of the line; what follows from them follows.
void offer_types(Steps& steps) {
  const Problem& p = steps.from();
  const auto derive = [](Problem& q) {
    if (has_integer_zero(q.zero)) q.zero_type = Type::none;
    q = with_defaults(std::move(q));
  };
  steps.offer([&](Problem& q) { q.y = Type::f16; });
  steps.offer([&](Problem& q) {
    q.scale = Type::none;
    derive(q);
  });
  steps.offer([&](Problem& q) {
    q.zero_type = Type::none;
    derive(q);
  });
  for (const Type mul : {p.x, Type::f16}) {
    steps.offer([&](Problem& q) {
      q.x = q.mul = mul;
      q.x_group = bits_of(mul) <= 8 ? q.x_group : q.k;
      q.scale = Type::none;
      derive(q);
    });
  }
  const auto with_layout = [&](const std::string& layout) {
    steps.offer([&](Problem& q) {
      q.layout = layout;
      derive(q);
    });
  };
  const std::string kind = p.layout.substr(0, p.layout.find(':') + 1);
  with_layout("codes");
  if (kind == "npack:") with_layout("kpack:" + p.layout.substr(kind.size()));
  if (!kind.empty()) {
    with_layout(kind + "01234567");
    if (p.layout != kind + "01234567") with_layout(kind + "02461357");
  }
  steps.offer([&](Problem& q) {
    q.zero = Zero::eight;
    derive(q);
  });
  if (p.zero != Zero::eight) {
    steps.offer([&](Problem& q) {
      q.zero = Zero::code;
      derive(q);
    });
  }
}

}  // namespace

std::vector<Problem> simpler(const Problem& problem) {
  Steps steps(problem);
  offer_sizes(steps);
  offer_defaults(steps);
  offer_types(steps);
  return steps.take();
}

Shrunk shrink(const Problem& problem, const std::function<bool(const Problem&)>& fails,
              std::chrono::steady_clock::time_point deadline) {
  Shrunk out{problem, 0, 0, false};
  while (true) {
    bool stepped = false;
    for (const Problem& candidate : simpler(out.problem)) {
      if (std::chrono::steady_clock::now() >= deadline) return out;
      ++out.tries;
      if (!fails(candidate)) continue;
      out.problem = candidate;
      ++out.steps;
      stepped = true;
      break;
    }
    if (!stepped) break;
  }
  out.smallest = true;
  return out;
}

}  // namespace w4
