// SPDX-License-Identifier: Apache-2.0
#include "harness/verdict.hpp"

#include <array>
#include <utility>

namespace w4 {

std::string_view to_string(Outcome outcome) {
  constexpr std::array<std::string_view, 11> names{
      "pass",  "fail",    "fallback",  "vacuous", "unsupported",  "waived",
      "xpass", "crashed", "timed_out", "not_run", "harness_error"};
  return names[static_cast<std::size_t>(outcome)];
}

bool is_green(Outcome outcome) {
  return outcome == Outcome::pass || outcome == Outcome::waived;
}

Verdict with(Outcome outcome, std::string reason) {
  Verdict verdict;
  verdict.outcome = outcome;
  verdict.reason = std::move(reason);
  return verdict;
}

Verdict passed(std::string reason, Evidence evidence) {
  Verdict verdict = with(Outcome::pass, std::move(reason));
  verdict.evidence = std::move(evidence);
  return verdict;
}

Verdict failed(std::string reason, Evidence evidence) {
  Verdict verdict = with(Outcome::fail, std::move(reason));
  verdict.evidence = std::move(evidence);
  return verdict;
}

}  // namespace w4
