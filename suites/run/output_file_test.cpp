// SPDX-License-Identifier: Apache-2.0
// Report files are whole or absent.
#include "harness/report/output_file.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <catch2/catch_test_macros.hpp>

#include "reference/error.hpp"
#include "suites/run/program.hpp"

namespace w4 {

namespace fs = std::filesystem;

namespace {

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

std::string cause(const std::string& path) {
  try {
    OutputFile file(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("output file: nothing is there before commit, all of it after") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "r.json";
  {
    OutputFile file(path.string());
    CHECK_FALSE(fs::exists(path));
    file.commit("whole");
  }
  CHECK(read_file(path) == "whole");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("output file: without commit the old content stays and no temporary is left") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "r.json";
  std::ofstream(path) << "old";
  { OutputFile file(path.string()); }
  CHECK(read_file(path) == "old");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("output file: a link keeps pointing where it did") {
  const TemporaryFolder folder;
  fs::create_symlink("target.json", folder.path() / "r.json");
  OutputFile((folder.path() / "r.json").string()).commit("through");
  CHECK(fs::is_symlink(folder.path() / "r.json"));
  CHECK(read_file(folder.path() / "target.json") == "through");
}

TEST_CASE("output file: a device is written to, not replaced") {
  OutputFile("/dev/null").commit("gone");
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("output file: unwritable paths are refused at once") {
  const TemporaryFolder folder;
  CHECK(cause(folder.path().string()) == folder.path().string() + ": write: Is a directory");
  CHECK(cause("/nowhere/r.json") == "/nowhere/r.json: write: No such file or directory");
  CHECK(cause("").find("write: No such file or directory") != std::string::npos);
}

}  // namespace w4
