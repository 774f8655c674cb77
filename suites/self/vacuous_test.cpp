// SPDX-License-Identifier: Apache-2.0
// A pass must be earned: a kernel that ignores what it is given passes no check, on no tiny
// problem, but for those whose promise it keeps by its nature.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "suites/self/echo.hpp"

namespace {

using namespace w4;

std::uint32_t by_type(const w4_problem& p, std::uint32_t f16, std::uint32_t bf16, std::uint32_t f32,
                      std::uint32_t s32) {
  return p.y_type == W4_F16 ? f16 : p.y_type == W4_BF16 ? bf16 : p.y_type == W4_F32 ? f32 : s32;
}

using Bytes = std::vector<std::byte>;
// The bias that was bound last.
Bytes bound_bias;

struct Rule {
  std::string_view name;
  Echo::Word word;
};
using P = const w4_problem&;
using C = const CallBytes&;
constexpr Rule rules[] = {
    {"0", [](P, C, std::int64_t, std::uint32_t) { return 0u; }},
    {"-0", [](P p, C, std::int64_t,
              std::uint32_t) { return by_type(p, 0x8000u, 0x8000u, 0x80000000u, 0u); }},
    {"1", [](P p, C, std::int64_t,
             std::uint32_t) { return by_type(p, 0x3c00u, 0x3f80u, 0x3f800000u, 1u); }},
    {"NaN", [](P p, C, std::int64_t,
               std::uint32_t) { return by_type(p, 0x7e00u, 0x7fc0u, 0x7fc00000u, 0x80000000u); }},
    {"poison", [](P, C, std::int64_t, std::uint32_t poison) { return poison; }},
    {"ramp",
     [](P p, C, std::int64_t i, std::uint32_t) {
       return by_type(p, 0x3c00u, 0x3f80u, 0x3f800000u, 1u) + static_cast<std::uint32_t>(i % 7);
     }},
    // The first activation of the row, word for word: it follows x, and looks at no weight.
    {"x",
     [](P p, C c, std::int64_t i, std::uint32_t) {
       std::uint32_t word = 0;
       const std::size_t size = p.y_type == W4_F32 || p.y_type == W4_S32 ? 4 : 2;
       const auto at = static_cast<std::size_t>(i / p.n * p.x_stride) * size;
       if (p.x_type == p.y_type) std::memcpy(&word, c.x.data() + at, size);
       return word;
     }},
    {"bias",
     [](P p, C, std::int64_t i, std::uint32_t) {
       std::uint32_t word = 0;
       const std::size_t size = p.y_type == W4_F32 || p.y_type == W4_S32 ? 4 : 2;
       const auto at = static_cast<std::size_t>(i % p.n) * size;
       if (at + size <= bound_bias.size()) std::memcpy(&word, bound_bias.data() + at, size);
       return word;
     }},
};

constexpr std::string_view by_heart = "dequant=D5 unit=fma/f32 order=chain(1,0..K) partials=f32";

struct Tiny {
  std::string line;
  std::string_view contract;
};

std::vector<Tiny> tiny_problems() {
  std::vector<Tiny> all;
  for (int m = 1; m <= 3; ++m)
    for (int n = 1; n <= 3; ++n)
      for (int k = 1; k <= 3; ++k)
        for (int g = 1; g <= k; ++g)
          for (const std::string_view contract : {std::string_view(), by_heart})
            all.push_back({"m=" + std::to_string(m) + " n=" + std::to_string(n) +
                               " k=" + std::to_string(k) + " g=" + std::to_string(g) + " zero=code",
                           contract});
  const auto add = [&](const char* geometry, const char* zero, const char* types) {
    const std::string line = std::string(geometry) + " zero=" + zero + " " + types;
    all.push_back({line, ""});
    all.push_back({line, "partials=f16"});
  };
  for (const char* zero : {"signed", "8", "code", "code_m1", "real", "add", "add_8"})
    for (const char* types : {"", "y=f32", "x=bf16 y=bf16", "x=f32 y=f32 scale=f16", "bias=f16",
                              "x=s8", "x=s8 y=s32", "x=s4 y=f32", "mul=s8 y=f32"})
      for (const char* geometry : {"m=1 n=1 k=1 g=1", "m=2 n=2 k=2 g=2", "m=1 n=2 k=3 g=2"})
        add(geometry, zero, types);
  // One output of one or two terms, many draws: what passes by luck passes here.
  for (int seed = 10; seed < 60; ++seed)
    for (const char* geometry : {"m=1 n=1 k=1 g=1", "m=1 n=1 k=2 g=2"})
      for (const char* bias : {"", " bias=f16"})
        all.push_back(
            {std::string(geometry) + " zero=code seed=" + std::to_string(seed) + bias, by_heart});
  return all;
}

// What a kernel that computes nothing may pass.
struct ByNature {
  std::string_view check;
  std::vector<std::string_view> rules;  // none: all
  std::string_view why;
};
const ByNature by_nature[] = {
    {"exact.zero", {"0", "-0", "x", "bias"}, "0 (or the bias) is the right answer where x is 0"},
    {"effect.written",
     {"0", "-0", "1", "NaN", "ramp", "x", "bias"},
     "all of y is written, if with rubbish"},
    {"effect.inputs", {}, "nothing is written to inputs"},
    {"effect.m0", {}, "m = 0 asks for nothing"},
    {"dispatch.path", {}, "run() names the path that plan() named; what it computes is not asked"},
    {"reject.reason", {}, "plan() declines what is not sound"},
    {"reject.nowrite", {}, "run() declines what is not sound, and writes nothing"},
    {"address.x", {"x"}, "it asks which x reaches which y, at k = 1 that is all there is"},
    {"value.activation", {"x"}, "it asks how x enters, under weights of 1"},
    {"exact.dense24", {"x"}, "its answer is right where the only weight is 1"},
    {"exact.special", {"x"}, "at k = 1 under a positive weight specials come through unchanged"},
    {"effect.guard", {"x"}, "x is read, inside its buffer"},
    {"effect.repeat", {"x"}, "the answer is a function of x"},
    {"effect.batch", {"x"}, "a row's answer is a function of that row"},
    {"effect.rowlocal", {"x"}, "a row's answer is a function of that row"},
    {"effect.stride", {"x"}, "rows of x are followed"},
    {"effect.state", {"x", "bias"}, "the answer is a function of x, or of what is bound"},
    {"effect.threads", {"x"}, "one thread"},
    {"dispatch.bits", {"x"}, "the kernel that the path names does the same"},
};

bool allowed(std::string_view check, std::string_view rule) {
  return std::any_of(std::begin(by_nature), std::end(by_nature), [&](const ByNature& row) {
    return row.check == check && (row.rules.empty() || std::find(row.rules.begin(), row.rules.end(),
                                                                 rule) != row.rules.end());
  });
}

Verdict judge_echo(const Check& check, const Rule& rule, const Tiny& tiny) {
  const auto problem = parse_problem(tiny.line);
  const std::string contract(tiny.contract);
  Echo echo(rule.word, "twin/echo", contract);
  bound_bias.clear();
  echo.handed_over = [](const AbiProblem&, const WeightBytes& weights, const CallBytes&) {
    if (weights.codes) bound_bias = weights.bias.value_or(Bytes{});
  };
  return check.run(echo, {problem, nullptr, echo.plan(problem), {}, [&](const std::string& name) {
                            return std::make_unique<Echo>(rule.word, name, contract);
                          }});
}

}  // namespace

TEST_CASE("no check passes a kernel that ignores what it is given") {
  using Key = std::pair<std::string_view, std::string_view>;
  std::set<Key> passed;
  std::set<std::string_view> judged;
  for (const Tiny& tiny : tiny_problems())
    for (const Rule& rule : rules)
      for (const Check& check : checks()) {
        const auto verdict = judge_echo(check, rule, tiny);
        if (verdict.outcome != Outcome::unsupported) judged.insert(check.id);
        if (verdict.outcome != Outcome::pass) continue;
        passed.insert({check.id, rule.name});
        if (allowed(check.id, rule.name)) continue;
        FAIL_CHECK(check.id << " passes '" << rule.name << "' on " << tiny.line << " "
                            << tiny.contract << ": " << verdict.reason);
      }
  for (const Check& check : checks()) {
    // Weights that no form gives have no bound; this is a host kernel.
    if (check.id.starts_with("bound.") || check.id == "dispatch.symbol") continue;
    INFO(check.id);
    CHECK(judged.contains(check.id));
  }
  // A row of the table that nothing needs hides the next fault.
  for (const ByNature& row : by_nature)
    for (const Rule& rule : rules) {
      if (!allowed(row.check, rule.name)) continue;
      INFO(row.check << " '" << rule.name << "': " << row.why);
      CHECK(passed.contains({row.check, rule.name}));
    }
}
