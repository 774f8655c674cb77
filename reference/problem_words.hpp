// SPDX-License-Identifier: Apache-2.0
// What the parser of the problem line and its rules share: the types that each key may name,
// limits, wording.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/problem.hpp"

namespace w4 {

// The largest dimension or stride, and the most elements of one tensor: 2^36 elements of 4 bytes
// are 2^38 bytes, so no byte count or bit offset comes near the end of an int64.
inline constexpr std::int64_t max_dimension = 0x7fffffff;
inline constexpr std::int64_t max_elements = std::int64_t{1} << 36;

inline constexpr Type x_types[] = {Type::f16, Type::bf16, Type::f32,
                                   Type::s8,  Type::s4,   Type::e4m3};
inline constexpr Type y_types[] = {Type::f16, Type::bf16, Type::f32, Type::s32};
inline constexpr Type scale_types[] = {Type::f16, Type::bf16, Type::f32};
inline constexpr Type zero_types[] = {Type::u4, Type::u8, Type::f16, Type::bf16, Type::f32};
inline constexpr Type scale2_types[] = {Type::none, Type::f16, Type::bf16,
                                        Type::f32,  Type::s8,  Type::u8};
inline constexpr Type bias_types[] = {Type::none, Type::f16, Type::bf16, Type::f32};

// The type of zeros where the line does not say it.
Type default_zero_type(const Problem&);

// 'word' for a message: cut where long, with '?' for what a terminal should not see.
std::string quoted(std::string_view word);
std::string past_storage(std::string_view what, std::string_view figure, std::int64_t most);
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known);
// "" or why a layout of that name does not exist.
std::string unknown_layout(std::string_view name);
// "" or what is wrong with the value of data=.
std::string data_fault(std::string_view data);

}  // namespace w4
