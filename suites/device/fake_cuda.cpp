// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 whose device is the host: memory that is reserved, mapped and protected as a
// device's would be, by mmap. A worker with this folder in LD_LIBRARY_PATH runs its device side
// without a GPU. The structs are those of the driver's API, as far as they are read here.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <sys/mman.h>

namespace {

constexpr std::size_t granule = 64 * 1024;
constexpr int success = 0, invalid_value = 1, out_of_memory = 2;

struct Access {
  int location_type, location_id, flags;  // 1 read, 3 read and write
};

struct Stream {
  int error;  // sticky
};
Stream only_stream;
std::uint64_t next_handle = 1;
std::size_t size_of_handle[4096];

void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

bool whole(std::uint64_t address, std::size_t bytes) {
  return address % granule == 0 && bytes != 0 && bytes % granule == 0;
}

}  // namespace

extern "C" {

void w4_fake_fail_stream(void* stream, int error) {
  static_cast<Stream*>(stream)->error = error;
}

int cuInit(unsigned) {
  return success;
}
int cuDriverGetVersion(int* version) {
  return *version = 13000, success;
}
int cuDeviceGetCount(int* count) {
  return *count = 1, success;
}
int cuDeviceGet(int* device, int) {
  return *device = 0, success;
}
int cuDeviceGetName(char* name, int size, int) {
  return std::snprintf(name, static_cast<std::size_t>(size), "fake device"), success;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  return *context = &only_stream, success;
}
int cuCtxSetCurrent(void*) {
  return success;
}
int cuCtxSynchronize() {
  return only_stream.error;
}
int cuStreamCreate(void** stream, unsigned flags) {
  constexpr unsigned non_blocking = 1;
  return *stream = &only_stream, flags == non_blocking ? success : invalid_value;
}
int cuStreamSynchronize(void* stream) {
  return static_cast<Stream*>(stream)->error;
}

int cuMemGetAllocationGranularity(std::size_t* bytes, const void*, int) {
  return *bytes = granule, success;
}

int cuMemAddressReserve(std::uint64_t* address, std::size_t bytes, std::size_t, std::uint64_t,
                        unsigned long long) {
  if (bytes % granule != 0) return invalid_value;
  void* all = mmap(nullptr, bytes + granule, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return out_of_memory;
  *address = (reinterpret_cast<std::uint64_t>(all) + granule - 1) / granule * granule;
  return success;
}
int cuMemAddressFree(std::uint64_t address, std::size_t bytes) {
  return munmap(pointer(address), bytes) == 0 ? success : invalid_value;
}

int cuMemCreate(std::uint64_t* handle, std::size_t bytes, const void*, unsigned long long) {
  if (bytes % granule != 0) return invalid_value;
  size_of_handle[next_handle % 4096] = bytes;
  return *handle = next_handle++, success;
}
int cuMemRelease(std::uint64_t) {
  return success;
}
int cuMemMap(std::uint64_t address, std::size_t bytes, std::size_t offset, std::uint64_t handle,
             unsigned long long) {
  const bool fits = whole(address, bytes) && offset == 0 && size_of_handle[handle % 4096] == bytes;
  return fits ? success : invalid_value;
}
int cuMemUnmap(std::uint64_t address, std::size_t bytes) {
  if (!whole(address, bytes)) return invalid_value;
  void* fresh =
      mmap(pointer(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return fresh == MAP_FAILED ? invalid_value : success;
}
int cuMemSetAccess(std::uint64_t address, std::size_t bytes, const Access* access,
                   std::size_t count) {
  if (!whole(address, bytes) || count != 1) return invalid_value;
  const int protection = access->flags == 3 ? PROT_READ | PROT_WRITE : PROT_READ;
  return mprotect(pointer(address), bytes, protection) == 0 ? success : invalid_value;
}

int cuMemsetD8Async(std::uint64_t address, unsigned char byte, std::size_t bytes, void* stream) {
  std::memset(pointer(address), byte, bytes);
  return static_cast<Stream*>(stream)->error;
}
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream) {
  std::memcpy(pointer(to), from, bytes);
  return static_cast<Stream*>(stream)->error;
}
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream) {
  std::memcpy(to, pointer(from), bytes);
  return static_cast<Stream*>(stream)->error;
}

int cuGetErrorName(int error, const char** name) {
  *name = error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OF_THE_FAKE";
  return success;
}
}
