// SPDX-License-Identifier: Apache-2.0
// The one line of an error and the one line of a warning, on stderr.
#pragma once

#include <string_view>

namespace w4 {

// `path: step: cause`. What no terminal should see is escaped (printable): an error is one line,
// whatever it quotes.
void log_error(std::string_view line);
// line: `path: prefix: what`.
void log_warning(std::string_view line);

}  // namespace w4
