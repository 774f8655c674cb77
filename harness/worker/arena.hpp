// SPDX-License-Identifier: Apache-2.0
// The worker's side of the shared memory: mapped at the same address every time, guarded anew for
// each call.
#pragma once

#include <cstdint>

#include "harness/worker/protocol.hpp"

namespace w4 {

class MappedArena {
 public:
  // Maps what the call needs and takes access away from the request's guards. False if the memory
  // is not to be had.
  bool prepare(const wire::Request&, std::uint64_t memory_bytes);
  void* at(wire::Range range) const { return range.offset ? base_ + range.offset : nullptr; }
  std::uint8_t* bytes() const { return base_; }
  std::uint64_t base() const { return reinterpret_cast<std::uint64_t>(base_); }

 private:
  bool grow(std::uint64_t bytes);
  std::uint8_t* base_{};
  std::uint64_t bytes_{};
  std::uint32_t guards_used_{};
  wire::Range guards_[sizeof(wire::Request::guards) / sizeof(wire::Range)]{};
};

}  // namespace w4
