// SPDX-License-Identifier: Apache-2.0
// The operands are small and arbitrary: what they are worth is other suites' business.
#include "suites/subject/support.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

namespace w4 {

Problem small_problem() {
  Problem p;
  p.m = 2;
  p.n = 8;
  p.k = 16;
  p.group = 16;
  p.groups = 1;
  p = with_defaults(p);
  p.x_stride = 20;
  p.y_stride = 11;
  return p;
}

QuantizedMatrix small_matrix(const Problem& p) {
  QuantizedMatrix q;
  q.k = p.k;
  q.n = p.n;
  q.group = p.group;
  q.groups = p.groups;
  q.zero = p.zero;
  q.scale_type = p.scale;
  for (std::int64_t i = 0; i < p.k * p.n; ++i)
    q.codes.push_back(static_cast<std::uint8_t>(i * 7 % 16));
  for (std::int64_t i = 0; i < p.groups * p.n; ++i) {
    q.scales.push_back(0x3800u + 64u * static_cast<std::uint32_t>(i % 8));
  }
  return q;
}

Activations small_activations(const Problem& p) {
  Activations x;
  x.type = p.x;
  x.m = p.m;
  x.k = p.k;
  for (std::int64_t i = 0; i < p.m * p.k; ++i)
    x.words.push_back(0x3c00u + 8u * static_cast<std::uint32_t>(i % 11));
  return x;
}

WeightBytes small_weights(const Problem& p) {
  const QuantizedMatrix matrix = small_matrix(p);
  return to_bytes(pack(*find_layout(p.layout), matrix), matrix);
}

Problem probe_problem() {
  Problem p = small_problem();
  p.n = 64;
  p.x_stride = 16;
  p.y_stride = 64;
  p.align = 2;
  return p;
}

WeightBytes probe_weights(const Problem& p, ProbeCommand command) {
  WeightBytes weights = small_weights(p);
  std::memcpy(weights.codes->data(), &command, sizeof command);
  return weights;
}

Reply run_once(const std::string& plugin, const std::string& kernel, const Problem& p,
               const WeightBytes& weights, const CallOptions& options, WorkerLimits limits) {
  Subject subject(inspect_plugin(plugin), kernel, limits);
  const Reply bound = subject.bind(to_abi(p), weights, options);
  if (!bound.answered() || bound.status != W4_OK) return bound;
  return subject.run(to_abi(p), to_bytes(p, small_activations(p)), options);
}

Reply run_hostile(const std::string& kernel, const CallOptions& options, WorkerLimits limits) {
  const Problem p = small_problem();
  return run_once(plugin_path("hostile"), "hostile." + kernel, p, small_weights(p), options,
                  limits);
}

Reply run_probe(ProbeCommand command, const CallOptions& options, const std::string& kernel) {
  const Problem p = probe_problem();
  return run_once(W4_PROBE_PLUGIN, kernel, p, probe_weights(p, command), options);
}

std::vector<std::uint64_t> addresses_in(const Reply& reply) {
  std::vector<std::uint64_t> words(probe_tensors);
  if (reply.y.size() >= words.size() * 8)
    std::memcpy(words.data(), reply.y.data(), words.size() * 8);
  return words;
}

std::vector<int> processes_with(const std::string& variable) {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos || std::stoi(name) == getpid())
      continue;
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.find(variable) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

}  // namespace w4
