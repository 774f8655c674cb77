// SPDX-License-Identifier: Apache-2.0
// Offsets only: the addresses are the worker's.
#include "harness/subject/arena.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "reference/error.hpp"

namespace w4 {
namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

std::string count_bytes(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " byte" : " bytes");
}

}  // namespace

Segment place_segment(std::string name, std::uint64_t cursor, std::uint64_t bytes,
                      std::uint64_t align, Place place, std::uint8_t fill) {
  Segment s;
  s.name = std::move(name);
  s.bytes = bytes;
  s.fill = fill;
  s.place = place;
  s.lo = cursor + guard_bytes;
  switch (place) {
    case Place::left:
      s.at = s.lo;
      s.hi = round_up(s.at + bytes, page_bytes);
      break;
    case Place::right:
      s.hi = s.lo + round_up(bytes, page_bytes);
      s.at = (s.hi - bytes) / align * align;
      break;
    case Place::middle:
      s.at = s.lo + page_bytes + align % page_bytes;
      s.hi = round_up(s.at + bytes, page_bytes) + page_bytes;
      break;
  }
  return s;
}

Arena::Arena() : fd_(memfd_create("w4check", MFD_CLOEXEC)) {
  require(fd_ >= 0, "memfd_create failed");
}

Arena::~Arena() {
  if (base_) munmap(base_, bytes_);
  close(fd_);
}

void Arena::reserve(std::uint64_t bytes) {
  bytes = round_up(bytes, guard_bytes);
  if (bytes <= bytes_) return;
  require(ftruncate(fd_, static_cast<off_t>(bytes)) == 0, "the shared memory cannot grow");
  void* mapped = base_ ? mremap(base_, bytes_, bytes, MREMAP_MAYMOVE)
                       : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  require(mapped != MAP_FAILED, "the shared memory cannot be mapped");
  base_ = static_cast<std::byte*>(mapped);
  bytes_ = bytes;
}

void Arena::fill_slack(const Segment& s) {
  std::memset(base_ + s.lo, s.fill, s.at - s.lo);
  std::memset(base_ + s.at + s.bytes, s.fill, s.hi - s.at - s.bytes);
}

void Arena::find_strays(const Segment& s, std::vector<Stray>& strays) {
  const Changed before = find_changed(at(s.lo, s.at - s.lo), s.fill);
  const auto lead = static_cast<std::int64_t>(s.at - s.lo);
  if (before.count) strays.push_back({"before " + s.name, before.first - lead, before.count});
  const std::uint64_t end = s.at + s.bytes;
  const Changed after = find_changed(at(end, s.hi - end), s.fill);
  const auto size = static_cast<std::int64_t>(s.bytes);
  if (after.count) strays.push_back({"after " + s.name, size + after.first, after.count});
}

void set_guards(wire::Request& request, const std::vector<const Segment*>& segments,
                std::uint64_t end) {
  std::uint64_t from = 0;
  std::uint32_t used = 0;
  for (const Segment* s : segments) {
    if (s->closed) continue;
    request.guards[used++] = {from, s->lo - from};
    from = s->hi;
  }
  request.guards[used++] = {from, end - from};
  request.guards_used = used;
}

void set_windows(wire::Request& request, const std::vector<const Segment*>& segments) {
  std::uint32_t used = 0;
  for (const Segment* s : segments) {
    if (s->closed) continue;
    request.windows[used++] = {s->lo,    s->hi,   s->at,
                               s->bytes, s->fill, static_cast<std::uint32_t>(s->place)};
  }
  request.windows_used = used;
}

Changed find_changed(std::span<const std::byte> bytes, std::uint8_t fill) {
  const auto expected = static_cast<std::byte>(fill);
  // Compared with itself one byte on: a single memcmp says that all are equal.
  const bool untouched =
      bytes.empty() ||
      (bytes[0] == expected && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
  if (untouched) return {};
  const auto differs = [&](std::byte b) { return b != expected; };
  return {std::find_if(bytes.begin(), bytes.end(), differs) - bytes.begin(),
          std::count_if(bytes.begin(), bytes.end(), differs)};
}

std::string describe_fault(const wire::Fault& fault, const std::vector<const Segment*>& segments,
                           std::uint64_t arena_bytes) {
  if (fault.protection) {
    return "by an aligned vector access on a misaligned address, or an address that cannot exist";
  }
  constexpr const char* verbs[] = {"reading ", "writing ", "executing ", "reading or writing "};
  const std::string verb = verbs[std::min(fault.access, 3u)];
  const std::uint64_t offset = fault.address - fault.base;
  const auto distance = [&](const Segment* s) {
    if (offset < s->at) return s->at - offset;
    return offset < s->at + s->bytes ? 0 : offset - (s->at + s->bytes) + 1;
  };
  const bool inside = fault.base != 0 && fault.address >= fault.base && offset < arena_bytes;
  if (!inside || segments.empty()) {
    // An address near 0 says "null pointer"; any other changes from run to run and says nothing.
    if (fault.address >= 1u << 20) return verb + "an address outside all buffers";
    char text[80];
    std::snprintf(text, sizeof text, "address 0x%llx, outside all buffers",
                  static_cast<unsigned long long>(fault.address));
    return verb + text;
  }
  const Segment* nearest = *std::min_element(
      segments.begin(), segments.end(),
      [&](const Segment* a, const Segment* b) { return distance(a) < distance(b); });
  const std::uint64_t bytes = distance(nearest);
  if (bytes == 0) {
    return verb + "byte " + std::to_string(offset - nearest->at) + " of " + nearest->name +
           (nearest->closed ? ", which only pack() is given" : "");
  }
  return verb + count_bytes(bytes) + (offset < nearest->at ? " before " : " past the end of ") +
         nearest->name;
}

}  // namespace w4
