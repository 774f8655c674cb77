/* SPDX-License-Identifier: Apache-2.0
 * A whole plugin in one C99 file, to copy: replace accepts() by what your library takes and
 * multiply() by your call. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "kernels/abi/w4_kernel.h"

/* fp16 by its bits; f16_bits rounds to nearest even, once. */

static double f16_value(uint16_t h) {
  const int field = h >> 10 & 31, fraction = h & 1023;
  double size = field == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, field - 25);
  if (field == 31) size = fraction == 0 ? (double)INFINITY : (double)NAN;
  return (h & 0x8000) != 0 ? -size : size;
}

static uint16_t f16_bits(double value) {
  const uint16_t sign = signbit(value) != 0 ? 0x8000 : 0;
  const double size = fabs(value);
  int exponent = 0;
  double kept, rest;
  uint32_t word;
  if (isnan(value)) return 0x7e00;
  if (size >= 65520.0) return (uint16_t)(sign | 0x7c00); /* half a step above the largest number */
  if (size < ldexp(1, -25)) return sign;
  (void)frexp(size, &exponent); /* size = f * 2^exponent, 0.5 <= f < 1 */
  if (exponent < -13)
    exponent = -13; /* subnormal numbers share the step of the smallest normal one */
  rest = modf(ldexp(size, 11 - exponent), &kept); /* in steps of 2^(exponent-11) */
  word = (uint32_t)kept;
  if (rest > 0.5 || (rest == 0.5 && (word & 1) != 0)) ++word;
  return (uint16_t)(sign | (((uint32_t)(exponent + 13) << 10) + word));
}

static double f16_at(const void* array, int64_t index) {
  uint16_t word;
  memcpy(&word, (const char*)array + index * 2, 2);
  return f16_value(word);
}

/* A host's struct as this library knows it: what lies beyond struct_bytes is 0. */
static void read_struct(void* copy, size_t size, const void* given) {
  uint32_t bytes;
  memset(copy, 0, size);
  memcpy(&bytes, given, sizeof bytes);
  memcpy(copy, given, bytes < size ? bytes : size);
}

static int power_of_two(uint32_t a) {
  return a != 0 && (a & (a - 1)) == 0;
}

/* The sizes below keep every product of two of them inside int64. */
static const int64_t most = (int64_t)1 << 24;

/* What this kernel takes: W4_OK, or a refusal and its reason. */
static w4_status accepts(const w4_problem* p, const char** why) {
  const uint32_t demands = W4_WANT_REPEATABLE | W4_WANT_BATCH_INVARIANT;
  *why = "";
  if (p->struct_bytes < sizeof *p)
    return *why = "problem.struct_bytes is too small", W4_BAD_ARGUMENT;
  if (p->m < 0) return *why = "m is negative", W4_BAD_ARGUMENT;
  if (p->n < 1 || p->k < 1) return *why = "n and k must be at least 1", W4_BAD_ARGUMENT;
  if (p->group < 1 || p->x_group < 1)
    return *why = "group and x_group must be at least 1", W4_BAD_ARGUMENT;
  if (p->groups < (p->k - 1) / p->group + 1)
    return *why = "groups is below ceil(k/group)", W4_BAD_ARGUMENT;
  if (p->x_stride < p->k || p->y_stride < p->n)
    return *why = "a stride is below its row", W4_BAD_ARGUMENT;
  if (!power_of_two(p->x_align) || !power_of_two(p->y_align))
    return *why = "x_align and y_align must be powers of two", W4_BAD_ARGUMENT;
  if ((p->flags & ~demands) != 0)
    return *why = "flags: act-order, bias and graphs are not supported", W4_UNSUPPORTED;
  if (p->layout == NULL) return *why = "layout is NULL", W4_BAD_ARGUMENT;
  if (strcmp(p->layout, "codes") != 0)
    return *why = "layout: only codes is supported", W4_UNSUPPORTED;
  if (p->x_type != W4_F16 || p->mul_type != W4_F16 || p->scale_type != W4_F16)
    return *why = "x, mul and scale must be f16", W4_UNSUPPORTED;
  if (p->y_type != W4_F16 && p->y_type != W4_F32)
    return *why = "y must be f16 or f32", W4_UNSUPPORTED;
  if (p->scale2_type != 0 || p->bias_type != 0)
    return *why = "no second scales, no bias", W4_UNSUPPORTED;
  if (p->zero != W4_ZERO_8 && p->zero != W4_ZERO_CODE)
    return *why = "zero must be 8 or code", W4_UNSUPPORTED;
  if (p->zero_type != W4_U8 &&
      !(p->zero == W4_ZERO_8 && (p->zero_type == 0 || p->zero_type == W4_U4)))
    return *why = "zeros must be bytes", W4_UNSUPPORTED;
  if (p->x_group < p->k) return *why = "x_group: activations are not scaled", W4_UNSUPPORTED;
  if (p->x_align < 2 || p->y_align < (p->y_type == W4_F32 ? 4u : 2u))
    return *why = "x_align or y_align is below one element", W4_BAD_ARGUMENT;
  if (p->m > most || p->n > most || p->k > most || p->groups > most || p->x_stride > most ||
      p->y_stride > most)
    return *why = "sizes above 2^24 are not supported", W4_UNSUPPORTED;
  return W4_OK;
}

static w4_status plan(const w4_kernel* self, const w4_problem* problem, w4_plan* out) {
  w4_problem p;
  w4_plan said;
  w4_status status;
  const char* why;
  if (self == NULL || problem == NULL || out == NULL) return W4_BAD_ARGUMENT;
  if (out->struct_bytes < sizeof said)
    return W4_BAD_ARGUMENT; /* nothing may be written beyond it */
  read_struct(&p, sizeof p, problem);
  memset(&said, 0, sizeof said);
  said.struct_bytes = out->struct_bytes;
  status = accepts(&p, &why);
  if (status == W4_OK) {
    said.path = "loop";
    said.contract =
        "dequant=D5 unit=mul+add/f64 order=chain(1,0..K) partials=f64 scale_at=weight epilogue=rne";
    said.claims = W4_REPEATABLE | W4_BATCH_INVARIANT | W4_ROW_LOCAL;
  }
  (void)snprintf(said.reason, sizeof said.reason, "%s", why);
  memcpy(out, &said, sizeof said);
  return status;
}

static double dot(const w4_problem* p, const w4_weight* w, const void* x, int64_t row,
                  int64_t column) {
  const unsigned char *codes = w->codes.data, *zeros = w->zero.data;
  double sum = 0;
  int64_t k;
  for (k = 0; k < p->k; ++k) {
    const int64_t scale_at = k / p->group * p->n + column;
    const int zero = p->zero == W4_ZERO_CODE ? zeros[scale_at] : 8;
    const double weight = (codes[k * p->n + column] - zero) * f16_at(w->scale.data, scale_at);
    sum += f16_at(x, row * p->x_stride + k) * weight;
  }
  return sum;
}

static void multiply(const w4_problem* p, const w4_weight* w, const void* x, char* y) {
  int64_t m, n;
  for (m = 0; m < p->m; ++m) {
    for (n = 0; n < p->n; ++n) {
      const double sum = dot(p, w, x, m, n);
      const int64_t at = m * p->y_stride + n;
      const float single = (float)sum;
      const uint16_t half = f16_bits(sum);
      if (p->y_type == W4_F32)
        memcpy(y + at * 4, &single, 4);
      else
        memcpy(y + at * 2, &half, 2);
    }
  }
}

static int too_short(const void* data, uint64_t bytes, int64_t need) {
  return data == NULL || bytes < (uint64_t)need;
}

static w4_status run(const w4_kernel* self, w4_call* given) {
  w4_call call;
  w4_problem p;
  w4_weight w;
  w4_status status;
  const char* why;
  if (self == NULL || given == NULL) return W4_BAD_ARGUMENT;
  read_struct(&call, sizeof call, given);
  if (call.problem == NULL) return W4_BAD_ARGUMENT;
  read_struct(&p, sizeof p, call.problem);
  status = accepts(&p, &why); /* what plan() declines, run() declines alike */
  if (status != W4_OK) return status;
  if (p.m > 0) {
    if (call.weight == NULL || call.x_scale.data != NULL) return W4_BAD_ARGUMENT;
    read_struct(&w, sizeof w, call.weight);
    if (too_short(w.codes.data, w.codes.bytes, p.k * p.n) ||
        too_short(w.scale.data, w.scale.bytes, p.groups * p.n * 2) ||
        (p.zero == W4_ZERO_CODE && too_short(w.zero.data, w.zero.bytes, p.groups * p.n)) ||
        too_short(call.x.data, call.x.bytes, ((p.m - 1) * p.x_stride + p.k) * 2) ||
        too_short(call.y.data, call.y.bytes,
                  ((p.m - 1) * p.y_stride + p.n) * (p.y_type == W4_F32 ? 4 : 2)))
      return W4_BAD_ARGUMENT;
    multiply(&p, &w, call.x.data, call.y.data);
  }
  if (given->struct_bytes >= sizeof *given) given->ran = "loop";
  return W4_OK;
}

static const w4_kernel scalar = {
    sizeof(w4_kernel), W4_HOST, "example.scalar", plan, NULL, run, NULL};
static const w4_kernel* const kernels[] = {&scalar};
static const w4_plugin plugin = {
    sizeof(w4_plugin), W4_ABI_VERSION, "example", "1", NULL, NULL, 1, 0, kernels};

const w4_plugin* w4_plugin_entry(uint32_t host_abi_version) {
  return host_abi_version == W4_ABI_VERSION ? &plugin : NULL;
}
