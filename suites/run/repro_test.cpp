// SPDX-License-Identifier: Apache-2.0
// A repro is all that replay needs.
#include "harness/run/repro.hpp"

#include <catch2/catch_test_macros.hpp>

#include "reference/error.hpp"
#include "suites/support/property.hpp"

namespace w4 {

TEST_CASE("a repro line reads back") {
  const Repro repro = parse_repro(
      make_repro("cpu.simd", "exact.zero", "dir with blank/lib%.so", "m=1 n=2 k=3 seed=0x9"));
  CHECK(repro.kernel == "cpu.simd");
  CHECK(repro.check == "exact.zero");
  CHECK(repro.plugin == "dir with blank/lib%.so");
  CHECK(to_string(parse_problem(repro.problem)) == "m=1 n=2 k=3 seed=0x9");
}

TEST_CASE("the default plugins are not named") {
  CHECK(make_repro("a", "b.c", "", "m=1 n=1 k=1") == "kernel=a check=b.c m=1 n=1 k=1");
}

TEST_CASE("any plugin path survives") {
  check_property("paths", [](const std::string& path) {
    RC_PRE(!path.empty());
    RC_ASSERT(parse_repro(make_repro("a", "b.c", path, "m=1 n=1 k=1")).plugin == path);
  });
}

TEST_CASE("a repro without kernel or check, or with a strange key, is refused") {
  CHECK_THROWS_AS(parse_repro("check=a.b m=1 n=1 k=1"), Error);
  CHECK_THROWS_AS(parse_repro("kernel=a m=1 n=1 k=1"), Error);
  CHECK_THROWS_AS(parse_repro("kernel=a check=a.b kernal=c m=1 n=1 k=1"), Error);
  CHECK_THROWS_AS(parse_repro("kernel=a check=a.b kernel=c m=1 n=1 k=1"), Error);
}

}  // namespace w4
