// SPDX-License-Identifier: Apache-2.0
#include "harness/checks/order.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace w4 {
namespace {

using Text = std::string_view;

// What a contract may ask of the judge: it is a vendor's text.
constexpr int most_nested = 16;
constexpr std::int32_t most_registers = 1 << 16;

struct Refused {
  std::string why;
};

[[noreturn]] void refuse(Text what, Text text) {
  throw Refused{std::string(what) + " '" + std::string(text.substr(0, 60)) + "'"};
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<std::int64_t> number(Text text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// The arguments of "name(a,b,..)"; nothing if the text is not that.
std::optional<std::vector<Text>> arguments(Text text, Text name) {
  if (!text.starts_with(name) || text.size() < name.size() + 2 || text[name.size()] != '(' ||
      text.back() != ')')
    return std::nullopt;
  const Text inner = text.substr(name.size() + 1, text.size() - name.size() - 2);
  std::vector<Text> out;
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] == '(') ++depth;
    if (inner[i] == ')' && --depth < 0) return std::nullopt;
    if (inner[i] != ',' || depth > 0) continue;
    out.push_back(inner.substr(from, i - from));
    from = i + 1;
  }
  if (depth != 0) return std::nullopt;
  out.push_back(inner.substr(from));
  return out;
}

// The texts between two that differ in one number: "f(0,K)" and "f(3,K)" give f(1,K), f(2,K).
std::vector<std::string> between(Text first, Text last) {
  const auto start = std::mismatch(first.begin(), first.end(), last.begin(), last.end()).first;
  auto at = static_cast<std::size_t>(start - first.begin());
  while (at > 0 && is_digit(first[at - 1])) --at;
  const auto end_of = [at](Text text) {
    std::size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    return end;
  };
  const auto a = number(first.substr(at, end_of(first) - at)),
             b = number(last.substr(at, end_of(last) - at));
  const Text rest = first.substr(end_of(first));
  if (!a || !b || rest != last.substr(end_of(last)) || *b <= *a || *b - *a > most_registers)
    refuse("no count from one number to another between the sums beside '..':", first);
  std::vector<std::string> out;
  for (std::int64_t i = *a + 1; i < *b; ++i)
    out.push_back(std::string(first.substr(0, at)) + std::to_string(i) + std::string(rest));
  return out;
}

std::vector<std::string> without_ellipses(const std::vector<Text>& items) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i] != "..") {
      out.emplace_back(items[i]);
      continue;
    }
    if (i == 0 || i + 1 == items.size()) refuse("nothing on one side of", "..");
    for (auto& text : between(items[i - 1], items[i + 1])) out.push_back(std::move(text));
  }
  return out;
}

class Planner {
 public:
  Planner(std::int64_t k, std::span<const std::int64_t> sorted)
      : k_(k), sorted_(sorted), named_(static_cast<std::size_t>(k), false) {}

  SumPlan plan(Text order) {
    plan_.result = sum(order, 0);
    for (std::size_t k = 0; k < named_.size(); ++k)
      if (!named_[k]) throw Refused{"it leaves out k=" + std::to_string(k)};
    return std::move(plan_);
  }

 private:
  // The register that holds it.
  std::int32_t sum(Text text, int depth) {
    if (depth > most_nested) refuse("too deep:", text);
    if (const auto args = arguments(text, "chain")) return chain(*args, text);
    if (const auto args = arguments(text, "seq")) {
      const auto parts = sums(*args, depth);
      for (std::size_t i = 1; i < parts.size(); ++i) add(parts[0], parts[i]);
      return parts[0];
    }
    const auto args = arguments(text, "tree");
    if (!args) refuse("no sum of a known kind:", text);
    const auto parts = sums(*args, depth);
    for (std::size_t count = parts.size(); count > 1;) {
      const std::size_t half = (count + 1) / 2;
      for (std::size_t i = 0; i + half < count; ++i) add(parts[i], parts[i + half]);
      count = half;
    }
    return parts[0];
  }

  std::vector<std::int32_t> sums(const std::vector<Text>& items, int depth) {
    std::vector<std::int32_t> parts;
    for (const auto& text : without_ellipses(items)) parts.push_back(sum(text, depth + 1));
    return parts;
  }

  std::int32_t chain(const std::vector<Text>& args, Text text) {
    const auto width = args.size() == 2 ? number(args[0]) : std::nullopt;
    if (!width || *width < 1) refuse("no chain of a width and leaves:", text);
    if (*width > 1) refuse("fused nodes of several products are not emulated:", text);
    if (plan_.registers == most_registers) refuse("too many sums:", text);
    const std::int32_t to = plan_.registers++;
    leaves(args[1], to);
    return to;
  }

  void leaves(Text text, std::int32_t to) {
    if (const auto args = arguments(text, "slice")) {
      const auto step = args->size() == 3 ? number((*args)[2]) : std::nullopt;
      if (!step || *step < 1) refuse("no slice of begin, end and step:", text);
      return terms((*args)[0], (*args)[1], *step, to);
    }
    const auto dots = text.find("..");
    if (dots == Text::npos) refuse("no leaves:", text);
    terms(text.substr(0, dots), text.substr(dots + 2), 1, to);
  }

  void terms(Text begin, Text end, std::int64_t step, std::int32_t to) {
    const bool by_group = end == "sorted(K)";
    const auto from = number(begin), until = by_group || end == "K" ? k_ : number(end);
    if (!from || !until)
      refuse("no bounds of leaves:", std::string(begin) + " " + std::string(end));
    if (by_group && sorted_.size() != named_.size())
      refuse("there is no order of k by group for", end);
    for (std::int64_t i = *from; i < std::min(*until, k_); i += std::min(step, k_)) {
      const std::int64_t k = by_group ? sorted_[static_cast<std::size_t>(i)] : i;
      if (named_[static_cast<std::size_t>(k)])
        throw Refused{"it names k=" + std::to_string(k) + " twice"};
      named_[static_cast<std::size_t>(k)] = true;
      plan_.steps.push_back({SumStep::Kind::term, to, k});
    }
  }

  void add(std::int32_t to, std::int32_t from) {
    plan_.steps.push_back({SumStep::Kind::add, to, from});
  }

  const std::int64_t k_;
  const std::span<const std::int64_t> sorted_;
  std::vector<bool> named_;
  SumPlan plan_;
};

}  // namespace

SumPlan plan_sum(std::string_view order, std::int64_t k, std::span<const std::int64_t> sorted) {
  try {
    return Planner(k, sorted).plan(order);
  } catch (const Refused& refused) {
    SumPlan none;
    none.why_not = refused.why;
    return none;
  }
}

float evaluate(const SumPlan& plan, std::span<const float> x, std::span<const float> w,
               bool fused) {
  std::vector<float> registers(static_cast<std::size_t>(plan.registers), 0.0F);
  for (const SumStep& step : plan.steps) {
    float& to = registers[static_cast<std::size_t>(step.to)];
    const auto from = static_cast<std::size_t>(step.from);
    if (step.kind == SumStep::Kind::add)
      to += registers[from];
    else
      to = fused ? std::fma(x[from], w[from], to) : to + x[from] * w[from];
  }
  return registers[static_cast<std::size_t>(plan.result)];
}

}  // namespace w4
