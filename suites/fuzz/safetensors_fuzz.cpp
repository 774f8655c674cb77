// SPDX-License-Identifier: Apache-2.0
// libFuzzer: any bytes are a checkpoint that is read within its bounds, or an error that blames the
// input.
#include <cstdlib>
#include <vector>

#include "harness/checkpoint/safetensors.hpp"
#include "reference/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of exactly this size, so that the address sanitiser sees one byte too many.
  const std::vector<std::uint8_t> copy(data, data + size);
  unsigned sum = 0;
  try {
    const auto file = w4::read_safetensors("fuzz", std::as_bytes(std::span(copy)));
    for (const auto& [name, view] : file.tensors)
      for (const auto byte : view.bytes) sum += std::to_integer<unsigned>(byte);
  } catch (const w4::Error& e) {
    if (e.blame() == w4::Blame::internal) std::abort();
  }
  return sum == 0xffffffffu ? 1 : 0;
}
