// SPDX-License-Identifier: Apache-2.0
// The buffers of a call on the device: each in a mapping of its own between addresses that nobody
// may touch, inputs read-only while the kernel runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/worker/cuda_driver.hpp"
#include "harness/worker/protocol.hpp"

namespace w4 {

// Where [lo, hi) of the arena lies in a mapping: at its start (left), at its end (right), or
// between, a whole number of pages from both.
struct DevicePlace {
  std::uint64_t mapped_bytes{}, offset{};
  friend bool operator==(const DevicePlace&, const DevicePlace&) = default;
};
DevicePlace place_on_device(const wire::Window&, std::uint64_t granule);

class DeviceMemory {
 public:
  explicit DeviceMemory(const CudaDriver& driver) : driver_(driver) {}
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Opens the device the first time. Then every window of the request is there: inputs as the arena
  // has them (weights are copied again only with another weights_version), outputs and slack
  // filled. "" or which step failed with which error.
  std::string prepare(const wire::Request&, const std::uint8_t* arena);
  // Of a range of the arena; null for an absent one.
  void* at(wire::Range) const;
  void* stream() const { return device_.stream; }
  // Waits for the call's stream, copies inputs and outputs back to the arena, waits for all other
  // streams; the answer gets what was written around outputs, what was launched, and the device's
  // error, if any: device_code and `reason`.
  void finish(const wire::Request&, std::uint8_t* arena, wire::Answer&);

 private:
  struct Buffer {
    wire::Window window;
    DevicePlace place;
    std::uint64_t reserved{};  // a granule, the mapping, a granule
    bool input{}, weight{}, fresh{}, writable{true};
  };
  std::uint64_t mapping_of(const Buffer& b) const { return b.reserved + device_.granule; }
  std::uint64_t address_of(const Buffer& b) const {
    return mapping_of(b) + b.place.offset + (b.window.at - b.window.lo);
  }
  bool ok(const char* step, int code);  // keeps the first failure
  void begin();
  void copy_back(const wire::Request&, std::uint8_t* arena);
  bool open();
  void drop(Buffer&);
  void keep_or_map(std::size_t index, const wire::Window&, const wire::Request&);
  void write(Buffer&, const std::uint8_t* arena, bool weights_changed);
  void set_writable(Buffer&, bool writable);
  void find_strays(const Buffer&, wire::Answer&);

  const CudaDriver& driver_;
  OpenDevice device_;
  bool opened_{};
  std::uint64_t weights_version_{};
  std::vector<Buffer> buffers_;
  std::string failure_;
  int code_{};
  std::vector<std::uint8_t> slack_;
};

}  // namespace w4
