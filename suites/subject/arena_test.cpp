// SPDX-License-Identifier: Apache-2.0
// Where buffers are placed, and how changed bytes and faults are attributed.
#include "harness/subject/arena.hpp"

#include <catch2/catch_test_macros.hpp>

#include "harness/subject/buffers.hpp"
#include "suites/support/property.hpp"

using namespace w4;

namespace {

Segment draw_segment(Place place) {
  const auto bytes = *rc::gen::inRange<std::uint64_t>(1, 40000);
  const auto align = std::uint64_t{1} << *rc::gen::inRange(0, 9);
  const auto cursor = page_bytes * *rc::gen::inRange<std::uint64_t>(0, 100);
  const Segment s = place_segment("t", cursor, bytes, align, place, 0xff);
  RC_ASSERT(s.at % align == 0);
  RC_ASSERT(s.lo % page_bytes == 0);
  RC_ASSERT(s.hi % page_bytes == 0);
  RC_ASSERT(s.lo >= cursor + guard_bytes);
  RC_ASSERT(s.lo <= s.at);
  RC_ASSERT(s.at + bytes <= s.hi);
  RC_ASSERT(place != Place::left || s.at == s.lo);
  RC_ASSERT(place != Place::right || s.hi - s.at - bytes < align);
  RC_ASSERT(place != Place::middle ||
            (s.at - s.lo >= page_bytes && s.hi - s.at - bytes >= page_bytes));
  RC_ASSERT(place != Place::middle || s.at % (2 * align) == align);
  return s;
}

wire::Fault fault_at(std::uint64_t offset, std::uint32_t access) {
  wire::Fault fault;
  fault.base = wire::arena_base;
  fault.address = wire::arena_base + offset;
  fault.access = access;
  return fault;
}

}  // namespace

TEST_CASE("a buffer in the middle has pages of slack and no more alignment than it was promised") {
  check_property("middle", [] { draw_segment(Place::middle); });
}
TEST_CASE("a buffer on the left begins right behind its guard") {
  check_property("left", [] { draw_segment(Place::left); });
}
TEST_CASE("a buffer on the right ends as close to its guard as its alignment allows") {
  check_property("right", [] { draw_segment(Place::right); });
}

TEST_CASE("changed bytes are counted and the first is found") {
  std::vector<std::byte> bytes(100, std::byte{7});
  CHECK(find_changed(bytes, 7).count == 0);
  CHECK(find_changed({}, 7).count == 0);
  CHECK(find_changed(bytes, 8).count == 100);
  bytes[40] = bytes[99] = std::byte{8};
  CHECK(find_changed(bytes, 7).first == 40);
  CHECK(find_changed(bytes, 7).count == 2);
  bytes.assign(1, std::byte{3});
  CHECK(find_changed(bytes, 7).count == 1);
}

TEST_CASE("strays are told by side, with offsets from the buffer") {
  Arena arena;
  const Segment s = place_segment("y", 0, 10, 2, Place::middle, 0xee);
  arena.reserve(s.hi);
  arena.fill_slack(s);
  std::vector<Stray> strays;
  arena.find_strays(s, strays);
  CHECK(strays.empty());
  arena.at(s.at - 3, 1)[0] = std::byte{0};
  arena.at(s.at + 10, 1)[0] = std::byte{0};
  arena.at(s.hi - 1, 1)[0] = std::byte{0};
  arena.find_strays(s, strays);
  REQUIRE(strays.size() == 2);
  CHECK((strays[0].where == "before y" && strays[0].offset == -3 && strays[0].bytes == 1));
  CHECK((strays[1].where == "after y" && strays[1].offset == 10 && strays[1].bytes == 2));
}

TEST_CASE("the arena keeps what it holds when it grows") {
  Arena arena;
  arena.reserve(100);
  arena.at(50, 1)[0] = std::byte{42};
  arena.reserve(std::uint64_t{64} << 20);
  CHECK(arena.bytes() >= std::uint64_t{64} << 20);
  CHECK(arena.at(50, 1)[0] == std::byte{42});
}

TEST_CASE("guards cover all but the open segments") {
  const Segment a = place_segment("a", 0, 10, 2, Place::left, 0xff);
  Segment b = place_segment("b", a.hi, 10, 2, Place::left, 0xff);
  const std::uint64_t end = b.hi + guard_bytes;
  wire::Request request;
  set_guards(request, {&a, &b}, end);
  REQUIRE(request.guards_used == 3);
  CHECK((request.guards[0].offset == 0 && request.guards[0].bytes == a.lo));
  CHECK((request.guards[1].offset == a.hi && request.guards[1].bytes == b.lo - a.hi));
  CHECK((request.guards[2].offset == b.hi && request.guards[2].bytes == guard_bytes));
  b.closed = true;
  set_guards(request, {&a, &b}, end);
  REQUIRE(request.guards_used == 2);
  CHECK((request.guards[1].offset == a.hi && request.guards[1].bytes == end - a.hi));
}

TEST_CASE("a fault names the nearest buffer, the distance and the access") {
  const Segment x = place_segment("x", 0, 10, 2, Place::right, 0xff);
  Segment y = place_segment("y", x.hi, 5000, 2, Place::left, 0xff);
  const std::vector<const Segment*> all{&x, &y};
  const std::uint64_t end = y.hi + guard_bytes;
  CHECK(describe_fault(fault_at(x.at + 10, 0), all, end) == "reading 1 byte past the end of x");
  CHECK(describe_fault(fault_at(x.at + 11, 1), all, end) == "writing 2 bytes past the end of x");
  CHECK(describe_fault(fault_at(y.at - 1, 3), all, end) == "reading or writing 1 byte before y");
  CHECK(describe_fault(fault_at(x.at - 300000, 0), all, end) == "reading 300000 bytes before x");
  y.closed = true;
  CHECK(describe_fault(fault_at(y.at + 7, 0), all, end) ==
        "reading byte 7 of y, which only pack() is given");
}

TEST_CASE("a fault elsewhere names the address") {
  const Segment x = place_segment("x", 0, 10, 2, Place::right, 0xff);
  wire::Fault fault;
  fault.address = 0x10;
  fault.base = wire::arena_base;
  fault.access = 2;
  CHECK(describe_fault(fault, {&x}, x.hi) == "executing address 0x10, outside all buffers");
  fault.protection = 1;
  CHECK(describe_fault(fault, {&x}, x.hi).find("misaligned") != std::string::npos);
}

TEST_CASE("the size of y is that of its last element, also for problems that make no sense") {
  w4_problem p = to_abi(with_defaults([] {
                   Problem q;
                   q.m = 3, q.n = 5, q.k = 4;
                   return q;
                 }()))
                     .p;
  p.y_stride = 7;
  CHECK(y_bytes(p, 1000) == (2 * 7 + 5) * 2);
  CHECK(y_bytes(p, 20) == 20);
  p.y_type = 99;
  CHECK(y_bytes(p, 1000) == (2 * 7 + 5) * 4);
  p.y_stride = -1;
  CHECK(y_bytes(p, 1000) == 5 * 4);
  p.m = INT64_MAX;
  p.y_stride = INT64_MAX;
  CHECK(y_bytes(p, 1000) == 1000);
  p.m = -1;
  CHECK(y_bytes(p, 1000) == 0);
}
