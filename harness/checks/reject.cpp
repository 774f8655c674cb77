// SPDX-License-Identifier: Apache-2.0
// Problems that contradict themselves: any refusal with a reason is right, an answer is not.
#include <algorithm>
#include <string>

#include "harness/checks/data.hpp"
#include "harness/checks/table.hpp"

namespace w4 {
namespace {

struct Contradiction {
  const char* name;
  void (*edit)(AbiProblem&);
};

constexpr Contradiction contradictions[] = {
    {"m = -1", [](AbiProblem& a) { a.p.m = -1; }},
    {"n = 0", [](AbiProblem& a) { a.p.n = 0; }},
    {"n = -8", [](AbiProblem& a) { a.p.n = -8; }},
    {"k = 0", [](AbiProblem& a) { a.p.k = 0; }},
    {"k = -8", [](AbiProblem& a) { a.p.k = -8; }},
    {"group = -128", [](AbiProblem& a) { a.p.group = -128; }},
    {"groups = 0", [](AbiProblem& a) { a.p.groups = 0; }},
    {"too few groups for k",
     [](AbiProblem& a) {
       a.p.k = 256, a.p.x_stride = 256, a.p.group = 32, a.p.groups = 7, a.p.x_group = 256,
       a.p.flags = 0;
     }},
    {"x_stride = k - 1", [](AbiProblem& a) { a.p.x_stride = a.p.k - 1; }},
    {"y_stride = n - 1", [](AbiProblem& a) { a.p.y_stride = a.p.n - 1; }},
    {"layout 'no_such_layout'", [](AbiProblem& a) { a.layout = "no_such_layout"; }},
    {"x_type = 99", [](AbiProblem& a) { a.p.x_type = 99; }},
    {"mul_type = 0", [](AbiProblem& a) { a.p.mul_type = 0; }},
    {"y_type = 99", [](AbiProblem& a) { a.p.y_type = 99; }},
    {"scale_type = 99", [](AbiProblem& a) { a.p.scale_type = 99; }},
    {"zero = 99", [](AbiProblem& a) { a.p.zero = 99; }},
    {"unknown flag bit 9", [](AbiProblem& a) { a.p.flags |= 1u << 9; }},
    {"unknown demand bit 30", [](AbiProblem& a) { a.p.flags |= 1u << 30; }},
};

bool is_refusal(w4_status status) {
  return status == W4_UNSUPPORTED || status == W4_BAD_ARGUMENT;
}

Verdict answered(const char* name, const char* call, w4_status status) {
  auto verdict = failed(
      std::string(call) + "() accepts a problem that contradicts itself: " + name,
      Evidence::Object{
          {"kind", "accepted"}, {"contradiction", name}, {"call", call}, {"status", status}});
  verdict.expected_got = "W4_UNSUPPORTED or W4_BAD_ARGUMENT;  got status " + std::to_string(status);
  return verdict;
}

// The end of the worker inside plan(), as a verdict.
void expect_alive(const Reply& reply, const char* name) {
  if (reply.answered()) return;
  auto verdict = with(reply.end == End::crashed ? Outcome::crashed : Outcome::timed_out,
                      reply.how + ", asked about " + name);
  verdict.signal = reply.signal;
  throw CaseOver{std::move(verdict)};
}

}  // namespace

Verdict reject_reason(Rig& rig) {
  for (const auto& c : contradictions) {
    auto problem = to_abi(rig.problem());
    c.edit(problem);
    Reply reply;
    const auto plan = rig.subject().plan(problem, &reply);
    expect_alive(reply, c.name);
    if (!is_refusal(plan.status)) return answered(c.name, "plan", plan.status);
    if (plan.reason.empty())
      return failed(std::string("plan() declines without a reason: ") + c.name,
                    Evidence::Object{{"kind", "no_reason"}, {"contradiction", c.name}});
  }
  return passed(
      std::to_string(std::size(contradictions)) + " contradictions are declined with a reason",
      Evidence::Object{{"kind", "reject"}, {"asked", std::size(contradictions)}});
}

Verdict reject_nowrite(Rig& rig) {
  const auto& p = rig.problem();
  if (!rig.context().plan.ok())
    return with(Outcome::unsupported,
                "the kernel accepts none of the problems, so there is no sound one to spoil");
  const auto matrix = neutral_matrix(rig.context());
  const auto x = zero_rows(p, std::max<std::int64_t>(p.m, 1));
  Problem rows = p;
  rows.m = x.m;
  const auto bytes = to_bytes(rows, x);
  std::size_t asked = 0;
  for (const auto& c : contradictions) {
    // Buffers have the sound problem's sizes; what is asked about them is not sound.
    rig.bind(matrix);
    auto problem = to_abi(rows);
    c.edit(problem);
    const auto reply = rig.subject().run(problem, bytes, {});
    expect_alive(reply, c.name);
    if (!is_refusal(reply.status)) return answered(c.name, "run", reply.status);
    const bool touched = std::any_of(reply.y.begin(), reply.y.end(),
                                     [](std::byte b) { return b != std::byte{0xff}; });
    if (touched || !reply.strays.empty())
      return failed(std::string("run() declines but writes all the same: ") + c.name,
                    Evidence::Object{{"kind", "wrote"}, {"contradiction", c.name}});
    ++asked;
  }
  return passed("run() declines " + std::to_string(asked) + " contradictions and writes nothing",
                Evidence::Object{{"kind", "reject"}, {"asked", asked}});
}

}  // namespace w4
