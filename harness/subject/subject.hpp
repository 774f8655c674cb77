// SPDX-License-Identifier: Apache-2.0
// A kernel of a plugin, in a worker process: the judge's side. No call here throws for anything the
// kernel does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/abi/w4_kernel.h"

#include "reference/layout/layout.hpp"
#include "reference/multiply.hpp"
#include "reference/problem.hpp"

namespace w4 {

// How a call ended. Anything but `answered` has cost the worker its life; the next call starts a
// new one and gives it what was bound.
enum class End : std::uint8_t { answered, crashed, timed_out };

struct Plan {
  w4_status status{W4_OK};
  std::string path, symbols, contract, reason;
  std::uint64_t claims{}, workspace_bytes{}, packed_bytes{};
  std::uint32_t launches{};
  bool ok() const { return status == W4_OK; }
};

// Floating-point control of the worker's thread.
struct FloatState {
  std::uint32_t
      mxcsr{};  // x86: control bits only (rounding, FTZ, DAZ, masks), status flags cleared
  std::uint32_t x87{};
  friend bool operator==(const FloatState&, const FloatState&) = default;
};
std::string describe(const FloatState& now,
                     const FloatState& before);  // "flush-to-zero set", "rounding upward", ...

// A byte outside what the call may write, found changed.
struct Stray {
  std::string where;      // "before y", "after y", "between rows of y", "after workspace", "after
                          // packed", "after the call struct", ...
  std::int64_t offset{};  // bytes from the start of that buffer (negative: before it)
  std::int64_t bytes{};   // how many bytes in all were found changed there
};

// A device function that a call launched, as a tracer saw it.
struct Launch {
  std::string name;  // mangled
  bool cut{};        // the name is longer than a trace keeps; this is its start
  std::int32_t grid[3]{}, block[3]{};
  bool elsewhere{};  // on another stream than the one that the call was given
};

struct Reply {
  End end{End::answered};
  std::string
      how;       // not answered: "signal 11 (SIGSEGV) reading or writing 2 bytes past the end of x"
  int signal{};  // 0 where it did not end by one
  w4_status status{W4_OK};
  std::string ran;           // path that run() reported, "" if it said none
  std::vector<std::byte> y;  // the y buffer as the kernel left it: ((m-1)*y_stride+n) elements
  std::vector<Stray> strays;
  std::vector<std::string> changed;  // inputs whose bytes changed: "x", "codes", "packed", and the
                                     // caller's structs: "problem", "weight", "call"
  FloatState state;                  // after the call
  int children{};  // processes that the call left running (or unreaped); they have been ended
  std::uint64_t printed_bytes{};  // written to stdout and stderr during the call
  std::string printed;            // its start, printable characters
  double seconds{};
  bool on_device{};       // of a kernel whose operands lie there
  bool launches_known{};  // on a device, where launches can be traced
  std::uint32_t launches_seen{};
  std::vector<Launch> launches;  // the first of them
  int device_error{};            // the driver's code, where the device failed during the call
  bool answered() const { return end == End::answered; }
};

// What the ABI's problem struct says, plus the bytes behind its `layout` pointer. reject.* edits it
// freely.
struct AbiProblem {
  w4_problem p{};
  std::string layout;
};
AbiProblem to_abi(const Problem&);

// Bytes of every weight tensor; empty optional = absent (NULL).
struct WeightBytes {
  std::optional<std::vector<std::byte>> codes, scale, zero, scale2, zero2, g_idx, bias;
};
WeightBytes to_bytes(const Packed&, const QuantizedMatrix&);  // g_idx and bias from the matrix

struct CallBytes {
  std::vector<std::byte> x;  // (m-1)*x_stride + k elements
  std::optional<std::vector<std::byte>> x_scale, x_sum;
};
// x laid out with the problem's stride; the gaps between rows hold `gap` (NaN for floats, 0x55 for
// integers). x_scale is handed on where the activations have one; x_sum is always absent.
CallBytes to_bytes(const Problem&, const Activations&);

enum class Place : std::uint8_t {
  middle,  // between pages of slack, poisoned and checked after
  left,    // each buffer begins right behind a page that may not be touched
  right    // each buffer ends right before one (as close as its alignment allows; the rest poisoned
           // and checked)
};

struct CallOptions {
  Place place{Place::middle};
  std::uint8_t poison{
      0xff};       // fills y and workspace before the call (0xff: NaN in every float type)
  bool y_at_m0{};  // with m = 0: a y of one row that may not be written, in place of NULL
  bool one_cpu{};  // run() finds the process narrowed to one CPU; plan() and pack() saw them all
  bool same_workspace{};  // the workspace holds what the call before left there (on the host)
};

struct PluginInfo {
  std::string path, vendor, version;
  struct Kernel {
    std::string name;
    std::uint32_t device{};  // W4_HOST, W4_CUDA
  };
  std::vector<Kernel> kernels;
  std::string device, driver;  // of the device that its kernels would run on, if they need one
  std::string no_device;       // why there is none; "" where there is or where none is needed
  FloatState before_load,
      after_load;  // a library built with unsafe maths flips these in its constructors
};

struct WorkerLimits {
  double seconds{2.0};  // a call gets this plus an allowance by size
  std::uint64_t memory_bytes{8ull << 30};
};

// Starts a worker, loads the plugin, asks it for its kernels. Throws Error(input) `path: load:
// cause` if the plugin cannot be used: not a library, no symbol, another ABI version, no kernels,
// doubled names, or death before hello.
PluginInfo inspect_plugin(const std::string& path, const WorkerLimits& = {});

// What a check needs of a kernel: plan, bind, run. `Subject` is a kernel in a worker;
// harness/bundle puts a recorder and a player of recorded outputs in its place. Not a single call
// throws for what a kernel does.
class KernelPort {
 public:
  virtual ~KernelPort() = default;
  virtual const std::string& kernel() const = 0;
  virtual const PluginInfo& plugin() const = 0;

  // Asks plan(). `reply` (may be null) gets end, how, status, state.
  virtual Plan plan(const AbiProblem&, Reply* reply) = 0;
  Plan plan(const AbiProblem& p) { return plan(p, nullptr); }
  Plan plan(const Problem& p, Reply* reply = nullptr) { return plan(to_abi(p), reply); }

  // Hands the kernel its weights, which stay until the next bind.
  virtual Reply bind(const AbiProblem&, const WeightBytes&, const CallOptions& = {}) = 0;

  // Calls run() once with what was bound. `problem` may differ from the bound one in m, strides and
  // alignments.
  virtual Reply run(const AbiProblem&, const CallBytes&, const CallOptions& = {}) = 0;

  virtual FloatState clean_state() const = 0;  // the state that each call starts from
  virtual int calls() const = 0;               // run() calls so far
  virtual int deaths() const = 0;              // crashes and time-outs so far
};

// A kernel, bound to a worker of its own that starts when first needed.
class Subject final : public KernelPort {
 public:
  Subject(PluginInfo plugin, std::string kernel, WorkerLimits);
  ~Subject() override;  // ends the worker and whatever it left running
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  const std::string& kernel() const override;
  const PluginInfo& plugin() const override;

  using KernelPort::plan;
  Plan plan(const AbiProblem&, Reply* reply) override;

  // Places the weights in shared memory (packs them through pack() where the plan has packed_bytes)
  // until the next bind. The reply's status is pack's, or plan's where that declines: the weights
  // are then placed as they are, for run() has to decline too. Same sizes, same addresses: what a
  // kernel caches by address is found out. A plan that asks for more than 4 GiB or the memory limit
  // is answered with W4_INTERNAL and a `how`.
  Reply bind(const AbiProblem&, const WeightBytes&, const CallOptions& = {}) override;

  // Where plan() declines the problem, y has the size of the bound problem's. After a bind that
  // failed the reply is the bind's.
  Reply run(const AbiProblem&, const CallBytes&, const CallOptions& = {}) override;

  FloatState clean_state() const override;
  int calls() const override;
  int deaths() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace w4
