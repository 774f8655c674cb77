// SPDX-License-Identifier: Apache-2.0
// A loaded plugin, checked field by field before anything else looks at it.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/worker/protocol.hpp"

namespace w4 {

struct LoadedKernel {
  const w4_kernel* self{};  // the library's own struct: what its functions are given
  w4_kernel table{};        // a copy as long as the library says, zeros beyond
};

struct LoadedPlugin {
  w4_plugin table{};
  std::vector<LoadedKernel> kernels;
  bool needs_device() const;  // one of the kernels does
};

// Loads, checks, opens, and greets the judge. On any fault of the plugin: sends `refused` with the
// cause and exits.
LoadedPlugin load_plugin(const char* path, std::uint64_t memory_bytes);

// Limits the address space to what the judge allows a host kernel, plus the arena. Nothing under a
// sanitizer, whose shadow memory is larger than any limit, nor for a plugin with device kernels,
// whose driver reserves as much.
void limit_memory(std::uint64_t bytes);

// Copies a string of the plugin's into a field, shortened to fit; NULL becomes "". Faults where the
// plugin's pointer does.
void copy_text(char* to, std::size_t room, const char* from);
template <std::size_t N>
void copy_text(char (&to)[N], const char* from) {
  copy_text(to, N, from);
}

}  // namespace w4
