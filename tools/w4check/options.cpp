// SPDX-License-Identifier: Apache-2.0
// The command line, and the only file that includes CLI11.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "harness/run/environment.hpp"
#include "reference/error.hpp"
#include "reference/problem.hpp"
#include "tools/w4check/command.hpp"

namespace w4 {

namespace {

struct CommandLine {
  CLI::App app{"w4check certifies INT4 matrix-multiply kernels against a bit-exact reference.",
               "w4check"};
  ListArgs list;
  RunArgs run;
  ReplayArgs replay;
  std::vector<std::string> repro;
  LayerArgs layer;
  BundleMakeArgs bundle_make;
  BundleJudgeArgs bundle_judge;
  GoldenRecordArgs golden_record;
  GoldenArgs golden;
  FaultsArgs faults;
  std::function<int()> command;
};

// One value an occurrence, all occurrences kept: a bare vector option would swallow what follows
// it.
CLI::Option* many(CLI::App* app, const std::string& name, std::vector<std::string>& values,
                  const std::string& help) {
  return app->add_option(name, values, help)
      ->allow_extra_args(false)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_list(CommandLine& line) {
  CLI::App* app = line.app.add_subcommand("list", "what there is to choose from");
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

void add_run(CommandLine& line) {
  RunArgs& args = line.run;
  CLI::App* app =
      line.app.add_subcommand("run", "judge kernels; without problems: on the built-in smoke list");
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

void add_replay(CommandLine& line) {
  CLI::App* app =
      line.app.add_subcommand("replay", "one case again, from the line that a failure printed");
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

void add_faults(CommandLine& line) {
  FaultsArgs& args = line.faults;
  CLI::App* app = line.app.add_subcommand(
      "faults", "deliberate wrongs against every check: which one kills which");
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

void add_layer_options(CLI::App* app, LayerArgs& args) {
  app->add_option("path", args.path, "a safetensors file, index.json or folder")
      ->option_text("PATH");
  app->add_option("--prefix", args.prefix, "this layer")->option_text("P");
  app->add_option("--v1-zeros", args.v1_zeros, "reader of GPTQ v1 zeros (D1)")
      ->option_text("D1|D2|D3");
}

void need(const std::string& value, const std::string& command, const std::string& what) {
  if (value.empty()) fail_input(command, "arguments", what + " is expected");
}

void add_target(CLI::App* app, LayerArgs& args) {
  app->add_option("--to", args.to,
                  "gptq_v1, gptq_v2, awq_gemm, awq_gemv, awq_gemv_fast or compressed_tensors")
      ->option_text("LAYOUT");
  app->add_option("-o,--out", args.out, "the file to write; its config goes beside it")
      ->option_text("FILE.safetensors");
}

void add_layer_writers(CLI::App* app, CommandLine& line) {
  CLI::App* pack =
      app->add_subcommand("pack", "plain HDF5 arrays, as unpack writes them, as a checkpoint");
  pack->add_option("path", line.layer.path, "the arrays")->option_text("FILE.h5");
  add_target(pack, line.layer);
  pack->footer("Example:\n  w4check layer pack up_proj.h5 --to awq_gemm -o up_proj.safetensors");
  pack->callback([&line] {
    need(line.layer.path, "w4check layer pack", "FILE.h5");
    need(line.layer.to, "w4check layer pack", "--to LAYOUT");
    need(line.layer.out, "w4check layer pack", "-o FILE.safetensors");
    line.command = [args = line.layer] { return layer_pack_command(args); };
  });
  CLI::App* convert =
      app->add_subcommand("convert", "one layer in another format, or the reason why it cannot be");
  add_layer_options(convert, line.layer);
  add_target(convert, line.layer);
  convert->footer(
      "Example:\n  w4check layer convert model/ --prefix model.layers.0.mlp.up_proj "
      "--to compressed_tensors -o up_proj.safetensors");
  convert->callback([&line] {
    need(line.layer.path, "w4check layer convert", "a path");
    need(line.layer.to, "w4check layer convert", "--to LAYOUT");
    need(line.layer.out, "w4check layer convert", "-o FILE.safetensors");
    line.command = [args = line.layer] { return layer_convert_command(args); };
  });
}

void add_layer(CommandLine& line) {
  LayerArgs& args = line.layer;
  CLI::App* app = line.app.add_subcommand("layer", "quantised layers of a checkpoint");
  CLI::App* show =
      app->add_subcommand("show", "which layers there are, in what format, and why we think so");
  add_layer_options(show, args);
  show->footer(
      "Examples:\n  w4check layer show model/\n  w4check layer show model.safetensors --prefix "
      "model.layers.0.mlp.up_proj");
  show->callback([&line] {
    need(line.layer.path, "w4check layer show", "a path");
    line.command = [args = line.layer] { return layer_show_command(args); };
  });
  CLI::App* unpack = app->add_subcommand(
      "unpack", "codes, scales, zeros and weights of one layer as plain HDF5 arrays");
  add_layer_options(unpack, args);
  unpack->add_option("-o,--out", args.out, "the file to write")->option_text("FILE.h5");
  unpack->footer(
      "Example:\n  w4check layer unpack model/ --prefix model.layers.0.mlp.up_proj -o up_proj.h5");
  unpack->callback([&line] {
    need(line.layer.path, "w4check layer unpack", "a path");
    need(line.layer.out, "w4check layer unpack", "-o FILE.h5");
    line.command = [args = line.layer] { return layer_unpack_command(args); };
  });
  add_layer_writers(app, line);
  app->footer("Subcommands have their own --help.");
}

void add_bundle_make(CommandLine& line, CLI::App* bundle) {
  BundleMakeArgs& args = line.bundle_make;
  CLI::App* app = bundle->add_subcommand(
      "make", "write the cases of a problem: operands, and a blank y to be filled in");
  for (const char* key : {"m", "n", "k", "group", "zero", "layout", "x", "mul", "y", "scale",
                          "ztype", "xg", "order", "bias"})
    args.keys.emplace_back(std::string(key) == "group" ? "g" : key, "");
  for (auto& [key, value] : args.keys)
    app->add_option(key == "g" ? "--group" : "--" + key, value, "of the problem line")
        ->option_text("V");
  many(app, "--problem", args.problems, "a whole problem line; may be repeated")
      ->option_text("\"k=v ...\"");
  app->add_option("--list", args.list, "a file of problem lines")->option_text("FILE");
  app->add_option("--kernel", args.kernel, "the kernel's name in reports (bundle)")
      ->option_text("NAME");
  app->add_option("--contract", args.contract, "its numerics, as plan() would say them")
      ->option_text("\"dequant=D1 ...\"");
  app->add_option("--claim", args.claim,
                  "of repeatable, batch_invariant, row_local (repeatable); none")
      ->option_text("CLAIM,...");
  app->add_option("--seed", args.seed, "seed of generated data (0x7)")->option_text("N|random");
  app->add_option("-o,--out", args.out, "the file to write")->option_text("FILE.h5");
  app->footer(
      "Examples:\n  w4check bundle make --layout gptq_v1 --zero code_m1 --group 128 -o cases.h5\n"
      "  w4check bundle make --problem \"m=1 n=4096 k=4096 g=128 layout=gptq_v2 zero=code\" -o "
      "cases.h5");
  app->callback([&line] {
    need(line.bundle_make.out, "w4check bundle make", "-o FILE.h5");
    line.command = [args = line.bundle_make] { return bundle_make_command(args); };
  });
}

void add_bundle_judge(CommandLine& line, CLI::App* bundle) {
  BundleJudgeArgs& args = line.bundle_judge;
  CLI::App* app = bundle->add_subcommand("judge", "judge the outputs that were filled in");
  app->add_option("path", args.path, "the filled bundle")->option_text("FILE.h5");
  many(app, "--check", args.checks, "only these checks; globs, comma separated")
      ->option_text("GLOB");
  app->add_option("--claim", args.claim, "instead of the claims that the bundle was made with")
      ->option_text("CLAIM,...");
  app->add_option("--json", args.json, "write the run as JSON (w4check.run/1)")
      ->option_text("FILE");
  app->add_option("--junit", args.junit, "write the run as JUnit XML")->option_text("FILE");
  app->add_flag("-v,--verbose", args.verbose, "list what was not judged, and show evidence");
  app->footer("Example:\n  w4check bundle judge cases.h5 --junit report.xml");
  app->callback([&line] {
    need(line.bundle_judge.path, "w4check bundle judge", "a file");
    line.command = [args = line.bundle_judge] { return bundle_judge_command(args); };
  });
}

void add_bundle(CommandLine& line) {
  CLI::App* app =
      line.app.add_subcommand("bundle", "judge a kernel in any language, through a file");
  add_bundle_make(line, app);
  add_bundle_judge(line, app);
  app->footer("Subcommands have their own --help.");
}

void add_golden_record(CommandLine& line, CLI::App* golden) {
  GoldenRecordArgs& args = line.golden_record;
  CLI::App* app = golden->add_subcommand("record", "write operands and exact results to a file");
  many(app, "--problem", args.problems, "a problem line; may be repeated")
      ->option_text("\"k=v ...\"");
  app->add_option("--list", args.list, "a file of problem lines")->option_text("FILE");
  app->add_option("--layer", args.layer, "every layer of a checkpoint")->option_text("PATH");
  app->add_option("--v1-zeros", args.v1_zeros, "reader of GPTQ v1 zeros (D1)")
      ->option_text("D1|D2|D3");
  app->add_option("--kernel", args.kernel, "record what this kernel gives, too")
      ->option_text("NAME");
  app->add_option("--plugin", args.plugin, "where that kernel is")->option_text("LIB");
  app->add_option("--commit", args.commit, "provenance (the commit that was built)")
      ->option_text("ID");
  app->add_option("--reference", args.reference, "provenance: git's tree of reference/")
      ->option_text("ID");
  app->add_option("--seed", args.seed, "seed of generated data (0x7)")->option_text("N|random");
  app->add_option("-o,--out", args.out, "the file to write")->option_text("FILE.h5");
  app->footer(
      "Example:\n  w4check golden record --problem \"m=3 n=16 k=64 g=32 zero=code\" -o g.h5");
  app->callback([&line] {
    need(line.golden_record.out, "w4check golden record", "-o FILE.h5");
    line.command = [args = line.golden_record] { return golden_record_command(args); };
  });
}

// verify, show, diff: what they do with files.
void add_golden_files(CommandLine& line, CLI::App* golden, const char* name, const char* help,
                      int (*command)(const GoldenArgs&)) {
  CLI::App* app = golden->add_subcommand(name, help);
  app->add_option("paths", line.golden.paths, "golden files, or folders with a MANIFEST.sha256")
      ->option_text("PATH...");
  if (std::string_view(name) == "verify")
    app->add_option("--json", line.golden.json, "write the drift as JSON")->option_text("FILE");
  app->footer("Example:\n  w4check golden " + std::string(name) +
              (std::string_view(name) == "diff" ? " driver_a.h5 driver_b.h5" : " fixtures/golden"));
  app->callback([&line, name, command] {
    if (line.golden.paths.empty())
      fail_input("w4check golden " + std::string(name), "arguments", "a file is expected");
    line.command = [args = line.golden, command] { return command(args); };
  });
}

void add_golden(CommandLine& line) {
  CLI::App* app = line.app.add_subcommand("golden", "exact results that outlive the code");
  add_golden_record(line, app);
  add_golden_files(line, app, "verify", "today's results against the file's; drift is named",
                   golden_verify_command);
  add_golden_files(line, app, "show", "what a file holds, and where it came from",
                   golden_show_command);
  add_golden_files(line, app, "diff", "two recordings of the same cases", golden_diff_command);
  app->footer("Subcommands have their own --help.");
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

[[noreturn]] void refuse_extras(const CommandLine& line, const Place& place) {
  for (const std::string& extra : line.app.remaining(true)) {
    if (!extra.starts_with('-')) continue;
    const std::string option = extra.substr(0, extra.find('='));
    const std::vector<std::string> known = option_names(*place.app);
    fail_input(place.name, "arguments",
               "unknown option " + option + "; nearest is " +
                   nearest_word(option, {known.begin(), known.end()}));
  }
  const std::vector<std::string> extras = line.app.remaining(true);
  fail_input(place.name, "arguments",
             "unexpected \"" + (extras.empty() ? "" : extras.front()) + "\"");
}

std::function<int()> done() {
  return [] { return 0; };
}

}  // namespace

std::function<int()> parse_command_line(int argc, char** argv) {
  CommandLine line;
  line.app.set_version_flag(
      "--version", "w4check " + std::string(version()) + " (" + std::string(commit()) + ")");
  // One at most, so that `faults` behind `list` is a word and not a subcommand.
  line.app.require_subcommand(0, 1);
  add_list(line);
  add_run(line);
  add_replay(line);
  add_faults(line);
  add_layer(line);
  add_bundle(line);
  add_golden(line);
  const Place place = find_place(line.app, argc, argv);
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(place.app->help(place.parent).c_str(), stdout);
    return done();
  } catch (const CLI::CallForVersion& called) {
    std::printf("%s\n", called.what());
    return done();
  } catch (const CLI::ExtrasError&) {
    refuse_extras(line, place);
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
