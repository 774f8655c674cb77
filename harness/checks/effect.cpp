// SPDX-License-Identifier: Apache-2.0
// What else a call touches: memory outside y, its inputs, its own earlier results, other rows, the
// process.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "harness/checks/compare.hpp"
#include "harness/checks/data.hpp"
#include "harness/checks/recipe.hpp"
#include "harness/checks/table.hpp"

namespace w4 {
namespace {

// Exact operands of the problem; `salt` draws others of the same shape. Dense rows need 24-bit
// sums: where 16-bit ones are declared every 128th k is active instead, and 11 bits do.
ExactOperands exact_operands(Rig& rig, std::int64_t rows, std::uint64_t salt = 0) {
  auto context = rig.context();
  auto& p = context.problem;
  p.seed += salt;
  auto recipe = dense_recipe(p, 1);
  if (!declares_narrow_sums(context.plan))
    return {exact_matrix(context, recipe.matrix), dense_rows(p, rows, recipe)};
  recipe.matrix = {-4, 1, true, false, 0};
  ExactOperands operands{exact_matrix(context, recipe.matrix), dense_rows(p, rows, recipe)};
  const std::int64_t count = (p.k + 127) / 128;
  for (std::int64_t m = 0; m < rows; ++m)
    for (std::int64_t k = 0; k < p.k; ++k)
      if (k % count != m % count)
        operands.x.words[static_cast<std::size_t>(m * p.k + k)] = x_word(p, 0);
  std::fill(operands.x.scale.begin(), operands.x.scale.end(), 1.0F);
  std::fill(operands.matrix.bias.begin(), operands.matrix.bias.end(), 0u);
  return operands;
}

std::int64_t some_rows(const Rig& rig, std::int64_t at_least = 1) {
  return std::max(rig.problem().m, at_least);
}

std::string show_stray(const Stray& s) {
  return std::to_string(s.bytes) + (s.bytes == 1 ? " byte " : " bytes ") + s.where + " (offset " +
         std::to_string(s.offset) + ") were changed";
}

Verdict stray_failure(const Reply& reply) {
  Evidence::List list;
  for (const auto& s : reply.strays)
    list.emplace_back(
        Evidence::Object{{"where", s.where}, {"offset", s.offset}, {"bytes", s.bytes}});
  auto verdict =
      failed("memory that is not the kernel's was written: " + reply.strays.front().where,
             Evidence::Object{{"kind", "stray_write"}, {"strays", list}});
  verdict.where = show_stray(reply.strays.front());
  return verdict;
}

// Words of generic operands, where an order of summation shows: full-significand x and scales,
// large terms that cancel.
Activations cancelling_rows(const Problem& p, std::int64_t m) {
  auto x = zero_rows(p, m);
  for (std::int64_t row = 0; row < m; ++row)
    for (std::int64_t k = 0; k < p.k; ++k) {
      const auto i = static_cast<std::size_t>(row * p.k + k);
      const auto bits = draw(p.seed, "cancel", i);
      double value = is_float(p.x)
                         ? std::ldexp(1.0 + static_cast<double>(bits >> 8 & 0xffff) / 65536.0,
                                      static_cast<int>(bits >> 32 & 3))
                         : static_cast<double>(1 + (bits >> 8) % (p.x == Type::s8 ? 127 : 7));
      x.words[i] = x_word(p, bits & 1 ? value : -value);
    }
  vary_x_scale(x, -2, 2);
  return x;
}

// m*n*k up to which effect.repeat makes 101 calls: a tenth of a second on the slowest kernels.
constexpr std::int64_t repeat_long_work = 1 << 16;

Verdict not_claimed(const char* claim) {
  return with(Outcome::unsupported, std::string(claim) + " is not claimed");
}

struct Difference {
  std::size_t index{};
  std::size_t count{};
};

Difference differences(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  Difference d{a.size(), 0};
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (d.count++ == 0) d.index = i;
  }
  return d;
}

std::string at(const Problem& p, std::size_t index) {
  const auto i = static_cast<std::int64_t>(index);
  return "y[" + std::to_string(i / p.n) + "," + std::to_string(i % p.n) + "]";
}

Verdict bits_changed(const Problem& p, std::string what, std::span<const std::uint32_t> first,
                     std::span<const std::uint32_t> now, const Difference& d) {
  auto verdict = failed(
      std::move(what),
      Evidence::Object{{"kind", "bits_changed"}, {"outputs", d.count}, {"first", at(p, d.index)}});
  verdict.where = std::to_string(d.count) + " of " + std::to_string(first.size()) +
                  " outputs, first " + at(p, d.index);
  verdict.expected_got = show_word(p.y, first[d.index]) + ";  got " + show_word(p.y, now[d.index]);
  return verdict;
}

}  // namespace

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

Verdict effect_repeat(Rig& rig) {
  if (!claims(rig.context().plan, W4_REPEATABLE)) return not_claimed("repeatability");
  const auto context = with_wide_output(rig, W4_REPEATABLE);
  const auto& p = context.problem;
  Rig wide(rig.subject(), context);
  wide.bind(generic_matrix(context, 3));
  const auto x = cancelling_rows(p, some_rows(rig));
  const auto first = wide.run(x).words;
  if (!follows_x(wide, first)) return follows_nothing();
  // Some kernels change their ways after ten calls, some after a hundred. Large problems take
  // eleven.
  const int calls = x.m * p.n * p.k <= repeat_long_work ? 101 : 11;
  for (int call = 2; call <= calls; ++call) {
    const auto now = wide.run(x).words;
    const auto d = differences(first, now);
    if (d.count > 0)
      return bits_changed(p, "the same call gives other bits at call " + std::to_string(call),
                          first, now, d);
  }
  return passed(std::to_string(calls) + " calls give the same bits",
                Evidence::Object{{"kind", "repeat"}, {"calls", calls}});
}

namespace {

// The first m rows.
Activations first_rows(const Activations& all, std::int64_t m) {
  auto x = all;
  x.m = m;
  x.words.resize(static_cast<std::size_t>(m * x.k));
  if (!x.scale.empty())
    x.scale.resize(static_cast<std::size_t>(m * ((x.k + x.group - 1) / x.group)));
  return x;
}

// plan() takes m rows of the problem and makes the claim there.
bool claimed_at(Rig& rig, std::int64_t m, std::uint64_t claim) {
  Problem other = rig.problem();
  other.m = m;
  const auto plan = rig.subject().plan(other);
  return plan.ok() && claims(plan, claim);
}

}  // namespace

Verdict effect_batch(Rig& rig) {
  if (!claims(rig.context().plan, W4_BATCH_INVARIANT)) return not_claimed("batch invariance");
  const auto context = with_wide_output(rig, W4_BATCH_INVARIANT);
  const auto& p = context.problem;
  Rig wide(rig.subject(), context);
  std::vector<std::int64_t> sizes;
  for (const std::int64_t m :
       {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{4}, std::int64_t{5},
        std::int64_t{6}, std::int64_t{8}, std::int64_t{9}, std::int64_t{16}, std::int64_t{17},
        std::int64_t{32}, std::int64_t{33}, p.m})
    if (m > 0 && claimed_at(wide, m, W4_BATCH_INVARIANT)) sizes.push_back(m);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (sizes.size() < 2)
    return with(Outcome::unsupported, "plan() claims batch invariance at no second m");
  const auto most = sizes.back();
  wide.bind(generic_matrix(context, 5));
  const auto all = cancelling_rows(p, most);
  const auto want = wide.run(all).words;
  if (!follows_x(wide, want)) return follows_nothing();
  for (const auto m : sizes) {
    if (m == most) continue;
    const auto now = wide.run(first_rows(all, m)).words;
    const auto d = differences(std::span(want).first(now.size()), now);
    if (d.count == 0) continue;
    auto verdict = bits_changed(p,
                                "a row's bits change with the batch: m = " + std::to_string(m) +
                                    " against m = " + std::to_string(most),
                                std::span(want).first(now.size()), now, d);
    verdict.why = "batch invariance is claimed";
    return verdict;
  }
  return passed(
      "rows keep their bits from m = " + std::to_string(sizes.front()) +
          " to m = " + std::to_string(most),
      Evidence::Object{
          {"kind", "batch"}, {"y", to_string(p.y)}, {"sizes", sizes.size()}, {"most", most}});
}

Verdict effect_rowlocal(Rig& rig) {
  if (!claims(rig.context().plan, W4_ROW_LOCAL)) return not_claimed("row locality");
  const auto& p = rig.problem();
  if (!is_float(p.x))
    return with(Outcome::unsupported,
                "x=" + std::string(to_string(p.x)) + " has no NaN or infinity");
  const auto count = some_rows(rig, 4);
  if (!claimed_at(rig, count, W4_ROW_LOCAL))
    return with(Outcome::unsupported,
                "plan() does not claim row locality for " + std::to_string(count) + " rows");
  auto operands = exact_operands(rig, count);
  rig.bind(operands.matrix);
  const auto clean = rig.run(operands.x).words;
  auto dirty = operands.x;
  const auto k = static_cast<std::size_t>(p.k);
  for (std::size_t i = 0; i < k; ++i) dirty.words[k + i] = x_word(p, NAN);
  dirty.words[2 * k + k / 2] = x_word(p, HUGE_VAL);
  const auto now = rig.run(dirty).words;
  const auto n = static_cast<std::size_t>(p.n);
  bool reached = false;
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const auto row = i / n;
    if (row == 1) reached = reached || (is_nan(p.y, now[i]) && !is_nan(p.y, clean[i]));
    if (row == 1 || row == 2 || clean[i] == now[i]) continue;
    auto verdict =
        failed("NaN or infinity in one row of x changes another row of y",
               Evidence::Object{{"kind", "row_leak"}, {"row", row}, {"first", at(p, i)}});
    verdict.where = "rows 1 (NaN) and 2 (infinity) of x are special; " + at(p, i) + " changed";
    verdict.expected_got = show_word(p.y, clean[i]) + ";  got " + show_word(p.y, now[i]);
    return verdict;
  }
  if (!reached)
    return with(Outcome::vacuous, "a row of NaN brings no NaN even to its own row of y");
  return passed("NaN and infinity stay in their rows",
                Evidence::Object{{"kind", "rowlocal"}, {"rows", operands.x.m}});
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
  const auto first = call(a, Place::middle, 0xff), second = call(mixed, Place::middle, 0x3a);
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
