// SPDX-License-Identifier: Apache-2.0
// What a bundle's file says, checked.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/bundle/call.hpp"
#include "harness/fixture/foreign.hpp"
#include "reference/problem.hpp"

namespace w4 {

// A case of the file, checked but for y, which is the user's.
struct BundleCase {
  std::string name;  // "/cases/0007"
  std::string check;
  Problem problem;
  std::uint8_t poison{};
  std::string y_fault;     // "" where y is there and has its type and shape; else one sentence
  std::string fault_kind;  // missing, misshapen, not_written
};

struct Bundle {
  std::string path, kernel, generator;
  BundlePlans plans;
  std::vector<Problem> problems;
  std::vector<std::vector<std::string>> checks;  // of each problem
  std::vector<BundleCase> cases;
  std::map<std::string, std::size_t> by_key;
  ForeignFile file;
};

// Error(input) `path: read: cause`, also where an operand is not what it was when the file was
// made.
Bundle read_bundle(ForeignFile);
Bundle read_bundle(const std::string& path);

}  // namespace w4
