// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/oddities.hpp"

#include <algorithm>

#include "harness/checkpoint/text.hpp"

namespace w4 {
namespace {

struct Kind {
  const char* text;
  bool (*holds)(const Number&);
};

const Kind scale_kinds[] = {
    {"NaN", [](const Number& v) { return v.kind == NumberKind::nan; }},
    {"infinite", [](const Number& v) { return v.kind == NumberKind::infinite; }},
    {"0", [](const Number& v) { return v.kind == NumberKind::finite && v.value.mant == 0; }},
    {"negative", [](const Number& v) { return v.kind == NumberKind::finite && v.value.mant < 0; }},
};

}  // namespace

std::vector<std::string> scale_oddities(const QuantizedMatrix& w) {
  constexpr std::size_t shown = 4;
  std::array<std::vector<std::string>, std::size(scale_kinds)> places;
  std::array<std::int64_t, std::size(scale_kinds)> counts{};
  for (std::size_t i = 0; i < w.scales.size(); ++i) {
    const Number value = decode(w.scale_type, w.scales[i]);
    for (std::size_t kind = 0; kind < std::size(scale_kinds); ++kind) {
      if (!scale_kinds[kind].holds(value)) continue;
      ++counts[kind];
      if (places[kind].size() == shown) continue;
      const auto at = static_cast<std::int64_t>(i);
      const bool negative_zero = value.negative && value.value.mant == 0 && kind == 2;
      places[kind].push_back("group " + std::to_string(at / w.n) + ", column " +
                             std::to_string(at % w.n) + (negative_zero ? " (-0)" : ""));
    }
  }
  std::vector<std::string> out;
  for (std::size_t kind = 0; kind < std::size(scale_kinds); ++kind) {
    if (counts[kind] == 0) continue;
    std::string line = std::string("scale ") + scale_kinds[kind].text + " at " +
                       some_of(places[kind], shown, "; ");
    const auto more = counts[kind] - static_cast<std::int64_t>(places[kind].size());
    if (more > 0) line += " and " + std::to_string(more) + " more";
    out.push_back(std::move(line));
  }
  return out;
}

std::array<std::int64_t, 16> code_counts(const QuantizedMatrix& w) {
  std::array<std::int64_t, 16> counts{};
  for (const auto code : w.codes) ++counts[code & 15u];
  return counts;
}

std::vector<std::string> code_oddities(const QuantizedMatrix& w) {
  const auto counts = code_counts(w);
  std::vector<std::string> unused;
  for (std::size_t code = 0; code < 16; ++code)
    if (counts[code] == 0) unused.push_back(std::to_string(code));
  if (unused.empty()) return {};
  return {(unused.size() == 1 ? "code " : "codes ") + some_of(unused, 16) +
          (unused.size() == 1 ? " is never used" : " are never used")};
}

std::vector<std::string> group_oddities(const QuantizedMatrix& w) {
  if (w.g_idx.empty()) return {};
  std::vector<std::int64_t> members(static_cast<std::size_t>(w.groups));
  for (const auto g : w.g_idx) ++members[static_cast<std::size_t>(g)];
  std::vector<std::string> out;
  for (std::size_t g = 0; g < members.size(); ++g) {
    if (members[g] == 0) out.push_back("group " + std::to_string(g) + " is used by no k");
    if (members[g] > w.group)
      out.push_back("group " + std::to_string(g) + " has " + std::to_string(members[g]) +
                    " members, more than the group size " + std::to_string(w.group));
  }
  if (out.size() > 1) return {some_of(out, 3, "; ")};
  return out;
}

}  // namespace w4
