// SPDX-License-Identifier: Apache-2.0
// Which code really ran: the path that run() reports against plan()'s, stored expectations, and the
// bits of the kernel that a dispatcher says it chose.
#include <algorithm>

#include "harness/checks/data.hpp"
#include "harness/checks/symbols.hpp"
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

namespace {

// Operands in device memory; false also for a bundle, which has no plugin.
bool is_on_device(KernelPort& subject) {
  const auto& kernels = subject.plugin().kernels;
  return std::any_of(kernels.begin(), kernels.end(), [&](const PluginInfo::Kernel& k) {
    return k.name == subject.kernel() && k.device == W4_CUDA;
  });
}

Verdict other_code(std::string reason, const char* kind, const Plan& plan, Evidence::Object more) {
  auto verdict = with(Outcome::fallback, std::move(reason));
  Evidence::Object evidence{{"kind", kind}, {"declared", plan.symbols}};
  evidence.insert(evidence.end(), more.begin(), more.end());
  verdict.evidence = std::move(evidence);
  verdict.why = "plan() declares " + plan.symbols;
  return verdict;
}

Verdict judge_launches(const Plan& plan, const std::vector<std::string>& globs,
                       const Reply& reply) {
  std::vector<bool> seen(globs.size(), false);
  bool all_known = reply.launches.size() == reply.launches_seen;
  for (const Launch& launch : reply.launches) {
    // A name of which only the start is known is matched by a glob that leaves the end open.
    const auto names = launch.cut ? SymbolNames{launch.name, {}, {}, {}} : names_of(launch.name);
    bool expected = false;
    for (std::size_t i = 0; i < globs.size(); ++i) {
      if ((launch.cut && !globs[i].ends_with('*')) || !matches(globs[i], names)) continue;
      seen[i] = expected = true;
    }
    if (expected) continue;
    if (!launch.cut)
      return other_code("a device function runs that plan() does not declare: " +
                            (names.full.empty() ? launch.name : names.full),
                        "unexpected_symbol", plan,
                        {{"name", launch.name}, {"demangled", names.full}});
    all_known = false;
  }
  if (plan.launches != 0 && plan.launches != reply.launches_seen)
    return other_code("run() launches " + std::to_string(reply.launches_seen) +
                          " device functions where plan() declares " +
                          std::to_string(plan.launches),
                      "launch_count", plan,
                      {{"due", static_cast<std::int64_t>(plan.launches)},
                       {"launches", static_cast<std::int64_t>(reply.launches_seen)}});
  if (!all_known)
    return with(
        Outcome::unsupported,
        "not every launch could be seen in full: there are more, or their names are longer, "
        "than a trace keeps");
  for (std::size_t i = 0; i < globs.size(); ++i)
    if (!seen[i])
      return other_code(
          "no launched device function matches '" + globs[i] + "', which plan() declares",
          "missing_symbol", plan, {{"glob", globs[i]}});
  return passed("every launched device function is declared, and every declared one launched",
                Evidence::Object{{"kind", "symbols"},
                                 {"declared", plan.symbols},
                                 {"launches", static_cast<std::int64_t>(reply.launches_seen)}});
}

}  // namespace

// Each function that a call launches, first call and repeat, must match a glob of plan.symbols
// (symbols.hpp), each glob must match one of them, and their number must be plan.launches where
// that is not 0. Copies and fills are no functions; what pack() launches is not asked about.
Verdict dispatch_symbol(Rig& rig) {
  const auto& p = rig.problem();
  const auto& plan = rig.context().plan;
  if (!is_on_device(rig.subject()))
    return with(Outcome::unsupported, "a host kernel launches no device functions");
  const auto globs = globs_of(plan.symbols);
  if (globs.empty()) return with(Outcome::unsupported, "plan() declares no symbols");
  if (p.m == 0) return with(Outcome::unsupported, "m = 0 leaves nothing to launch");
  rig.bind(ordinary_matrix(rig.context()));
  const auto x = ordinary_rows(p, p.m);
  Verdict verdict;
  for (int call = 0; call < 2; ++call) {
    const auto reply = rig.run(x).reply;
    if (!reply.launches_known)
      return with(Outcome::unsupported, "launches could not be seen: there is no tracer here");
    verdict = judge_launches(plan, globs, reply);
    if (verdict.outcome != Outcome::pass) return verdict;
  }
  return verdict;
}

}  // namespace w4
