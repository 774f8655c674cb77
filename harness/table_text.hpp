// SPDX-License-Identifier: Apache-2.0
// Text in columns, for every table that a person sees.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace w4 {

// Columns as wide as their cells, `gap` blanks between them, the last one ragged; no trailing
// blanks.
std::string table_text(const std::vector<std::vector<std::string>>& rows, std::size_t gap = 3);

}  // namespace w4
