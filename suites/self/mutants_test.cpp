// SPDX-License-Identifier: Apache-2.0
// Every deliberate wrong is killed by the check meant for it, with the evidence meant for it, and
// the healthy twin passes the very same case: a red that is not the fault's, or a check that cannot
// fail, shows here.
#include <algorithm>
#include <map>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "suites/support/judge.hpp"

namespace {

using namespace w4;

struct Row {
  const char* mutant;
  const char* check;
  const char* kind;  // of the evidence
  const char* problem;
  Outcome outcome{Outcome::fail};
};

constexpr char plain[] = "m=4 n=32 k=256 g=32 zero=code";
constexpr char gptq[] = "m=4 n=32 k=256 g=32 zero=code_m1 layout=gptq_v1";

const Row rows[] = {
    {"word_reversed", "address.code", "permutation", gptq},
    {"order_inverse", "address.code", "permutation", "m=4 n=32 k=256 g=32 layout=kpack:02461357"},
    {"nibbles_swapped", "address.code", "permutation", gptq},
    {"code_as_signed", "address.code", "no_address", plain},
    {"k_tail_dropped", "address.code", "dropped", "m=4 n=32 k=250 g=32 zero=code"},
    {"half_extrapolated", "address.code", "offset", plain},
    {"falls_back", "address.code", "map", plain, Outcome::fallback},
    {"x_stride_ignored", "address.x", "x_rows", "m=4 n=32 k=256 g=32 zero=code xs=280"},
    {"group_off_by_one", "address.scale", "offset", plain},
    {"first_group_for_tile", "address.scale", "tile_group", "m=4 n=32 k=512 g=32 zero=code"},
    {"g_idx_ignored", "address.scale", "g_idx_ignored", "m=4 n=32 k=256 g=32 order=perm"},
    {"scale_column_swapped", "address.scale", "columns", plain},
    {"scale_past_128_groups", "address.scale", "no_address", "m=4 n=8 k=2112 g=16"},
    {"group_zero_at_m1", "address.scale", "one_group", "m=1 n=32 k=256 g=64 zero=code"},
    {"first_zero_for_tile", "address.zero", "tile_group", "m=4 n=32 k=512 g=32 zero=code"},
    {"zero_interleaved", "address.zero", "columns", plain},
    {"zero_clamped_to_1", "address.zero", "scattered", plain},
    {"zero_off_by_one", "value.table", "zero_minus_1", plain},
    {"zero_off_by_one", "value.table", "zero_minus_1", "m=4 n=32 k=256 g=32 zero=8"},
    {"zero_code_as_8", "value.table", "zero_as_8", plain},
    {"zero_wraps", "value.table", "zero_wraps", gptq},
    {"difference_clamped", "value.table", "unknown_form", plain},
    {"scale_abs", "value.table", "scale_sign_lost", plain},
    {"scale_subnormal_flushed", "value.table", "scale_flushed", plain},
    {"scale_as_bf16", "value.table", "scale_as_bf16", plain},
    {"scale_then_zero", "value.table", "class", plain},
    {"dequant_claim_wrong", "value.table", "class", plain},
    {"x_as_bf16", "value.table", "x_as_bf16", plain},
    {"truncate_output", "value.table", "truncation", plain},
    {"output_through_bf16", "value.table", "unknown_form", plain},
    {"bias_ignored", "exact.zero", "unknown", "m=4 n=32 k=256 g=32 bias=f16"},
    {"bias_twice", "exact.zero", "unknown", "m=4 n=32 k=256 g=32 bias=f16"},
    {"partial_group_at_m1", "exact.dense24", "dropped", "m=1 n=32 k=250 g=32 zero=code"},
    {"f16_accumulator", "exact.dense24", "narrow_sums", plain},
    {"partials_claim_wrong", "exact.dense24", "narrow_sums", plain},
    {"scale_as_bf16", "exact.onehot", "scale_as_bf16", plain},
    {"k_tail_dropped", "exact.stride11", "dropped", "m=4 n=32 k=250 g=32 zero=code"},
    {"group_off_by_one", "exact.block11", "unknown", plain},
    {"f16_accumulator", "exact.samesign", "narrow_sums", plain},
    {"nan_to_zero", "exact.special", "special", plain},
    {"inf_sign_lost", "exact.special", "special", plain},
    {"n_tile_not_written", "effect.written", "not_written", plain},
    {"last_row_stale", "effect.written", "not_written", plain},
    {"inputs_overwritten", "effect.inputs", "input_changed", plain},
    {"not_repeatable", "effect.repeat", "bits_changed", plain},
    {"warm_up", "effect.repeat", "bits_changed", plain},
    {"batch_variant", "effect.batch", "bits_changed", plain},
    {"row_leak", "effect.rowlocal", "row_leak", plain},
    {"x_stride_ignored", "effect.stride", "bits_changed", plain},
    {"x_gap_read", "effect.stride", "bits_changed", plain},
    {"y_gap_written", "effect.stride", "stray_write", plain},
    {"reads_m0", "effect.m0", "status", plain},
    {"writes_m0", "effect.m0", "stray_write", plain},
    {"ftz_left", "effect.state", "process_state", plain},
    {"caches_by_address", "effect.state", "stale", plain},
    {"threads_narrowed", "effect.threads", "bits_changed", plain},
    {"order_claim_wrong", "contract.bits", "order", plain},
    {"accepts_anything", "reject.reason", "accepted", plain},
    {"declines_without_reason", "reject.reason", "no_reason", plain},
    {"runs_what_it_declines", "reject.nowrite", "accepted", plain},
    {"writes_when_declined", "reject.nowrite", "wrote", plain},
};

// Mutants whose check does not exist yet.
const std::set<std::string> waiting{};

void kill(std::string_view factor) {
  std::size_t judged = 0;
  for (const auto& row : rows) {
    if (!std::string_view(row.check).starts_with(factor)) continue;
    ++judged;
    const auto verdict =
        judge("mutants", std::string("mutant.") + row.mutant, row.check, row.problem);
    INFO(row.mutant << " " << row.check << ": " << verdict.reason);
    CHECK(verdict.outcome == row.outcome);
    CHECK(kind_of(verdict) == row.kind);
    const auto healthy = judge("mutants", "mutant.none", row.check, row.problem);
    INFO("mutant.none: " << healthy.reason);
    CHECK(healthy.outcome == Outcome::pass);
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
TEST_CASE("contract.bits kills its mutants and no healthy kernel") {
  kill("contract.bits");
}
TEST_CASE("effect.state kills its mutants and no healthy kernel") {
  kill("effect.state");
}
TEST_CASE("reject checks kill their mutants and no healthy kernel") {
  kill("reject.");
}

TEST_CASE("every mutant of the plugin has a row, or a check that it waits for") {
  std::set<std::string> named(waiting);
  for (const auto& row : rows) named.insert(row.mutant);
  for (const auto& kernel : inspect_plugin(plugin_path("mutants")).kernels) {
    const auto name = kernel.name.substr(std::string("mutant.").size());
    INFO(name);
    CHECK((name == "none" || named.contains(name)));
    named.erase(name);
  }
  for (const auto& left : named) FAIL_CHECK("no such mutant: " << left);
}

TEST_CASE("every check has a fault that it is shown to kill, or a reason to have none here") {
  const std::map<std::string_view, const char*> elsewhere{
      {"effect.guard", "below: plugins that read and write past buffers"},
      {"bound.d", "below: one output moved out of its interval"},
      {"bound.r", "below: one output moved out of its interval"},
      {"value.activation", "below: a kernel that quantises what it should use as stored"},
      {"dispatch.path", "suites/run: stored paths"},
      {"dispatch.bits", "below: a dispatcher against another kernel's bits"},
  };
  for (const auto& check : checks()) {
    const bool row = std::any_of(std::begin(rows), std::end(rows),
                                 [&](const Row& r) { return r.check == check.id; });
    INFO(check.id);
    CHECK((row || elsewhere.contains(check.id)));
  }
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
