// SPDX-License-Identifier: Apache-2.0
// The element types and zero forms of the ABI, as enumerators with the ABI's numbers
// (harness/subject asserts that).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace w4 {

enum class Type : std::uint32_t { none = 0, f32, f16, bf16, e4m3, e5m2, s8, u8, s4, u4, s32 };

// q: code, s: scale, z: zero point
enum class Zero : std::uint32_t {
  signed_codes = 1,  // w = q*s       q in -8..7
  eight,             // w = (q-8)*s   q in 0..15 here and below
  code,              // w = (q-z)*s   integer z
  code_m1,           // w = (q-z)*s   integer z in 1..16, stored minus one
  real,              // w = (q-z)*s   z in units of codes, any float
  add,               // w = q*s+z     z in units of weights
  add_8              // w = (q-8)*s+z
};

std::string_view to_string(Type);  // "f16"; none is "none"
std::string_view to_string(Zero);  // "signed 8 code code_m1 real add add_8"
std::optional<Type> type_named(std::string_view);

int bits_of(Type);  // 32, 16, 8 or 4
bool is_float(Type);
constexpr bool has_integer_zero(Zero z) {
  return z <= Zero::code_m1;
}
// A tensor of zeros that says more than "8".
constexpr bool has_stored_zero(Zero z) {
  return z >= Zero::code;
}

}  // namespace w4
