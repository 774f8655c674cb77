// SPDX-License-Identifier: Apache-2.0
// Where a buffer lies on the device, for all sizes and places.
#include <catch2/catch_test_macros.hpp>

#include "harness/subject/arena.hpp"
#include "harness/worker/device_memory.hpp"

namespace {

using namespace w4;

constexpr std::uint64_t granule = 2u << 20;

wire::Window window_of(std::uint64_t bytes, std::uint64_t align, Place place) {
  const Segment s = place_segment("x", 3 * page_bytes, bytes, align, place, 0xff);
  wire::Request request;
  set_windows(request, {&s});
  REQUIRE(request.windows_used == 1);
  return request.windows[0];
}

// The buffer's first byte, counted from the start of its mapping.
std::uint64_t start_of(const wire::Window& w, const DevicePlace& place) {
  return place.offset + (w.at - w.lo);
}

}  // namespace

TEST_CASE("a buffer on the left begins where its mapping begins") {
  for (const std::uint64_t bytes : {1u, 255u, 4096u, 2u << 20, (2u << 20) + 1}) {
    const auto window = window_of(bytes, 256, Place::left);
    const auto place = place_on_device(window, granule);
    CHECK(start_of(window, place) == 0);
    CHECK(place.mapped_bytes % granule == 0);
    CHECK(place.mapped_bytes >= bytes);
    CHECK(place.mapped_bytes < bytes + granule + page_bytes);
  }
}

TEST_CASE("a buffer on the right ends where its mapping ends, as near as its alignment allows") {
  for (const std::uint64_t bytes : {2u, 250u, 256u, 4096u, 70000u, 2u << 20, (2u << 20) + 512}) {
    for (const std::uint64_t align : {2u, 16u, 256u}) {
      const auto window = window_of(bytes, align, Place::right);
      const auto place = place_on_device(window, granule);
      const std::uint64_t end = start_of(window, place) + bytes;
      CHECK(end <= place.mapped_bytes);
      CHECK(place.mapped_bytes - end < align);
      CHECK(start_of(window, place) % align == 0);
    }
  }
}

TEST_CASE("a buffer in the middle has slack on both sides and no more alignment than promised") {
  for (const std::uint64_t bytes : {1u, 4096u, 70000u, (2u << 20) - 3 * 4096, 2u << 20}) {
    for (const std::uint64_t align : {2u, 16u, 256u}) {
      const auto window = window_of(bytes, align, Place::middle);
      const auto place = place_on_device(window, granule);
      const std::uint64_t start = start_of(window, place);
      CHECK(start >= page_bytes);
      CHECK(place.mapped_bytes - start - bytes >= page_bytes);
      CHECK(start % align == 0);
      CHECK(start % (2 * align) != 0);
    }
  }
}

TEST_CASE("closed segments have no window") {
  Segment source = place_segment("codes", 0, 64, 256, Place::middle, 0xff);
  const Segment x = place_segment("x", source.hi, 64, 16, Place::right, 0x3a);
  source.closed = true;
  wire::Request request;
  set_windows(request, {&source, &x});
  REQUIRE(request.windows_used == 1);
  CHECK(request.windows[0].at == x.at);
  CHECK(request.windows[0].fill == 0x3a);
  CHECK(request.windows[0].place == static_cast<std::uint32_t>(Place::right));
}
