// SPDX-License-Identifier: Apache-2.0
// Stands where a kernel does while a bundle is judged: answers with the outputs that the file
// holds.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "harness/bundle/call.hpp"
#include "harness/fixture/foreign.hpp"
#include "harness/fixture/hdf5_file.hpp"

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
Bundle read_bundle(const std::string& path);

class Player final : public KernelPort {
 public:
  explicit Player(std::shared_ptr<const Bundle> bundle) : bundle_(std::move(bundle)) {}

  const std::string& kernel() const override { return bundle_->kernel; }
  const PluginInfo& plugin() const override { return plugin_; }
  using KernelPort::plan;
  Plan plan(const AbiProblem&, Reply*) override;
  Reply bind(const AbiProblem&, const WeightBytes&, const CallOptions&) override;
  // Throws CaseOver where the file has no such call, or no usable y for it.
  Reply run(const AbiProblem&, const CallBytes&, const CallOptions&) override;
  FloatState clean_state() const override { return {}; }
  int calls() const override { return calls_; }
  int deaths() const override { return 0; }

 private:
  std::shared_ptr<const Bundle> bundle_;
  PluginInfo plugin_;
  CallCounter counter_;
  int calls_{};
};

}  // namespace w4
