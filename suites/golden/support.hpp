// SPDX-License-Identifier: Apache-2.0
// A golden case of one problem, and a folder for files.
#pragma once

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>

#include <stdlib.h>

#include "harness/golden/golden.hpp"
#include "reference/error.hpp"

namespace w4 {

struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "w4_suite_golden.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const char* name) const { return (path / name).string(); }
};

inline GoldenCase golden_case(const std::string& line) {
  return record_case({parse_problem(line), nullptr, "", "", false}, 1);
}

// Written and read again.
inline GoldenFile through_file(const GoldenCase& c, const Folder& folder) {
  GoldenFile file;
  file.provenance = {{"generator", "suite"}};
  file.cases = {c};
  write_golden(file, folder.file("case.h5"));
  return read_golden(folder.file("case.h5"));
}

inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace w4
