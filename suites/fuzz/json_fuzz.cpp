// SPDX-License-Identifier: Apache-2.0
// libFuzzer: any text is a config or an error that blames the input.
#include <cstdlib>

#include "harness/checkpoint/config.hpp"
#include "reference/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    w4::parse_config("quantize_config.json", {reinterpret_cast<const char*>(data), size});
  } catch (const w4::Error& e) {
    if (e.blame() == w4::Blame::internal) std::abort();
  }
  return 0;
}
