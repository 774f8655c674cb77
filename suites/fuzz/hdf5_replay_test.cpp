// SPDX-License-Identifier: Apache-2.0
// The hdf5 target's entry function without libFuzzer, on its seeds and on damage to them, and the
// seeds themselves.
#include <cstdint>
#include <cstring>

#include <catch2/catch_test_macros.hpp>

#include "harness/fixture/foreign_records.hpp"
#include "reference/error.hpp"
#include "suites/fuzz/records.hpp"
#include "suites/fuzz/seeds.hpp"

extern "C" int fuzz_hdf5(const std::uint8_t*, std::size_t);

namespace {

using namespace w4;

ForeignFile from_records(const std::string& records) {
  std::size_t at = 0;
  return read_records("seed", {}, [&](void* to, std::size_t count) {
    if (count > records.size() - at) fail_input("seed", "read", "the stream ends");
    std::memcpy(to, records.data() + at, count);
    at += count;
  });
}

void feed(const std::string& records) {
  fuzz_hdf5(reinterpret_cast<const std::uint8_t*>(records.data()), records.size());
}

}  // namespace

TEST_CASE("records of a file are that file again") {
  for (const char* name : {"/hdf5/plain.h5", "/golden/gptq.h5"}) {
    const auto file = read_foreign(std::string(W4_FIXTURES) + name);
    const auto records = to_records(file);
    const auto again = from_records(records);
    CHECK(again.groups == file.groups);
    CHECK(again.attributes == file.attributes);
    REQUIRE(again.datasets.size() == file.datasets.size());
    for (const auto& [full_name, array] : file.datasets) {
      const auto& other = again.datasets.at(full_name);
      CHECK(describe(other) == describe(array));
      CHECK(*other.data == *array.data);
    }
    CHECK(to_records(again) == records);
  }
}

TEST_CASE("the readers of HDF5 schemas survive every seed cut and changed anywhere") {
  std::size_t runs = 0;
  for (const auto& seed : hdf5_seeds()) {
    feed(seed);
    for (std::size_t i = 0; i < 150; ++i) {
      const auto at = i * seed.size() / 150;
      feed(seed.substr(0, at));
      for (const int change : {0x01, 0x20, 0x80}) {
        auto changed = seed;
        changed[at] = static_cast<char>(seed[at] ^ change);
        feed(changed);
        ++runs;
      }
    }
  }
  CHECK(runs > 5000);
}
