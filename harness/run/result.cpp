// SPDX-License-Identifier: Apache-2.0
// The rules that turn outcomes into red, counts and an exit code.
#include "harness/run/result.hpp"

#include <cstdio>

namespace w4 {

bool is_red(const RunCase& c) {
  return c.required && !is_green(c.verdict.outcome);
}

bool is_judged(const RunCase& c) {
  return c.verdict.outcome != Outcome::unsupported && c.verdict.outcome != Outcome::not_run;
}

bool is_reject(std::string_view check) {
  return check.substr(0, 7) == "reject.";
}

std::string group_of(std::string_view check) {
  return std::string(check.substr(0, check.find('.')));
}

void Counts::add(const RunCase& c) {
  ++of[static_cast<std::size_t>(c.verdict.outcome)];
  ++total;
  required += c.required ? 1 : 0;
  red += is_red(c) ? 1 : 0;
  judged += is_judged(c) ? 1 : 0;
}

Counts count(std::span<const RunCase> cases) {
  Counts counts;
  for (const RunCase& c : cases) counts.add(c);
  return counts;
}

int exit_code(const RunResult& run) {
  const Counts counts = count(run.cases);
  if (counts[Outcome::harness_error] > 0) return 3;
  if (counts.red > 0) return 1;
  if (run.interrupted || counts.judged == 0) return 2;
  return 0;
}

std::string case_id(const RunResult& run, const RunCase& c) {
  std::uint32_t hash = 2166136261u;
  for (const char byte : run.problems[c.problem].line) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 16777619u;
  }
  char hex[9];
  std::snprintf(hex, sizeof hex, "%08x", hash);
  return run.kernels[c.kernel].name + "/" + c.check + "/" + hex;
}

}  // namespace w4
