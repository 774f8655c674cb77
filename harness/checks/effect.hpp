// SPDX-License-Identifier: Apache-2.0
// What the checks of effects share: their operands, and what they say of memory and of bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "harness/checks/compare.hpp"
#include "harness/checks/rig.hpp"

namespace w4 {

// Exact operands of the problem; `salt` draws others of the same shape. Dense rows need 24-bit
// sums: where 16-bit ones are declared every 128th k is active instead, and 11 bits do.
ExactOperands exact_operands(Rig&, std::int64_t rows, std::uint64_t salt = 0);
std::int64_t some_rows(const Rig&, std::int64_t at_least = 1);

// The reply has strays.
Verdict stray_failure(const Reply&);

// The first index at which two runs of words differ (their size if none), and at how many.
struct Difference {
  std::size_t index{};
  std::size_t count{};
};
Difference differences(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);

std::string at(const Problem&, std::size_t index);  // "y[3,17]"
Verdict bits_changed(const Problem&, std::string what, std::span<const std::uint32_t> first,
                     std::span<const std::uint32_t> now, const Difference&);

}  // namespace w4
