// SPDX-License-Identifier: Apache-2.0
// Mutants of arithmetic: the right operands, the wrong value, sum, rounding or claim about them.
#include <algorithm>
#include <cmath>

#include "kernels/mutants/model.hpp"
#include "kernels/mutants/number.hpp"

namespace w4 {
namespace {

bool signed_codes(const Task& task) {
  return task.problem.zero == W4_ZERO_SIGNED;
}

const char* signed_form(const Task& task) {
  return signed_codes(task) ? "signed codes have no zero point" : nullptr;
}

const char* no_stored_zeros(const Task& task) {
  return stored_zero_bytes(task) == 0 ? "no zero point is stored" : nullptr;
}

float zero_below(const Task& task, std::int64_t g, std::int64_t n) {
  return zero_point(task, g, n) - 1.0F;
}

float always_eight(const Task&, std::int64_t, std::int64_t) {
  return 8.0F;
}

const char* not_minus_one(const Task& task) {
  return task.problem.zero == W4_ZERO_CODE_M1 ? nullptr : "only zeros stored minus one can wrap";
}

float zero_in_four_bits(const Task& task, std::int64_t g, std::int64_t n) {
  const float z = zero_point(task, g, n);
  return z == 16.0F ? 0.0F : z;
}

const char* not_plain_code(const Task& task) {
  return task.problem.zero == W4_ZERO_CODE ? nullptr : "only the form code can hold zero point 0";
}

float zero_at_least_one(const Task& task, std::int64_t g, std::int64_t n) {
  return std::max(zero_point(task, g, n), 1.0F);
}

float weight_of_four_bits(const Task& task, std::int64_t k, std::int64_t n) {
  const std::int64_t g = group_of(task, k);
  const float d = static_cast<float>(stored_code(task, k, n)) - zero_point(task, g, n);
  return std::clamp(d, -8.0F, 7.0F) * scale_of(task, g, n);
}

int code_as_signed(const Task& task, std::int64_t k, std::int64_t n) {
  return (stored_code(task, k, n) ^ 8) - 8;
}

float scale_without_sign(const Task& task, std::int64_t g, std::int64_t n) {
  return std::fabs(scale_of(task, g, n));
}

float scale_or_zero(const Task& task, std::int64_t g, std::int64_t n) {
  const float s = scale_of(task, g, n);
  const float least_normal = task.problem.scale_type == W4_F16 ? 0x1p-14F : 0x1p-126F;
  return std::fabs(s) < least_normal ? 0.0F : s;
}

const char* bf16_scales(const Task& task) {
  return task.problem.scale_type == W4_BF16 ? "scales are bf16 as stored" : nullptr;
}

float scale_in_bf16(const Task& task, std::int64_t g, std::int64_t n) {
  return bf16_to_float(float_to_bf16(scale_of(task, g, n)));
}

// Rounded to the format of X, as a kernel that dequantises for a tensor core would.
float narrow(const Task& task, float w) {
  return task.problem.mul_type == W4_F16 ? f16_to_float(float_to_f16(w))
                                         : bf16_to_float(float_to_bf16(w));
}

// Class D2: RN_h(RN_h(q*s) - RN_h(z*s)).
float weight_scaled_then_shifted(const Task& task, std::int64_t k, std::int64_t n) {
  const std::int64_t g = group_of(task, k);
  const float s = scale_of(task, g, n);
  const float high = narrow(task, static_cast<float>(stored_code(task, k, n)) * s);
  return narrow(task, high - narrow(task, zero_point(task, g, n) * s));
}

const char* claims_d1(const w4_problem&) {
  return "dequant=D1 unit=fma/f32 order=chain(1,0..K) partials=f32 scale_at=weight epilogue=rne";
}

const char* claims_sixteen_chains(const w4_problem&) {
  return "dequant=D5 unit=fma/f32 order=tree(chain(1,slice(0,K,16)),..,chain(1,slice(15,K,16))) "
         "partials=f32 scale_at=weight epilogue=rne";
}

const char* at_most_eight_terms(const Task& task) {
  return task.problem.k <= 8 ? "eight chains of a term are sixteen of which half are empty"
                             : nullptr;
}

const char* bf16_x(const Task& task) {
  return task.problem.x_type == W4_BF16 ? "X is bf16 as stored" : nullptr;
}

float x_in_bf16(const Task& task, std::int64_t m, std::int64_t k) {
  return bf16_to_float(float_to_bf16(activation(task, m, k)));
}

const char* not_f16_x(const Task& task) {
  return task.problem.x_type == W4_F16 ? nullptr : "X is not f16";
}

float x_without_subnormals(const Task& task, std::int64_t m, std::int64_t k) {
  const float x = activation(task, m, k);
  return std::fabs(x) < 0x1p-14F ? 0.0F : x;
}

float x_without_nan(const Task& task, std::int64_t m, std::int64_t k) {
  const float x = activation(task, m, k);
  return std::isnan(x) ? 0.0F : x;
}

float x_with_negative_infinity(const Task& task, std::int64_t m, std::int64_t k) {
  const float x = activation(task, m, k);
  return std::isinf(x) ? -std::fabs(x) : x;
}

const char* one_term(const Task& task) {
  return task.problem.k == 1 ? "a sum of one term" : nullptr;
}

bool always(const Task&) {
  return true;
}

float sum_in_f16(float sum, std::int64_t) {
  return f16_to_float(float_to_f16(sum));
}

const char* one_partial(const Task& task) {
  return task.problem.k <= 32 ? "one partial sum of 32 k" : nullptr;
}

float partial_in_f16(float sum, std::int64_t k) {
  return k % 32 == 31 ? sum_in_f16(sum, k) : sum;
}

const char* f32_output(const Task& task) {
  return task.problem.y_type == W4_F32 ? "an fp32 sum is stored as it is" : nullptr;
}

std::uint32_t truncated(std::uint32_t type, float sum) {
  return type == W4_F16 ? float_to_f16(sum, true) : float_to_bf16(sum, true);
}

const char* bf16_output(const Task& task) {
  return task.problem.y_type == W4_BF16 ? "Y is bf16 anyway" : nullptr;
}

std::uint32_t through_bf16(std::uint32_t type, float sum) {
  return round_to(type, bf16_to_float(float_to_bf16(sum)));
}

const char* no_bias(const Task& task) {
  return task.problem.flags & W4_HAS_BIAS ? nullptr : "without a bias there is none to get wrong";
}

float bias_left_out(const Task&, std::int64_t) {
  return -0.0F;
}

float bias_twice(const Task& task, std::int64_t n) {
  return 2.0F * bias_of(task, n);
}

// clang-format off: a row stays one line
constexpr Bug rows[] = {
    {.name = "mutant.zero_off_by_one",
     .copies = "AutoGPTQ/AutoGPTQ#640",
     .harmless = signed_form,
     .zero = zero_below},
    {.name = "mutant.zero_code_as_8",
     .copies = "class ZP: readers for sym=true that ignore qzeros",
     .harmless = no_stored_zeros,
     .zero = always_eight},
    {.name = "mutant.zero_wraps",
     .copies = "AutoGPTQ/AutoGPTQ#325",
     .harmless = not_minus_one,
     .zero = zero_in_four_bits},
    {.name = "mutant.zero_clamped_to_1",
     .copies = "huggingface/text-generation-inference#2120",
     .harmless = not_plain_code,
     .zero = zero_at_least_one},
    {.name = "mutant.difference_clamped",
     .copies = "NVIDIA/TensorRT-Edge-LLM#105",
     .harmless = no_stored_zeros,
     .weight = weight_of_four_bits},
    {.name = "mutant.code_as_signed",
     .copies = "class PACK: u4 read as s4",
     .harmless = signed_form,
     .code = code_as_signed},
    {.name = "mutant.scale_abs",
     .copies = "microsoft/onnxruntime-genai#2209",
     .scale = scale_without_sign},
    {.name = "mutant.scale_subnormal_flushed",
     .copies = "google-ai-edge/ai-edge-quantizer#678",
     .scale = scale_or_zero},
    {.name = "mutant.scale_as_bf16",
     .copies = "nunchux-ai/nunchaku#910",
     .harmless = bf16_scales,
     .scale = scale_in_bf16},
    {.name = "mutant.scale_then_zero",
     .copies = "class PRECISION: q*s and z*s rounded apart, undeclared",
     .harmless = signed_form,
     .weight = weight_scaled_then_shifted},
    {.name = "mutant.dequant_claim_wrong",
     .copies = "class DISPATCH: another numeric path than declared",
     .contract = claims_d1},
    {.name = "mutant.x_as_bf16",
     .copies = "class DISPATCH: an fp16 path that computes in bf16",
     .harmless = bf16_x,
     .x = x_in_bf16},
    {.name = "mutant.x_subnormal_flushed",
     .copies = "class OVERFLOW: subnormal f16 activations flushed to zero",
     .harmless = not_f16_x,
     .x = x_without_subnormals},
    {.name = "mutant.nan_to_zero",
     .copies = "class OVERFLOW: a NaN of X turns finite",
     .x = x_without_nan},
    {.name = "mutant.inf_sign_lost",
     .copies = "class OVERFLOW: +Inf of X becomes -Inf",
     .x = x_with_negative_infinity},
    {.name = "mutant.f16_accumulator",
     .copies = "microsoft/onnxruntime#29599",
     .settle = sum_in_f16},
    {.name = "mutant.partials_claim_wrong",
     .copies = "1CatAI/1Cat-vLLM#204",
     .harmless = one_partial,
     .settle = partial_in_f16},
    {.name = "mutant.order_claim_wrong",
     .copies = "class PRECISION: another order of k than declared",
     .harmless = one_term,
     .backwards = always},
    {.name = "mutant.chains_claim_wrong",
     .copies = "class PRECISION: half the vector width that the contract declares",
     .harmless = at_most_eight_terms,
     .chains = 8,
     .contract = claims_sixteen_chains},
    {.name = "mutant.truncate_output",
     .copies = "class PRECISION: truncation where rounding was meant",
     .harmless = f32_output,
     .round = truncated},
    {.name = "mutant.output_through_bf16",
     .copies = "class PRECISION: bf16 reduce buffer ahead of the output",
     .harmless = bf16_output,
     .round = through_bf16},
    {.name = "mutant.bias_ignored",
     .copies = "class TP: bias left out",
     .harmless = no_bias,
     .bias = bias_left_out},
    {.name = "mutant.bias_twice",
     .copies = "class TP: bias added on every rank",
     .harmless = no_bias,
     .bias = bias_twice},
    {.name = "mutant.bias_claim_wrong",
     .copies = "class PRECISION: an accumulator that starts from the bias, declared as added last",
     .harmless = no_bias,
     .bias_first = true},
};
// clang-format on

}  // namespace

std::span<const Bug> value_bugs() {
  return rows;
}

}  // namespace w4
