// SPDX-License-Identifier: Apache-2.0
// Reading lists of problems.
#include "harness/run/problems.hpp"

#include <catch2/catch_test_macros.hpp>

#include "reference/error.hpp"

namespace w4 {

namespace {

template <typename Function>
std::string cause(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::vector<SuiteProblem> resolved(const std::string& text, std::uint64_t seed = 7,
                                   std::vector<std::string>* warnings = nullptr) {
  LayerStore store([warnings](const std::string& line) {
    if (warnings != nullptr) warnings->push_back(line);
  });
  return resolve_all(problem_lines("list", text), seed, store);
}

}  // namespace

TEST_CASE("a list is one problem a line, with comments and blank lines") {
  const auto problems = resolved("# head\n\n  m=1 n=2 k=3   # tail\r\n\t\nm=2 n=2 k=3");
  REQUIRE(problems.size() == 2);
  CHECK(to_string(problems[0].problem) == "m=1 n=2 k=3");
  CHECK(to_string(problems[1].problem) == "m=2 n=2 k=3");
}

TEST_CASE("a fault in a list names file and line") {
  CHECK(cause([] {
          problem_lines("f", "# a\nm=1 n=2 k=3\nm=1 n=2 kk=3\n");
        }).starts_with("f:3: parse: "));
  CHECK(cause([] { resolved("m=1 n=2 k=3\nm=1 n=2 k=0\n"); }).starts_with("list:2: parse: "));
  CHECK(cause([] { resolved("m=1 n=2 k=3 zero=coed\n"); }).find("code") != std::string::npos);
}

TEST_CASE("a list without problems is an error") {
  CHECK(cause([] { problem_lines("f", ""); }) == "f: list: no problems");
  CHECK(cause([] { problem_lines("f", "# only\n\n"); }) == "f: list: no problems");
}

TEST_CASE("a list that is not there or not a file is an error") {
  CHECK(cause([] { read_problem_list("/nowhere/list.txt"); }) ==
        "/nowhere/list.txt: open: No such file or directory");
  CHECK(cause([] { read_problem_list("/"); }).starts_with("/: "));
}

TEST_CASE("a line without a seed takes the run's, a line with one keeps it") {
  const auto problems = resolved("m=1 n=2 k=3\nm=1 n=2 k=3 seed=0x5\n", 0xabc);
  CHECK(problems[0].problem.seed == 0xabc);
  CHECK(problems[1].problem.seed == 0x5);
}

TEST_CASE("a problem met twice runs once and is warned about") {
  std::vector<std::string> warnings;
  CHECK(resolved("m=1 n=2 k=3\nk=3 n=2 m=1 zero=8\n", 7, &warnings).size() == 1);
  CHECK(warnings == std::vector<std::string>{"list:2: problem: the same as list:1, run once"});
}

TEST_CASE("data that no run can provide is refused") {
  CHECK(cause([] { resolved("m=1 n=2 k=3 data=golden:x.h5\n"); }).find("golden:x.h5") !=
        std::string::npos);
}

}  // namespace w4
