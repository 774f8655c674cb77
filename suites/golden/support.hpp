// SPDX-License-Identifier: Apache-2.0
// A golden case of one problem, and a folder for files.
#pragma once

#include <string>

#include "harness/golden/golden.hpp"
#include "suites/support/temporary_folder.hpp"

namespace w4 {

inline GoldenCase golden_case(const std::string& line) {
  return record_case({parse_problem(line), nullptr, "", "", false}, 1);
}

// Written and read again.
inline GoldenFile through_file(const GoldenCase& c, const TemporaryFolder& folder) {
  GoldenFile file;
  file.provenance = {{"generator", "suite"}};
  file.cases = {c};
  write_golden(file, folder.file("case.h5"));
  return read_golden(folder.file("case.h5"));
}

}  // namespace w4
