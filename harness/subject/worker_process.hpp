// SPDX-License-Identifier: Apache-2.0
// A running worker as the judge sees it: packets in and out, what it prints, and how it ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <sys/types.h>

#include "harness/subject/spawn.hpp"
#include "harness/subject/subject.hpp"
#include "harness/worker/protocol.hpp"

namespace w4 {

struct Death {
  End end{End::crashed};
  int signal{};
  bool threw{};  // a C++ exception came out of the call
  int device_error{};
  std::string how;  // "signal 11 (SIGSEGV)", "exited with status 0", "no answer within 2 s"
  std::optional<wire::Fault> fault{};
};

class WorkerProcess {
 public:
  // Throws Error(internal) if the worker program cannot be started.
  WorkerProcess(const std::string& plugin_path, std::uint64_t memory_bytes, int arena_fd);
  ~WorkerProcess();  // lets the plugin close, then ends everything it left
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  void send(const wire::Request&);  // an end shows in receive()
  // One packet of up to `size` bytes. False if there will be none: death() says why, and nothing of
  // the worker is left.
  bool receive(void* packet, std::size_t size, double seconds);
  const std::optional<Death>& death() const { return death_; }
  // Ends it now, for a reason of the judge's.
  void end(Death);

  void forget_printed();  // what came until now belongs to no call
  void drain();
  const std::string& printed() const { return printed_; }
  std::uint64_t printed_bytes() const { return printed_bytes_; }

 private:
  std::size_t take_packet(void* packet, std::size_t size);
  bool take_end();
  void await_end(double seconds);
  void reap();

  Descriptor socket_, control_, pipe_;
  pid_t warden_{-1};
  bool hung_up_{};  // the worker's end of the socket is closed
  bool ended_{};
  std::optional<wire::Fault> fault_;
  std::optional<Death> death_;
  std::string printed_;
  std::uint64_t printed_bytes_{};
};

struct Hello {
  std::string vendor, version;
  std::vector<PluginInfo::Kernel> kernels;
  std::string device, driver, no_device;
  FloatState before_load, after_load;
};
// A driver takes long to start.
inline constexpr double device_start_seconds = 30.0;
// What the worker says first, or why it cannot be used.
std::variant<Hello, std::string> read_hello(WorkerProcess&, double seconds);

std::string signal_name(int number);  // "signal 11 (SIGSEGV)"
std::string ascii_only(
    const std::string& raw);  // ASCII; white space becomes a space, the rest a question mark

}  // namespace w4
