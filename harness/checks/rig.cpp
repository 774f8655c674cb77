// SPDX-License-Identifier: Apache-2.0
#include "harness/checks/rig.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "harness/checks/data.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

std::string status_name(w4_status status) {
  switch (status) {
    case W4_OK:
      return "W4_OK";
    case W4_UNSUPPORTED:
      return "W4_UNSUPPORTED";
    case W4_BAD_ARGUMENT:
      return "W4_BAD_ARGUMENT";
    case W4_DEVICE_ERROR:
      return "W4_DEVICE_ERROR";
    case W4_INTERNAL:
      return "W4_INTERNAL";
    default:
      return "status " + std::to_string(status);
  }
}

Evidence launches_of(const Reply& reply) {
  if (!reply.launches_known) return nullptr;
  Evidence::List list;
  const auto three = [](const std::int32_t(&n)[3]) { return Evidence::List{n[0], n[1], n[2]}; };
  for (const Launch& launch : reply.launches)
    list.emplace_back(Evidence::Object{
        {"name", launch.name}, {"grid", three(launch.grid)}, {"block", three(launch.block)}});
  return list;
}

// An end without an answer is the verdict of whatever check was running.
void expect_answer(const Reply& reply, const char* call) {
  if (!reply.answered()) {
    auto verdict =
        with(reply.end == End::crashed ? Outcome::crashed : Outcome::timed_out, reply.how);
    verdict.signal = reply.signal;
    verdict.evidence = Evidence::Object{
        {"kind", to_string(verdict.outcome)}, {"during", call}, {"how", reply.how}};
    throw CaseOver{std::move(verdict)};
  }
  if (reply.status == W4_OK) return;
  std::string reason = std::string(call) + "() returned " + status_name(reply.status) +
                       " for a problem that plan() accepted";
  if (!reply.how.empty()) reason = reply.how;
  throw CaseOver{failed(
      reason, Evidence::Object{{"kind", "status"}, {"call", call}, {"status", reply.status}})};
}

Verdict finish(Rig& rig, Verdict (*body)(Rig&)) {
  Verdict verdict;
  try {
    verdict = body(rig);
  } catch (const CaseOver& over) {
    verdict = over.verdict;
  }
  const auto& plan = rig.context().plan;
  verdict.path_declared = rig.declared().empty() ? plan.path : rig.declared();
  verdict.path_reason = plan.reason;
  verdict.path_observed = rig.ran();
  verdict.path_launches = rig.launches();
  if (verdict.outcome == Outcome::pass && rig.ran() != rig.declared()) {
    verdict.outcome = Outcome::fallback;
    verdict.reason = "right answers, but run() took path '" + rig.ran() +
                     "' where plan() declared '" + rig.declared() + "'";
  }
  return verdict;
}

// Tiny problems can draw weights that are all 0, or sums that cancel: sets of operands tried.
constexpr std::uint64_t draws = 8;

}  // namespace

Rig::Rig(KernelPort& subject, const CaseContext& context) : subject_(subject), context_(context) {
  auto layout = find_layout(context.problem.layout);
  require(layout.has_value(), "a problem's layout is in the table");
  layout_ = std::move(*layout);
}

Reply Rig::bind(const QuantizedMatrix& matrix, const CallOptions& options) {
  return bind(pack(layout_, matrix), matrix, options);
}

Reply Rig::bind(const Packed& packed, const QuantizedMatrix& matrix, const CallOptions& options) {
  auto reply = subject_.bind(to_abi(problem()), to_bytes(packed, matrix), options);
  expect_answer(reply, "pack");
  return reply;
}

Answer Rig::run(const Activations& x, const CallOptions& options) {
  Problem p = problem();
  p.m = x.m;
  return run(p, x, options);
}

Answer Rig::run(const Problem& p, const Activations& x, const CallOptions& options) {
  if (context_.stop && context_.stop()) throw CaseStopped{};
  Answer answer{subject_.run(to_abi(p), to_bytes(p, x), options), {}};
  expect_answer(answer.reply, "run");
  if (answer.reply.on_device) launches_ = launches_of(answer.reply);
  // A path other than the declared one stays on record whatever is run after it.
  if (ran_ == declared_) {
    ran_ = answer.reply.ran;
    declared_ = ran_.empty() ? ran_ : path_for(p);
  }
  const auto size = static_cast<std::size_t>(bits_of(p.y) / 8);
  const auto needed = p.m == 0 ? 0 : static_cast<std::size_t>((p.m - 1) * p.y_stride + p.n) * size;
  require(answer.reply.y.size() >= needed, "the reply holds every row of y");
  answer.words.resize(static_cast<std::size_t>(p.m * p.n));
  for (std::int64_t m = 0; m < p.m; ++m)
    for (std::int64_t n = 0; n < p.n; ++n)
      std::memcpy(&answer.words[static_cast<std::size_t>(m * p.n + n)],
                  answer.reply.y.data() + static_cast<std::size_t>(m * p.y_stride + n) * size,
                  size);
  return answer;
}

const std::string& Rig::path_for(const Problem& p) {
  if (p == problem()) return context_.plan.path;
  const auto [it, fresh] = paths_.try_emplace(to_string(p));
  if (fresh) it->second = plan_of(*this, p).path;
  return it->second;
}

// Nothing but `vacuous` leads to another draw, so no fault is drawn away. A bundle holds the calls
// of the draws that its maker saw: where it has no other, `vacuous` stands.
Verdict until_shown(KernelPort& subject, const CaseContext& context, Verdict (*body)(Rig&)) {
  CaseContext drawn = context;
  Verdict verdict;
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    drawn.problem.seed = context.problem.seed + draw;
    Rig rig(subject, drawn);
    auto now = finish(rig, body);
    if (draw > 0 && now.outcome == Outcome::not_run) break;
    verdict = std::move(now);
    if (verdict.outcome != Outcome::vacuous) break;
  }
  return verdict;
}

Plan plan_of(Rig& rig, const Problem& p) {
  Reply reply;
  auto plan = rig.subject().plan(p, &reply);
  if (!reply.answered()) expect_answer(reply, "plan");
  return plan;
}

bool follows_x(Rig& rig, std::span<const std::uint32_t> words) {
  const auto& p = rig.problem();
  const auto rows = static_cast<std::int64_t>(words.size()) / p.n;
  return !std::ranges::equal(rig.run(zero_rows(p, rows)).words, words);
}

Verdict follows_nothing() {
  return with(Outcome::vacuous, "x = 0 gives the same words: what does not follow x shows nothing");
}

std::int64_t rows_per_call(Rig& rig, std::int64_t want) {
  const auto& p = rig.problem();
  const auto own = std::max<std::int64_t>(p.m, 1);
  if (want <= own) return own;
  Problem wider = p;
  wider.m = want;
  const auto plan = plan_of(rig, wider);
  return plan.ok() && plan.path == rig.context().plan.path ? want : own;
}

std::uint32_t poison_word(Type y, std::uint8_t poison) {
  return poison * (bits_of(y) == 32 ? 0x01010101u : 0x0101u);
}

std::string show_word(Type type, std::uint32_t word) {
  char text[64];
  const int digits = std::max(2, bits_of(type) / 4);
  if (is_nan(type, word))
    std::snprintf(text, sizeof text, "0x%0*x (NaN)", digits, word);
  else
    std::snprintf(text, sizeof text, "0x%0*x (%.9g)", digits, word, to_double(type, word));
  return text;
}

std::string show_range(std::int64_t first, std::int64_t last) {
  if (first == last) return std::to_string(first);
  return std::to_string(first) + ".." + std::to_string(last);
}

std::string claim_field(const Plan& plan, std::string_view field) {
  std::string_view rest = plan.contract;
  while (!rest.empty()) {
    const auto end = std::min(rest.find(' '), rest.size());
    const auto word = rest.substr(0, end);
    const auto equals = word.find('=');
    if (equals != std::string_view::npos && word.substr(0, equals) == field)
      return word.substr(equals + 1) == "unknown" ? "" : std::string(word.substr(equals + 1));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

CaseContext with_wide_output(Rig& rig, std::uint64_t claim) {
  const auto& own = rig.context();
  Problem wide = rig.problem();
  wide.y = Type::f32;
  wide.align = std::max<std::int64_t>(wide.align, 4);  // at least one element
  const auto plan = plan_of(rig, wide);
  if (!plan.ok() || plan.path != own.plan.path || (plan.claims & claim) != claim) return own;
  return {wide, own.layer, plan, own.expected_path, own.peer, own.stop};
}

std::string no_exact_x(const CaseContext& c) {
  const auto& p = c.problem;
  if (!quantises_x(p)) return {};
  if (p.mul != Type::s8 && p.mul != Type::s4)
    return "x is quantised to " + std::string(to_string(p.mul)) +
           ": there are no exact data for that";
  const auto rule = claim_field(c.plan, "x_as");
  const std::string own = p.mul == Type::s4 ? "s4/amax/7" : "s8/amax/127";
  if (!rule.empty() && rule != own)
    return "the contract declares x_as=" + rule + ": the exact data are made for " + own;
  if (p.y == Type::bf16)
    return "x is quantised and y=" + std::string(to_string(p.y)) +
           " cannot hold every probed value exactly; y=f32 can";
  return {};
}

Type declared_partial(const Plan& plan) {
  const auto partials = claim_field(plan, "partials"), unit = claim_field(plan, "unit");
  if (partials == "f16" || unit.ends_with("/f16")) return Type::f16;
  return partials == "bf16" || unit.ends_with("/bf16") ? Type::bf16 : Type::none;
}

bool declares_narrow_sums(const Plan& plan) {
  return declared_partial(plan) != Type::none;
}

bool claims(const Plan& plan, std::uint64_t bit) {
  return (plan.claims & bit) != 0;
}

}  // namespace w4
