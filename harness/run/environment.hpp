// SPDX-License-Identifier: Apache-2.0
// Where a result was obtained: versions, host and device, read without touching a device.
#pragma once

#include <string>
#include <string_view>

namespace w4 {

std::string_view version();  // "0.1.0"
std::string_view commit();   // git describe at configure time, or "unknown"

struct Environment {
  std::string cpu;       // model name
  std::string isa;       // "x86-64 AVX2"
  int cores{1};          // that this process may use
  int lanes{4};          // f32 lanes of the widest vectors that the host has
  std::string compiler;  // "g++ 12.2.0"
  std::string device;    // "none", or the GPU's name
  std::string driver;    // "none", or its version
};
Environment this_environment();

}  // namespace w4
