// SPDX-License-Identifier: Apache-2.0
// Names out of a file made fit for a message of one line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/printable.hpp"

namespace w4 {

std::string in_quotes(std::string_view);                // "printable"
std::string shape_text(std::span<const std::int64_t>);  // "[8, 32]"
// "a, b, c and 4 more": the first `shown` of them.
std::string some_of(const std::vector<std::string>&, std::size_t shown = 4,
                    const char* separator = ", ");
std::string lower_case(std::string_view);

}  // namespace w4
