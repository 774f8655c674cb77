// SPDX-License-Identifier: Apache-2.0
// The table of kernels: what passed of what was judged, in one row each.
#include <algorithm>
#include <map>

#include "harness/printable.hpp"
#include "harness/report/text_parts.hpp"
#include "harness/report/words.hpp"
#include "harness/table_text.hpp"

namespace w4 {

namespace {

// A row: a kernel, or under --layer a kernel on one layer by one path (or with one reason to
// decline).
struct Row {
  std::size_t kernel{};
  std::string path;
  std::string note;  // plan's reason
  std::vector<std::string> batches;
  std::vector<const RunCase*> cases;
};

void add_once(std::vector<std::string>& list, const std::string& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

std::vector<std::string> groups_of(const RunResult& run) {
  std::vector<std::string> groups;
  for (const std::string& check : run.checks) add_once(groups, group_of(check));
  return groups;
}

// A path is the kernel's own text, and a hostile one must not tear the table.
std::string path_name(const std::string& path) {
  constexpr std::size_t most = 24;
  const std::string clean = printable(path, whole_text);
  return clean.size() <= most ? clean : printable(clean.substr(0, most - 3), whole_text) + "...";
}

std::string paths_of(const std::vector<const RunCase*>& cases) {
  std::vector<std::string> paths;
  for (const RunCase* c : cases) {
    if (!c->verdict.path_declared.empty()) add_once(paths, path_name(c->verdict.path_declared));
  }
  constexpr std::size_t widest = 28;
  std::size_t shown = 0, used = 0;
  while (shown < paths.size() && (shown == 0 || used + paths[shown].size() <= widest))
    used += paths[shown++].size() + 2;
  if (shown < paths.size()) {
    const std::string more = "+" + std::to_string(paths.size() - shown);
    paths.resize(shown);
    paths.push_back(more);
  }
  return paths.empty() ? "-" : join(paths, ", ");
}

std::string cell(const Row& row, const std::string& group) {
  std::int64_t passed = 0, judged = 0;
  for (const RunCase* c : row.cases) {
    if (group_of(c->check) != group || !is_judged(*c)) continue;
    ++judged;
    passed += is_green(c->verdict.outcome) ? 1 : 0;
  }
  return judged == 0 ? "-" : std::to_string(passed) + "/" + std::to_string(judged);
}

// The first reason among the cases of that outcome, and how many others there are.
std::string reasons(const Row& row, Outcome outcome) {
  std::vector<std::string> all;
  for (const RunCase* c : row.cases) {
    if (c->verdict.outcome == outcome) add_once(all, c->verdict.reason);
  }
  if (all.empty()) return "";
  return printable(all.front(), whole_text) +
         (all.size() > 1
              ? " (and " + counted(static_cast<std::int64_t>(all.size()) - 1, "other reason") + ")"
              : "");
}

std::string verdict_of(const RunResult& run, const Row& row, bool colour) {
  Counts all, outside_reject;
  for (const RunCase* c : row.cases) {
    all.add(*c);
    if (!is_reject(c->check)) outside_reject.add(*c);
  }
  if (run.kernels[row.kernel].never_judged) {
    return paint("NEVER JUDGED: ", Ink::red, colour) + reasons(row, Outcome::unsupported);
  }
  if (row.cases.empty()) return row.path == "-" ? "unsupported: " + row.note : "no check due";
  if (all.red > 0) return paint("FAIL " + std::to_string(all.red), Ink::red, colour);
  if (outside_reject.judged == 0 && outside_reject[Outcome::unsupported] > 0) {
    return "unsupported: " + reasons(row, Outcome::unsupported);
  }
  if (all.judged == 0) return "not run: " + reasons(row, Outcome::not_run);
  return paint("pass", Ink::green, colour);
}

std::vector<std::string> cells(const RunResult& run, const Row& row, bool colour) {
  std::vector<std::string> out{run.kernels[row.kernel].name};
  if (run.by_layer) out.push_back(join(row.batches, ","));
  out.push_back(row.path);
  for (const std::string& group : groups_of(run)) out.push_back(cell(row, group));
  std::string verdict = verdict_of(run, row, colour);
  if (run.by_layer && row.path != "-" && !row.note.empty()) verdict += ": " + row.note;
  out.push_back(verdict);
  return out;
}

std::string table(const RunResult& run, const std::vector<Row>& rows, bool colour) {
  std::vector<std::string> head{"kernel"};
  if (run.by_layer) head.emplace_back("m");
  head.emplace_back("path");
  for (const std::string& group : groups_of(run)) head.push_back(group);
  head.emplace_back("verdict");
  std::vector<std::vector<std::string>> lines{std::move(head)};
  for (const Row& row : rows) lines.push_back(cells(run, row, colour));
  return table_text(lines);
}

// A row per kernel over all problems, or over those of no layer.
std::vector<Row> kernel_rows(const RunResult& run, bool generated_only) {
  std::vector<Row> rows;
  for (const RunCase& c : run.cases) {
    if (generated_only && !run.problems[c.problem].layer.empty()) continue;
    if (rows.empty() || rows.back().kernel != c.kernel) rows.push_back({c.kernel, "", "", {}, {}});
    rows.back().cases.push_back(&c);
  }
  for (Row& row : rows) row.path = paths_of(row.cases), row.batches = {"*"};
  return rows;
}

std::string path_cell(const std::string& path) {
  return path.empty() ? "(unnamed)" : path_name(path);
}

Row& row_for(std::vector<Row>& rows, std::size_t kernel, const std::string& path,
             const std::string& note) {
  const auto same = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
    return row.kernel == kernel && row.path == path && row.note == note;
  });
  return same != rows.end() ? *same : rows.emplace_back(Row{kernel, path, note, {}, {}});
}

// A row per kernel and path, or per kernel and reason to decline. Rows come from plans, so that a
// batch whose checks ran with another batch of the same path is still listed.
std::vector<Row> layer_rows(const RunResult& run, const std::string& layer) {
  std::vector<Row> rows;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> row_of;
  for (const RunPlan& plan : run.plans) {
    if (run.problems[plan.problem].layer != layer) continue;
    Row& row = row_for(rows, plan.kernel, plan.accepted ? path_cell(plan.path) : "-",
                       printable(plan.reason, whole_text));
    add_once(row.batches, std::to_string(run.problems[plan.problem].problem.m));
    row_of[{plan.kernel, plan.problem}] = static_cast<std::size_t>(&row - rows.data());
  }
  for (const RunCase& c : run.cases) {
    if (run.problems[c.problem].layer != layer) continue;
    const auto at = row_of.find({c.kernel, c.problem});
    Row& row = at != row_of.end()
                   ? rows[at->second]
                   : row_for(rows, c.kernel, "-", printable(c.verdict.reason, whole_text));
    row.cases.push_back(&c);
  }
  return rows;
}

}  // namespace

std::string kernel_tables(const RunResult& run, bool colour) {
  if (!run.by_layer) return table(run, kernel_rows(run, false), colour);
  std::vector<std::string> layers;
  for (const RunProblem& problem : run.problems) add_once(layers, problem.layer);
  std::string out;
  for (const std::string& layer : layers) {
    const auto first = std::find_if(run.problems.begin(), run.problems.end(),
                                    [&](const RunProblem& p) { return p.layer == layer; });
    out += (out.empty() ? "" : "\n") + std::string("layer   ") +
           (layer.empty() ? "none: generated problems" : printable(layer)) +
           (first->about.empty() ? "" : "   " + first->about) + "\n" +
           table(run, layer.empty() ? kernel_rows(run, true) : layer_rows(run, layer), colour);
  }
  return out;
}

}  // namespace w4
