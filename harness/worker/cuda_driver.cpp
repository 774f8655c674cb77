// SPDX-License-Identifier: Apache-2.0
// The driver API, found when the program runs: the worker starts where there is no driver.
#include "harness/worker/cuda_driver.hpp"

#include <cstdio>
#include <cstring>

#include <cuda.h>
#include <dlfcn.h>

#include "harness/worker/launch_trace.hpp"

namespace w4 {
namespace {

// One member a function, by the name that the library exports.
struct Api {
  CUresult (*cuInit)(unsigned);
  CUresult (*cuDriverGetVersion)(int*);
  CUresult (*cuDeviceGetCount)(int*);
  CUresult (*cuDeviceGet)(CUdevice*, int);
  CUresult (*cuDeviceGetName)(char*, int, CUdevice);
  CUresult (*cuDevicePrimaryCtxRetain)(CUcontext*, CUdevice);
  CUresult (*cuCtxSetCurrent)(CUcontext);
  CUresult (*cuCtxSynchronize)();
  CUresult (*cuStreamCreate)(CUstream*, unsigned);
  CUresult (*cuStreamSynchronize)(CUstream);
  CUresult (*cuMemGetAllocationGranularity)(size_t*, const CUmemAllocationProp*,
                                            CUmemAllocationGranularity_flags);
  CUresult (*cuMemAddressReserve)(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long);
  CUresult (*cuMemAddressFree)(CUdeviceptr, size_t);
  CUresult (*cuMemCreate)(CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*,
                          unsigned long long);
  CUresult (*cuMemRelease)(CUmemGenericAllocationHandle);
  CUresult (*cuMemMap)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle,
                       unsigned long long);
  CUresult (*cuMemUnmap)(CUdeviceptr, size_t);
  CUresult (*cuMemSetAccess)(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t);
  CUresult (*cuMemsetD8Async)(CUdeviceptr, unsigned char, size_t, CUstream);
  CUresult (*cuMemcpyHtoDAsync)(CUdeviceptr, const void*, size_t, CUstream);
  CUresult (*cuMemcpyDtoHAsync)(void*, CUdeviceptr, size_t, CUstream);
  CUresult (*cuGetErrorName)(CUresult, const char**);
};

Api api;
CUcontext context;
CUdevice device;

// False: the name of what is missing is left in `missing`.
bool find_functions(void* library, std::string& missing) {
  const auto find = [&](auto& function, const char* name) {
    void* found = missing.empty() ? dlsym(library, name) : nullptr;
    if (found == nullptr && missing.empty()) missing = name;
    std::memcpy(&function, &found, sizeof found);
  };
  find(api.cuInit, "cuInit");
  find(api.cuDriverGetVersion, "cuDriverGetVersion");
  find(api.cuDeviceGetCount, "cuDeviceGetCount");
  find(api.cuDeviceGet, "cuDeviceGet");
  find(api.cuDeviceGetName, "cuDeviceGetName");
  find(api.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  find(api.cuCtxSetCurrent, "cuCtxSetCurrent");
  find(api.cuCtxSynchronize, "cuCtxSynchronize");
  find(api.cuStreamCreate, "cuStreamCreate");
  find(api.cuStreamSynchronize, "cuStreamSynchronize");
  find(api.cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity");
  find(api.cuMemAddressReserve, "cuMemAddressReserve");
  find(api.cuMemAddressFree, "cuMemAddressFree");
  find(api.cuMemCreate, "cuMemCreate");
  find(api.cuMemRelease, "cuMemRelease");
  find(api.cuMemMap, "cuMemMap");
  find(api.cuMemUnmap, "cuMemUnmap");
  find(api.cuMemSetAccess, "cuMemSetAccess");
  find(api.cuMemsetD8Async, "cuMemsetD8Async");
  find(api.cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  find(api.cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  find(api.cuGetErrorName, "cuGetErrorName");
  return missing.empty();
}

CUmemAllocationProp memory_of_device() {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  return prop;
}

int open_device(OpenDevice* opened) {
  watch_launches();  // a tracer sees most of a context that is younger than itself
  CUresult error = api.cuDevicePrimaryCtxRetain(&context, device);
  if (error == CUDA_SUCCESS) error = api.cuCtxSetCurrent(context);
  CUstream stream{};
  if (error == CUDA_SUCCESS) error = api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  const CUmemAllocationProp prop = memory_of_device();
  size_t granule = 0;
  if (error == CUDA_SUCCESS)
    error = api.cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  *opened = {stream, granule};
  return error;
}

int reserve(std::uint64_t bytes, std::uint64_t* address) {
  CUdeviceptr reserved{};
  const CUresult error = api.cuMemAddressReserve(&reserved, bytes, 0, 0, 0);
  *address = reserved;
  return error;
}

int release(std::uint64_t address, std::uint64_t bytes) {
  return api.cuMemAddressFree(address, bytes);
}

int set_writable(std::uint64_t address, std::uint64_t bytes, bool writable) {
  CUmemAccessDesc access{};
  access.location = memory_of_device().location;
  access.flags = writable ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ;
  return api.cuMemSetAccess(address, bytes, &access, 1);
}

int map(std::uint64_t address, std::uint64_t bytes) {
  const CUmemAllocationProp prop = memory_of_device();
  CUmemGenericAllocationHandle memory{};
  CUresult error = api.cuMemCreate(&memory, bytes, &prop, 0);
  if (error != CUDA_SUCCESS) return error;
  error = api.cuMemMap(address, bytes, 0, memory, 0);
  api.cuMemRelease(memory);  // the mapping keeps it
  return error != CUDA_SUCCESS ? error : set_writable(address, bytes, true);
}

int unmap(std::uint64_t address, std::uint64_t bytes) {
  return api.cuMemUnmap(address, bytes);
}

int fill(void* stream, std::uint64_t address, std::uint8_t byte, std::uint64_t bytes) {
  return api.cuMemsetD8Async(address, byte, bytes, static_cast<CUstream>(stream));
}

int upload(void* stream, std::uint64_t address, const void* from, std::uint64_t bytes) {
  return api.cuMemcpyHtoDAsync(address, from, bytes, static_cast<CUstream>(stream));
}

int download(void* stream, void* to, std::uint64_t address, std::uint64_t bytes) {
  return api.cuMemcpyDtoHAsync(to, address, bytes, static_cast<CUstream>(stream));
}

int wait(void* stream) {
  return api.cuStreamSynchronize(static_cast<CUstream>(stream));
}

int wait_for_all() {
  return api.cuCtxSynchronize();
}

const char* error_name(int code) {
  const char* name = nullptr;
  api.cuGetErrorName(static_cast<CUresult>(code), &name);
  return name ? name : "unknown";
}

void watch() {
  watch_launches();
}

void take(void* stream, wire::Answer& answer) {
  take_launches(context, stream, answer);
}

constexpr CudaDriver table{open_device,  reserve,    release, map,      unmap,
                           set_writable, fill,       upload,  download, wait,
                           wait_for_all, error_name, watch,   take};

struct Found {
  bool usable{};
  std::string why;
};

Found find_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {false, "no CUDA driver (libcuda.so.1)"};
  std::string missing;
  if (!find_functions(library, missing)) return {false, "the CUDA driver has no " + missing};
  int count = 0;
  int error = api.cuInit(0);
  if (error == 0) error = api.cuDeviceGetCount(&count);
  if (error == 0 && count == 0) return {false, "the CUDA driver finds no device"};
  if (error == 0) error = api.cuDeviceGet(&device, 0);
  if (error != 0) return {false, describe_error(table, "cuInit", error)};
  return {true, ""};
}

const Found& found() {
  static const Found once = find_driver();
  return once;
}

// "580.95.05" of the line that the kernel module writes; "" if there is none.
std::string module_version() {
  std::FILE* file = std::fopen("/proc/driver/nvidia/version", "re");
  if (file == nullptr) return {};
  char line[512] = "";
  const bool read = std::fgets(line, sizeof line, file) != nullptr;
  std::fclose(file);
  for (char* word = read ? std::strtok(line, " \t\n") : nullptr; word != nullptr;
       word = std::strtok(nullptr, " \t\n")) {
    if (std::strspn(word, "0123456789.") == std::strlen(word) && std::strchr(word, '.'))
      return word;
  }
  return {};
}

}  // namespace

const CudaDriver* cuda_driver(std::string& why) {
  why = found().why;
  return found().usable ? &table : nullptr;
}

DeviceFacts device_facts() {
  if (!found().usable) return {false, found().why, ""};
  char name[128] = "";
  api.cuDeviceGetName(name, sizeof name, device);
  int version = 0;
  api.cuDriverGetVersion(&version);
  const std::string cuda =
      "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  const std::string module = module_version();
  return {true, name, module.empty() ? cuda : module + ", " + cuda};
}

}  // namespace w4
