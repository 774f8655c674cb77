// SPDX-License-Identifier: Apache-2.0
// The steps around a call on the device, in order: map, fill, copy, protect; wait; copy back.
#include "harness/worker/device_memory.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace w4 {
namespace {

constexpr std::uint64_t page_bytes = 4096;
enum Place : std::uint32_t { middle, left, right };

bool is(const wire::Window& window, wire::Range range) {
  return range.offset != 0 && range.offset == window.at;
}

bool is_output(const wire::Window& window, const wire::Request& request) {
  return is(window, request.y) || is(window, request.workspace) || is(window, request.packed);
}

bool is_weight(const wire::Window& window, const wire::Request& request) {
  for (const wire::Range range : {request.codes, request.scale, request.zero, request.scale2,
                                  request.zero2, request.g_idx, request.bias}) {
    if (is(window, range)) return true;
  }
  return false;
}

bool same_geometry(const wire::Window& a, const wire::Window& b) {
  return a.hi - a.lo == b.hi - b.lo && a.at - a.lo == b.at - b.lo && a.bytes == b.bytes &&
         a.fill == b.fill;
}

}  // namespace

std::string describe_error(const CudaDriver& driver, const char* step, int code) {
  if (code == 0) return {};
  const std::string error =
      "CUDA error " + std::to_string(code) + " (" + driver.error_name(code) + ")";
  return *step ? std::string(step) + ": " + error : error;
}

DevicePlace place_on_device(const wire::Window& window, std::uint64_t granule) {
  const std::uint64_t size = window.hi - window.lo;
  const std::uint64_t mapped = (size + granule - 1) / granule * granule;
  switch (window.place) {
    case left:
      return {mapped, 0};
    case right:
      return {mapped, mapped - size};
    default:
      return {mapped, (mapped - size) / 2 / page_bytes * page_bytes};
  }
}

DeviceMemory::~DeviceMemory() {
  for (Buffer& buffer : buffers_) drop(buffer);
}

bool DeviceMemory::ok(const char* step, int code) {
  if (code != 0 && failure_.empty()) {
    failure_ = describe_error(driver_, step, code);
    code_ = code;
  }
  return failure_.empty();
}

void DeviceMemory::begin() {
  failure_.clear();
  code_ = 0;
}

bool DeviceMemory::open() {
  if (!opened_ && ok("opening the device", driver_.open(&device_))) opened_ = true;
  return opened_;
}

void DeviceMemory::drop(Buffer& buffer) {
  if (buffer.reserved == 0) return;
  ok("unmapping a buffer", driver_.unmap(mapping_of(buffer), buffer.place.mapped_bytes));
  ok("releasing addresses",
     driver_.release(buffer.reserved, buffer.place.mapped_bytes + 2 * device_.granule));
  buffer.reserved = 0;
}

// A mapping is kept while its size is, so that same sizes have same addresses.
void DeviceMemory::keep_or_map(std::size_t index, const wire::Window& window,
                               const wire::Request& request) {
  if (index == buffers_.size()) buffers_.emplace_back();
  Buffer& buffer = buffers_[index];
  const DevicePlace place = place_on_device(window, device_.granule);
  const bool input = !is_output(window, request);
  buffer.fresh = buffer.reserved == 0 || buffer.input != input || !(buffer.place == place) ||
                 !same_geometry(buffer.window, window);
  if (buffer.reserved != 0 && buffer.place.mapped_bytes != place.mapped_bytes) drop(buffer);
  buffer.window = window;
  buffer.place = place;
  buffer.input = input;
  buffer.weight = is_weight(window, request);
  if (buffer.reserved != 0) return;
  std::uint64_t reserved = 0;
  if (!ok("reserving addresses",
          driver_.reserve(place.mapped_bytes + 2 * device_.granule, &reserved)))
    return;
  if (!ok("mapping a buffer", driver_.map(reserved + device_.granule, place.mapped_bytes))) {
    driver_.release(reserved, place.mapped_bytes + 2 * device_.granule);
    return;
  }
  buffer.reserved = reserved;
  buffer.writable = true;
}

void DeviceMemory::set_writable(Buffer& buffer, bool writable) {
  if (buffer.writable == writable) return;
  ok("changing access to a buffer",
     driver_.set_writable(mapping_of(buffer), buffer.place.mapped_bytes, writable));
  buffer.writable = writable;
}

void DeviceMemory::write(Buffer& buffer, const std::uint8_t* arena, bool weights_changed) {
  const bool as_it_was = buffer.weight && !buffer.fresh && !weights_changed;
  if (as_it_was) return;
  set_writable(buffer, true);
  if (buffer.fresh || !buffer.input) {
    ok("filling a buffer",
       driver_.fill(device_.stream, mapping_of(buffer),
                    static_cast<std::uint8_t>(buffer.window.fill), buffer.place.mapped_bytes));
  }
  if (!buffer.input) return;
  ok("copying to the device", driver_.upload(device_.stream, address_of(buffer),
                                             arena + buffer.window.at, buffer.window.bytes));
}

std::string DeviceMemory::prepare(const wire::Request& request, const std::uint8_t* arena) {
  begin();
  if (!open()) return failure_;
  const std::size_t count = std::min<std::size_t>(request.windows_used, std::size(request.windows));
  while (buffers_.size() > count) {
    drop(buffers_.back());
    buffers_.pop_back();
  }
  for (std::size_t i = 0; i < count && failure_.empty(); ++i)
    keep_or_map(i, request.windows[i], request);
  const bool weights_changed = request.weights_version != weights_version_;
  for (Buffer& buffer : buffers_) {
    if (failure_.empty()) write(buffer, arena, weights_changed);
  }
  if (failure_.empty()) ok("copying to the device", driver_.wait(device_.stream));
  for (Buffer& buffer : buffers_) {
    if (failure_.empty()) set_writable(buffer, !buffer.input || request.inputs_writable != 0);
  }
  // Half a copy is none: after a failure everything is made again.
  weights_version_ = failure_.empty() ? request.weights_version : 0;
  if (failure_.empty() && driver_.watch) driver_.watch();
  return failure_;
}

void* DeviceMemory::at(wire::Range range) const {
  for (const Buffer& buffer : buffers_) {
    if (is(buffer.window, range)) return reinterpret_cast<void*>(address_of(buffer));
  }
  return nullptr;
}

void DeviceMemory::find_strays(const Buffer& buffer, wire::Answer& answer) {
  const std::uint64_t lead = address_of(buffer) - mapping_of(buffer);
  const std::uint64_t behind = lead + buffer.window.bytes;
  struct Side {
    std::uint64_t from, to;
  };
  for (const Side side : {Side{0, lead}, Side{behind, buffer.place.mapped_bytes}}) {
    if (side.from == side.to) continue;
    slack_.resize(side.to - side.from);
    if (!ok("copying from the device",
            driver_.download(device_.stream, slack_.data(), mapping_of(buffer) + side.from,
                             slack_.size())) ||
        !ok("copying from the device", driver_.wait(device_.stream)))
      return;
    const auto differs = [&](std::uint8_t byte) { return byte != buffer.window.fill; };
    const auto first = std::find_if(slack_.begin(), slack_.end(), differs);
    if (first == slack_.end() || answer.strays_used == std::size(answer.strays)) continue;
    answer.strays[answer.strays_used++] = {buffer.window.at,
                                           static_cast<std::int64_t>(side.from) -
                                               static_cast<std::int64_t>(lead) +
                                               (first - slack_.begin()),
                                           std::count_if(first, slack_.end(), differs)};
  }
}

void DeviceMemory::copy_back(const wire::Request& request, std::uint8_t* arena) {
  for (const Buffer& buffer : buffers_) {
    if (is(buffer.window, request.workspace)) continue;  // its contents are nobody's business
    if (!ok("copying from the device", driver_.download(device_.stream, arena + buffer.window.at,
                                                        address_of(buffer), buffer.window.bytes)))
      return;
  }
  ok("copying from the device", driver_.wait(device_.stream));
}

void DeviceMemory::finish(const wire::Request& request, std::uint8_t* arena, wire::Answer& answer) {
  begin();
  if (ok("", driver_.wait(device_.stream))) copy_back(request, arena);
  // Other streams were not waited for: results that come too late are none. But what runs there
  // must not outlive the call, and its errors are the call's.
  if (failure_.empty()) ok("on another stream", driver_.wait_for_all());
  for (const Buffer& buffer : buffers_) {
    if (!buffer.input && failure_.empty()) find_strays(buffer, answer);
  }
  if (failure_.empty() && driver_.take) driver_.take(device_.stream, answer);
  answer.device_code = code_;
  failure_.copy(answer.reason, sizeof answer.reason - 1);
}

}  // namespace w4
