// SPDX-License-Identifier: Apache-2.0
// Activity records need no subscription, so a profiler may be attached too.
#include "harness/worker/launch_trace.hpp"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include <cupti_activity.h>
#include <cupti_version.h>
#include <dlfcn.h>

#include "harness/worker/plugin.hpp"

namespace w4 {
namespace {

struct Cupti {
  CUptiResult (*version)(std::uint32_t*);
  CUptiResult (*enable)(CUpti_ActivityKind);
  CUptiResult (*register_callbacks)(CUpti_BuffersCallbackRequestFunc,
                                    CUpti_BuffersCallbackCompleteFunc);
  CUptiResult (*next)(std::uint8_t*, size_t, CUpti_Activity**);
  CUptiResult (*flush)(std::uint32_t);
  CUptiResult (*stream_id)(CUcontext, CUstream, std::uint8_t, std::uint32_t*);
};

struct Seen {
  wire::Launch launch;
  std::uint32_t stream;
};

Cupti cupti;
std::mutex lock;  // buffers come back on a thread of CUPTI's
std::vector<Seen> seen;

constexpr size_t buffer_bytes = 1 << 20, buffer_align = 8;

void give_buffer(std::uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(buffer_align, buffer_bytes));
  *size = *buffer ? buffer_bytes : 0;
  *most_records = 0;
}

// The struct of the headers that this was built with; versions of CUPTI are compared before.
void keep(const CUpti_Activity* record) {
  if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) return;
  const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
  Seen one{};
  one.stream = kernel->streamId;
  const std::int32_t grid[] = {kernel->gridX, kernel->gridY, kernel->gridZ};
  const std::int32_t block[] = {kernel->blockX, kernel->blockY, kernel->blockZ};
  std::memcpy(one.launch.grid, grid, sizeof grid);
  std::memcpy(one.launch.block, block, sizeof block);
  copy_text(one.launch.name, kernel->name);
  seen.push_back(one);
}

void take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, size_t, size_t valid) {
  const std::lock_guard guard(lock);
  CUpti_Activity* record = nullptr;
  while (cupti.next(buffer, valid, &record) == CUPTI_SUCCESS) keep(record);
  std::free(buffer);
}

void* open_library() {
  for (const char* name : {"libcupti.so.13", "libcupti.so", "/usr/local/cuda/lib64/libcupti.so.13",
                           "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

bool start() {
  void* library = open_library();
  if (library == nullptr) return false;
  bool complete = true;
  const auto find = [&](auto& function, const char* name) {
    void* found = dlsym(library, name);
    complete = complete && found != nullptr;
    std::memcpy(&function, &found, sizeof found);
  };
  find(cupti.version, "cuptiGetVersion");
  find(cupti.enable, "cuptiActivityEnable");
  find(cupti.register_callbacks, "cuptiActivityRegisterCallbacks");
  find(cupti.next, "cuptiActivityGetNextRecord");
  find(cupti.flush, "cuptiActivityFlushAll");
  find(cupti.stream_id, "cuptiGetStreamIdEx");
  std::uint32_t version = 0;
  // Another major version may lay out its records in another way.
  return complete && cupti.version(&version) == CUPTI_SUCCESS &&
         version / 10000 == CUPTI_API_VERSION / 10000 &&
         cupti.register_callbacks(give_buffer, take_buffer) == CUPTI_SUCCESS &&
         cupti.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS;
}

bool started() {
  static const bool once = start();
  return once;
}

}  // namespace

void watch_launches() {
  if (!started()) return;
  cupti.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::lock_guard guard(lock);
  seen.clear();
}

void take_launches(void* context, void* stream, wire::Answer& answer) {
  if (!started() || cupti.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != CUPTI_SUCCESS) return;
  std::uint32_t own = 0;
  const bool own_known = cupti.stream_id(static_cast<CUcontext>(context),
                                         static_cast<CUstream>(stream), 0, &own) == CUPTI_SUCCESS;
  const std::lock_guard guard(lock);
  answer.launches_known = 1;
  answer.launches_seen = static_cast<std::uint32_t>(seen.size());
  constexpr size_t room = sizeof answer.launch / sizeof answer.launch[0];
  for (size_t i = 0; i < seen.size() && i < room; ++i) {
    answer.launch[i] = seen[i].launch;
    answer.launch[i].elsewhere = own_known && seen[i].stream != own;
  }
}

}  // namespace w4
