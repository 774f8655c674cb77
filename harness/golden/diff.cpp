// SPDX-License-Identifier: Apache-2.0
// Two golden files, for instance the same cases recorded under two drivers.
#include <algorithm>

#include "harness/checks/rig.hpp"
#include "harness/golden/golden.hpp"

namespace w4 {
namespace {

bool same_bytes(const WeightBytes& a, const WeightBytes& b) {
  return a.codes == b.codes && a.scale == b.scale && a.zero == b.zero && a.g_idx == b.g_idx &&
         a.bias == b.bias;
}

void compare_words(const std::string& name, const Problem& p, const std::string& what,
                   const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b,
                   std::vector<GoldenDifference>& out) {
  if (a == b) return;
  if (a.size() != b.size()) {
    out.push_back({name, what + " is in one of the files only"});
    return;
  }
  std::size_t count = 0, first = 0;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (count++ == 0) first = i;
    if (!is_nan(p.y, a[i]) && !is_nan(p.y, b[i]))
      most = std::max(most, std::abs(ulps_between(p.y, b[i], a[i])));
  }
  const auto at = static_cast<std::int64_t>(first);
  out.push_back({name, what + ": " + std::to_string(count) + " of " + std::to_string(a.size()) +
                           " words differ, at most " + std::to_string(most) + " ulps; first y[" +
                           std::to_string(at / p.n) + "," + std::to_string(at % p.n) + "] " +
                           show_word(p.y, a[first]) + " against " + show_word(p.y, b[first])});
}

void compare_cases(const GoldenCase& a, const GoldenCase& b, std::vector<GoldenDifference>& out) {
  if (a.problem != b.problem) {
    out.push_back({a.name, to_string(a.problem) + " against " + to_string(b.problem)});
    return;
  }
  if (a.source != b.source) out.push_back({a.name, a.source + " against " + b.source});
  if (!same_bytes(a.weights, b.weights)) out.push_back({a.name, "the stored weights differ"});
  if (a.call.x != b.call.x || a.call.x_scale != b.call.x_scale)
    out.push_back({a.name, "the activations differ"});
  for (std::size_t i = 0; i < std::min(a.classes.size(), b.classes.size()); ++i) {
    const auto& [dequant, exact, y] = a.classes[i];
    const std::string name(to_string(dequant));
    const auto& other = b.classes[i].exact;
    const auto differ = std::mismatch(
        exact.begin(), exact.end(), other.begin(), other.end(), [](const auto& u, const auto& v) {
          return u.kind == v.kind && u.negative == v.negative && u.value == v.value;
        });
    if (differ.first != exact.end())
      out.push_back({a.name, name + ": exact sums differ, first at output " +
                                 std::to_string(differ.first - exact.begin())});
    compare_words(a.name, a.problem, name + " y", y, b.classes[i].y, out);
  }
  compare_words(a.name, a.problem, "observed", a.observed, b.observed, out);
}

}  // namespace

std::vector<GoldenDifference> diff_golden(const GoldenFile& a, const GoldenFile& b) {
  std::vector<GoldenDifference> out;
  if (a.content_sha256 == b.content_sha256) return out;
  for (std::size_t i = 0; i < std::max(a.cases.size(), b.cases.size()); ++i) {
    if (i >= a.cases.size() || i >= b.cases.size()) {
      const auto& only = i >= a.cases.size() ? b : a;
      out.push_back({only.cases[i].name, "is in " + only.path + " only"});
      continue;
    }
    compare_cases(a.cases[i], b.cases[i], out);
  }
  if (out.empty()) out.push_back({"", "names of cases differ"});
  return out;
}

}  // namespace w4
