// SPDX-License-Identifier: Apache-2.0
// Writes JUnit XML.
#include "harness/report/junit.hpp"

#include <cstdio>

#include "harness/printable.hpp"

namespace w4 {

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text, whole_text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", value);
  return text;
}

enum class Mark { green, failure, error, skipped };

Mark mark_of(const RunCase& c) {
  const Outcome outcome = c.verdict.outcome;
  if (outcome == Outcome::harness_error) return Mark::error;
  if (!is_red(c)) return outcome == Outcome::pass ? Mark::green : Mark::skipped;
  return outcome == Outcome::crashed || outcome == Outcome::timed_out ? Mark::error : Mark::failure;
}

std::string body(const RunCase& c) {
  std::string text;
  for (const std::string& line : {c.verdict.where, c.verdict.expected_got, c.verdict.why}) {
    if (!line.empty()) text += escaped(line) + "\n";
  }
  return text + "w4check replay &quot;" + escaped(c.repro) + "&quot;";
}

std::string case_xml(const RunResult& run, const RunCase& c) {
  const std::string message = std::string(to_string(c.verdict.outcome)) + ": " + c.verdict.reason;
  std::string out = "    <testcase classname=\"" + escaped(run.kernels[c.kernel].name) +
                    "\" name=\"" + escaped(c.check + " " + run.problems[c.problem].line) +
                    "\" time=\"" + seconds(c.seconds) + "\"";
  switch (mark_of(c)) {
    case Mark::green:
      return out + "/>\n";
    case Mark::skipped:
      return out + "><skipped message=\"" + escaped(message) + "\"/></testcase>\n";
    case Mark::failure:
      return out + ">\n      <failure message=\"" + escaped(message) + "\">" + body(c) +
             "</failure>\n    </testcase>\n";
    case Mark::error:
      break;
  }
  return out + ">\n      <error message=\"" + escaped(message) + "\">" + body(c) +
         "</error>\n    </testcase>\n";
}

struct Marks {
  int tests{}, failures{}, errors{}, skipped{};
  double time{};
  void add(const RunCase& c) {
    ++tests;
    failures += mark_of(c) == Mark::failure ? 1 : 0;
    errors += mark_of(c) == Mark::error ? 1 : 0;
    skipped += mark_of(c) == Mark::skipped ? 1 : 0;
    time += c.seconds;
  }
  std::string attributes() const {
    return " tests=\"" + std::to_string(tests) + "\" failures=\"" + std::to_string(failures) +
           "\" errors=\"" + std::to_string(errors) + "\" skipped=\"" + std::to_string(skipped) +
           "\" time=\"" + seconds(time) + "\"";
  }
};

}  // namespace

std::string run_junit(const RunResult& run) {
  std::string suites;
  Marks all;
  for (std::size_t k = 0; k < run.kernels.size(); ++k) {
    Marks marks;
    std::string cases;
    for (const RunCase& c : run.cases) {
      if (c.kernel != k) continue;
      marks.add(c);
      all.add(c);
      cases += case_xml(run, c);
    }
    suites += "  <testsuite name=\"" + escaped(run.kernels[k].name) + "\"" + marks.attributes() +
              ">\n" + cases + "  </testsuite>\n";
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"w4check\"" +
         all.attributes() + ">\n" + suites + "</testsuites>\n";
}

}  // namespace w4
