// SPDX-License-Identifier: Apache-2.0
// The number formats as rows of a table; everything that number.cpp and exact_sum.cpp know about a
// type is here.
#pragma once

#include <cstdint>

#include "reference/error.hpp"
#include "reference/type.hpp"

namespace w4 {

// Sign, exponent field, fraction. A word without its sign orders as its value does.
struct FloatFormat {
  int fraction_bits{}, exponent_bits{};
  bool infinity{};  // false: OCP "fn", only the all-ones word is not a number

  constexpr int bits() const { return 1 + exponent_bits + fraction_bits; }
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int bottom_exponent() const { return 1 - bias(); }  // of the smallest normal number
  constexpr int top_exponent() const { return infinity ? bias() : bias() + 1; }
  constexpr int smallest_exponent() const { return bottom_exponent() - fraction_bits; }
  constexpr std::uint32_t sign_bit() const { return std::uint32_t{1} << (bits() - 1); }
  // Infinity, or NaN where there is none; the largest finite word is the one before.
  constexpr std::uint32_t past_largest() const {
    return infinity ? sign_bit() - (std::uint32_t{1} << fraction_bits) : sign_bit() - 1;
  }
  constexpr std::uint32_t largest() const { return past_largest() - 1; }
};

struct IntegerFormat {
  int bits{};
  bool is_signed{};

  constexpr std::int64_t lowest() const { return is_signed ? -(std::int64_t{1} << (bits - 1)) : 0; }
  constexpr std::int64_t highest() const {
    return (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  }
};

inline constexpr FloatFormat f32_format{23, 8, true};
inline constexpr FloatFormat f16_format{10, 5, true};
inline constexpr FloatFormat bf16_format{7, 8, true};
inline constexpr FloatFormat e4m3_format{3, 4, false};
inline constexpr FloatFormat e5m2_format{2, 5, true};

// nullptr for integers.
constexpr const FloatFormat* float_format(Type t) {
  switch (t) {
    case Type::f32:
      return &f32_format;
    case Type::f16:
      return &f16_format;
    case Type::bf16:
      return &bf16_format;
    case Type::e4m3:
      return &e4m3_format;
    case Type::e5m2:
      return &e5m2_format;
    default:
      return nullptr;
  }
}

inline constexpr IntegerFormat s8_format{8, true}, u8_format{8, false}, s4_format{4, true},
    u4_format{4, false}, s32_format{32, true};

inline const IntegerFormat& integer_format(Type t) {
  switch (t) {
    case Type::s8:
      return s8_format;
    case Type::u8:
      return u8_format;
    case Type::s4:
      return s4_format;
    case Type::u4:
      return u4_format;
    default:
      break;
  }
  require(t == Type::s32, "a number type");
  return s32_format;
}

}  // namespace w4
