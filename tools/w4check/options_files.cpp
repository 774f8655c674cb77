// SPDX-License-Identifier: Apache-2.0
// The command line: subcommands about files, which are layers, bundles and golden results.
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "reference/error.hpp"
#include "tools/w4check/options.hpp"

namespace w4 {
namespace {

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

}  // namespace

void add_layer(CLI::App& all, CommandLine& line) {
  LayerArgs& args = line.layer;
  CLI::App* app = all.add_subcommand("layer", "quantised layers of a checkpoint");
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

namespace {

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

}  // namespace

void add_bundle(CLI::App& all, CommandLine& line) {
  CLI::App* app = all.add_subcommand("bundle", "judge a kernel in any language, through a file");
  add_bundle_make(line, app);
  add_bundle_judge(line, app);
  app->footer("Subcommands have their own --help.");
}

namespace {

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

}  // namespace

void add_golden(CLI::App& all, CommandLine& line) {
  CLI::App* app = all.add_subcommand("golden", "exact results that outlive the code");
  add_golden_record(line, app);
  add_golden_files(line, app, "verify", "today's results against the file's; drift is named",
                   golden_verify_command);
  add_golden_files(line, app, "show", "what a file holds, and where it came from",
                   golden_show_command);
  add_golden_files(line, app, "diff", "two recordings of the same cases", golden_diff_command);
  app->footer("Subcommands have their own --help.");
}

}  // namespace w4
