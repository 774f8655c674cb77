// SPDX-License-Identifier: Apache-2.0
// The loops over buffers.
#include "harness/subject/buffers.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "reference/number/number.hpp"

namespace w4 {
namespace {

std::int64_t y_bits(const w4_problem& p) {
  const bool known = p.y_type >= W4_F32 && p.y_type <= W4_S32;
  return known ? bits_of(static_cast<Type>(p.y_type)) : 32;
}

}  // namespace

void Buffers::input(std::string name, std::span<const std::byte> bytes, std::uint64_t align) {
  if (bytes.empty()) return;
  list_.push_back(
      {place_segment(std::move(name), cursor_, bytes.size(), align, place_, 0xff), bytes});
  cursor_ = list_.back().segment.hi;
}

void Buffers::output(std::string name, std::uint64_t bytes, std::uint64_t align,
                     std::uint8_t poison) {
  if (bytes == 0) return;
  list_.push_back({place_segment(std::move(name), cursor_, bytes, align, place_, poison), {}});
  cursor_ = list_.back().segment.hi;
}

wire::Range Buffers::range(const std::string& name) const {
  for (const Buffer& buffer : list_) {
    if (buffer.segment.name == name) return buffer.segment.range();
  }
  return {};
}

void append_segments(std::vector<const Segment*>& to, const Buffers& buffers) {
  for (const Buffer& buffer : buffers.list()) to.push_back(&buffer.segment);
}

void write_buffers(Arena& arena, const Buffers& buffers, std::string_view but) {
  for (const Buffer& buffer : buffers.list()) {
    if (buffer.segment.name == but) continue;
    arena.fill_slack(buffer.segment);
    const auto to = arena.data(buffer.segment);
    if (buffer.bytes.empty()) {
      std::memset(to.data(), buffer.segment.fill, to.size());
    } else {
      std::memcpy(to.data(), buffer.bytes.data(), to.size());
    }
  }
}

void inspect_buffers(Arena& arena, const Buffers& buffers, Reply& reply) {
  for (const Buffer& buffer : buffers.list()) {
    const std::size_t known = reply.strays.size();
    arena.find_strays(buffer.segment, reply.strays);
    if (reply.strays.size() != known) arena.fill_slack(buffer.segment);
    const auto now = arena.data(buffer.segment);
    if (buffer.bytes.empty() || std::memcmp(now.data(), buffer.bytes.data(), now.size()) == 0)
      continue;
    reply.changed.push_back(buffer.segment.name);
    std::memcpy(now.data(), buffer.bytes.data(), now.size());
  }
}

std::uint64_t y_bytes(const w4_problem& p, std::uint64_t most) {
  if (p.m <= 0 || p.n <= 0) return 0;
  const Int128 cap = most;
  Int128 elements = Int128{p.m - 1} * std::max<std::int64_t>(p.y_stride, 0) + p.n;
  elements = std::min(elements, 8 * cap);  // before the product with the bits, which could overflow
  return static_cast<std::uint64_t>(std::min((elements * y_bits(p) + 7) / 8, cap));
}

void inspect_gaps(std::span<const std::byte> y, const w4_problem& p, std::uint8_t poison,
                  Reply& reply) {
  if (p.y_stride <= p.n) return;
  Stray stray{"between rows of y", 0, 0};
  const std::int64_t bits = y_bits(p), size = static_cast<std::int64_t>(y.size());
  for (std::int64_t row = 0; row + 1 < p.m; ++row) {
    // Whole bytes of the gap: elements smaller than a byte may share one with their row.
    const std::int64_t from = ((row * p.y_stride + p.n) * bits + 7) / 8,
                       to = (row + 1) * p.y_stride * bits / 8;
    if (to > size) break;
    if (from >= to) continue;
    const Changed gap = find_changed(
        y.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)), poison);
    if (gap.count && stray.bytes == 0) stray.offset = from + gap.first;
    stray.bytes += gap.count;
  }
  if (stray.bytes) reply.strays.push_back(std::move(stray));
}

}  // namespace w4
