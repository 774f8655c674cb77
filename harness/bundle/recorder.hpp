// SPDX-License-Identifier: Apache-2.0
// Stands where a kernel does while a bundle is made: answers right, and keeps what it was asked.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "harness/bundle/call.hpp"

namespace w4 {

struct RecordedCall {
  std::string key;
  Problem problem;  // with the call's m
  std::shared_ptr<const WeightBytes> weights;
  std::string weights_key;
  CallBytes call;
  std::uint8_t poison{};
};

// The right words of a call, from its bytes: unpacked, multiplied, rounded once. They let a check
// go on to its last call; they are kept nowhere.
std::vector<std::uint32_t> right_words(const Problem&, const WeightBytes&, const CallBytes&,
                                       Dequant);

class Recorder final : public KernelPort {
 public:
  // `before_call` may throw, which ends the recording.
  Recorder(std::string kernel, BundlePlans plans, std::function<void()> before_call);

  // What is asked from now on belongs to this problem.
  void begin(const Problem&);
  // The calls since begin().
  std::vector<RecordedCall> take();

  const std::string& kernel() const override { return kernel_; }
  const PluginInfo& plugin() const override { return plugin_; }
  using KernelPort::plan;
  Plan plan(const AbiProblem&, Reply*) override;
  Reply bind(const AbiProblem&, const WeightBytes&, const CallOptions&) override;
  Reply run(const AbiProblem&, const CallBytes&, const CallOptions&) override;
  FloatState clean_state() const override { return {}; }
  int calls() const override { return calls_; }
  int deaths() const override { return 0; }

 private:
  std::string kernel_;
  PluginInfo plugin_;
  BundlePlans plans_;
  std::function<void()> before_call_;
  Problem problem_;
  CallCounter counter_;
  std::shared_ptr<const WeightBytes> weights_;
  std::string weights_key_;
  struct Asked {
    Problem problem;
    std::shared_ptr<const WeightBytes> weights;
    CallBytes call;
    bool operator==(const Asked& other) const {
      return problem == other.problem && weights == other.weights && call.x == other.call.x &&
             call.x_scale == other.call.x_scale;
    }
  };
  Asked asked_;  // the last one, and its answer
  std::vector<std::uint32_t> words_;
  std::vector<RecordedCall> calls_of_check_;
  int calls_{};
};

}  // namespace w4
