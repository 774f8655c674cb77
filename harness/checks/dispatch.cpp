// SPDX-License-Identifier: Apache-2.0
// Which code really ran: the path that run() reports against plan()'s, stored expectations, and the
// bits of the kernel that a dispatcher says it chose.
#include <algorithm>

#include "harness/checks/data.hpp"
#include "harness/checks/table.hpp"

namespace w4 {

Verdict dispatch_path(Rig& rig) {
  const auto& p = rig.problem();
  const auto& plan = rig.context().plan;
  const auto& expected = rig.context().expected_path;
  if (!expected.empty() && plan.path != expected) {
    auto verdict = with(Outcome::fallback, "plan() takes path '" + plan.path + "' where '" +
                                               expected + "' is expected");
    verdict.evidence = Evidence::Object{
        {"kind", "unexpected_path"}, {"expected", expected}, {"declared", plan.path}};
    verdict.why = plan.reason.empty() ? "plan() gives no reason" : "its reason: " + plan.reason;
    return verdict;
  }
  rig.bind(neutral_matrix(rig.context()));
  // The problem's own m last, so that its path is the one on record.
  std::size_t asked = 0;
  for (const std::int64_t m :
       {std::int64_t{1}, std::int64_t{2}, p.m + 1, std::max<std::int64_t>(p.m, 1)}) {
    Problem other = p;
    other.m = m;
    if (!rig.subject().plan(other).ok()) continue;
    rig.run(other, zero_rows(p, m));
    asked += rig.ran().empty() ? 0 : 1;
  }
  if (asked == 0 && expected.empty())
    return with(Outcome::unsupported, "run() reports no path and none is expected");
  return passed(
      expected.empty() ? "run() takes the path that plan() declares"
                       : "the declared path is the expected one, and is taken",
      Evidence::Object{
          {"kind", "path"}, {"path", plan.path}, {"expected", expected}, {"asked", asked}});
}

Verdict dispatch_bits(Rig& rig) {
  const auto& p = rig.problem();
  const auto& path = rig.context().plan.path;
  const auto slash = path.find('/');
  if (slash == std::string::npos || !rig.context().peer)
    return with(Outcome::unsupported, "the path names no other kernel");
  const auto name = path.substr(0, slash);
  const auto peer = rig.context().peer(name);
  if (!peer) return with(Outcome::unsupported, "the path names no other kernel of this plugin");
  const auto context = with_wide_output(rig);
  const Problem& asked = context.problem;
  const auto matrix = generic_matrix(context, 7);
  const auto x = ordinary_rows(p, std::max<std::int64_t>(p.m, 1));
  Rig wide(rig.subject(), context);
  wide.bind(matrix);
  const auto ours = wide.run(x).words;
  const CaseContext alone{asked, context.layer, peer->plan(asked)};
  if (!alone.plan.ok())
    return failed(
        "the declared path names " + name + ", which declines this problem: " + alone.plan.reason,
        Evidence::Object{{"kind", "declines"}, {"kernel", name}});
  Rig other(*peer, alone);
  other.bind(matrix);
  const auto theirs = other.run(x).words;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (same_word(asked.y, ours[i], theirs[i])) continue;
    const auto at = static_cast<std::int64_t>(i);
    auto verdict =
        failed("the bits are not those of " + name + ", which the path declares",
               Evidence::Object{{"kind", "other_bits"}, {"kernel", name}, {"path", path}});
    verdict.where = "first y[" + std::to_string(at / p.n) + "," + std::to_string(at % p.n) + "]";
    verdict.expected_got = show_word(asked.y, theirs[i]) + ";  got " + show_word(asked.y, ours[i]);
    return verdict;
  }
  if (!follows_x(wide, ours)) return follows_nothing();
  return passed("every bit is that of " + name + " run alone",
                Evidence::Object{
                    {"kind", "bits"}, {"kernel", name}, {"path", path}, {"outputs", ours.size()}});
}

}  // namespace w4
