// SPDX-License-Identifier: Apache-2.0
// Red cases, grouped by cause: a paragraph of five lines each.
#include <algorithm>
#include <cctype>
#include <map>

#include "harness/printable.hpp"
#include "harness/report/json.hpp"
#include "harness/report/text.hpp"
#include "harness/report/text_parts.hpp"
#include "harness/report/words.hpp"
#include "harness/table_text.hpp"

namespace w4 {

namespace {

constexpr std::size_t page = 100;

std::string in_capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string cut(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

std::string indented(const std::string& lines, std::size_t by) {
  std::string out;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size() - 1) + 1;
    out += std::string(by, ' ') + lines.substr(at, end - at);
    at = end;
  }
  return out;
}

// A kernel that dies does so under every check, and leaves cases of all of them behind: one cause,
// whatever the check.
std::string cause_of(const RunCase& c) {
  const auto outcome = c.verdict.outcome;
  const bool any_check =
      outcome == Outcome::not_run || outcome == Outcome::crashed || outcome == Outcome::timed_out;
  const std::string check = any_check ? "" : c.check;
  return std::to_string(c.kernel) + '\0' + check + '\0' +
         std::string(to_string(c.verdict.outcome)) + '\0' + c.verdict.reason;
}

std::string heading(const RunResult& run, const FailureGroup& group, bool colour) {
  const RunCase& c = run.cases[group.first];
  const std::string kind = in_capitals(in_words(c.verdict.outcome));
  std::string rest = "  " + c.check + "   " + run.kernels[c.kernel].name + "   ";
  if (group.cases.size() > 1)
    rest += counted(static_cast<std::int64_t>(group.cases.size()), "case") + ", first ";
  const std::size_t used = kind.size() + rest.size();
  rest += cut(run.problems[c.problem].line, page > used + 20 ? page - used : 20);
  return paint(kind, is_green(c.verdict.outcome) ? Ink::green : Ink::red, colour) + rest + "\n";
}

std::string what_line(const RunResult& run, const RunCase& c) {
  if (!run.kernels[c.kernel].never_judged || is_judged(c)) return c.verdict.reason;
  const bool accepted = std::any_of(run.plans.begin(), run.plans.end(), [&](const RunPlan& plan) {
    return plan.kernel == c.kernel && plan.accepted;
  });
  const bool no_answer = c.verdict.outcome != Outcome::unsupported;
  return std::string("never judged: ") +
         (no_answer  ? "no check came to a verdict: "
          : accepted ? "the kernel takes the problem, the check does not: "
                     : "the kernel declined every problem: ") +
         c.verdict.reason;
}

// Which causes of a kernel get a paragraph: enough to see what is broken, not every echo of it.
class Spotlight {
 public:
  bool takes(const RunCase& c) {
    if (c.kernel != kernel_) *this = Spotlight(c.kernel);
    if (shown_ == most_a_kernel || of_check_[c.check] == most_a_check) return false;
    ++shown_;
    ++of_check_[c.check];
    return true;
  }
  Spotlight() = default;

 private:
  explicit Spotlight(std::size_t kernel) : kernel_(kernel) {}
  static constexpr int most_a_kernel = 6, most_a_check = 2;
  std::size_t kernel_{~std::size_t{0}};
  int shown_{};
  std::map<std::string, int> of_check_;
};

// "and 11 more causes on K: exact.onehot 46 cases, ... (-v shows them)"
std::string rest_text(const RunResult& run, const std::vector<const FailureGroup*>& rest) {
  if (rest.empty()) return "";
  std::vector<std::pair<std::string, std::int64_t>> checks;
  for (const FailureGroup* group : rest) {
    const std::string& check = run.cases[group->first].check;
    const auto at =
        std::find_if(checks.begin(), checks.end(), [&](const auto& c) { return c.first == check; });
    const auto cases = static_cast<std::int64_t>(group->cases.size());
    if (at == checks.end())
      checks.emplace_back(check, cases);
    else
      at->second += cases;
  }
  std::vector<std::string> parts;
  for (const auto& [check, cases] : checks) parts.push_back(check + " " + std::to_string(cases));
  const std::string& kernel = run.kernels[run.cases[rest.front()->first].kernel].name;
  return "\n" + labelled("and", counted(static_cast<std::int64_t>(rest.size()), "more cause") +
                                    " on " + kernel + ", cases by check: " + join(parts, ", ") +
                                    " (-v shows them)");
}

}  // namespace

std::string failures_text(const RunResult& run, const TextOptions& options) {
  std::string out;
  Spotlight spotlight;
  std::vector<const FailureGroup*> rest;
  const std::vector<FailureGroup> groups = failure_groups(run);
  for (const FailureGroup& group : groups) {
    const RunCase& c = run.cases[group.first];
    if (!rest.empty() && run.cases[rest.front()->first].kernel != c.kernel) {
      out += rest_text(run, rest);
      rest.clear();
    }
    if (options.verbose || spotlight.takes(c))
      out += "\n" + failure_text(run, group, options);
    else
      rest.push_back(&group);
  }
  return out + rest_text(run, rest);
}

std::string labelled(std::string_view label, std::string_view text) {
  const std::string clean = printable(text, whole_text);
  const std::size_t margin = 11;
  std::string line = "  " + std::string(label) + std::string(margin - 2 - label.size(), ' '), out;
  std::size_t used = margin;
  for (std::size_t at = 0; at < clean.size();) {
    const std::size_t end = std::min(clean.find(' ', at), clean.size());
    const std::string word = clean.substr(at, end - at);
    if (used > margin && used + word.size() > page) {
      out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line = std::string(margin, ' ');
      used = margin;
    }
    line += word + " ";
    used += word.size() + 1;
    at = end + 1;
  }
  return out + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string paint(const std::string& text, Ink ink, bool colour) {
  if (!colour) return text;
  return (ink == Ink::red ? "\x1b[31m" : "\x1b[32m") + text + "\x1b[0m";
}

std::vector<FailureGroup> failure_groups(const RunResult& run) {
  std::vector<FailureGroup> groups;
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < run.cases.size(); ++i) {
    if (!is_red(run.cases[i])) continue;
    const auto [at, is_new] = known.emplace(cause_of(run.cases[i]), groups.size());
    if (is_new) groups.push_back({i, {}});
    groups[at->second].cases.push_back(i);
  }
  return groups;
}

std::string failure_text(const RunResult& run, const FailureGroup& group,
                         const TextOptions& options) {
  const RunCase& c = run.cases[group.first];
  const Verdict& v = c.verdict;
  std::string out = heading(run, group, options.colour) + labelled("what", what_line(run, c));
  if (!v.where.empty()) out += labelled("where", v.where);
  if (!v.expected_got.empty())
    out += labelled("expected", v.expected_got);
  else if (v.worst)
    out += labelled("expected", worst_text(*v.worst, run.problems[c.problem].problem.y));
  if (!v.why.empty()) out += labelled("why", v.why);
  if (!v.path_observed.empty() && v.path_observed != v.path_declared) {
    out += labelled("claimed", "path " + v.path_declared + " (plan); observed " + v.path_observed);
  }
  if (!v.smallest_fault.empty() && options.verbose) out += labelled("sees", v.smallest_fault);
  out += "  replay   w4check replay " + shell_quoted(c.repro) + "\n";
  if (!options.verbose) return out;
  if (!v.details.empty()) out += "  operands\n";
  for (const Table& table : v.details) out += indented(table_text(table), 4);
  if (!v.evidence.empty()) out += "  evidence\n" + evidence_text(v.evidence, 4);
  for (std::size_t i = 1; i < group.cases.size(); ++i) {
    out += "  also     " + shell_quoted(run.cases[group.cases[i]].repro) + "\n";
  }
  return out;
}

}  // namespace w4
