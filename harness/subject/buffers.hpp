// SPDX-License-Identifier: Apache-2.0
// The buffers of a call: placed one behind the other, filled before it, looked at after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/subject/arena.hpp"
#include "harness/subject/subject.hpp"

namespace w4 {

struct Buffer {
  Segment segment;
  std::span<const std::byte>
      bytes;  // what it holds before the call and, being an input, after it; outputs: empty
};

// Buffers in order of address.
class Buffers {
 public:
  Buffers() = default;
  Buffers(std::uint64_t cursor, Place place) : cursor_(cursor), place_(place) {}
  void input(std::string name, std::span<const std::byte>, std::uint64_t align);
  void output(std::string name, std::uint64_t bytes, std::uint64_t align, std::uint8_t poison);
  wire::Range range(const std::string& name) const;  // absent and empty ones: NULL
  std::uint64_t cursor() const { return cursor_; }   // behind the last segment
  std::vector<Buffer>& list() { return list_; }
  const std::vector<Buffer>& list() const { return list_; }

 private:
  std::uint64_t cursor_{};
  Place place_{};
  std::vector<Buffer> list_;
};

void append_segments(std::vector<const Segment*>&, const Buffers&);
// Inputs with their bytes, outputs and slack with their fill; the buffer named `but` stays as it
// is.
void write_buffers(Arena&, const Buffers&, std::string_view but = "");
// Adds strays and changed inputs to the reply, and puts both right for the next call.
void inspect_buffers(Arena&, const Buffers&, Reply&);

// ((m-1)*y_stride + n) elements, no more than `most` where the problem contradicts itself.
std::uint64_t y_bytes(const w4_problem&, std::uint64_t most);
// Adds what was written between the rows of y.
void inspect_gaps(std::span<const std::byte> y, const w4_problem&, std::uint8_t poison, Reply&);

}  // namespace w4
