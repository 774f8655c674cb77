// SPDX-License-Identifier: Apache-2.0
// What the worker needs of a CUDA driver, without its headers. Tests put host memory behind it.
#pragma once

#include <cstdint>
#include <string>

#include "harness/worker/protocol.hpp"

namespace w4 {

struct OpenDevice {
  void* stream{};           // of its own, which does not wait for the default stream
  std::uint64_t granule{};  // bytes; mappings are multiples of it and aligned to it
};

// Addresses are of the device, numbers of bytes multiples of the granule where memory is reserved
// or mapped. Each function returns 0 or the driver's error.
struct CudaDriver {
  int (*open)(OpenDevice*);  // device 0, its primary context current from then on
  int (*reserve)(std::uint64_t bytes, std::uint64_t* address);  // no access
  int (*release)(std::uint64_t address, std::uint64_t bytes);
  int (*map)(std::uint64_t address, std::uint64_t bytes);  // memory, to be read and written
  int (*unmap)(std::uint64_t address, std::uint64_t bytes);
  int (*set_writable)(std::uint64_t address, std::uint64_t bytes, bool writable);
  int (*fill)(void* stream, std::uint64_t address, std::uint8_t byte, std::uint64_t bytes);
  int (*upload)(void* stream, std::uint64_t address, const void* from, std::uint64_t bytes);
  int (*download)(void* stream, void* to, std::uint64_t address, std::uint64_t bytes);
  int (*wait)(void* stream);
  int (*wait_for_all)();                // all streams
  const char* (*error_name)(int code);  // "CUDA_ERROR_ILLEGAL_ADDRESS"
  // Launches from `watch` on; `take` writes them into an answer. Null where none can be seen.
  void (*watch)();
  void (*take)(void* stream, wire::Answer&);
};

// The driver of this machine, loaded once; null where there is none, or no device, and `why` says
// so. Makes no context.
const CudaDriver* cuda_driver(std::string& why);

struct DeviceFacts {
  bool present{};
  std::string name;    // or why there is none
  std::string driver;  // "580.95.05, CUDA 13.0"
};
DeviceFacts device_facts();

// "cuMemMap: CUDA error 2 (CUDA_ERROR_OUT_OF_MEMORY)", "" for code 0.
std::string describe_error(const CudaDriver&, const char* step, int code);

}  // namespace w4
