// SPDX-License-Identifier: Apache-2.0
// Text out of a file or a plugin made fit for a terminal: the one function for all of it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace w4 {

inline constexpr std::size_t whole_text = std::string_view::npos;

// One line without control characters: those (C0, DEL, C1) and what is not UTF-8 as \xNN, and at
// most about `limit` bytes of it.
std::string printable(std::string_view, std::size_t limit = 160);

}  // namespace w4
