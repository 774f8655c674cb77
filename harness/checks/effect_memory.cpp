// SPDX-License-Identifier: Apache-2.0
// What a call does to memory: y written whole and nowhere else, inputs left alone, strides, m = 0.
#include "harness/checks/data.hpp"
#include "harness/checks/effect.hpp"
#include "harness/checks/table.hpp"

namespace w4 {

Verdict effect_written(Rig& rig) {
  const auto& p = rig.problem();
  auto operands = exact_operands(rig, some_rows(rig));
  rig.bind(operands.matrix);
  const auto first = rig.run(operands.x, {Place::middle, 0xff, false});
  const auto second = rig.run(operands.x, {Place::middle, 0x3a, false});
  const auto one = poison_word(p.y, 0xff), other = poison_word(p.y, 0x3a);
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < first.words.size(); ++i)
    if (first.words[i] == one && second.words[i] == other) left.push_back(i);
  if (!left.empty()) {
    const auto first_at = left.front();
    auto verdict =
        failed("outputs are never written", Evidence::Object{{"kind", "not_written"},
                                                             {"outputs", left.size()},
                                                             {"first", at(p, first_at)},
                                                             {"last", at(p, left.back())}});
    verdict.where = std::to_string(left.size()) + " of " + std::to_string(first.words.size()) +
                    " outputs, " + at(p, first_at) + " to " + at(p, left.back());
    verdict.why = "two different poisons put into y before two calls are both still there";
    return verdict;
  }
  if (const auto d = differences(first.words, second.words); d.count > 0)
    return bits_changed(p, "the result depends on what y held before the call", first.words,
                        second.words, d);
  return passed("every output is written whatever y held before",
                Evidence::Object{{"kind", "written"}, {"outputs", first.words.size()}});
}

Verdict effect_guard(Rig& rig) {
  const auto& p = rig.problem();
  const auto operands = exact_operands(rig, some_rows(rig));
  std::vector<std::uint32_t> middle;
  for (const auto place : {Place::middle, Place::left, Place::right}) {
    const CallOptions options{place, 0xff, false};
    const auto packed = rig.bind(operands.matrix, options);
    if (!packed.strays.empty()) return stray_failure(packed);
    const auto answer = rig.run(operands.x, options);
    if (!answer.reply.strays.empty()) return stray_failure(answer.reply);
    if (middle.empty()) {
      middle = answer.words;
      if (!follows_x(rig, middle)) return follows_nothing();
    }
    const auto d = differences(middle, answer.words);
    if (d.count == 0) continue;
    return bits_changed(p,
                        "the result depends on where the buffers lie or on what lies beside them",
                        middle, answer.words, d);
  }
  return passed(
      "nothing outside the buffers is read or written, with guard pages on either side",
      Evidence::Object{{"kind", "guard"}, {"places", Evidence::List{"middle", "left", "right"}}});
}

Verdict effect_inputs(Rig& rig) {
  auto operands = exact_operands(rig, some_rows(rig));
  const auto changed = [](const Reply& reply, const char* call) {
    auto verdict =
        failed(std::string(call) + "() writes to its input " + reply.changed.front(),
               Evidence::Object{
                   {"kind", "input_changed"}, {"tensor", reply.changed.front()}, {"call", call}});
    verdict.where = reply.changed.front();
    verdict.why = "its bytes after the call differ from the judge's own copy";
    return verdict;
  };
  const auto packed = rig.bind(operands.matrix);
  if (!packed.changed.empty()) return changed(packed, "pack");
  const auto answer = rig.run(operands.x);
  if (!answer.reply.changed.empty()) return changed(answer.reply, "run");
  return passed("inputs are as they were, byte for byte", Evidence::Object{{"kind", "inputs"}});
}

Verdict effect_m0(Rig& rig) {
  Problem none = rig.problem();
  none.m = 0;
  const auto plan = rig.subject().plan(none);
  if (!plan.ok()) {
    auto verdict = failed("plan() declines m = 0, which is legal",
                          Evidence::Object{{"kind", "m0"}, {"status", plan.status}});
    verdict.why = plan.reason;
    return verdict;
  }
  auto operands = exact_operands(rig, 1);
  rig.bind(operands.matrix);
  auto x = zero_rows(none, 0);
  for (const bool with_y : {false, true}) {
    const auto answer = rig.run(none, x, {Place::middle, 0xff, with_y});
    if (!answer.reply.strays.empty()) return stray_failure(answer.reply);
  }
  return passed("m = 0 is answered and nothing is written", Evidence::Object{{"kind", "m0"}});
}

Verdict effect_stride(Rig& rig) {
  Problem p = rig.problem();
  p.m = some_rows(rig, 3);
  if (p.x_stride == p.k) p.x_stride = p.k + (p.x == Type::s4 ? 8 : 16);
  if (p.y_stride == p.n) p.y_stride = p.n + 16;
  const auto plan = rig.subject().plan(p);
  if (!plan.ok())
    return with(Outcome::unsupported, "plan() declines xs=" + std::to_string(p.x_stride) +
                                          " ys=" + std::to_string(p.y_stride) + ": " + plan.reason);
  Problem dense = p;
  dense.x_stride = p.k, dense.y_stride = p.n;
  if (!rig.subject().plan(dense).ok())
    return with(Outcome::unsupported,
                "plan() declines dense rows, so there is nothing to compare with");
  const auto operands = exact_operands(rig, p.m);
  rig.bind(operands.matrix);
  const auto near = rig.run(dense, operands.x);
  if (!follows_x(rig, near.words)) return follows_nothing();
  const auto apart = rig.run(p, operands.x);
  if (!apart.reply.strays.empty()) return stray_failure(apart.reply);
  if (const auto d = differences(near.words, apart.words); d.count > 0) {
    auto verdict =
        bits_changed(p, "rows further apart give other results", near.words, apart.words, d);
    verdict.why = "xs=" + std::to_string(p.x_stride) + " ys=" + std::to_string(p.y_stride) +
                  " against dense rows; what lies between rows of x is NaN";
    return verdict;
  }
  return passed("strides are followed, gaps are neither used nor written",
                Evidence::Object{{"kind", "stride"}, {"xs", p.x_stride}, {"ys", p.y_stride}});
}

}  // namespace w4
