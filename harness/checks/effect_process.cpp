// SPDX-License-Identifier: Apache-2.0
// What a call leaves behind in its process, and what it takes from it.
#include <thread>

#include "harness/checks/effect.hpp"
#include "harness/checks/table.hpp"

namespace w4 {
namespace {

std::string process_fault(Rig& rig, const Reply& reply) {
  const auto& plugin = rig.subject().plugin();
  if (plugin.after_load != plugin.before_load)
    return "loading the library changes the floating-point state: " +
           describe(plugin.after_load, plugin.before_load);
  if (reply.state != rig.subject().clean_state())
    return "the call leaves the floating-point state changed: " +
           describe(reply.state, rig.subject().clean_state());
  for (const Launch& launch : reply.launches) {
    if (launch.elsewhere)
      return "the call launches " + launch.name + " on another stream than the one it is given";
  }
  if (reply.children > 0)
    return "the call leaves " + std::to_string(reply.children) + " process(es) running";
  if (reply.printed_bytes > 0)
    return "the call prints " + std::to_string(reply.printed_bytes) + " bytes to stdout or stderr";
  return {};
}

Verdict process_failure(const std::string& what, const Reply& reply) {
  auto verdict = failed(
      what, Evidence::Object{{"kind", "process_state"},
                             {"printed_bytes", static_cast<std::int64_t>(reply.printed_bytes)},
                             {"children", reply.children}});
  if (!reply.printed.empty()) verdict.where = "printed: " + reply.printed.substr(0, 80);
  return verdict;
}

}  // namespace

// Same addresses, new contents: x first, then the weights. What counts is that answers follow the
// operands, so a kernel that is merely wrong is another check's finding: new weights must give what
// they give at addresses never used before, and a right first answer must not come again for other
// x.
// Exact data, so that even an order of sums that varies gives the same words.
Verdict effect_state(Rig& rig) {
  const auto& p = rig.problem();
  const auto a = exact_operands(rig, some_rows(rig)), b = exact_operands(rig, some_rows(rig), 1);
  const auto call = [&](const ExactOperands& operands, Place place, std::uint8_t poison) {
    const auto answer = rig.run(operands.x, {place, poison, false, false});
    if (const auto what = process_fault(rig, answer.reply); !what.empty())
      throw CaseOver{process_failure(what, answer.reply)};
    return answer.words;
  };
  const ExactOperands mixed{a.matrix, b.x};
  rig.bind(a.matrix);
  const auto first = call(a, Place::middle, 0xff);
  if (rig.run(a.x, {Place::middle, 0xff, false, false, true}).words != first)
    return failed("the answer depends on what an earlier call left in the workspace",
                  Evidence::Object{{"kind", "workspace"}});
  const auto second = call(mixed, Place::middle, 0x3a);
  rig.bind(b.matrix);
  const auto third = call(b, Place::middle, 0xff);
  rig.bind(a.matrix);
  const auto fourth = call(a, Place::middle, 0xff);
  rig.bind(b.matrix, {Place::left, 0xff, false, false});
  const auto fresh = call(b, Place::left, 0xff);
  const auto want = expected_words(p, a);
  const bool kept = first == want && second == first && expected_words(p, mixed) != want;
  struct Step {
    const char* what;
    bool same;
  };
  for (const auto& step : {Step{"new x at the same address", !kept},
                           Step{"new weights at the same address", third == fresh},
                           Step{"the first operands again", fourth == first}}) {
    if (step.same) continue;
    auto verdict = failed("results are stale, or kept by address or by call",
                          Evidence::Object{{"kind", "stale"}, {"step", step.what}});
    verdict.where =
        std::string(step.what) + " gives other words than the same operands at fresh addresses";
    if (kept) verdict.where = std::string(step.what) + " gives the words of the call before";
    return verdict;
  }
  if (third == first)
    return with(Outcome::vacuous, "other operands give the same words: stale ones would not show");
  return passed(
      "no state is left behind: float control, processes, output, buffers with new contents",
      Evidence::Object{{"kind", "state"}});
}

Verdict effect_threads(Rig& rig) {
  const auto& p = rig.problem();
  const auto cpus = std::thread::hardware_concurrency();
  if (cpus < 2) return with(Outcome::unsupported, "there is one CPU only");
  const auto operands = exact_operands(rig, some_rows(rig));
  rig.bind(operands.matrix);
  const auto all = rig.run(operands.x);
  if (!follows_x(rig, all.words)) return follows_nothing();
  CallOptions narrow;
  narrow.one_cpu = true;
  const auto one = rig.run(operands.x, narrow);
  if (const auto d = differences(all.words, one.words); d.count > 0) {
    auto verdict =
        bits_changed(p, "the result changes when the process is narrowed to one CPU after plan()",
                     all.words, one.words, d);
    if (one.words[d.index] == (bits_of(p.y) == 32 ? 0xffffffffu : 0xffffu))
      verdict.why = "the poison put into y before the call is still there";
    return verdict;
  }
  return passed("one CPU gives the words of all",
                Evidence::Object{{"kind", "threads"}, {"cpus", static_cast<std::int64_t>(cpus)}});
}

}  // namespace w4
