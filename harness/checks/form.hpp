// SPDX-License-Identifier: Apache-2.0
// What a kernel makes of one weight: every known way to evaluate x * (q - z) * s, each step rounded
// once, so that one output per (q, z, s, x) says which way it is, or which fault.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/multiply.hpp"
#include "reference/problem.hpp"
#include "reference/quantized.hpp"

namespace w4 {

// A one-hot output and all that went into it.
struct Observation {
  std::int64_t m{}, k{}, n{};
  std::uint8_t code{};         // nibble
  std::uint32_t zero{};        // as QuantizedMatrix::zeros holds it; 0 for signed and 8
  std::uint32_t scale{}, x{};  // words
  float x_scale{1};
  std::uint32_t got{};  // word of y
};

// twice: rounded to fp32 first, then to the weight type; stepwise: each step in fp32, then so.
enum class WeightStep : std::uint8_t { exact, round, d2, d3, d4, d6, d7, twice, stepwise };
enum class OutputStep : std::uint8_t {
  once,           // RN_y(x*w*xs)
  through_f32,    // RN_y(RN_32(RN_32(x*w)*xs))
  scale_last,     // RN_y(RN_32(RN_32(RN_32(x*(q-z))*s)*xs))
  x_scale_first,  // RN_y(RN_32(RN_32(x*(q-z)*xs)*s))
  scales_joined,  // RN_y(RN_32(x*(q-z) * RN_32(s*xs)))
  x_times_scale,  // RN_y(RN_32(RN_32(x*s)*(q-z)))
  split           // the zero term summed apart, as `apart` says
};

// How a zero term that is summed apart meets the rest: A = (x*q)*s, B = (x*z)*s or x*(z*s), or (x*q
// - x*z)*s; which of the last two products is fused with the subtraction; whether x_scale
// multiplies each term first.
enum class Join : std::uint8_t { subtract, fuse_a, fuse_b, common };
struct Apart {
  bool scaled_zero{};  // B = x * RN_32(z*s)
  bool scaled_code{};  // A = x * RN_32(q*s)
  Join join{};
  bool x_scale_inside{};
};

struct Form {
  WeightStep weight{};
  Type at{Type::f32};  // what the weight steps round to
  OutputStep output{};
  Apart apart{};
  Type partial{};  // not none: the sum is rounded to this declared type before y
};

// What is rounded to the weight type. Steps evaluated in fp32 round nothing to it: "D5".
std::string_view class_name(const Form&);
// The formula whatever it is evaluated in: "D2" for RN_32(RN_32(q*s) - RN_32(z*s)).
std::string_view step_name(const Form&);
std::string describe(const Form&);  // "D1: weight rounded to f16, then fp32 sums"

// The forms that a healthy kernel may have on this problem; `partial` is the declared type of sums,
// none if it is fp32 or wider.
std::vector<Form> healthy_forms(const Problem&, Type partial = Type::none);

// The word that the form gives.
std::uint32_t predict(const Problem&, const Form&, const Observation&);

// The weight that the form multiplies x by: one or two dyadic terms (w = a + b).
WeightTerms weight_under(const Problem&, const Form&, const Observation&);
// The form sums x*q and x*z (or their products with s) apart.
bool splits_zero(const Form&);

struct Identified {
  std::vector<Form> forms;       // those that give every observed word; empty if none does
  std::vector<std::size_t> off;  // no form: observations that the nearest one misses
  Form nearest;
  std::string fault;     // no form: a known fault that explains all, or ""
  std::string fault_id;  // "truncation", "zero_minus_1", ...
};
Identified identify(const Problem&, std::span<const Observation>, Type partial = Type::none);

}  // namespace w4
