// SPDX-License-Identifier: Apache-2.0
// Every deliberate wrong is killed by the check meant for it, with the evidence meant for it, and
// the healthy twin passes the very same case: a red that is not the fault's, or a check that cannot
// fail, shows here.
#include <algorithm>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "harness/fault/catalogue.hpp"
#include "suites/support/judge.hpp"

namespace {

using namespace w4;

constexpr char plain[] = "m=4 n=32 k=256 g=32 zero=code";
constexpr char gptq[] = "m=4 n=32 k=256 g=32 zero=code_m1 layout=gptq_v1";

// A fault seen by a check, beside the one that the catalogue expects for it.
struct Pair {
  std::string_view id, check, kind, problem;
  Outcome outcome{Outcome::fail};
};

constexpr Pair also[] = {
    {"x_stride_ignored", "address.x", "x_rows", "m=4 n=32 k=256 g=32 zero=code xs=280"},
    {"scale_as_bf16", "exact.onehot", "scale_as_bf16", plain},
    {"k_tail_dropped", "exact.stride11", "dropped", "m=4 n=32 k=250 g=32 zero=code"},
    {"group_off_by_one", "exact.block11", "unknown", plain},
    {"f16_accumulator", "exact.samesign", "narrow_sums", plain},
};

std::vector<Pair> pairs() {
  std::vector<Pair> all(std::begin(also), std::end(also));
  for (const Fault& fault : faults())
    for (const std::string_view line : fault.problems)
      if (!line.empty()) all.push_back({fault.id, fault.check, fault.kind, line, fault.outcome});
  return all;
}

void kill(const Pair& pair) {
  const std::string line(pair.problem);
  const auto verdict = judge("mutants", "mutant." + std::string(pair.id), pair.check, line);
  INFO(pair.id << " " << pair.check << ": " << verdict.reason);
  CHECK(verdict.outcome == pair.outcome);
  CHECK(kind_of(verdict) == pair.kind);
  const auto healthy = judge("mutants", std::string(healthy_twin), pair.check, line);
  INFO(healthy_twin << ": " << healthy.reason);
  CHECK(healthy.outcome == Outcome::pass);
}

void kill(std::string_view factor) {
  std::size_t judged = 0;
  for (const Pair& pair : pairs()) {
    if (!pair.check.starts_with(factor)) continue;
    ++judged;
    kill(pair);
  }
  CHECK(judged > 0);
}

}  // namespace

TEST_CASE("address.code kills its mutants and no healthy kernel") {
  kill("address.code");
}
TEST_CASE("address.scale kills its mutants and no healthy kernel") {
  kill("address.scale");
}
TEST_CASE("address.x kills its mutants and no healthy kernel") {
  kill("address.x");
}
TEST_CASE("address.zero kills its mutants and no healthy kernel") {
  kill("address.zero");
}
TEST_CASE("value.table kills its mutants and no healthy kernel") {
  kill("value.table");
}
TEST_CASE("exact checks kill their mutants and no healthy kernel") {
  kill("exact.");
}
TEST_CASE("effect.written kills its mutants and no healthy kernel") {
  kill("effect.written");
}
TEST_CASE("effect.inputs kills its mutants and no healthy kernel") {
  kill("effect.inputs");
}
TEST_CASE("effect.repeat kills its mutants and no healthy kernel") {
  kill("effect.repeat");
}
TEST_CASE("effect.batch kills its mutants and no healthy kernel") {
  kill("effect.batch");
}
TEST_CASE("effect.rowlocal kills its mutants and no healthy kernel") {
  kill("effect.rowlocal");
}
TEST_CASE("effect.stride kills its mutants and no healthy kernel") {
  kill("effect.stride");
}
TEST_CASE("effect.m0 kills its mutants and no healthy kernel") {
  kill("effect.m0");
}
TEST_CASE("effect.threads kills its mutants and no healthy kernel") {
  kill("effect.threads");
}
TEST_CASE("value.activation kills its mutants and no healthy kernel") {
  kill("value.activation");
}
TEST_CASE("bound checks kill their mutants and no healthy kernel") {
  kill("bound.");
}
TEST_CASE("effect.guard kills its mutants and no healthy kernel") {
  kill("effect.guard");
}
TEST_CASE("dispatch.path kills its mutants and no healthy kernel") {
  kill("dispatch.path");
}
TEST_CASE("contract.bits kills its mutants and no healthy kernel") {
  kill("contract.bits");
}
TEST_CASE("effect.state kills its mutants and no healthy kernel") {
  kill("effect.state");
}
TEST_CASE("reject checks kill their mutants and no healthy kernel") {
  kill("reject.");
}

TEST_CASE("the catalogue and the plugin name the same mutants, each once") {
  std::set<std::string> named{std::string(healthy_twin)};
  for (const Fault& fault : faults()) {
    INFO(fault.id);
    CHECK(named.insert(kernel_of(fault)).second);
  }
  for (const auto& kernel : inspect_plugin(plugin_path("mutants")).kernels) {
    INFO(kernel.name);
    CHECK(named.erase(kernel.name) == 1);
  }
  for (const auto& left : named) FAIL_CHECK("no such mutant: " << left);
}

TEST_CASE("every fault expects a check of the table, and a problem to see it on") {
  for (const Fault& fault : faults()) {
    const bool exists = std::any_of(checks().begin(), checks().end(),
                                    [&](const Check& check) { return check.id == fault.check; });
    INFO(fault.id << " " << fault.check);
    CHECK(exists);
    CHECK_FALSE(fault.problems[0].empty());
  }
}

TEST_CASE("the catalogue holds a fault for every way to pass without computing") {
  std::set<std::string_view> cheats;
  for (const Fault& fault : faults())
    if (fault.family == "CHEAT") cheats.insert(fault.id);
  for (const auto* id :
       {"skips_repeats", "writes_nothing", "inputs_overwritten", "small_to_zero", "constant_scale",
        "half_extrapolated", "recognises_seed", "caches_by_address", "caches_by_shape", "warm_up",
        "drifts_after_100", "answers_nan", "status_ignored", "ftz_left", "only_last_row"}) {
    INFO(id);
    CHECK(cheats.contains(id));
  }
}

TEST_CASE("stored answers for the default seed pass under it, and under no other") {
  const std::string line = "m=4 n=32 k=256 g=32 zero=code";
  CHECK(judge("mutants", "mutant.recognises_seed", "exact.dense24", line).outcome == Outcome::pass);
  for (const auto* seed : {"0x8", "0x51", "0xdeadbeef"})
    CHECK(judge("mutants", "mutant.recognises_seed", "exact.dense24", line + " seed=" + seed)
              .outcome == Outcome::fail);
}

TEST_CASE("effect.state does not blame a kernel that is only wrong") {
  for (const auto* mutant : {"word_reversed", "group_off_by_one", "k_tail_dropped",
                             "zero_clamped_to_1", "f16_accumulator", "truncate_output"}) {
    const auto verdict = judge("mutants", std::string("mutant.") + mutant, "effect.state", plain);
    INFO(mutant << ": " << verdict.reason);
    CHECK((verdict.outcome == Outcome::pass || verdict.outcome == Outcome::unsupported));
  }
}

TEST_CASE(
    "value.activation sees x rounded to bf16 and x quantised where it should be used as stored") {
  const auto rounded = judge("mutants", "mutant.x_as_bf16", "value.activation", plain);
  CHECK(rounded.outcome == Outcome::fail);
  CHECK(rounded.reason.find("bf16") != std::string::npos);
  CHECK(judge("mutants", "mutant.none", "value.activation", plain).outcome == Outcome::pass);
  const std::string line = "m=4 n=64 k=128 g=32 x=f16 mul=s8 y=f32";
  CHECK(judge("cpu", "cpu.x_int8_amax", "value.activation", line).outcome == Outcome::pass);
  CHECK(judge("cpu", "cpu.x_int8_minmax", "value.activation", line).outcome == Outcome::pass);
}

TEST_CASE("bound.d and bound.r kill narrow sums on long k and pass the healthy twin") {
  const std::string line = "m=2 n=16 k=512 g=128 zero=code";
  for (const auto* check : {"bound.d", "bound.r"}) {
    const auto verdict = judge("mutants", "mutant.f16_accumulator", check, line);
    INFO(check << ": " << verdict.reason);
    CHECK(verdict.outcome == Outcome::fail);
    CHECK(kind_of(verdict) == "out_of_bound");
    const auto healthy = judge("mutants", "mutant.none", check, line);
    CHECK(healthy.outcome == Outcome::pass);
    CHECK_FALSE(healthy.smallest_fault.empty());
  }
}

TEST_CASE("the word that is reversed is named with its site") {
  const auto verdict = judge("mutants", "mutant.word_reversed", "address.code", gptq);
  CHECK(verdict.reason.find("(7 6 5 4 3 2 1 0)") != std::string::npos);
  CHECK(verdict.where.find("k 24..31 of column 17") != std::string::npos);
}

TEST_CASE("effect.guard sees reads and writes on either side") {
  const std::string line = "m=2 n=16 k=64 g=32";
  struct Case {
    const char* kernel;
    Outcome outcome;
    const char* fragment;
  };
  for (const auto& [kernel, outcome, fragment] :
       {Case{"hostile.overrun_y", Outcome::fail, "after y"},
        Case{"hostile.underrun_y", Outcome::fail, "before y"},
        Case{"hostile.read_past_codes", Outcome::crashed, "past the end of codes"},
        Case{"hostile.read_past_x", Outcome::crashed, "past the end of x"}}) {
    const auto verdict = judge("hostile", kernel, "effect.guard", line);
    INFO(kernel << ": " << verdict.reason);
    CHECK(verdict.outcome == outcome);
    CHECK(verdict.reason.find(fragment) != std::string::npos);
  }
}
