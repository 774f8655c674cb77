// SPDX-License-Identifier: Apache-2.0
// Kernels that touch what is not theirs: reads and writes past a buffer, inputs, the heap, nothing
// at all.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/hostile/misdeeds.hpp"

namespace w4 {
namespace {

// Through a volatile word, so that no compiler sees the address and drops the access.
volatile std::uintptr_t unmapped = 8;
volatile unsigned char seen{};

void segfault(w4_call&) {
  *reinterpret_cast<volatile int*>(unmapped) = 1;
}

volatile unsigned char* y_of(const w4_call& call) {
  return static_cast<volatile unsigned char*>(call.y.data);
}

// One f16 element; changes whatever was there.
void flip_element(volatile unsigned char* at) {
  at[0] = static_cast<unsigned char>(at[0] ^ 0x5a);
  at[1] = static_cast<unsigned char>(at[1] ^ 0x5a);
}

void overrun_y(w4_call& call) {
  if (call.problem->m > 0) flip_element(y_of(call) + y_bytes(*call.problem));
}

void underrun_y(w4_call& call) {
  if (call.problem->m > 0) flip_element(y_of(call) - 2);
}

void write_far_past_y(w4_call& call) {
  if (call.problem->m == 0) return;
  volatile unsigned char* end = y_of(call) + y_bytes(*call.problem);
  for (std::size_t i = 0; i < (std::size_t{1} << 20); ++i) end[i] = 0x5a;
}

void read_past_x(w4_call& call) {
  if (call.problem->m == 0) return;
  const auto* end =
      static_cast<const volatile unsigned char*>(call.x.data) + x_bytes(*call.problem);
  seen = static_cast<unsigned char>(end[0] | end[1]);
}

// As a kernel without a mask does: the element past the end, times zero, joins the last sum.
void add_nothing_past_x(w4_call& call) {
  read_past_x(call);
  const w4_problem& p = *call.problem;
  if (p.m == 0) return;
  std::uint16_t beyond{};
  std::memcpy(&beyond, static_cast<const unsigned char*>(call.x.data) + x_bytes(p), 2);
  const bool finite = (beyond & 0x7c00u) != 0x7c00u;
  const std::uint16_t nan = 0x7e00;
  if (!finite) std::memcpy(static_cast<unsigned char*>(call.y.data) + y_bytes(p) - 2, &nan, 2);
}

void read_past_codes(w4_call& call) {
  const w4_in& codes = call.weight->codes;
  seen = static_cast<const volatile unsigned char*>(codes.data)[codes.bytes];
}

void scribble_codes(w4_call& call) {
  auto* codes = static_cast<unsigned char*>(const_cast<void*>(call.weight->codes.data));
  codes[0] = static_cast<unsigned char>(codes[0] ^ 1u);
}

// Up to 64 GiB: without a memory limit this is as far as it goes.
void allocate_forever(w4_call&) {
  constexpr std::size_t chunk = std::size_t{16} << 20;
  for (int i = 0; i < 4096; ++i) {
    auto* memory = static_cast<volatile unsigned char*>(std::malloc(chunk));
    if (memory == nullptr) break;
    for (std::size_t at = 0; at < chunk; at += 4096) memory[at] = 1;
  }
  std::abort();
}

// The answer of the first call with this X buffer, whatever it holds now.
void answer_by_address(w4_call& call) {
  struct Answer {
    const void* x;
    std::vector<unsigned char> y;
  };
  static std::vector<Answer> answers;
  const auto bytes = static_cast<std::size_t>(y_bytes(*call.problem));
  if (bytes == 0) return;
  for (const Answer& old : answers) {
    if (old.x != call.x.data || old.y.size() != bytes) continue;
    std::memcpy(call.y.data, old.y.data(), bytes);
    return;
  }
  const auto* y = static_cast<const unsigned char*>(call.y.data);
  answers.push_back({call.x.data, {y, y + bytes}});
}

constexpr Misdeed rows[] = {
    {.name = "hostile.segfault", .before = segfault},
    {.name = "hostile.overrun_y", .after = overrun_y},
    {.name = "hostile.underrun_y", .after = underrun_y},
    {.name = "hostile.writes_guard_far", .after = write_far_past_y},
    {.name = "hostile.read_past_x", .after = add_nothing_past_x},
    {.name = "hostile.read_past_codes", .after = read_past_codes},
    {.name = "hostile.scribbles_inputs", .after = scribble_codes},
    {.name = "hostile.allocates_forever", .before = allocate_forever},
    {.name = "hostile.caches_by_address", .after = answer_by_address},
    {.name = "hostile.silent", .silent = true},
};

}  // namespace

std::span<const Misdeed> memory_misdeeds() {
  return rows;
}

}  // namespace w4
