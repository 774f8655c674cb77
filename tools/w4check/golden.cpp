// SPDX-License-Identifier: Apache-2.0
// `w4check golden`: exact results in files, and today's code against them.
#include "harness/golden/golden.hpp"

#include "harness/printable.hpp"
#include "harness/report/json.hpp"
#include "harness/report/log.hpp"
#include "harness/report/text.hpp"
#include "harness/run/interrupt.hpp"
#include "harness/table_text.hpp"
#include "reference/error.hpp"
#include "tools/w4check/command.hpp"
#include "tools/w4check/session.hpp"
#include "tools/w4check/values.hpp"

namespace w4 {

namespace {

std::vector<ProblemLine> lines_of(const GoldenRecordArgs& args, LayerStore& store) {
  std::vector<ProblemLine> lines;
  for (const std::string& text : args.problems) lines.push_back(problem_line("--problem", text));
  if (!args.list.empty()) {
    const auto more = read_problem_list(args.list);
    lines.insert(lines.end(), more.begin(), more.end());
  }
  if (!args.layer.empty()) {
    const V1Zeros reader = read_v1_zeros(args.v1_zeros);
    for (const std::string& prefix : store.prefixes(args.layer))
      lines.push_back({args.layer, store.line_for(args.layer, prefix, reader, 2), false});
  }
  if (lines.empty())
    fail_input("w4check golden record", "arguments", "--problem, --list or --layer is expected");
  return lines;
}

std::map<std::string, std::string> provenance_of(const GoldenRecordArgs& args,
                                                 const std::string& seed) {
  return {{"generator", "w4check " + std::string(version())},
          {"commit", args.commit.empty() ? std::string(commit()) : args.commit},
          {"reference", args.reference.empty()
                            ? "reference/: exact sums, one rounding"
                            : "reference/ (tree " + args.reference + "): exact sums, one rounding"},
          {"seed", seed}};
}

void go_on(const GoldenRecordArgs& args) {
  if (interrupted()) fail_input(args.out, "write", "interrupted");
}

// What the kernel gave, and where.
void observe(GoldenFile& golden, const GoldenRecordArgs& args, const Environment& host) {
  const std::string command = "w4check golden record";
  const auto plugins = args.plugin.empty() ? std::vector<std::string>{} : std::vector{args.plugin};
  const auto chosen = choose_kernels(load_plugins(plugins, {}), {args.kernel}, command);
  if (chosen.size() != 1) fail_input(command, "--kernel", "one kernel is expected");
  Subject subject(*chosen.front().plugin.info, chosen.front().name, {});
  for (GoldenCase& c : golden.cases) {
    go_on(args);
    observe_case(c, subject);
  }
  golden.provenance["kernel"] = subject.kernel();
  golden.provenance["device"] = chosen.front().on_device ? host.device : host.cpu;
  golden.provenance["driver"] = host.driver;
  golden.provenance["compiler"] = host.compiler;
}

Evidence row_of(const std::string& path, const Drift& d) {
  return Evidence::Object{{"file", path},         {"case", d.case_name},
                          {"dequant", d.dequant}, {"class", to_string(d.cls)},
                          {"tensor", d.tensor},   {"group", d.group},
                          {"col", d.col},         {"step", d.step},
                          {"count", d.count},     {"outputs", d.outputs},
                          {"what", d.what}};
}

std::string count_text(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

int golden_record_command(const GoldenRecordArgs& args) {
  LayerStore store = layer_store();
  GoldenFile golden;
  const auto problems = resolve_all(lines_of(args, store), read_seed(args.seed), store);
  watch_signals();
  for (const auto& problem : problems) {
    if (problem.problem.m < 1) fail_input(args.out, "record", "m is at least 1");
    golden.cases.push_back(record_case(problem, golden.cases.size() + 1, [&] { go_on(args); }));
  }
  char seed[24];
  std::snprintf(seed, sizeof seed, "0x%llx",
                static_cast<unsigned long long>(golden.cases.front().problem.seed));
  golden.provenance = provenance_of(args, seed);
  if (!args.kernel.empty()) observe(golden, args, this_environment());
  go_on(args);
  const auto hash = write_golden(golden, args.out);
  print(count_text(golden.cases.size(), "case") + "   content_sha256 " + hash +
        "\nreport: " + args.out + "\n");
  return 0;
}

int golden_verify_command(const GoldenArgs& args) {
  std::unique_ptr<OutputFile> json;
  if (!args.json.empty()) json = std::make_unique<OutputFile>(args.json);
  std::size_t files = 0, cases = 0, drifted = 0;
  std::vector<Evidence> rows;
  std::string text;
  for (const auto& given : args.paths) {
    for (const auto& path : golden_files(given)) {
      const GoldenFile golden = read_golden(path);
      ++files;
      std::size_t off = 0;
      for (const GoldenCase& c : golden.cases) {
        const auto drift = drift_of(c);
        ++cases, off += drift.empty() ? 0 : 1;
        for (const Drift& d : drift) {
          rows.push_back(row_of(path, d));
          text += "DRIFT  " + std::string(to_string(d.cls)) + "   " + printable(path, whole_text) +
                  " case " + printable(d.case_name) + ", " + d.dequant + "\n" +
                  labelled("what", d.what) +
                  labelled("where", std::to_string(d.count) + " of " + std::to_string(d.outputs) +
                                        " outputs; " + to_string(c.problem)) +
                  "\n";
        }
      }
      drifted += off;
      text += printable(path, whole_text) + "   " + count_text(golden.cases.size(), "case") + ", " +
              (off == 0 ? "no drift" : count_text(off, "case") + " drifted") +
              "   content_sha256 " + golden.content_sha256 + "\n";
    }
  }
  if (json) json->commit(list_json("drift", rows));
  text += "verdict: " + std::string(drifted == 0 ? "pass" : "FAIL") + " " +
          count_text(files, "file") + ", " + count_text(cases, "case") + ", " +
          std::to_string(drifted) + " drifted\n";
  if (json) text += "report: " + args.json + "\n";
  print(text);
  return drifted == 0 ? 0 : 1;
}

int golden_show_command(const GoldenArgs& args) {
  std::string text;
  for (const auto& given : args.paths) {
    for (const auto& path : golden_files(given)) {
      const GoldenFile golden = read_golden(path);
      text += printable(path, whole_text) + "   content_sha256 " + golden.content_sha256 + "\n";
      std::vector<std::vector<std::string>> about;
      for (const auto& [key, value] : golden.provenance)
        about.push_back({"  " + printable(key), printable(value)});
      text += table_text(about);
      std::vector<std::vector<std::string>> rows{
          {"case", "outputs", "observed", "source", "problem"}};
      for (const GoldenCase& c : golden.cases) {
        std::string off = "-";
        if (!c.observed.empty()) {
          std::size_t count = 0;
          for (std::size_t i = 0; i < c.observed.size(); ++i)
            count += !same_word(c.problem.y, c.observed[i], c.classes.front().y[i]);
          off = std::to_string(count) + " differ";
        }
        rows.push_back({printable(c.name), std::to_string(c.problem.m * c.problem.n), off,
                        c.source == "gen" ? "gen" : "layer", to_string(c.problem)});
      }
      text += "\n" + table_text(rows) + "\n";
    }
  }
  print(text);
  return 0;
}

int golden_diff_command(const GoldenArgs& args) {
  if (args.paths.size() != 2)
    fail_input("w4check golden diff", "arguments", "two files are expected");
  const GoldenFile a = read_golden(golden_files(args.paths[0]).front());
  const GoldenFile b = read_golden(golden_files(args.paths[1]).front());
  std::string text;
  std::vector<std::vector<std::string>> about;
  for (const auto& [key, value] : a.provenance) {
    const auto other = b.provenance.find(key);
    const std::string theirs = other == b.provenance.end() ? "nothing" : other->second;
    if (theirs != value)
      about.push_back({"  " + printable(key), printable(value) + " against " + printable(theirs)});
  }
  text += table_text(about);
  const auto differences = diff_golden(a, b);
  for (const auto& [name, what] : differences)
    text += "DIFF  case " + printable(name) + "   " + printable(what, whole_text) + "\n";
  text += "verdict: " +
          (differences.empty() ? "pass the same content, " + a.content_sha256
                               : "FAIL " + count_text(differences.size(), "difference")) +
          "\n";
  print(text);
  return differences.empty() ? 0 : 1;
}

}  // namespace w4
