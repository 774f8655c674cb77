// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/problem_rules.hpp"

#include <bit>
#include <cstdarg>
#include <cstdio>
#include <iterator>

namespace w4 {
namespace {

__attribute__((format(printf, 3, 4))) bool refuse(Answer& answer, w4_status status,
                                                  const char* format, ...) {
  answer.status = status;
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(answer.reason, sizeof answer.reason, format, values);
  va_end(values);
  return false;
}

long long show(std::int64_t value) {
  return static_cast<long long>(value);
}

std::int64_t float_bytes(std::uint32_t type) {
  if (type == W4_F32) return 4;
  return type == W4_F16 || type == W4_BF16 ? 2 : 0;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a - 1) / b + 1;
}

bool check_shape(const w4_problem& p, Answer& answer) {
  struct Least {
    const char* name;
    std::int64_t value, least;
  };
  for (const Least& l :
       {Least{"m", p.m, 0}, Least{"n", p.n, 1}, Least{"k", p.k, 1}, Least{"group", p.group, 1},
        Least{"groups", p.groups, 1}, Least{"x_group", p.x_group, 1}}) {
    if (l.value >= l.least) continue;
    return refuse(answer, W4_BAD_ARGUMENT, "%s is %lld: it must be at least %lld", l.name,
                  show(l.value), show(l.least));
  }
  if (p.x_stride < p.k || p.y_stride < p.n) {
    return refuse(answer, W4_BAD_ARGUMENT, "x_stride %lld, y_stride %lld: a row is longer",
                  show(p.x_stride), show(p.y_stride));
  }
  if ((p.flags & W4_ACT_ORDER) == 0 && p.groups < ceil_div(p.k, p.group)) {
    return refuse(answer, W4_BAD_ARGUMENT, "groups is %lld: k=%lld in groups of %lld needs %lld",
                  show(p.groups), show(p.k), show(p.group), show(ceil_div(p.k, p.group)));
  }
  return true;
}

bool check_flags(const w4_problem& p, Answer& answer) {
  constexpr std::uint32_t known =
      W4_ACT_ORDER | W4_HAS_BIAS | W4_WANT_REPEATABLE | W4_WANT_BATCH_INVARIANT | W4_WANT_GRAPH;
  if ((p.flags & ~known) == 0) return true;
  return refuse(answer, W4_UNSUPPORTED, "flags: bits 0x%x are not known", p.flags & ~known);
}

bool check_types(const w4_problem& p, Answer& answer) {
  const auto no = [&answer](const char* what, std::uint32_t type) {
    return refuse(answer, W4_UNSUPPORTED, "%s type %u is not supported", what, type);
  };
  if (p.mul_type != W4_F16 && p.mul_type != W4_BF16) return no("mul", p.mul_type);
  if (p.x_type != p.mul_type) return no("x", p.x_type);
  if (float_bytes(p.y_type) == 0) return no("y", p.y_type);
  if (float_bytes(p.scale_type) == 0) return no("scale", p.scale_type);
  if (p.scale2_type != 0) return no("second scale", p.scale2_type);
  const bool has_bias = (p.flags & W4_HAS_BIAS) != 0;
  if ((has_bias || p.bias_type != 0) && float_bytes(p.bias_type) == 0)
    return no("bias", p.bias_type);
  if (p.x_group < p.k) {
    return refuse(answer, W4_UNSUPPORTED, "x_group: float activations are not scaled");
  }
  if (!std::has_single_bit(p.x_align) || !std::has_single_bit(p.y_align) ||
      p.x_align < float_bytes(p.x_type) || p.y_align < float_bytes(p.y_type)) {
    return refuse(answer, W4_BAD_ARGUMENT,
                  "x_align %u, y_align %u: powers of two, at least one element", p.x_align,
                  p.y_align);
  }
  return true;
}

bool check_layout(Request& request, Answer& answer) {
  const w4_problem& p = request.p;
  if (p.layout == nullptr) return refuse(answer, W4_BAD_ARGUMENT, "layout is NULL");
  constexpr const char* names[] = {"codes", "gptq_v1", "gptq_v2"};
  const auto* found = std::find_if(std::begin(names), std::end(names), [&p](const char* name) {
    return std::strcmp(name, p.layout) == 0;
  });
  if (found == std::end(names)) {
    return refuse(answer, W4_UNSUPPORTED, "layout %.80s: codes, gptq_v1 and gptq_v2 are read here",
                  p.layout);
  }
  request.storage = static_cast<Storage>(found - names);
  if (request.storage != Storage::codes && (p.k % 8 != 0 || p.n % 8 != 0)) {
    return refuse(answer, W4_UNSUPPORTED, "layout %s: k=%lld and n=%lld must be multiples of 8",
                  p.layout, show(p.k), show(p.n));
  }
  return true;
}

bool check_zero(const Request& request, Answer& answer) {
  const w4_problem& p = request.p;
  if (p.zero < W4_ZERO_SIGNED || p.zero > W4_ZERO_REAL) {
    return refuse(answer, W4_UNSUPPORTED, "zero form %u is not supported", p.zero);
  }
  const bool packed = request.storage != Storage::codes;
  const std::uint32_t stored = request.storage == Storage::gptq_v1 ? W4_ZERO_CODE_M1 : W4_ZERO_CODE;
  if (packed && p.zero != W4_ZERO_8 && p.zero != stored) {
    return refuse(answer, W4_UNSUPPORTED, "zero form %u: layout %s does not store it", p.zero,
                  p.layout);
  }
  bool fits = float_bytes(p.zero_type) != 0;
  if (p.zero <= W4_ZERO_8) {  // says nothing
    fits = fits || p.zero_type == 0 || p.zero_type == W4_U8 || p.zero_type == W4_U4;
  } else if (p.zero != W4_ZERO_REAL) {
    fits = p.zero_type == (packed ? W4_U4 : W4_U8);
  }
  if (fits) return true;
  return refuse(answer, W4_UNSUPPORTED, "zero type %u: not what %s stores for zero form %u",
                p.zero_type, p.layout, p.zero);
}

// Products that saturate far below overflow, so that "too large" is one comparison at the end.
constexpr std::int64_t too_large = std::int64_t{1} << 46;
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return too_large;
  return std::min(product, too_large);
}

BufferBytes buffer_bytes(const Request& request) {
  const w4_problem& p = request.p;
  const bool packed = request.storage != Storage::codes;
  const auto rows = [&p](std::int64_t stride, std::int64_t width, std::uint32_t type) {
    if (p.m == 0) return std::int64_t{0};
    return times(times(p.m - 1, stride) + std::min(width, too_large), float_bytes(type));
  };
  BufferBytes bytes;
  bytes.x = rows(p.x_stride, p.k, p.x_type);
  bytes.y = rows(p.y_stride, p.n, p.y_type);
  bytes.codes = packed ? times(times(p.k / 8, p.n), 4) : times(p.k, p.n);
  const std::int64_t per_group = times(p.groups, p.n);
  bytes.scale = times(per_group, float_bytes(p.scale_type));
  if (p.zero == W4_ZERO_REAL) {
    bytes.zero = times(per_group, float_bytes(p.zero_type));
  } else if (p.zero > W4_ZERO_8) {
    bytes.zero = packed ? per_group / 2 : per_group;
  }
  if (p.flags & W4_ACT_ORDER) bytes.g_idx = times(p.k, 4);
  if (p.flags & W4_HAS_BIAS) bytes.bias = times(p.n, float_bytes(p.bias_type));
  return bytes;
}

}  // namespace

Answer check_problem(const w4_problem* given, Request& request) {
  Answer answer;
  request = Request{};
  if (given == nullptr) return refuse(answer, W4_BAD_ARGUMENT, "problem is NULL"), answer;
  request.p = read_struct(given);
  const w4_problem& p = request.p;
  if (p.struct_bytes < sizeof(w4_problem)) {
    refuse(answer, W4_BAD_ARGUMENT, "problem.struct_bytes is %u: version 1 has %zu", p.struct_bytes,
           sizeof(w4_problem));
    return answer;
  }
  if (!check_shape(p, answer) || !check_flags(p, answer) || !check_layout(request, answer) ||
      !check_types(p, answer) || !check_zero(request, answer)) {
    return answer;
  }
  request.bytes = buffer_bytes(request);
  const BufferBytes& b = request.bytes;
  if (std::max({b.x, b.y, b.codes, b.scale, b.zero, b.g_idx, b.bias}) >= too_large) {
    refuse(answer, W4_BAD_ARGUMENT, "m=%lld n=%lld k=%lld: a buffer would pass 64 TiB", show(p.m),
           show(p.n), show(p.k));
  }
  return answer;
}

}  // namespace w4
