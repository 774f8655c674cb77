// SPDX-License-Identifier: Apache-2.0
// Assembles the parts of the text report.
#include "harness/report/text.hpp"

#include "harness/report/text_parts.hpp"
#include "harness/report/words.hpp"

namespace w4 {

namespace {

std::string verdict_line(const RunResult& run, const TextOptions& options) {
  const Counts counts = count(run.cases);
  const std::string of =
      std::to_string(counts.red) + " red of " + std::to_string(counts.required) + " required";
  if (const auto errors = counts[Outcome::harness_error]; errors > 0) {
    return paint("verdict: HARNESS FAILED in " + counted(errors, "case") + ", " + of, Ink::red,
                 options.colour);
  }
  if (counts.red > 0) return paint("verdict: FAIL " + of, Ink::red, options.colour);
  if (run.interrupted) return paint("verdict: INTERRUPTED, " + of, Ink::red, options.colour);
  if (counts.judged == 0) return paint("verdict: nothing was judged", Ink::red, options.colour);
  return paint("verdict: pass " + std::to_string(counts.required) + " required, 0 red", Ink::green,
               options.colour);
}

std::string last_lines(const RunResult& run, const TextOptions& options) {
  std::string out;
  if (run.interrupted) {
    std::int64_t left = 0;
    for (const RunCase& c : run.cases) {
      if (c.verdict.outcome == Outcome::not_run && !c.required) ++left;
    }
    out += "interrupted: " + std::to_string(static_cast<std::int64_t>(run.cases.size()) - left) +
           " of " + counted(static_cast<std::int64_t>(run.cases.size()), "case") +
           " judged, the rest not run\n";
  }
  out += verdict_line(run, options) + "\n";
  for (const std::string& path : options.reports) out += "report: " + path + "\n";
  return out;
}

}  // namespace

std::string header_text(std::uint64_t seed, const Environment& host) {
  std::string device = host.device;
  if (host.driver != "none") device += " (driver " + host.driver + ")";
  return "w4check " + std::string(version()) + " (" + std::string(commit()) + ")   seed " +
         hex(seed) + "   host " + host.isa + ", " + counted(host.cores, "core") + "   device " +
         device + "\n";
}

std::string run_text(const RunResult& run, const TextOptions& options) {
  std::string out =
      "\n" + kernel_tables(run, options.colour) + "\n" + counts_text(run, options.verbose);
  out += failures_text(run, options);
  return out + "\n" + last_lines(run, options);
}

std::string case_text(const RunResult& run, const TextOptions& options) {
  std::string out;
  for (std::size_t i = 0; i < run.cases.size(); ++i)
    out += "\n" + failure_text(run, {i, {i}}, options);
  return out + "\n" + last_lines(run, options);
}

}  // namespace w4
