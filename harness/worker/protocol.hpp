// SPDX-License-Identifier: Apache-2.0
// What judge, warden and worker say to one another: fixed packets between processes of one build.
#pragma once

#include <cstdint>

#include "kernels/abi/w4_kernel.h"

namespace w4::wire {

// The descriptors that the worker program is started with, beside 0 (/dev/null), 1 and 2 (a pipe to
// the judge).
inline constexpr int socket_fd = 3;  // SOCK_SEQPACKET, judge and worker
inline constexpr int arena_fd = 4;   // memfd with every buffer of a call
inline constexpr int control_fd =
    5;  // SOCK_SEQPACKET, judge and warden; its end of file ends the worker

// Exit status of a worker whose plugin has closed the socket under it.
inline constexpr int lost_connection = 121;

// Where the worker would like the arena, so that addresses repeat from run to run: far from where
// the kernel puts programs and libraries, and outside the shadow memory of the address sanitizer.
inline constexpr std::uint64_t arena_base = 0x3000'0000'0000;

enum class Kind : std::uint32_t {
  refused = 1,
  kernel,
  device,
  hello,
  plan,
  pack,
  run,
  answer,
  threw,
  device_error,
  fault,
  ended
};

// Where the worker was when it faulted or threw.
enum class Phase : std::uint32_t { load, plan, pack, run, strings, idle };

struct FloatBits {
  std::uint32_t mxcsr{}, x87{};
};

// Worker to judge, at start: `refused` once, or a `kernel` for each kernel, a `device` if one of
// them needs it, and then `hello`.
struct Greeting {
  Kind kind{};
  std::uint32_t device{};   // kernel; device: 1 if there is one
  FloatBits before, after;  // hello
  char text[1024]{};    // refused: cause; kernel: name; device: name, or why none; hello: vendor
  char version[256]{};  // device: of the driver; hello: of the plugin
};

struct Range {
  std::uint64_t offset{}, bytes{};  // in the arena; offset 0 is NULL
};

// A buffer with its slack, [lo, hi) of the arena in whole pages: what a device kernel gets a copy
// of.
struct Window {
  std::uint64_t lo{}, hi{}, at{}, bytes{};  // the buffer is [at, at + bytes)
  std::uint32_t fill{};                     // of the slack
  std::uint32_t place{};                    // Place: middle, left, right
};

// Judge to worker: one call of plan(), pack() or run().
struct Request {
  Kind kind{};
  std::uint32_t kernel{};       // index in the plugin's table
  std::uint64_t sequence{};     // comes back in the answer
  std::uint64_t arena_bytes{};  // to be mapped
  w4_problem problem{};         // layout is set by the worker
  char layout[256]{};
  Range codes, scale, zero, scale2, zero2, g_idx, bias;
  Range packed;  // pack
  Range x, x_scale, x_sum, y, workspace;
  std::uint32_t one_cpu{};  // run: narrow the process to one CPU for this call
  std::uint32_t guards_used{};
  Range guards[32]{};               // no access while the call runs
  std::uint64_t weights_version{};  // another one: the bytes of the weights have changed
  std::uint32_t inputs_writable{};  // on a device; to tell a write to an input from a stray access
  std::uint32_t windows_used{};
  Window windows[32]{};  // in order of address
};

// Parts of the caller's structs that the call may not write, as bits of Answer::touched.
enum : std::uint32_t {
  touched_problem = 1,
  touched_weight = 2,
  touched_call = 4,
  wrote_past_plan = 8,
  wrote_past_call = 16
};

// A kernel launched on the device, as a tracer saw it.
struct Launch {
  std::int32_t grid[3]{}, block[3]{};
  std::uint32_t elsewhere{};  // on another stream than the call's
  char name[512]{};           // mangled
};

// Bytes changed around a buffer on the device.
struct DeviceStray {
  std::uint64_t at{};              // the buffer's offset in the arena
  std::int64_t offset{}, bytes{};  // from its start; how many in all
};

struct Answer {
  Kind kind{};  // answer; threw: an exception came out of the call, `reason` is its what();
                // refused: memory for the call is not to be had, `reason` says why;
                // device_error: the device failed during the call, `reason` names the error
  w4_status status{};
  std::uint64_t sequence{};
  Phase phase{};
  FloatBits state;  // right after the call
  std::uint32_t children{}, touched{}, launches{};
  std::uint64_t workspace_bytes{}, packed_bytes{}, claims{};
  double seconds{};
  std::int32_t device_code{};      // of a device_error
  std::uint32_t launches_known{};  // a tracer watched the call
  std::uint32_t launches_seen{};   // in all; the first of them follow
  Launch launch[8]{};
  std::uint32_t strays_used{};
  DeviceStray strays[8]{};
  char path[512]{}, symbols[4096]{}, contract[2048]{},
      reason[257]{};  // path: plan's, or what run() said it ran
};

// Worker to judge, from the signal handler; the end follows.
struct Fault {
  Kind kind{};
  std::int32_t signal{};
  Phase phase{};
  std::uint32_t access{};  // 0 read, 1 write, 2 instruction fetch, 3 not known
  std::uint32_t
      protection{};  // general protection: misaligned vector access or an address that cannot exist
  std::uint64_t address{};
  std::uint64_t base{};  // where the arena is mapped
};

// Warden to judge: the worker is gone and so is all that it started.
struct Ended {
  Kind kind{};
  std::int32_t code{};    // CLD_EXITED, CLD_KILLED or CLD_DUMPED, CLD_STOPPED
  std::int32_t status{};  // exit status or signal
};

}  // namespace w4::wire
