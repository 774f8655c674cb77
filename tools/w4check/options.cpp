// SPDX-License-Identifier: Apache-2.0
// The command line: subcommands about kernels, parsing, and what is refused.
#include "tools/w4check/options.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "harness/run/environment.hpp"
#include "reference/error.hpp"
#include "reference/problem.hpp"

namespace w4 {

CLI::Option* many(CLI::App* app, const std::string& name, std::vector<std::string>& values,
                  const std::string& help) {
  return app->add_option(name, values, help)
      ->allow_extra_args(false)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

namespace {

void add_list(CLI::App& all, CommandLine& line) {
  CLI::App* app = all.add_subcommand("list", "what there is to choose from");
  app->add_option("what", line.list.what, "kernels, checks, faults or layouts")
      ->option_text("kernels|checks|faults|layouts");
  many(app, "--plugin", line.list.plugins, "kernels of this library, instead of the default ones")
      ->option_text("LIB");
  app->add_option("--json", line.list.json, "write the list to this file, too")
      ->option_text("FILE");
  app->footer(
      "Examples:\n  w4check list kernels\n  w4check list kernels --plugin ./libvendor.so\n"
      "  w4check list checks --json checks.json");
  app->callback([&line] {
    if (line.list.what.empty())
      fail_input("w4check list", "arguments",
                 "one of kernels, checks, faults, layouts is expected");
    line.command = [args = line.list] { return list_command(args); };
  });
}

void add_reports(CLI::App* app, std::string& json, std::string& junit, std::string& timeout,
                 bool& verbose) {
  app->add_option("--json", json, "write the run as JSON (w4check.run/1)")->option_text("FILE");
  app->add_option("--junit", junit, "write the run as JUnit XML")->option_text("FILE");
  app->add_option("--timeout", timeout, "limit of a call, plus an allowance by size (2)")
      ->option_text("SECONDS");
  app->add_flag("-v,--verbose", verbose, "list what was not judged, and show evidence");
}

void add_run(CLI::App& all, CommandLine& line) {
  RunArgs& args = line.run;
  CLI::App* app =
      all.add_subcommand("run", "judge kernels; without problems: on the built-in smoke list");
  many(app, "--plugin", args.plugins, "kernels of this library, instead of the default ones")
      ->option_text("LIB");
  many(app, "--kernel", args.kernels, "only these kernels; globs, comma separated")
      ->option_text("GLOB");
  many(app, "--check", args.checks, "only these checks; globs, comma separated")
      ->option_text("GLOB");
  many(app, "--problem", args.problems, "a problem line; may be repeated")
      ->option_text("\"k=v ...\"");
  app->add_option("--list", args.list, "a file of problem lines")->option_text("FILE");
  app->add_option("--layer", args.layers,
                  "a checkpoint: file, index.json or folder; may be repeated")
      ->option_text("PATH");
  app->add_flag("--smoke", args.smoke, "the built-in list besides --problem, --list and --layer");
  app->add_option("--prefix", args.prefix, "only this layer of it (all)")->option_text("P");
  app->add_option("--batch", args.batch, "rows of X, with --layer (1,8,32,128)")
      ->option_text("M,...");
  app->add_option("--v1-zeros", args.v1_zeros,
                  "reader of GPTQ v1 zeros (D1); one, or one per --layer: D1,D3")
      ->option_text("D1|D2|D3");
  app->add_option("--paths", args.paths, "expected paths: a kernel that takes another is red")
      ->option_text("FILE");
  app->add_option("--record-paths", args.record_paths, "write the paths that plan() declares")
      ->option_text("FILE");
  app->add_option("--search", args.search,
                  "draw problems for so long, shrink what fails; alone or besides the others")
      ->option_text("SECONDS");
  app->add_option("--require", args.require, "gpu: device kernels must run")->option_text("gpu");
  app->add_option("--seed", args.seed, "seed of generated data (0x7)")->option_text("N|random");
  app->add_option("--jobs", args.jobs, "units at a time (cores)")->option_text("J");
  add_reports(app, args.json, args.junit, args.timeout, args.verbose);
  app->footer(
      "Examples:\n  w4check run\n  w4check run --kernel 'cpu.*' --check 'address.*,exact.*'\n"
      "  w4check run --plugin ./libvendor.so --junit report.xml\n"
      "  w4check run --kernel cpu.simd --problem \"m=4 n=64 k=128 g=32 zero=code\"\n"
      "  w4check run --layer model/ --prefix model.layers.0.mlp.down_proj --batch 1,16\n"
      "  w4check run --plugin ./libvendor.so --search 60 --seed random\n"
      "Exit: 0 all required cases passed, 1 red, 2 usage or nothing ran, 3 the harness failed.");
  app->callback([&line] { line.command = [args = line.run] { return run_command(args); }; });
}

void add_replay(CLI::App& all, CommandLine& line) {
  CLI::App* app =
      all.add_subcommand("replay", "one case again, from the line that a failure printed");
  app->add_option("repro", line.repro, "kernel=... check=... and a problem line")
      ->option_text("\"REPRO\"");
  add_reports(app, line.replay.json, line.replay.junit, line.replay.timeout, line.replay.verbose);
  app->footer(
      "Example:\n  w4check replay -v \"kernel=cpu.simd check=exact.dense24 m=4 n=64 k=128 g=32\"");
  app->callback([&line] {
    for (const std::string& word : line.repro)
      line.replay.repro += (line.replay.repro.empty() ? "" : " ") + word;
    if (line.replay.repro.empty())
      fail_input("w4check replay", "arguments", "a repro line is expected");
    line.command = [args = line.replay] { return replay_command(args); };
  });
}

void add_faults(CLI::App& all, CommandLine& line) {
  FaultsArgs& args = line.faults;
  CLI::App* app =
      all.add_subcommand("faults", "deliberate wrongs against every check: which one kills which");
  many(app, "--kernel", args.kernels, "only these mutants; globs, comma separated")
      ->option_text("GLOB");
  app->add_option("--json", args.json, "write the kill matrix as JSON (w4check.faults/1)")
      ->option_text("FILE");
  app->add_option("--jobs", args.jobs, "units at a time (cores)")->option_text("J");
  app->add_option("--timeout", args.timeout, "limit of a call, plus an allowance by size (2)")
      ->option_text("SECONDS");
  app->add_flag("-v,--verbose", args.verbose, "name every check that sees a fault");
  app->footer(
      "Examples:\n  w4check faults\n  w4check faults --kernel 'mutant.zero_*' -v\n"
      "Exit: 0 each is killed by the check expected and the healthy twin is green, else 1.");
  app->callback([&line] { line.command = [args = line.faults] { return faults_command(args); }; });
}

std::vector<std::string_view> subcommand_names(const CLI::App& app) {
  std::vector<std::string_view> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

struct Place {
  const CLI::App* app;
  std::string name;    // "w4check layer show"
  std::string parent;  // "w4check layer"
};

// How far the words of the command line name subcommands. A word that names none is refused with
// the nearest.
Place find_place(const CLI::App& app, int argc, char** argv) {
  Place place{&app, "w4check", ""};
  for (int i = 1; i < argc; ++i) {
    const std::vector<std::string_view> names = subcommand_names(*place.app);
    const std::string_view word = argv[i];
    if (names.empty() || word.starts_with('-')) break;
    if (std::find(names.begin(), names.end(), word) == names.end()) {
      fail_input(place.name, "arguments",
                 "unknown subcommand \"" + std::string(word) + "\"; nearest is " +
                     nearest_word(word, names));
    }
    place = {place.app->get_subcommand(std::string(word)), place.name + " " + std::string(word),
             place.name};
  }
  return place;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

[[noreturn]] void refuse_extras(const CLI::App& app, const Place& place) {
  for (const std::string& extra : app.remaining(true)) {
    if (!extra.starts_with('-')) continue;
    const std::string option = extra.substr(0, extra.find('='));
    const std::vector<std::string> known = option_names(*place.app);
    fail_input(place.name, "arguments",
               "unknown option " + option + "; nearest is " +
                   nearest_word(option, {known.begin(), known.end()}));
  }
  const std::vector<std::string> extras = app.remaining(true);
  fail_input(place.name, "arguments",
             "unexpected \"" + (extras.empty() ? "" : extras.front()) + "\"");
}

std::function<int()> done() {
  return [] { return 0; };
}

}  // namespace

std::function<int()> parse_command_line(int argc, char** argv) {
  CommandLine line;
  CLI::App app{"w4check certifies INT4 matrix-multiply kernels against a bit-exact reference.",
               "w4check"};
  app.set_version_flag("--version",
                       "w4check " + std::string(version()) + " (" + std::string(commit()) + ")");
  // One at most, so that `faults` behind `list` is a word and not a subcommand.
  app.require_subcommand(0, 1);
  add_list(app, line);
  add_run(app, line);
  add_replay(app, line);
  add_faults(app, line);
  add_layer(app, line);
  add_bundle(app, line);
  add_golden(app, line);
  const Place place = find_place(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(place.app->help(place.parent).c_str(), stdout);
    return done();
  } catch (const CLI::CallForVersion& called) {
    std::printf("%s\n", called.what());
    return done();
  } catch (const CLI::ExtrasError&) {
    refuse_extras(app, place);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();
    const bool missing = text.find("missing") != std::string::npos;
    fail_input(place.name, "arguments",
               missing ? text.substr(0, text.find(':')) + " needs a value" : text);
  } catch (const CLI::ParseError& error) {
    fail_input(place.name, "arguments", error.what());
  }
  if (line.command) return line.command;
  std::string names;
  for (const std::string_view name : subcommand_names(*place.app))
    names += (names.empty() ? "" : ", ") + std::string(name);
  fail_input(place.name, "arguments", "a subcommand is expected: " + names);
}

}  // namespace w4
