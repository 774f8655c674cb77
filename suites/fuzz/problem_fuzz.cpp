// SPDX-License-Identifier: Apache-2.0
// libFuzzer: any text is a problem that contradicts nothing and is its own line again, or an error
// that blames the input.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "reference/error.hpp"
#include "reference/problem.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto p = w4::parse_problem({reinterpret_cast<const char*>(data), size});
    const auto line = w4::to_string(p);
    if (!w4::contradiction(p).empty() || w4::parse_problem(line) != p ||
        w4::to_string(w4::parse_problem(line)) != line)
      std::abort();
  } catch (const w4::Error& e) {
    if (e.blame() == w4::Blame::internal) std::abort();
  }
  return 0;
}
