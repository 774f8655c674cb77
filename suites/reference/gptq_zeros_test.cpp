// SPDX-License-Identifier: Apache-2.0
// The three writers and three readers of GPTQ v1 zeros, against words that the upstream packers
// wrote.
#include "reference/layout/gptq_zeros.hpp"

#include <array>

#include "suites/reference/layout_support.hpp"
#include "suites/support/property.hpp"

namespace w4 {
namespace {

using Eight = std::array<std::uint8_t, 8>;
constexpr V1Writer writers[] = {V1Writer::e1, V1Writer::e2, V1Writer::e3};
constexpr V1Zeros readers[] = {V1Zeros::d1, V1Zeros::d2, V1Zeros::d3};
constexpr Eight mixed = {1, 0, 15, 8, 7, 2, 9, 3};

Eight read(V1Zeros reader, std::uint32_t word) {
  Eight z{};
  read_v1_word(reader, word, z);
  return z;
}

// Two groups of 256 columns, z(g, n) = code(g, n, 7), as the golden digests have them.
std::uint64_t digest_of(V1Writer writer) {
  std::vector<std::byte> bytes;
  for (std::uint32_t group = 0; group < 2; ++group)
    for (std::uint32_t column = 0; column < 256; column += 8) {
      Eight z{};
      for (std::uint32_t j = 0; j < 8; ++j) z[j] = golden_code(group, column + j, 7);
      append_word(bytes, write_v1_word(writer, z));
    }
  return fnv1a64(bytes);
}

}  // namespace

TEST_CASE("gptq zeros: symmetric zeros are sevens, whoever writes them") {
  constexpr Eight eights = {8, 8, 8, 8, 8, 8, 8, 8};
  for (const V1Writer writer : writers) CHECK(write_v1_word(writer, eights) == 0x77777777u);
  for (const V1Zeros reader : readers) CHECK(read(reader, 0x77777777u) == eights);
}

TEST_CASE("gptq zeros: the writers disagree as observed once a zero point is 0") {
  CHECK(write_v1_word(V1Writer::e1, mixed) == 0x28167ef0u);
  CHECK(write_v1_word(V1Writer::e2, mixed) == 0x28167df0u);
  CHECK(write_v1_word(V1Writer::e3, mixed) == 0xfffffff0u);
}

TEST_CASE("gptq zeros: each writer read by each reader") {
  struct Row {
    std::uint32_t word;
    Eight d1, d2, d3;
  };
  const Row rows[] = {
      {0x28167ef0u,
       {1, 16, 15, 8, 7, 2, 9, 3},
       {1, 0, 15, 8, 7, 2, 9, 3},
       {1, 0, 0, 9, 7, 2, 9, 3}},
      {0x28167df0u,
       {1, 16, 14, 8, 7, 2, 9, 3},
       {1, 0, 14, 8, 7, 2, 9, 3},
       {1, 0, 15, 8, 7, 2, 9, 3}},
      {0xfffffff0u,
       {1, 16, 16, 16, 16, 16, 16, 16},
       {1, 0, 0, 0, 0, 0, 0, 0},
       {1, 0, 1, 1, 1, 1, 1, 1}},
  };
  for (const Row& row : rows) {
    CHECK(read(V1Zeros::d1, row.word) == row.d1);
    CHECK(read(V1Zeros::d2, row.word) == row.d2);
    CHECK(read(V1Zeros::d3, row.word) == row.d3);
  }
}

TEST_CASE("gptq zeros: golden digests of the three writers") {
  CHECK(digest_of(V1Writer::e1) == 0x37b9a21f672ad6dfu);
  CHECK(digest_of(V1Writer::e2) == 0x591315885c3aa922u);
  CHECK(digest_of(V1Writer::e3) == 0x1e2ce20b08e71515u);
}

TEST_CASE("gptq zeros: without a zero point of 0 all writers and readers agree") {
  check_property("1..15 commutes", [] {
    Eight z{};
    for (auto& one : z) one = static_cast<std::uint8_t>(*rc::gen::inRange(1, 16));
    for (const V1Writer writer : writers)
      for (const V1Zeros reader : readers) RC_ASSERT(read(reader, write_v1_word(writer, z)) == z);
  });
}

TEST_CASE("gptq zeros: D2 undoes E1 and D3 undoes E2 for every zero point") {
  check_property("0..15 round trip", [] {
    Eight z{};
    for (auto& one : z) one = static_cast<std::uint8_t>(*rc::gen::inRange(0, 16));
    RC_ASSERT(read(V1Zeros::d2, write_v1_word(V1Writer::e1, z)) == z);
    RC_ASSERT(read(V1Zeros::d3, write_v1_word(V1Writer::e2, z)) == z);
  });
}

}  // namespace w4
