// SPDX-License-Identifier: Apache-2.0
// The rows; the kernels behind them are in kernels/mutants.
#include "harness/fault/catalogue.hpp"

namespace w4 {
namespace {

constexpr std::string_view plain = "m=4 n=32 k=256 g=32 zero=code";
constexpr bool only = true;  // no other check may see it
constexpr std::string_view gptq = "m=4 n=32 k=256 g=32 zero=code_m1 layout=gptq_v1";

// A row stays one line.
// clang-format off
constexpr Fault rows[] = {
    {"word_reversed", "PACK", "", "address.code", "permutation", {gptq}, "the nibbles of one packed word in reverse order"},
    {"order_inverse", "PACK", "", "address.code", "permutation", {"m=4 n=32 k=256 g=32 layout=kpack:02461357"}, "the nibble order applied instead of its inverse"},
    {"nibbles_swapped", "PACK", "", "address.code", "permutation", {gptq}, "high nibble first"},
    {"code_as_signed", "PACK", "", "address.code", "no_address", {plain}, "u4 codes read as s4"},
    {"k_tail_dropped", "GROUP", "ikawrakow/ik_llama.cpp#951", "address.code", "dropped", {"m=4 n=32 k=250 g=32 zero=code"}, "the last k beyond a multiple of 32 left out"},
    {"half_extrapolated", "CHEAT", "", "address.code", "offset", {plain}, "half of the columns computed, the rest copied from them"},
    {"falls_back", "DISPATCH", "ModelCloud/GPTQModel#1092", "address.code", "map", {plain}, "another path than the declared one, right answer", Outcome::fallback},
    {"group_off_by_one", "SCALE", "", "address.scale", "offset", {plain}, "scale and zero point of the group before"},
    {"first_group_for_tile", "SCALE", "InternLM/lmdeploy#322", "address.scale", "tile_group", {"m=4 n=32 k=512 g=32 zero=code"}, "the first group of a tile of 128 k for all of it"},
    {"g_idx_ignored", "GIDX", "vllm-project/vllm#7374", "address.scale", "g_idx_ignored", {"m=4 n=32 k=256 g=32 order=perm"}, "act-order taken for sequential groups"},
    {"scale_column_swapped", "SCALE", "vllm-project/compressed-tensors#203", "address.scale", "columns", {plain}, "scales of neighbouring columns exchanged"},
    {"scale_past_128_groups", "GROUP", "vllm-project/vllm#9212", "address.scale", "no_address", {"m=4 n=8 k=2112 g=16"}, "scales beyond group 128 read as 0"},
    {"group_zero_at_m1", "SCALE", "intel/torch-xpu-ops#5001", "address.scale", "one_group", {"m=1 n=32 k=256 g=64 zero=code"}, "one row: group 0 for every k"},
    {"first_zero_for_tile", "SCALE", "sgl-project/sglang#37759", "address.zero", "tile_group", {"m=4 n=32 k=512 g=32 zero=code"}, "zero points of the first group of a tile of 128 k"},
    {"zero_interleaved", "PACK", "pie-project/pie#491", "address.zero", "columns", {plain}, "zero points in interleaved column order"},
    {"zero_clamped_to_1", "ZP", "huggingface/text-generation-inference#2120", "address.zero", "scattered", {plain}, "zero point 0 turned into 1"},
    {"zero_off_by_one", "ZP", "AutoGPTQ/AutoGPTQ#640", "value.table", "zero_minus_1", {plain, "m=4 n=32 k=256 g=32 zero=8"}, "zero points one too low"},
    {"zero_code_as_8", "ZP", "", "value.table", "zero_as_8", {plain}, "stored zero points ignored, 8 for all"},
    {"zero_wraps", "ZP", "AutoGPTQ/AutoGPTQ#325", "value.table", "zero_wraps", {gptq}, "zero point 16 wraps to 0"},
    {"difference_clamped", "ZP", "NVIDIA/TensorRT-Edge-LLM#105", "value.table", "unknown_form", {plain}, "q - z clamped to -8..7"},
    {"scale_abs", "SCALE", "microsoft/onnxruntime-genai#2209", "value.table", "scale_sign_lost", {plain}, "scales lose their sign"},
    {"scale_subnormal_flushed", "OVERFLOW", "google-ai-edge/ai-edge-quantizer#678", "value.table", "scale_flushed", {plain}, "subnormal scales flushed to 0"},
    {"scale_as_bf16", "PRECISION", "nunchux-ai/nunchaku#910", "value.table", "scale_as_bf16", {plain}, "scales rounded to bf16"},
    {"scale_then_zero", "PRECISION", "", "value.table", "class", {plain}, "q*s and z*s rounded apart, declared as one"},
    {"dequant_claim_wrong", "DISPATCH", "", "value.table", "class", {plain}, "class D1 declared, D5 computed"},
    {"x_as_bf16", "DISPATCH", "", "value.table", "x_as_bf16", {plain}, "activations rounded to bf16"},
    {"truncate_output", "PRECISION", "", "value.table", "truncation", {plain}, "the output truncated, not rounded"},
    {"output_through_bf16", "PRECISION", "", "value.table", "unknown_form", {plain}, "sums rounded to bf16 ahead of the output"},
    {"bias_ignored", "TP", "", "exact.zero", "unknown", {"m=4 n=32 k=256 g=32 bias=f16"}, "the bias left out"},
    {"bias_twice", "TP", "", "exact.zero", "unknown", {"m=4 n=32 k=256 g=32 bias=f16"}, "the bias added twice"},
    {"partial_group_at_m1", "GROUP", "", "exact.dense24", "dropped", {"m=1 n=32 k=250 g=32 zero=code"}, "one row: a partial last group dropped"},
    {"f16_accumulator", "OVERFLOW", "microsoft/onnxruntime#29599", "exact.dense24", "narrow_sums", {plain}, "every partial sum rounded to f16"},
    {"partials_claim_wrong", "PRECISION", "1CatAI/1Cat-vLLM#204", "exact.dense24", "narrow_sums", {plain}, "sums of 32 k in f16, f32 declared"},
    {"g_idx_rebased", "TP", "vllm-project/vllm#7374", "exact.dense24", "shard", {"m=4 n=32 k=256 g=32 order=perm"}, "g_idx of a shard of k taken as counted from its own first group"},
    {"groups_from_k", "TP", "vllm-project/vllm#1258", "exact.dense24", "shard", {"m=4 n=32 k=256 g=32 order=perm"}, "as many groups as a shard's own k has"},
    {"x_subnormal_flushed", "OVERFLOW", "", "value.activation", "unknown_activation", {plain}, "subnormal f16 activations flushed to 0"},
    {"nan_to_zero", "OVERFLOW", "", "exact.special", "special", {plain}, "NaN in x becomes 0"},
    {"inf_sign_lost", "OVERFLOW", "", "exact.special", "special", {plain}, "+Inf in x becomes -Inf", Outcome::fail, only},
    {"n_tile_not_written", "SHAPE", "", "effect.written", "not_written", {plain}, "the last tile of 16 columns not written"},
    {"last_row_stale", "SHAPE", "", "effect.written", "not_written", {plain}, "the last row not written"},
    {"inputs_overwritten", "CHEAT", "", "effect.inputs", "input_changed", {plain}, "a byte of x changed", Outcome::fail, only},
    {"not_repeatable", "RACE", "vllm-project/vllm#56887", "effect.repeat", "bits_changed", {plain}, "every second call one ulp off"},
    {"warm_up", "CHEAT", "", "effect.repeat", "bits_changed", {plain}, "one ulp off from call 11 on"},
    {"batch_variant", "SHAPE", "ggml-org/llama.cpp#27016", "effect.batch", "bits_changed", {plain}, "k from last to first where m > 8", Outcome::fail, only},
    {"row_leak", "OVERFLOW", "", "effect.rowlocal", "row_leak", {plain}, "NaN of a row reaches the row beside it"},
    {"x_stride_ignored", "ADDR", "vllm-project/vllm#31637", "effect.stride", "bits_changed", {plain}, "rows of x taken as dense"},
    {"x_gap_read", "ADDR", "vllm-project/vllm#52577", "effect.stride", "bits_changed", {plain}, "an element behind a row of x enters with weight 0", Outcome::fail, only},
    {"y_gap_written", "ADDR", "vllm-project/vllm#7400", "effect.stride", "stray_write", {plain}, "the gaps between rows of y cleared"},
    {"reads_m0", "SHAPE", "ModelCloud/GPTQModel#1361", "effect.m0", "status", {plain}, "m = 0 refused with an internal error", Outcome::fail, only},
    {"writes_m0", "SHAPE", "", "effect.m0", "stray_write", {plain}, "a byte written although m = 0", Outcome::fail, only},
    {"ftz_left", "CHEAT", "", "effect.state", "process_state", {plain}, "flush-to-zero left set", Outcome::fail, only},
    {"caches_by_address", "CHEAT", "", "effect.state", "stale", {plain}, "weights cached by address and shape"},
    {"accepts_anything", "DISPATCH", "", "reject.reason", "accepted", {plain}, "contradictions accepted"},
    {"declines_without_reason", "DISPATCH", "", "reject.reason", "no_reason", {plain}, "declined without a reason", Outcome::fail, only},
    {"runs_what_it_declines", "DISPATCH", "ModelCloud/GPTQModel#1092", "reject.nowrite", "accepted", {plain}, "what plan() declines is run", Outcome::fail, only},
    {"writes_when_declined", "INIT", "", "reject.nowrite", "wrote", {plain}, "a byte of y changed by a call that is declined", Outcome::fail, only},
    {"writes_nothing", "CHEAT", "", "effect.written", "not_written", {plain}, "nothing is written"},
    {"skips_repeats", "CHEAT", "", "effect.written", "bits_changed", {plain}, "y left alone where x is that of the call before"},
    {"small_to_zero", "CHEAT", "", "exact.dense24", "unknown", {plain}, "sums below 1 written as 0"},
    {"constant_scale", "CHEAT", "", "address.scale", "scattered", {plain}, "the first scale used for all"},
    {"recognises_seed", "CHEAT", "", "exact.dense24", "dropped", {"m=4 n=32 k=256 g=32 zero=code seed=0x51"}, "the data of seed 0x7 recognised by content, else half of k"},
    {"only_last_row", "CHEAT", "", "exact.dense24", "dropped", {plain}, "all rows but the last are 0"},
    {"answers_nan", "CHEAT", "", "exact.zero", "unknown", {plain}, "the last output is NaN"},
    {"status_ignored", "CHEAT", "", "exact.zero", "status", {plain}, "y right, the call returns an error"},
    {"caches_by_shape", "CHEAT", "", "effect.state", "stale", {plain}, "y of the first call of a shape returned again"},
    {"drifts_after_100", "CHEAT", "", "effect.repeat", "bits_changed", {plain}, "one output negated from call 101 on"},
    {"adds_to_y", "INIT", "sgl-project/sglang#29748", "effect.written", "bits_changed", {plain}, "sums added to what y held"},
    {"counts_in_workspace", "INIT", "", "effect.state", "workspace", {plain}, "a mark of an earlier call in the workspace changes the answer"},
    {"order_claim_wrong", "PRECISION", "", "contract.bits", "order", {plain}, "k from last to first, declared as first to last", Outcome::fail, only},
    {"chains_claim_wrong", "PRECISION", "", "contract.bits", "order", {plain}, "eight chains of k, declared as sixteen", Outcome::fail, only},
    {"bias_claim_wrong", "PRECISION", "", "contract.bits", "order", {"m=4 n=32 k=256 g=32 zero=code bias=f16"}, "sums start from the bias, declared as added last", Outcome::fail, only},
    {"threads_narrowed", "RACE", "", "effect.threads", "bits_changed", {plain}, "columns of threads that are gone not written", Outcome::fail, only},
    {"middle_swapped", "PACK", "", "address.code", "scattered", {plain}, "where every zero point is 8: the codes on either side of K/2 exchanged", Outcome::fail, only},
    {"scale_saturates", "OVERFLOW", "", "address.scale", "scattered", {plain}, "scales above 16 read as 16", Outcome::fail, only},
    {"zero_hoisted", "ZP", "", "address.zero", "one_group", {plain}, "where all scales are one: the zero points of group 0 for every k", Outcome::fail, only},
    {"lone_x_shared", "SHAPE", "", "address.x", "x_rows", {plain}, "where each row holds one activation: that of row 0 used for all", Outcome::fail, only},
    {"class_alone_wrong", "DISPATCH", "", "value.table", "class", {plain}, "class D1 declared without an order, D5 computed", Outcome::fail, only},
    {"small_x_skipped", "CHEAT", "", "value.activation", "unknown_activation", {plain}, "activations below 1/32 skipped", Outcome::fail, only},
    {"bias_lost_at_zero_x", "INIT", "", "exact.zero", "unknown", {"m=4 n=32 k=256 g=32 bias=f16"}, "rows of zeros get no bias", Outcome::fail, only},
    {"scale_unsigned_upper", "SCALE", "microsoft/onnxruntime-genai#2209", "exact.onehot", "unknown_form", {plain}, "scales lose their sign in the upper half of each 32 k", Outcome::fail, only},
    {"subtracts_in_16_bits", "PRECISION", "", "exact.dense24", "lost_bits", {"m=4 n=32 k=256 g=32 zero=code y=f32"}, "negative terms summed apart, in 16 bits where there are positive ones", Outcome::fail, only},
    {"hand_over_loses_term", "RACE", "", "exact.stride11", "unknown", {plain}, "a term lost where both halves of K hold activations; f16 sums declared", Outcome::fail, only},
    {"full_tile_loses_term", "GROUP", "", "exact.block11", "unknown", {plain}, "a term lost in tiles of 128 k without a zero; f16 sums declared", Outcome::fail, only},
    {"sum_saturates", "OVERFLOW", "", "exact.samesign", "unknown", {plain}, "sums saturate at 4096", Outcome::fail, only},
    {"adds_in_17_bits", "PRECISION", "", "bound.d", "out_of_bound", {"m=4 n=32 k=2 zero=code y=f32"}, "sums of two terms cut to 17 bits", Outcome::fail, only},
    {"adds_in_19_bits", "PRECISION", "", "bound.r", "out_of_bound", {"m=2 n=4 k=1024 zero=code y=f32"}, "each sum of two numbers cut to 19 bits", Outcome::fail, only},
    {"adds_to_finite_y", "INIT", "sgl-project/sglang#29748", "effect.written", "bits_changed", {plain}, "sums added to what y held, unless NaN", Outcome::fail, only},
    {"loads_past_codes", "ADDR", "vllm-project/vllm#52577", "effect.guard", "crashed", {"m=4 n=24 k=256 g=32 zero=code"}, "codes read past their end, and not used", Outcome::crashed, only},
    {"order_tuned_late", "RACE", "vllm-project/vllm#56887", "effect.repeat", "bits_changed", {plain}, "another order from the third call of a shape in a row on", Outcome::fail, only},
    {"row_leaks_up", "OVERFLOW", "", "effect.rowlocal", "row_leak", {plain}, "NaN of an odd row reaches the row above", Outcome::fail, only},
    {"falls_back_at_tail", "DISPATCH", "ModelCloud/GPTQModel#1092", "dispatch.path", "path", {"m=10 n=32 k=256 g=32 zero=code"}, "another path than declared where three rows are left over", Outcome::fallback, only},
    {"names_another", "DISPATCH", "", "dispatch.bits", "other_bits", {plain}, "a path that names the twin, and another order of sums", Outcome::fail, only},
};
// clang-format on

}  // namespace

std::span<const Fault> faults() {
  return rows;
}

std::string kernel_of(const Fault& fault) {
  return "mutant." + std::string(fault.id);
}

std::string copied_by(const Fault& fault) {
  return fault.report.empty() ? "class " + std::string(fault.family) : std::string(fault.report);
}

}  // namespace w4
