// SPDX-License-Identifier: Apache-2.0
// Small pieces of text that several reports share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/run/result.hpp"
#include "reference/type.hpp"

namespace w4 {

std::string hex(std::uint64_t, int digits = 1);            // "0x4900"
std::string word_and_value(Type, std::uint32_t word);      // "0x4900 (10)"
std::string in_words(Outcome);                             // "timed out"
std::string counted(std::int64_t, std::string_view what);  // "1 problem", "2 problems"
std::string join(const std::vector<std::string>&, std::string_view separator);
// Expected and got of the worst word, in the output type of the problem.
std::string worst_text(const Worst&, Type y);
// For a shell: in double quotes, or in single ones where it holds what those would expand.
std::string shell_quoted(std::string_view);

}  // namespace w4
