// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/problem_rules.hpp"

#include <bit>
#include <cstdarg>
#include <cstdio>
#include <cstring>
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

const char* type_name(std::uint32_t type) {
  constexpr const char* names[] = {"none", "f32", "f16", "bf16", "e4m3", "e5m2",
                                   "s8",   "u8",  "s4",  "u4",   "s32"};
  return type < std::size(names) ? names[type] : "unknown";
}

const char* zero_name(std::uint32_t zero) {
  constexpr const char* names[] = {"none",    "signed", "8",   "code",
                                   "code_m1", "real",   "add", "add_8"};
  return zero < std::size(names) ? names[zero] : "unknown";
}

bool read_digits(const char* text, Layout& layout) {
  std::uint32_t seen = 0;
  for (int nibble = 0; nibble < 8; ++nibble) {
    const char digit = text[nibble];
    if (digit < '0' || digit > '7') return false;
    const int element = digit - '0';
    layout.digits[nibble] = digit;
    layout.nibble_of[element] = nibble;
    seen |= std::uint32_t{1} << element;
  }
  return seen == 0xff && text[8] == '\0';
}

bool read_layout(const char* name, Layout& layout) {
  read_digits("01234567", layout);
  const auto is = [name](const char* other) { return std::strcmp(name, other) == 0; };
  const auto begins = [name](const char* other) {
    return std::strncmp(name, other, std::strlen(other)) == 0;
  };
  if (is("codes")) return layout.storage = Storage::codes, true;
  if (is("gptq_v1")) return layout.storage = Storage::gptq_v1, true;
  if (is("gptq_v2")) return layout.storage = Storage::gptq_v2, true;
  if (is("awq_gemm")) return layout.storage = Storage::awq_gemm, read_digits("02461357", layout);
  if (is("awq_gemv")) return layout.storage = Storage::awq_gemv, true;
  if (is("awq_gemv_fast")) return layout.storage = Storage::awq_gemv_fast, true;
  if (is("compressed_tensors")) return layout.storage = Storage::compressed_tensors, true;
  if (begins("kpack:")) return layout.storage = Storage::kpack, read_digits(name + 6, layout);
  if (begins("npack:")) return layout.storage = Storage::npack, read_digits(name + 6, layout);
  return false;
}

bool check_shape(const w4_problem& p, Answer& answer) {
  const auto bad = [&answer](const char* name, std::int64_t value, const char* limit) {
    return refuse(answer, W4_BAD_ARGUMENT, "%s is %lld: it must be at least %s", name, show(value),
                  limit);
  };
  if (p.m < 0) return bad("m", p.m, "0");
  if (p.n < 1) return bad("n", p.n, "1");
  if (p.k < 1) return bad("k", p.k, "1");
  if (p.group < 1) return bad("group", p.group, "1");
  if (p.groups < 1) return bad("groups", p.groups, "1");
  if (p.x_group < 1) return bad("x_group", p.x_group, "1");
  if (p.x_stride < p.k) return bad("x_stride", p.x_stride, "k");
  if (p.y_stride < p.n) return bad("y_stride", p.y_stride, "n");
  if ((p.flags & W4_ACT_ORDER) == 0 && p.groups < ceil_div(p.k, p.group)) {
    return refuse(answer, W4_BAD_ARGUMENT, "groups is %lld: k=%lld in groups of %lld needs %lld",
                  show(p.groups), show(p.k), show(p.group), show(ceil_div(p.k, p.group)));
  }
  if (!std::has_single_bit(p.x_align) || !std::has_single_bit(p.y_align)) {
    return refuse(answer, W4_BAD_ARGUMENT, "x_align %u and y_align %u must be powers of two",
                  p.x_align, p.y_align);
  }
  return true;
}

bool check_flags(const Support& can, const w4_problem& p, Answer& answer) {
  constexpr std::uint32_t known =
      W4_ACT_ORDER | W4_HAS_BIAS | W4_WANT_REPEATABLE | W4_WANT_BATCH_INVARIANT;
  if ((p.flags & W4_WANT_GRAPH) != 0) {
    return refuse(answer, W4_UNSUPPORTED, "graph capture: this kernel runs on the host");
  }
  if ((p.flags & ~known) != 0) {
    return refuse(answer, W4_UNSUPPORTED, "flags: bits 0x%x are not known", p.flags & ~known);
  }
  if ((p.flags & W4_ACT_ORDER) != 0 && !can.act_order) {
    return refuse(answer, W4_UNSUPPORTED,
                  "act-order: this kernel walks groups in order; permute the rows first");
  }
  return true;
}

bool check_types(const Support& can, const w4_problem& p, Answer& answer) {
  const auto no = [&answer](const char* what, std::uint32_t type) {
    return refuse(answer, W4_UNSUPPORTED, "%s type %s (%u) is not supported", what, type_name(type),
                  type);
  };
  if (!holds(can.mul, p.mul_type)) return no("mul", p.mul_type);
  if (can.x != 0 ? !holds(can.x, p.x_type) : p.x_type != p.mul_type) {
    if (can.x != 0) return no("x", p.x_type);
    return refuse(answer, W4_UNSUPPORTED,
                  "x type %s (%u): X must be stored as it is multiplied, %s", type_name(p.x_type),
                  p.x_type, type_name(p.mul_type));
  }
  if (!holds(can.y, p.y_type)) return no("y", p.y_type);
  if (!holds(can.scale, p.scale_type)) return no("scale", p.scale_type);
  if (p.scale2_type != 0) return no("second scale", p.scale2_type);
  const bool has_bias = (p.flags & W4_HAS_BIAS) != 0;
  if ((has_bias || p.bias_type != 0) && !holds(can.bias, p.bias_type))
    return no("bias", p.bias_type);
  const std::int64_t x_bytes = std::max<std::int64_t>(bytes_of(p.x_type), 1);
  if (p.x_align < x_bytes || p.y_align < bytes_of(p.y_type)) {
    return refuse(answer, W4_BAD_ARGUMENT, "x_align %u, y_align %u: less than one element",
                  p.x_align, p.y_align);
  }
  if (!can.x_scales && p.x_group < p.k) {
    return refuse(answer, W4_UNSUPPORTED, "x_group: float activations are not scaled");
  }
  return true;
}

// The zero forms that a layout stores.
constexpr std::uint32_t forms_of(Storage storage) {
  switch (storage) {
    case Storage::gptq_v1:
      return set_of(W4_ZERO_8, W4_ZERO_CODE_M1);
    case Storage::gptq_v2:
    case Storage::awq_gemm:
    case Storage::awq_gemv:
    case Storage::compressed_tensors:
      return set_of(W4_ZERO_8, W4_ZERO_CODE);
    case Storage::awq_gemv_fast:
      return set_of(W4_ZERO_ADD);
    default:
      return ~std::uint32_t{0};
  }
}

bool check_zero(const Support& can, const Request& request, Answer& answer) {
  const w4_problem& p = request.p;
  if (!holds(can.zeros, p.zero)) {
    return refuse(answer, W4_UNSUPPORTED, "zero form %s (%u) is not supported", zero_name(p.zero),
                  p.zero);
  }
  if (!holds(forms_of(request.layout.storage), p.zero)) {
    return refuse(answer, W4_UNSUPPORTED, "zero form %s: layout %s does not store it",
                  zero_name(p.zero), p.layout);
  }
  std::uint32_t stored = floats;
  if (p.zero <= W4_ZERO_8) stored |= set_of(0, W4_U8, W4_U4);  // says nothing
  if (p.zero == W4_ZERO_CODE || p.zero == W4_ZERO_CODE_M1) {
    stored = request.nibble_zeros() ? set_of(W4_U4) : set_of(W4_U8);
  }
  if (request.layout.storage == Storage::awq_gemv_fast) stored = set_of(p.scale_type);
  if (!holds(stored, p.zero_type)) {
    return refuse(answer, W4_UNSUPPORTED, "zero type %s (%u): not what %s stores for zero form %s",
                  type_name(p.zero_type), p.zero_type, p.layout, zero_name(p.zero));
  }
  return true;
}

// What a layout divides k and n by.
struct Multiples {
  int k, n;
};
constexpr Multiples multiples_of(Storage storage) {
  switch (storage) {
    case Storage::gptq_v1:
    case Storage::gptq_v2:
      return {8, 8};
    case Storage::awq_gemm:
      return {1, 8};
    case Storage::awq_gemv:
      return {8, 1};
    case Storage::awq_gemv_fast:
      return {64, 4};
    default:
      return {1, 1};
  }
}

// AWQ and compressed-tensors have whole groups only; AWQ has no g_idx, its GEMV forms no group of
// another size than those whose padding is known.
bool check_groups(const Request& request, Answer& answer) {
  const w4_problem& p = request.p;
  const Storage storage = request.layout.storage;
  const bool gemv = storage == Storage::awq_gemv || storage == Storage::awq_gemv_fast;
  const bool awq = gemv || storage == Storage::awq_gemm;
  if (!awq && storage != Storage::compressed_tensors) return true;
  if (awq && request.act_order()) {
    return refuse(answer, W4_UNSUPPORTED, "act-order: layout %s has no g_idx", p.layout);
  }
  if (p.k % p.group != 0) {
    return refuse(answer, W4_UNSUPPORTED, "layout %s: k=%lld must be a multiple of group=%lld",
                  p.layout, show(p.k), show(p.group));
  }
  if (gemv && p.group != 32 && p.group != 64 && p.group < 128) {
    return refuse(answer, W4_UNSUPPORTED, "layout %s: group=%lld is neither 32, 64 nor 128 or more",
                  p.layout, show(p.group));
  }
  return true;
}

bool check_layout(const Support& can, Request& request, Answer& answer) {
  const w4_problem& p = request.p;
  if (p.layout == nullptr) return refuse(answer, W4_BAD_ARGUMENT, "layout is NULL");
  if (!read_layout(p.layout, request.layout)) {
    return refuse(answer, W4_UNSUPPORTED, "layout %.80s is not known", p.layout);
  }
  if (!holds(can.storages, static_cast<std::uint32_t>(request.layout.storage))) {
    return refuse(answer, W4_UNSUPPORTED, "layout %s: this kernel does not read it", p.layout);
  }
  const Multiples of = multiples_of(request.layout.storage);
  if (p.k % of.k != 0 || p.n % of.n != 0) {
    return refuse(answer, W4_UNSUPPORTED,
                  "layout %s: k=%lld and n=%lld must be multiples of %d and %d", p.layout,
                  show(p.k), show(p.n), of.k, of.n);
  }
  return check_groups(request, answer);
}

// Products that saturate far below overflow, so that "too large" is one comparison at the end.
constexpr std::int64_t too_large = std::int64_t{1} << 46;
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return too_large;
  return std::min(product, too_large);
}

std::int64_t code_bytes(const Request& request) {
  const w4_problem& p = request.p;
  switch (request.layout.storage) {
    case Storage::codes:
      return times(p.k, p.n);
    case Storage::npack:
    case Storage::awq_gemm:
      return times(times(p.k, ceil_div(p.n, 8)), 4);
    case Storage::awq_gemv_fast:
      return times(p.k, p.n) / 2;
    default:
      return times(times(ceil_div(p.k, 8), p.n), 4);
  }
}

std::int64_t integer_zero_bytes(const Request& request) {
  const w4_problem& p = request.p;
  switch (request.layout.storage) {
    case Storage::awq_gemv:
      return times(times(p.n, gemv_zero_words(p)), 4);
    case Storage::compressed_tensors:
      return times(times(ceil_div(p.n, 8), p.groups), 4);
    default:
      return request.nibble_zeros() ? times(p.groups, p.n) / 2 : times(p.groups, p.n);
  }
}

BufferBytes buffer_bytes(const Request& request) {
  const w4_problem& p = request.p;
  const auto elements = [&p](std::int64_t stride, std::int64_t width) {
    return p.m == 0 ? 0 : times(p.m - 1, stride) + std::min(width, too_large);
  };
  BufferBytes bytes;
  const std::int64_t x_elements = elements(p.x_stride, p.k);
  bytes.x = p.x_type == W4_S4 ? (x_elements + 1) / 2 : times(x_elements, bytes_of(p.x_type));
  bytes.x_scale = times(times(p.m, ceil_div(p.k, p.x_group)), 4);
  bytes.y = times(elements(p.y_stride, p.n), bytes_of(p.y_type));
  bytes.codes = code_bytes(request);
  const std::int64_t per_group = times(p.groups, p.n);
  std::int64_t scales = per_group;
  if (request.layout.storage == Storage::awq_gemv ||
      request.layout.storage == Storage::awq_gemv_fast) {
    scales = times(p.n, 8 * gemv_zero_words(p));
  }
  bytes.scale = times(scales, bytes_of(p.scale_type));
  if (p.zero == W4_ZERO_CODE || p.zero == W4_ZERO_CODE_M1) {
    bytes.zero = integer_zero_bytes(request);
  } else if (p.zero >= W4_ZERO_REAL) {
    bytes.zero = times(scales, bytes_of(p.zero_type));
  }
  bytes.g_idx = request.act_order() ? times(p.k, 4) : 0;
  bytes.bias = request.has_bias() ? times(p.n, bytes_of(p.bias_type)) : 0;
  return bytes;
}

bool check_bytes(const Request& request, Answer& answer) {
  const BufferBytes& b = request.bytes;
  const std::int64_t largest =
      std::max({b.x, b.x_scale, b.y, b.codes, b.scale, b.zero, b.g_idx, b.bias});
  if (largest >= too_large || request.p.m >= too_large) {
    return refuse(answer, W4_BAD_ARGUMENT, "m=%lld n=%lld k=%lld: a buffer would pass 64 TiB",
                  show(request.p.m), show(request.p.n), show(request.p.k));
  }
  return true;
}

}  // namespace

Answer check_problem(const Support& can, const w4_problem* given, Request& request) {
  Answer answer;
  if (given == nullptr) return refuse(answer, W4_BAD_ARGUMENT, "problem is NULL"), answer;
  request = Request{};
  request.p = read_struct(given);
  request.can = &can;
  const w4_problem& p = request.p;
  if (p.struct_bytes < sizeof(w4_problem)) {
    refuse(answer, W4_BAD_ARGUMENT, "problem.struct_bytes is %u: version 1 has %zu", p.struct_bytes,
           sizeof(w4_problem));
    return answer;
  }
  if (!check_shape(p, answer) || !check_flags(can, p, answer) ||
      !check_layout(can, request, answer) || !check_types(can, p, answer) ||
      !check_zero(can, request, answer)) {
    return answer;
  }
  request.bytes = buffer_bytes(request);
  if (!check_bytes(request, answer)) return answer;
  const char* reason = can.declines == nullptr ? nullptr : can.declines(request);
  if (reason != nullptr) refuse(answer, W4_UNSUPPORTED, "%s", reason);
  return answer;
}

}  // namespace w4
