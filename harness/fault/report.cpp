// SPDX-License-Identifier: Apache-2.0
// Text and document of the kill matrix.
#include "harness/fault/report.hpp"

#include "harness/report/text.hpp"
#include "harness/report/words.hpp"
#include "harness/run/environment.hpp"
#include "harness/table_text.hpp"

namespace w4 {

namespace {

// The first few names; all of them if verbose.
std::string names(const std::vector<std::string>& all, bool verbose) {
  constexpr std::size_t shown = 2;
  if (all.empty()) return "-";
  if (verbose || all.size() <= shown + 1) return join(all, " ");
  return join({all.begin(), all.begin() + shown}, " ") + " and " +
         std::to_string(all.size() - shown) + " more";
}

Evidence or_null(const std::string& text) {
  return text.empty() ? Evidence(nullptr) : Evidence(text);
}

Evidence cell_row(const Evidence& fault, const MatrixCell& cell) {
  return Evidence::Object{{"fault", fault},
                          {"kernel", cell.kernel},
                          {"check", cell.check},
                          {"outcome", to_string(cell.outcome)},
                          {"problem", cell.problem}};
}

}  // namespace

std::string matrix_text(const FaultMatrix& matrix, bool verbose) {
  std::vector<std::vector<std::string>> rows{
      {"fault", "copies", "killed first by", "also seen by"}};
  std::string survivors;
  for (const FaultResult& result : matrix.faults) {
    const std::string first = result.first.empty() ? "-" : result.first;
    rows.push_back(
        {std::string(result.fault->id), copied_by(*result.fault),
         result.killed ? first : "not as expected: " + first,
         result.killed && result.also.empty() ? "only it" : names(result.also, verbose)});
    if (!result.killed)
      survivors += "NOT KILLED  " + std::string(result.fault->id) + ": " + result.why_not + "\n";
  }
  std::string out = "\n" + table_text(rows) + "\n" + survivors;
  for (const std::string& alarm : matrix.alarms) out += "FALSE ALARM  " + alarm + "\n";
  for (const std::string& failure : matrix.failures) out += "HARNESS FAILED  " + failure + "\n";
  if (matrix.interrupted) out += "interrupted: not all was judged\n";
  return out + "killed " + std::to_string(matrix.killed()) + " of " +
         std::to_string(matrix.faults.size()) + ";  healthy runs " +
         std::to_string(matrix.healthy_runs()) + ", false alarms " +
         std::to_string(matrix.alarms.size()) + "\n";
}

Evidence fault_row(const Fault& fault) {
  Evidence::List problems;
  for (const std::string_view line : fault.problems)
    if (!line.empty()) problems.emplace_back(line);
  return Evidence::Object{{"id", fault.id},
                          {"device", "host"},
                          {"kernel", kernel_of(fault)},
                          {"class", fault.family},
                          {"report", or_null(std::string(fault.report))},
                          {"expected_check", fault.check},
                          {"expected_outcome", to_string(fault.outcome)},
                          {"what", fault.what},
                          {"problems", std::move(problems)}};
}

Evidence matrix_document(const FaultMatrix& matrix) {
  Evidence::List faults, cells;
  for (const FaultResult& result : matrix.faults) {
    auto row = std::get<Evidence::Object>(fault_row(*result.fault).value);
    row.emplace_back("killed", result.killed);
    row.emplace_back("why_not", or_null(result.why_not));
    row.emplace_back("only", result.killed && result.also.empty());
    faults.emplace_back(std::move(row));
    for (const MatrixCell& cell : result.cells) cells.push_back(cell_row(result.fault->id, cell));
  }
  for (const MatrixCell& cell : matrix.healthy) cells.push_back(cell_row(nullptr, cell));
  Evidence::List alarms, failures;
  for (const std::string& alarm : matrix.alarms) alarms.emplace_back(alarm);
  for (const std::string& failure : matrix.failures) failures.emplace_back(failure);
  return Evidence::Object{{"schema", "w4check.faults/1"},
                          {"version", version()},
                          {"commit", commit()},
                          {"summary", Evidence::Object{{"faults", matrix.faults.size()},
                                                       {"killed", matrix.killed()},
                                                       {"healthy_runs", matrix.healthy_runs()},
                                                       {"false_alarms", matrix.alarms.size()},
                                                       {"interrupted", matrix.interrupted}}},
                          {"faults", std::move(faults)},
                          {"matrix", std::move(cells)},
                          {"alarms", std::move(alarms)},
                          {"failures", std::move(failures)}};
}

}  // namespace w4
