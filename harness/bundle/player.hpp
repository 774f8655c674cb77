// SPDX-License-Identifier: Apache-2.0
// Stands where a kernel does while a bundle is judged: answers with the outputs that the file
// holds.
#pragma once

#include <memory>
#include <string>

#include "harness/bundle/call.hpp"
#include "harness/bundle/file.hpp"

namespace w4 {

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
