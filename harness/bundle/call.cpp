// SPDX-License-Identifier: Apache-2.0
// Keys are SHA-256 over named, counted parts, so that no two operands can be taken for each other.
#include "harness/bundle/call.hpp"

#include <array>

#include "harness/fixture/hdf5_file.hpp"

namespace w4 {
namespace {

std::string hash_of(const std::string& text) {
  return sha256_hex(std::as_bytes(std::span(text)));
}

std::string part(const char* name, const std::optional<std::vector<std::byte>>& bytes) {
  if (!bytes) return std::string(name) + " -\n";
  return std::string(name) + " " + std::to_string(bytes->size()) + " " + sha256_hex(*bytes) + "\n";
}

}  // namespace

std::string problem_key(const AbiProblem& abi) {
  const auto& p = abi.p;
  std::string text = abi.layout;
  for (const auto value : {p.n, p.k, p.group, p.x_group, p.groups, p.x_stride, p.y_stride})
    text += " " + std::to_string(value);
  for (const auto value : {p.flags, p.x_type, p.mul_type, p.y_type, p.scale_type, p.zero,
                           p.zero_type, p.scale2_type, p.bias_type})
    text += " " + std::to_string(value);
  return text;
}

std::string weights_key(const AbiProblem& p, const WeightBytes& w) {
  return hash_of(problem_key(p) + "\n" + part("codes", w.codes) + part("scale", w.scale) +
                 part("zero", w.zero) + part("scale2", w.scale2) + part("zero2", w.zero2) +
                 part("g_idx", w.g_idx) + part("bias", w.bias));
}

std::string call_key(const std::string& weights, const AbiProblem& p, const CallBytes& call,
                     std::uint8_t poison) {
  return hash_of(weights + "\n" + problem_key(p) + "\nm " + std::to_string(p.p.m) + "\n" +
                 part("x", call.x) + part("x_scale", call.x_scale) + "poison " +
                 std::to_string(poison) + "\n");
}

std::string asked_key(const std::string& problem, const std::string& checks) {
  return hash_of("problem " + problem + "\nchecks " + checks + "\n");
}

std::string asked_key(const std::string& contract, const std::string& claims,
                      const std::vector<std::string>& problems) {
  std::string text = "contract " + std::to_string(contract.size()) + " " + contract + "\nclaims " +
                     std::to_string(claims.size()) + " " + claims + "\n";
  for (const auto& key : problems) text += key + "\n";
  return hash_of(text);
}

Plan BundlePlans::plan(const AbiProblem& p) const {
  Plan plan;
  plan.path = "bundle";
  plan.contract = contract;
  plan.claims = claims;
  if (p.p.m >= 1 && problems.contains(problem_key(p))) return plan;
  plan.status = W4_UNSUPPORTED;
  plan.reason = "the bundle holds no such problem";
  return plan;
}

std::string not_in_a_bundle(std::string_view check) {
  struct Row {
    std::string_view prefix;
    const char* why;
  };
  constexpr std::array rows{
      Row{"effect.guard", "reads and writes outside the buffers"},
      Row{"effect.inputs", "writes to inputs"},
      Row{"effect.m0", "m = 0"},
      Row{"effect.stride", "strides"},
      Row{"effect.state", "the state of the process"},
      Row{"effect.threads", "threads"},
      Row{"dispatch.", "which code ran"},
      Row{"reject.", "what is refused"},
      Row{"identity.", "which kernel it is"},
  };
  for (const Row& row : rows)
    if (check.starts_with(row.prefix)) return row.why;
  return "";
}

}  // namespace w4
