// SPDX-License-Identifier: Apache-2.0
// What identifies a recorded call: its problem, operands and poison by content, and how often it
// was asked since the weights were bound.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/subject/subject.hpp"

namespace w4 {

// All of the problem but m, alignments and the data's seed.
std::string problem_key(const AbiProblem&);
std::string weights_key(const AbiProblem&, const WeightBytes&);  // SHA-256, hex
std::string call_key(const std::string& weights_key, const AbiProblem&, const CallBytes&,
                     std::uint8_t poison);

// What a bundle asks, by content: the line of a problem and the checks held for it; and of the
// whole file the contract, the claims, and the keys of its problems in their order.
std::string asked_key(const std::string& problem, const std::string& checks);
std::string asked_key(const std::string& contract, const std::string& claims,
                      const std::vector<std::string>& problems);

// Numbers equal calls: the same call twice after one bind is two calls (effect.repeat asks for
// that), and the same call after another bind of the same weights is the first one again.
class CallCounter {
 public:
  void bind(std::string weights_key) {
    weights_ = std::move(weights_key);
    seen_.clear();
  }
  std::string next(const AbiProblem& p, const CallBytes& call, std::uint8_t poison) {
    const auto key = call_key(weights_, p, call, poison);
    return key + "." + std::to_string(seen_[key]++);
  }

 private:
  std::string weights_;
  std::map<std::string, int> seen_;
};

// Problems that plan() accepts in a bundle, and what it says about them.
struct BundlePlans {
  std::set<std::string> problems;  // problem_key
  std::string contract;
  std::uint64_t claims{};
  Plan plan(const AbiProblem&) const;
};

// Checks that need the process that runs the kernel: why, or "" for those a bundle can hold.
std::string not_in_a_bundle(std::string_view check);

}  // namespace w4
