// SPDX-License-Identifier: Apache-2.0
// `w4check bundle`: cases out, outputs of any kernel in any language in, the verdicts of `run`.
#include "harness/bundle/bundle.hpp"

#include <cstdio>

#include "harness/printable.hpp"
#include "harness/report/log.hpp"
#include "harness/report/progress.hpp"
#include "harness/report/text.hpp"
#include "harness/run/interrupt.hpp"
#include "harness/run/select.hpp"
#include "reference/error.hpp"
#include "tools/w4check/command.hpp"
#include "tools/w4check/session.hpp"
#include "tools/w4check/values.hpp"

namespace w4 {

namespace {

std::vector<std::string> claims_of(const std::string& text, const std::string& command) {
  if (text == "none") return {};
  auto words = split_list(text, ',');
  try {
    read_claims(words);
  } catch (const Error& error) {
    fail_input(command, "--claim", error.what());
  }
  return words;
}

std::string size_text(std::int64_t bytes) {
  char text[40];
  std::snprintf(text, sizeof text, bytes < 1'000'000 ? "%.1f kB" : "%.1f MB",
                static_cast<double>(bytes) / (bytes < 1'000'000 ? 1e3 : 1e6));
  return text;
}

std::string left_out_text(const std::vector<LeftOut>& list) {
  std::string text;
  for (const auto& [check, why] : list)
    text += (text.empty() ? "" : ", ") + check + " (" + why + ")";
  return list.empty() ? "" : labelled("unseen", "what a bundle cannot hold: " + text);
}

std::string held_text(const std::vector<HeldChecks>& list, bool verbose) {
  constexpr std::size_t most = 10;
  std::string text;
  for (std::size_t i = 0; i < list.size() && (verbose || i < most); ++i)
    text += labelled("held", std::to_string(list[i].held) + " of " + std::to_string(list[i].of) +
                                 " checks for " + list[i].problem);
  if (!verbose && list.size() > most)
    text += "  and " + std::to_string(list.size() - most) + " more problems (-v shows them)\n";
  return text;
}

// The keys that were given as options, as one line; the usual small problem where none was.
std::vector<ProblemLine> lines_of(const BundleMakeArgs& args) {
  std::vector<ProblemLine> lines;
  for (const std::string& text : args.problems) lines.push_back(problem_line("--problem", text));
  if (!args.list.empty()) {
    const auto more = read_problem_list(args.list);
    lines.insert(lines.end(), more.begin(), more.end());
  }
  std::string text;
  for (const auto& [key, value] : args.keys)
    if (!value.empty()) text += (text.empty() ? "" : " ") + key + "=" + value;
  if (!text.empty() || lines.empty()) {
    const auto given = [&](const std::string& key) {
      for (const auto& [name, value] : args.keys)
        if (name == key) return !value.empty();
      return false;
    };
    for (const auto& [key, usual] :
         {std::pair<const char*, const char*>{"m", "4"}, {"n", "64"}, {"k", "256"}, {"g", "64"}})
      if (!given(key) && !(std::string(key) == "g" && given("k")))
        text += std::string(text.empty() ? "" : " ") + key + "=" + usual;
    lines.push_back(problem_line("w4check bundle make", text));
  }
  return lines;
}

}  // namespace

int bundle_make_command(const BundleMakeArgs& args) {
  const std::string command = "w4check bundle make";
  BundleOptions options;
  options.out = args.out;
  if (!args.kernel.empty()) options.kernel = args.kernel;
  options.contract = args.contract;
  if (!args.claim.empty()) options.claims = claims_of(args.claim, command);
  options.seed = read_seed(args.seed);
  LayerStore store = layer_store();
  options.problems = resolve_all(lines_of(args), options.seed, store);
  watch_signals();
  options.stop = interrupted;
  const BundleSummary made = make_bundle(options);
  print(std::to_string(made.cases) + " cases of " + std::to_string(made.problems) +
        (made.problems == 1 ? " problem" : " problems") + ", " + size_text(made.bytes) +
        "; fill in y of each group below /cases\n" + left_out_text(made.left_out) +
        "report: " + args.out + "\n");
  return 0;
}

int bundle_judge_command(const BundleJudgeArgs& args) {
  const std::string command = "w4check bundle judge";
  watch_signals();
  ReportFiles files = open_reports(args.json, args.junit);
  const Environment host = this_environment();
  std::vector<std::string> wanted;
  if (!args.checks.empty())
    for (const Check* check : choose_checks(args.checks, command)) wanted.emplace_back(check->id);
  Hooks hooks;
  hooks.stop = interrupted;
  const auto judged = judge_bundle(
      args.path, wanted,
      args.claim.empty() ? std::vector<std::string>{} : claims_of(args.claim, command), hooks);
  write_reports(files, judged.run, host);
  std::string text = header_text(judged.run.seed, host) + "bundle  " + args.path + ", " +
                     std::to_string(judged.cases) + " cases, " +
                     std::to_string(judged.faults.size()) + " without a usable output\n";
  for (std::size_t i = 0; i < judged.faults.size() && (args.verbose || i < 10); ++i)
    text += "  " + printable(judged.faults[i]) + "\n";
  if (!args.verbose && judged.faults.size() > 10)
    text += "  and " + std::to_string(judged.faults.size() - 10) + " more (-v shows them)\n";
  print(text + held_text(judged.held, args.verbose) + left_out_text(judged.left_out) + "\n");
  print(run_text(judged.run, {colour_wanted(), args.verbose, files.paths()}));
  return exit_code(judged.run);
}

}  // namespace w4
