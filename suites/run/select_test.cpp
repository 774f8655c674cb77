// SPDX-License-Identifier: Apache-2.0
// Globs over names.
#include "harness/run/select.hpp"

#include <catch2/catch_test_macros.hpp>

#include "reference/error.hpp"

namespace w4 {

namespace {

const std::vector<std::string_view> names{"cpu.scalar", "cpu.scalar_s8", "cpu.simd", "cuda.mma"};

std::string cause(const std::vector<std::string>& patterns) {
  try {
    select(names, patterns, "w4check run", "kernel");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("no pattern chooses all, literally none") {
  const Selection all = select(names, {}, "p", "kernel");
  CHECK(all.chosen == std::vector<bool>{true, true, true, true});
  CHECK(all.literal == std::vector<bool>{false, false, false, false});
}

TEST_CASE("patterns add up, over commas and over repeats") {
  const Selection some = select(names, {"cpu.s?*d,cuda.mma", "cpu.scalar"}, "p", "kernel");
  CHECK(some.chosen == std::vector<bool>{true, false, true, true});
  CHECK(some.literal == std::vector<bool>{true, false, false, true});
}

TEST_CASE("a pattern that matches nothing names the nearest") {
  CHECK(cause({"cpu.scalr"}) ==
        "w4check run: kernel: no kernel matches \"cpu.scalr\"; nearest is cpu.scalar");
  CHECK(cause({"cpu.simd,cuda.nma"}) ==
        "w4check run: kernel: no kernel matches \"cuda.nma\"; nearest is cuda.mma");
  CHECK(cause({"cud*.mna*"}).find("nearest is cuda.mma") != std::string::npos);
  CHECK(cause({""}).find("no kernel matches \"\"") != std::string::npos);
}

TEST_CASE("split_list keeps empty parts") {
  CHECK(split_list("a,,b", ',') == std::vector<std::string>{"a", "", "b"});
  CHECK(split_list("", ',') == std::vector<std::string>{""});
}

}  // namespace w4
