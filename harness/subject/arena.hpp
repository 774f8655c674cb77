// SPDX-License-Identifier: Apache-2.0
// The judge's side of the shared memory: where each buffer of a call lies, what surrounds it, and
// what was written there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/subject/subject.hpp"
#include "harness/worker/protocol.hpp"

namespace w4 {

inline constexpr std::uint64_t page_bytes = 4096;
// Between segments, no access. Wide, so that a wild index is still attributed to its buffer; a hole
// costs no memory.
inline constexpr std::uint64_t guard_bytes = std::uint64_t{1} << 20;

// One buffer at offset `at` of the arena; [lo, at) and [at + bytes, hi) are slack that holds
// `fill`.
struct Segment {
  std::string name;
  std::uint64_t lo{}, hi{}, at{}, bytes{};
  std::uint8_t fill{0xff};
  bool closed{};  // no access at all during the call
  Place place{};
  wire::Range range() const { return {at, bytes}; }
};

// The next buffer behind a guard that begins at `cursor`. In the middle the address is a multiple
// of `align` and not of 2*align, so that a kernel which counts on more fails; left and right are as
// the enumerators say.
Segment place_segment(std::string name, std::uint64_t cursor, std::uint64_t bytes,
                      std::uint64_t align, Place, std::uint8_t fill);

class Arena {
 public:
  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  void reserve(std::uint64_t bytes);  // grows; spans taken before are void
  int fd() const { return fd_; }
  std::uint64_t bytes() const { return bytes_; }
  std::span<std::byte> at(std::uint64_t offset, std::uint64_t bytes) {
    return {base_ + offset, bytes};
  }
  std::span<std::byte> data(const Segment& s) { return at(s.at, s.bytes); }
  void fill_slack(const Segment&);
  // Changed bytes before and after the buffer.
  void find_strays(const Segment&, std::vector<Stray>&);

 private:
  int fd_{-1};
  std::byte* base_{};
  std::uint64_t bytes_{};
};

// The guards between segments in order of address; closed segments belong to them.
void set_guards(wire::Request&, const std::vector<const Segment*>&, std::uint64_t end);

// The same segments as a device sees them.
void set_windows(wire::Request&, const std::vector<const Segment*>&);

// Bytes that do not hold `fill`: the first of them and how many; count 0 if there is none.
struct Changed {
  std::int64_t first{}, count{};
};
Changed find_changed(std::span<const std::byte>, std::uint8_t fill);

// "reading 2 bytes past the end of x", "writing address 0x10, outside all buffers".
std::string describe_fault(const wire::Fault&, const std::vector<const Segment*>&,
                           std::uint64_t arena_bytes);

}  // namespace w4
