// SPDX-License-Identifier: Apache-2.0
// Starts the worker program with the few descriptors it is meant to have.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace w4 {

// Owns a descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  int get() const { return fd_; }
  void reset();

 private:
  int fd_;
};

struct Spawned {
  Descriptor socket, control, pipe;  // the judge's ends
  pid_t pid{-1};                     // the warden
};

// Safe beside other threads. Throws Error(internal) if the program cannot be started.
Spawned spawn_worker(const std::string& plugin_path, std::uint64_t memory_bytes, int arena_fd);

// The folder of this program, for what lies beside it.
std::string own_folder();

}  // namespace w4
