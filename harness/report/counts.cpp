// SPDX-License-Identifier: Apache-2.0
// How many cases ended how, and why some were not judged: nothing is left out silently.
#include <algorithm>
#include <cstdio>

#include "harness/printable.hpp"
#include "harness/report/text_parts.hpp"
#include "harness/report/words.hpp"
#include "harness/table_text.hpp"

namespace w4 {

namespace {

// What was not judged or did not count, by kernel and reason.
std::string reasons_of(const RunResult& run, Outcome outcome, bool verbose) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::pair<std::pair<std::size_t, std::string>, std::int64_t>> groups;
  std::int64_t total = 0, required = 0;
  for (const RunCase& c : run.cases) {
    if (c.verdict.outcome != outcome) continue;
    ++total;
    required += c.required ? 1 : 0;
    const std::pair key{c.kernel, printable(c.verdict.reason, whole_text)};
    const auto at =
        std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == key; });
    if (at == groups.end())
      groups.emplace_back(key, 1);
    else
      ++at->second;
    if (verbose)
      rows.push_back(
          {"  " + run.kernels[c.kernel].name, c.check, run.problems[c.problem].line, key.second});
  }
  if (total == 0) return "";
  std::string out = in_words(outcome) + " " + std::to_string(total);
  out += required == 0       ? " (not required)\n"
         : required == total ? " (required)\n"
                             : " (" + std::to_string(required) + " required)\n";
  if (verbose) return out + table_text(rows);
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  constexpr std::size_t most = 10;
  for (std::size_t i = 0; i < std::min(most, groups.size()); ++i) {
    rows.push_back({"  " + run.kernels[groups[i].first.first].name,
                    std::to_string(groups[i].second), groups[i].first.second});
  }
  out += table_text(rows);
  if (groups.size() > most) {
    out += "  and " + counted(static_cast<std::int64_t>(groups.size() - most), "other reason") +
           " (-v lists all)\n";
  }
  return out;
}

}  // namespace

namespace {

std::string search_text(const RunSearch& search) {
  if (!search.done) return "";
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", search.seconds);
  std::string text = "search: " + counted(static_cast<std::int64_t>(search.problems), "problem") +
                     " drawn in " + seconds + " s, " +
                     counted(static_cast<std::int64_t>(search.shrunk), "failure") +
                     " shrunk; the seed fixes the problems, the time how many\n";
  if (search.declined > 0)
    text += "        " + std::to_string(search.declined) + " more that no kernel takes\n";
  if (!search.left_out.empty())
    text += "        searched no further after " + std::to_string(search.enough) +
            " failures or 2 deaths: " + join(search.left_out, " ") + "\n";
  return text;
}

}  // namespace

std::string counts_text(const RunResult& run, bool verbose) {
  const Counts counts = count(run.cases);
  std::string line = counted(counts.total, "case") + " on " +
                     counted(static_cast<std::int64_t>(run.problems.size()), "problem") + ":";
  for (std::size_t i = 0; i < counts.of.size(); ++i) {
    if (counts.of[i] == 0) continue;
    line += (line.back() == ':' ? " " : ", ") + in_words(static_cast<Outcome>(i)) + " " +
            std::to_string(counts.of[i]);
  }
  line += "\n" + search_text(run.search);
  for (const Outcome outcome : {Outcome::unsupported, Outcome::not_run, Outcome::vacuous,
                                Outcome::waived, Outcome::xpass}) {
    line += reasons_of(run, outcome, verbose);
  }
  return line;
}

}  // namespace w4
