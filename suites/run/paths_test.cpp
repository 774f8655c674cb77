// SPDX-License-Identifier: Apache-2.0
// Stored paths: written, read back, and held to.
#include "harness/run/paths.hpp"

#include <fstream>

#include <catch2/catch_test_macros.hpp>

#include "suites/run/program.hpp"

namespace {

using namespace w4;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("paths: what a run records holds for the same run, and another path is a fallback") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "paths.txt").string();
  const std::string problem = "m=2 n=16 k=64 g=32";
  const std::vector<std::string> base{"run",           "--kernel",  "cpu.simd", "--check",
                                      "dispatch.path", "--problem", problem};
  auto record = base, hold = base;
  record.insert(record.end(), {"--record-paths", file});
  hold.insert(hold.end(), {"--paths", file});
  CHECK(w4check(record).code == 0);
  CHECK(w4check(hold).code == 0);
  std::ofstream(file) << "kernel=cpu.simd path=elsewhere " << problem << "\n";
  const Ran red = w4check(hold);
  INFO(red.out);
  CHECK(red.code == 1);
  CHECK(has(red.out, "FALLBACK"));
  CHECK(has(red.out, "'elsewhere' is expected"));
  const auto begin = red.out.find("kernel=cpu.simd check=");
  REQUIRE(begin != std::string::npos);
  const Ran again = w4check({"replay", red.out.substr(begin, red.out.find('"', begin) - begin)});
  CHECK(again.code == 1);
  CHECK(has(again.out, "'elsewhere' is expected"));
}

TEST_CASE("paths: a kernel that declines what it is expected to take is red") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "paths.txt").string(),
                    problem = "m=2 n=16 k=64 g=32 order=perm";
  std::ofstream(file) << "kernel=cpu.simd path=gemv " << problem << "\n";
  const Ran red = w4check(
      {"run", "--kernel", "cpu.*", "--problem", problem, "--check", "exact.zero", "--paths", file});
  INFO(red.out);
  CHECK(red.code == 1);
  CHECK(has(red.out, "plan() declines where path 'gemv' is expected"));
}

TEST_CASE("paths: a bad file is one line with its place") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "paths.txt").string();
  std::ofstream(file) << "# none\nkernel=cpu.simd m=1 n=8 k=8\n";
  const Ran ran = w4check({"run", "--paths", file});
  CHECK(ran.code == 2);
  CHECK(ran.err == file + ":2: parse: path= is missing\n");
}
