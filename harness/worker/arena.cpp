// SPDX-License-Identifier: Apache-2.0
// mmap and mprotect, as seldom as the calls allow.
#include "harness/worker/arena.hpp"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>
#include <sys/resource.h>

#include "harness/worker/plugin.hpp"

#ifndef MAP_FIXED_NOREPLACE  // an older kernel takes the address as a hint, which is checked below
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace w4 {

bool MappedArena::grow(std::uint64_t bytes) {
  const std::uint64_t wanted = base_ ? base() : wire::arena_base;
  if (base_) munmap(base_, bytes_);
  const int access = PROT_READ | PROT_WRITE;
  void* hint = reinterpret_cast<void*>(wanted);
  void* mapped = mmap(hint, bytes, access, MAP_SHARED | MAP_FIXED_NOREPLACE, wire::arena_fd, 0);
  if (mapped == MAP_FAILED) mapped = mmap(nullptr, bytes, access, MAP_SHARED, wire::arena_fd, 0);
  if (mapped == MAP_FAILED) return false;
  base_ = static_cast<std::uint8_t*>(mapped);
  bytes_ = bytes;
  guards_used_ = 0;
  return true;
}

bool MappedArena::prepare(const wire::Request& request, std::uint64_t memory_bytes) {
  if (request.arena_bytes > bytes_) {
    const std::uint64_t arena = std::max(request.arena_bytes, bytes_);
    limit_memory(memory_bytes > RLIM_INFINITY - arena ? RLIM_INFINITY : memory_bytes + arena);
    if (!grow(request.arena_bytes)) return false;
  }
  const std::size_t size = request.guards_used * sizeof(wire::Range);
  if (request.guards_used == guards_used_ && std::memcmp(request.guards, guards_, size) == 0)
    return true;
  if (guards_used_ && mprotect(base_, bytes_, PROT_READ | PROT_WRITE) != 0) return false;
  for (std::uint32_t i = 0; i < request.guards_used; ++i) {
    const wire::Range& guard = request.guards[i];
    if (mprotect(base_ + guard.offset, guard.bytes, PROT_NONE) != 0) return false;
  }
  guards_used_ = request.guards_used;
  std::memcpy(guards_, request.guards, size);
  return true;
}

}  // namespace w4
