// SPDX-License-Identifier: Apache-2.0
// Misuse: exactly one line on stderr, nothing on stdout, exit 2.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "suites/run/program.hpp"

namespace w4 {

namespace {

struct Misuse {
  std::vector<std::string> arguments;
  std::string says;  // the line begins with this
};

const std::string layer = W4_FIXTURES "/layers/minilm-l2-gptq-actorder";

const std::vector<Misuse> misuses{
    {{},
     "w4check: arguments: a subcommand is expected: list, run, replay, faults, layer, bundle, "
     "golden"},
    {{"rum"}, "w4check: arguments: unknown subcommand \"rum\"; nearest is run"},
    {{"run", "--kernl", "x"},
     "w4check run: arguments: unknown option --kernl; nearest is --kernel"},
    {{"run", "--kernl=x"}, "w4check run: arguments: unknown option --kernl; nearest is --kernel"},
    {{"replay", "--jsn", "x"},
     "w4check replay: arguments: unknown option --jsn; nearest is --json"},
    {{"run", "stray"}, "w4check run: arguments: unexpected \"stray\""},
    {{"run", "--kernel"}, "w4check run: arguments: --kernel needs a value"},
    {{"run", "--kernel", "cpu.scalr"},
     "w4check run: kernel: no kernel matches \"cpu.scalr\"; nearest is cpu.scalar"},
    {{"run", "--check", "exact.zer"},
     "w4check run: check: no check matches \"exact.zer\"; nearest is exact.zero"},
    {{"run", "--problem", "m=1 n=8"}, "--problem: parse: k= is missing"},
    {{"run", "--problem", "m=1 n=8 k=8 zero=coed"}, "--problem: parse: "},
    {{"run", "--problem", "m=1 n=8 kk=8"}, "--problem: parse: "},
    {{"run", "--list", "/nowhere.txt"}, "/nowhere.txt: open: No such file or directory"},
    {{"run", "--json", "/nowhere/r.json"}, "/nowhere/r.json: write: No such file or directory"},
    {{"run", "--junit", "/"}, "/: write: Is a directory"},
    {{"run", "--plugin", "/nowhere.so"}, "/nowhere.so: load: "},
    {{"run", "--layer", "/nowhere"}, "/nowhere: open: "},
    {{"run", "--layer", layer, "--prefix", "nope"}, layer + ": "},
    {{"run", "--prefix", "p"}, "w4check run: arguments: --prefix needs --layer"},
    {{"run", "--layer", layer, "--batch", "1,x"}, "w4check: --batch: \"x\" is not"},
    {{"run", "--layer", layer, "--batch", "0"}, "w4check: --batch: \"0\" is not"},
    {{"run", "--layer", layer, "--v1-zeros", "D4"}, "w4check: --v1-zeros: \"D4\" is not"},
    {{"run", "--seed", "12x"}, "w4check: --seed: \"12x\" is not"},
    {{"run", "--seed", "0x10000000000000000"}, "w4check: --seed: "},
    {{"run", "--jobs", "0"}, "w4check: --jobs: \"0\" is not"},
    {{"run", "--timeout", "-1"}, "w4check: --timeout: \"-1\" is not"},
    {{"run", "--timeout", "nan"}, "w4check: --timeout: \"nan\" is not"},
    {{"run", "--require", "tpu"}, "w4check run: arguments: --require \"tpu\""},
    {{"run", "--require", "gpu", "--kernel", "cpu.*"},
     "w4check run: --require gpu: no device kernel is selected"},
    {{"list"}, "w4check list: arguments: one of kernels, checks, faults, layouts is expected"},
    {{"list", "kernals"},
     "w4check list: arguments: \"kernals\" is none of kernels, checks, faults, layouts; nearest "
     "is kernels"},
    {{"run", "--search", "0"}, "w4check: --search: \"0\" is not"},
    {{"run", "--search", "10", "--layer", layer},
     "w4check run: arguments: --search draws its own weights: not together with --layer"},
    {{"faults", "--kernel", "mutant.zero_of_by_one"},
     "w4check faults: kernel: no kernel matches \"mutant.zero_of_by_one\"; nearest is "
     "mutant.zero_off_by_one"},
    {{"list", "checks", "--json", "/"}, "/: write: Is a directory"},
    {{"replay"}, "w4check replay: arguments: a repro line is expected"},
    {{"replay", "check=exact.zero m=1 n=8 k=8"}, "repro: parse: kernel= is missing"},
    {{"replay", "kernel=cpu.scalar m=1 n=8 k=8"}, "repro: parse: check= is missing"},
    {{"replay", "kernel=cpu.* check=exact.zero m=1 n=8 k=8"},
     "w4check replay: repro: \"cpu.*\" is a pattern"},
    {{"replay", "kernel=cpu.scalar check=exact.zero m=1 n=8"}, "repro: parse: k= is missing"},
    {{"layer"}, "w4check layer: arguments: a subcommand is expected: show, unpack, pack, convert"},
    {{"layer", "shw"}, "w4check layer: arguments: unknown subcommand \"shw\"; nearest is show"},
    {{"layer", "show"}, "w4check layer show: arguments: a path is expected"},
    {{"bundle", "make"}, "w4check bundle make: arguments: -o FILE.h5 is expected"},
    {{"bundle", "make", "-o", "/tmp/x.h5", "--claim", "fast"}, "w4check bundle make: --claim: "},
    {{"bundle", "judge", "/nowhere"}, "/nowhere: read: "},
    {{"golden", "verify", "/nowhere"}, "/nowhere: read: "},
    {{"golden", "verify", layer}, layer + "/MANIFEST.sha256: manifest: "},
    {{"golden", "diff", "/nowhere"}, "w4check golden diff: arguments: two files are expected"},
    {{"golden", "record", "-o", "/tmp/x.h5"}, "w4check golden record: arguments: --problem, "},
    {{"layer", "show", "/nowhere"}, "/nowhere: open: "},
    {{"layer", "unpack", layer}, "w4check layer unpack: arguments: -o FILE.h5 is expected"},
    {{"layer", "pack"}, "w4check layer pack: arguments: FILE.h5 is expected"},
    {{"layer", "pack", "x.h5"}, "w4check layer pack: arguments: --to LAYOUT is expected"},
    {{"layer", "convert", layer, "--to", "awq_gemm"},
     "w4check layer convert: arguments: -o FILE.safetensors is expected"},
    {{"layer", "unpack", layer, "-o", "/nowhere/x.h5", "--prefix", "nope"}, layer + ": "},
};

}  // namespace

TEST_CASE("usage: a mistake is one line and exit 2") {
  for (const Misuse& misuse : misuses) {
    const Ran ran = w4check(misuse.arguments);
    std::string words;
    for (const std::string& word : misuse.arguments) words += word + " ";
    INFO(words);
    INFO(ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.out.empty());
    CHECK(lines_of(ran.err) == 1);
    CHECK(ran.err.starts_with(misuse.says));
  }
}

TEST_CASE("usage: a fault in a list names file and line") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "list.txt").string();
  const auto write = [&path](const std::string& text) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    std::fputs(text.c_str(), file);
    std::fclose(file);
  };
  write("# head\nm=1 n=8 k=8\nm=1 n=8 k=0\n");
  CHECK(w4check({"run", "--list", path}).err.starts_with(path + ":3: parse: "));
  write("# only a comment\n");
  const Ran empty = w4check({"run", "--list", path});
  CHECK(empty.code == 2);
  CHECK(empty.err == path + ": list: no problems\n");
}

TEST_CASE("usage: help is there for every subcommand, with examples") {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run"},
                                                {"list"},
                                                {"replay"},
                                                {"layer", "show"},
                                                {"layer", "unpack"},
                                                {"layer", "pack"},
                                                {"layer", "convert"},
                                                {"bundle", "make"},
                                                {"bundle", "judge"},
                                                {"golden", "record"},
                                                {"golden", "verify"},
                                                {"golden", "show"},
                                                {"golden", "diff"}}) {
    std::vector<std::string> arguments = words;
    arguments.push_back("--help");
    const Ran ran = w4check(arguments);
    INFO(ran.out);
    CHECK(ran.code == 0);
    CHECK(ran.err.empty());
    CHECK(holds(ran.out, "Example"));
    std::string usage = "Usage: w4check";
    for (const std::string& word : words) usage += " " + word;
    CHECK(holds(ran.out, usage + " ["));
  }
  CHECK(holds(w4check({"--help"}).out, "replay"));
}

TEST_CASE("usage: the version is printed") {
  const Ran ran = w4check({"--version"});
  CHECK(ran.code == 0);
  CHECK(ran.out.starts_with("w4check "));
  CHECK(lines_of(ran.out) == 1);
}

}  // namespace w4
