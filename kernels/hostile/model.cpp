// SPDX-License-Identifier: Apache-2.0
// The honest part of every hostile kernel: validation, plan, and a scalar product.
#include "kernels/hostile/model.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

namespace w4 {
namespace {

std::uint16_t load_half(const void* data, std::int64_t index) {
  std::uint16_t word{};
  std::memcpy(&word, static_cast<const unsigned char*>(data) + 2 * index, 2);
  return word;
}

float to_float(std::uint16_t h) {
  const std::uint32_t sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31u, rest = h & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | rest << 13);
  if (exponent > 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | rest << 13);
  const float value = static_cast<float>(rest) * 0x1p-24F;  // exact
  return sign ? -value : value;
}

// To nearest even, by integers.
std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  const auto word = [sign](std::uint32_t v) { return static_cast<std::uint16_t>(sign | v); };
  if (magnitude > 0x7f800000u) return 0x7e00u;
  if (magnitude >= 0x47800000u) return word(0x7c00u);
  const auto drop = [](std::uint32_t v, std::uint32_t shift) {
    return (v + ((1u << (shift - 1)) - 1) + ((v >> shift) & 1u)) >> shift;
  };
  if (magnitude >= 0x38800000u) return word(drop(magnitude - 0x38000000u, 13));
  const std::uint32_t exponent = magnitude >> 23;
  if (exponent < 102) return word(0);
  return word(drop((magnitude & 0x7fffffu) | 0x800000u, 126 - exponent));
}

bool is_gptq(const w4_problem& p) {
  return std::strcmp(p.layout, "gptq_v2") == 0;
}

int nibble_at(const unsigned char* bytes, std::int64_t index) {
  return index % 2 == 0 ? bytes[index / 2] & 15 : bytes[index / 2] >> 4;
}

float weight_at(const w4_problem& p, const w4_weight& w, std::int64_t k, std::int64_t n) {
  const auto* codes = static_cast<const unsigned char*>(w.codes.data);
  const auto* zeros = static_cast<const unsigned char*>(w.zero.data);
  const std::int64_t g = k / p.group;
  const int q = is_gptq(p) ? nibble_at(codes, (k / 8 * p.n + n) * 8 + k % 8) : codes[k * p.n + n];
  int z = 8;
  if (p.zero == W4_ZERO_CODE) {
    z = is_gptq(p) ? nibble_at(zeros, g * ((p.n + 7) / 8 * 8) + n) : zeros[g * p.n + n];
  }
  return static_cast<float>(q - z) * to_float(load_half(w.scale.data, g * p.n + n));
}

bool contradicts_itself(const w4_problem& p) {
  return p.layout == nullptr || p.m < 0 || p.n < 1 || p.k < 1 || p.group < 1 || p.x_group < 1 ||
         p.groups < (p.k - 1) / p.group + 1 || p.x_stride < p.k || p.y_stride < p.n;
}

w4_status pack_nothing(const w4_kernel*, const w4_problem*, const w4_weight*, w4_out, void*) {
  return W4_OK;
}

}  // namespace

const char* hostile_limitation(const w4_problem& p) {
  if (p.flags & ~std::uint32_t{W4_WANT_REPEATABLE | W4_WANT_BATCH_INVARIANT}) {
    return "no act-order, no bias, no flag beyond repeatable and batch-invariant";
  }
  if (p.x_type != W4_F16 || p.mul_type != W4_F16 || p.y_type != W4_F16 || p.scale_type != W4_F16 ||
      p.scale2_type != 0) {
    return "X, Y and scales must be f16";
  }
  const bool codes = std::strcmp(p.layout, "codes") == 0;
  if (!codes && !is_gptq(p)) return "only layouts codes and gptq_v2 are read";
  if (p.zero == W4_ZERO_8) return nullptr;
  if (p.zero != W4_ZERO_CODE) return "only zero forms 8 and code are known";
  return p.zero_type == (codes ? W4_U8 : W4_U4) ? nullptr : "zeros must be u8, or u4 in gptq_v2";
}

std::uint64_t y_bytes(const w4_problem& p) {
  return p.m == 0 ? 0 : static_cast<std::uint64_t>((p.m - 1) * p.y_stride + p.n) * 2;
}

std::uint64_t x_bytes(const w4_problem& p) {
  return p.m == 0 ? 0 : static_cast<std::uint64_t>((p.m - 1) * p.x_stride + p.k) * 2;
}

void hostile_multiply(const w4_call& call) {
  const w4_problem& p = *call.problem;
  auto* y = static_cast<unsigned char*>(call.y.data);
  for (std::int64_t m = 0; m < p.m; ++m) {
    for (std::int64_t n = 0; n < p.n; ++n) {
      float sum = 0.0F;
      for (std::int64_t k = 0; k < p.k; ++k) {
        const float x = to_float(load_half(call.x.data, m * p.x_stride + k));
        sum += x * weight_at(p, *call.weight, k, n);
      }
      const std::uint16_t word = to_half(sum);
      std::memcpy(y + 2 * (m * p.y_stride + n), &word, 2);
    }
  }
}

w4_status plan_hostile(const w4_kernel* self, const w4_problem* problem, w4_plan* out) {
  if (problem->struct_bytes < sizeof(w4_problem) || out->struct_bytes < sizeof(w4_plan)) {
    return W4_BAD_ARGUMENT;
  }
  const auto* misdeed = static_cast<const Misdeed*>(self->user);
  const w4_problem& p = *problem;
  const bool contradiction = contradicts_itself(p);
  const char* why = contradiction ? "the geometry contradicts itself" : hostile_limitation(p);
  w4_plan plan{};
  plan.struct_bytes = out->struct_bytes;
  plan.claims = W4_REPEATABLE | W4_BATCH_INVARIANT | W4_ROW_LOCAL;
  plan.path = hostile_path;
  std::snprintf(plan.reason, sizeof plan.reason, "%s", why ? why : "the only path");
  if (!why && misdeed->plan) misdeed->plan(plan);
  std::memcpy(out, &plan, sizeof plan);
  return contradiction ? W4_BAD_ARGUMENT : why ? W4_UNSUPPORTED : W4_OK;
}

w4_status run_hostile(const w4_kernel* self, w4_call* call) {
  const auto* misdeed = static_cast<const Misdeed*>(self->user);
  if (contradicts_itself(*call->problem)) return W4_BAD_ARGUMENT;
  if (hostile_limitation(*call->problem)) return W4_UNSUPPORTED;
  if (misdeed->before) misdeed->before(*call);
  if (!misdeed->silent) hostile_multiply(*call);
  if (misdeed->after) misdeed->after(*call);
  call->ran = misdeed->ran ? misdeed->ran() : hostile_path;
  return misdeed->status;
}

w4_kernel hostile_kernel(const Misdeed& misdeed) {
  w4_kernel kernel{};
  kernel.struct_bytes = sizeof kernel;
  kernel.device = W4_HOST;
  kernel.name = misdeed.name;
  kernel.plan = plan_hostile;
  kernel.pack = misdeed.packs ? pack_nothing : nullptr;
  kernel.run = run_hostile;
  kernel.user = &misdeed;
  return kernel;
}

}  // namespace w4
