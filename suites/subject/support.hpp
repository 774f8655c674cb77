// SPDX-License-Identifier: Apache-2.0
// What the tests of the subject share: a small problem, its operands, and the plugins of this
// build.
#pragma once

#include <string>
#include <vector>

#include "harness/subject/subject.hpp"
#include "suites/subject/probe_command.hpp"

namespace w4 {

inline std::string plugin_path(const std::string& name) {
  return W4_BINARY_DIR "/libw4_" + name + ".so";
}

// For what never answers, and for what does, on a busy machine.
inline WorkerLimits short_limits() {
  return {.seconds = 0.5, .memory_bytes = std::uint64_t{1} << 30};
}
inline WorkerLimits patient_limits() {
  return {.seconds = 20, .memory_bytes = std::uint64_t{1} << 30};
}

// m=2 n=8 k=16, f16, codes, one scale a column; rows of x and y with gaps.
Problem small_problem();
QuantizedMatrix small_matrix(const Problem&);
Activations small_activations(const Problem&);
WeightBytes small_weights(const Problem&);

// A problem for the probe plugin, whose y holds all the addresses.
Problem probe_problem();
WeightBytes probe_weights(const Problem&, ProbeCommand);

// Loads, binds and runs once.
Reply run_once(const std::string& plugin, const std::string& kernel, const Problem&,
               const WeightBytes&, const CallOptions& = {}, WorkerLimits = patient_limits());
Reply run_hostile(const std::string& kernel, const CallOptions& = {},
                  WorkerLimits = patient_limits());
Reply run_probe(ProbeCommand, const CallOptions& = {}, const std::string& kernel = "probe.raw");

// The y of a reply as words of the addresses.
std::vector<std::uint64_t> addresses_in(const Reply&);

// Processes that carry `name=value` in the environment they were started with, this one left out.
std::vector<int> processes_with(const std::string& variable);

}  // namespace w4
