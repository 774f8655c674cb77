// SPDX-License-Identifier: Apache-2.0
// The program on real kernels: exit codes, reports, replay, interruption.
#include <chrono>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <signal.h>

#include "suites/run/program.hpp"

namespace w4 {

namespace {

// What must not change from run to run.
std::string without_times(const std::string& json) {
  return without_values(json, {"seconds", "wall_s", "started"});
}

std::string last_line(const std::string& text) {
  const auto end = text.find_last_not_of('\n');
  const auto begin = text.rfind('\n', end);
  return text.substr(begin + 1, end - begin);
}

// The repro and the cause of the first failure paragraph.
std::string first_repro(const std::string& text) {
  return between(text, "w4check replay \"", "\"");
}
std::string first_what(const std::string& text) {
  return between(text, "  what     ", "\n");
}

}  // namespace

TEST_CASE("command: a healthy kernel passes, and the verdict is last") {
  const Ran ran = w4check({"run", "--kernel", "cpu.scalar", "--check", "address.code,exact.*",
                           "--problem", "m=2 n=16 k=64 g=32 zero=code"});
  INFO(ran.out);
  CHECK(ran.code == 0);
  CHECK(ran.err.empty());
  CHECK(ran.out.starts_with("w4check "));
  CHECK(holds(ran.out, "seed 0x7"));
  CHECK(last_line(ran.out).starts_with("verdict: pass "));
}

TEST_CASE("command: a wrong kernel is red, and its repro says the same again") {
  const std::vector<std::string> arguments{"run",
                                           "--plugin",
                                           "libw4_mutants.so",
                                           "--kernel",
                                           "mutant.word_reversed",
                                           "--check",
                                           "address.code",
                                           "--problem",
                                           "m=1 n=16 k=64 g=32 layout=gptq_v1"};
  const Ran ran = w4check(arguments);
  INFO(ran.out);
  CHECK(ran.code == 1);
  CHECK(ran.err.empty());
  CHECK(holds(ran.out, "\nFAIL  address.code   mutant.word_reversed   m=1 n=16 k=64"));
  CHECK(last_line(ran.out) == "verdict: FAIL 1 red of 1 required");
  const std::string repro = first_repro(ran.out);
  CHECK(repro ==
        "kernel=mutant.word_reversed check=address.code plugin=libw4_mutants.so m=1 n=16 k=64 g=32 "
        "layout=gptq_v1");
  const Ran again = w4check({"replay", repro});
  CHECK(again.code == 1);
  CHECK(first_repro(again.out) == repro);
  CHECK(first_what(again.out) == first_what(ran.out));
  CHECK_FALSE(holds(again.out, "evidence"));
  CHECK(holds(w4check({"replay", "-v", repro}).out, "  evidence\n"));
}

TEST_CASE("command: replay has the same evidence as the run") {
  const TemporaryFolder folder;
  const std::string run = (folder.path() / "run.json").string(),
                    replay = (folder.path() / "replay.json").string();
  w4check({"run", "--plugin", "libw4_mutants.so", "--kernel", "mutant.k_tail_dropped", "--check",
           "exact.dense24", "--problem", "m=3 n=16 k=64 g=32", "--json", run});
  const std::string json = read_file(run);
  const std::string repro = between(json, "\"repro\": \"", "\"");
  CHECK(repro.starts_with("kernel=mutant.k_tail_dropped "));
  w4check({"replay", repro, "--json", replay});
  CHECK(without_times(read_file(replay)) == without_times(json));
}

TEST_CASE("command: the same seed gives the same document, whatever the number of jobs") {
  const TemporaryFolder folder;
  std::string first;
  for (const std::string jobs : {"1", "4"}) {
    const std::string path = (folder.path() / ("r" + jobs)).string();
    w4check({"run", "--plugin", "libw4_hostile.so", "--kernel",
             "hostile.none,hostile.segfault,hostile.exit0", "--check",
             "exact.*,effect.written,reject.*", "--jobs", jobs, "--json", path});
    const std::string json = without_times(read_file(path));
    CHECK(holds(json, "\"outcome\": \"crashed\""));
    CHECK(holds(json, "after 2 crashes or time-outs of this kernel"));
    if (first.empty()) first = json;
    CHECK(json == first);
  }
}

TEST_CASE("command: a crash is red, and says how it ended") {
  const Ran ran = w4check({"run", "--plugin", "libw4_hostile.so", "--kernel", "hostile.segfault",
                           "--check", "exact.zero", "--problem", "m=1 n=8 k=32"});
  CHECK(ran.code == 1);
  CHECK(holds(ran.out, "CRASHED  exact.zero   hostile.segfault"));
  CHECK(holds(ran.out, "SIGSEGV"));
}

TEST_CASE("command: reports are written and named after the verdict") {
  const TemporaryFolder folder;
  const std::string json = (folder.path() / "r.json").string(),
                    junit = (folder.path() / "r.xml").string();
  const Ran ran = w4check({"run", "--kernel", "cpu.scalar", "--check", "exact.zero", "--problem",
                           "m=1 n=8 k=32", "--json", json, "--junit", junit});
  CHECK(ran.code == 0);
  CHECK(ran.out.ends_with("verdict: pass 1 required, 0 red\nreport: " + json +
                          "\nreport: " + junit + "\n"));
  CHECK(holds(read_file(json), "\"schema\": \"w4check.run/1\""));
  CHECK(holds(read_file(json), "\"repro\": \"kernel=cpu.scalar check=exact.zero m=1 n=8 k=32\""));
  CHECK(holds(read_file(junit), "<testsuite name=\"cpu.scalar\" tests=\"1\" failures=\"0\""));
}

TEST_CASE("command: what a kernel declines is not required, unless kernel and problem are named") {
  const std::string line = "m=1 n=16 k=64 g=32 zero=code order=gidx";
  const Ran any =
      w4check({"run", "--kernel", "cpu.s*", "--check", "exact.zero", "--problem", line});
  INFO(any.out);
  CHECK(holds(any.out, "unsupported"));
  CHECK(any.code == 1);  // cpu.simd was matched by --kernel and never judged
  CHECK(holds(any.out, "NEVER JUDGED"));
  const Ran all = w4check({"run", "--check", "exact.zero", "--problem", line});
  CHECK(all.code == 0);
  const Ran literal = w4check(
      {"run", "--kernel", "cpu.scalar,cpu.simd", "--check", "exact.zero", "--problem", line});
  CHECK(literal.code == 1);
  CHECK(holds(literal.out, "UNSUPPORTED  exact.zero   cpu.simd"));
}

TEST_CASE("command: a run in which nothing is judged exits 2") {
  const Ran ran = w4check(
      {"run", "--check", "exact.zero", "--problem", "m=1 n=16 k=64 g=32 x=s8 y=s32 zero=real"});
  INFO(ran.out);
  CHECK(ran.code == 2);
  CHECK(ran.err == "w4check run: cases: nothing ran: no kernel was judged on any problem\n");
}

TEST_CASE("command: a random seed is printed, and every repro carries it") {
  const Ran ran =
      w4check({"run", "--plugin", "libw4_mutants.so", "--kernel", "mutant.word_reversed", "--check",
               "address.code", "--problem", "m=1 n=16 k=64 g=32", "--seed", "random"});
  const std::string seed = between(ran.out, "seed ", " ");
  CHECK(seed.starts_with("0x"));
  CHECK(seed != "0x7");
  CHECK(first_repro(ran.out).ends_with(" seed=" + seed));
}

TEST_CASE("command: an interrupted run reports what it judged and exits 2") {
  const TemporaryFolder folder;
  const std::string json = (folder.path() / "r.json").string();
  const Ran ran =
      w4check({"run", "--plugin", "libw4_hostile.so", "--kernel", "hostile.none,hostile.sleeps",
               "--check", "exact.*", "--jobs", "1", "--json", json},
              [](int process) {
                std::this_thread::sleep_for(std::chrono::milliseconds(300));
                kill(process, SIGINT);
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                kill(process, SIGINT);  // as timeout(1) does
              });
  INFO(ran.out);
  CHECK((ran.code == 1 || ran.code == 2));
  CHECK(holds(ran.out, "\ninterrupted: "));
  CHECK(ran.out.ends_with("report: " + json + "\n"));
  CHECK(holds(read_file(json), "\"interrupted\": true"));
}

TEST_CASE("command: what writes a file stops at the first signal and leaves none") {
  const std::vector<std::string> commands[] = {
      {"bundle", "make", "--problem", "m=8 n=512 k=2048 g=128 zero=code"},
      {"golden", "record", "--problem", "m=64 n=1024 k=1024 zero=code"}};
  for (const auto& command : commands)
    for (const int signal : {SIGINT, SIGTERM}) {
      const TemporaryFolder folder;
      const std::string out = (folder.path() / "out.h5").string();
      auto words = command;
      words.insert(words.end(), {"-o", out});
      const Ran ran = w4check(words, [&](int process) {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        kill(process, signal);
      });
      if (ran.code == 2 && holds(ran.err, "HDF5")) SKIP("this build has no HDF5");
      INFO(command[0] << ' ' << command[1]);
      CHECK(ran.code == 2);
      CHECK(ran.out.empty());
      CHECK(ran.err == out + ": write: interrupted\n");
      CHECK(std::filesystem::is_empty(folder.path()));
    }
}

TEST_CASE("command: a command that does not look for signals is ended by the first") {
  const Ran ran = w4check({"list", "kernels", "--plugin", "libw4_bad_hang.so"}, [](int process) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill(process, SIGINT);
  });
  CHECK(ran.code == -SIGINT);
}

TEST_CASE("command: a search alone walks what it draws, and shrinks what fails") {
  const TemporaryFolder folder;
  const auto json = folder.path() / "r.json";
  const Ran green = w4check(
      {"run", "--kernel", "cpu.scalar", "--search", "1", "--seed", "0x1", "--json", json.string()});
  INFO(green.out << green.err);
  CHECK(green.code == 0);
  CHECK(holds(green.out, "problems drawn in 1 s, 0 failures shrunk"));
  CHECK(holds(read_file(json), "\"asked_seconds\": 1.0"));
  const Ran red = w4check({"run", "--plugin", "libw4_mutants.so", "--kernel",
                           "mutant.only_last_row", "--search", "5", "--seed", "0x1"});
  INFO(red.out);
  CHECK(red.code == 1);
  CHECK(holds(red.out, "mutant.only_last_row   m=2 n=1 k=1\n"));
  const Ran again = w4check({"replay", first_repro(red.out)});
  CHECK(again.code == 1);
  CHECK(first_what(again.out) == first_what(red.out));
}

TEST_CASE("command: faults prints who kills what, and exits by it") {
  const TemporaryFolder folder;
  const auto json = folder.path() / "f.json";
  const Ran ran =
      w4check({"faults", "--kernel", "mutant.zero_wraps,mutant.bias_*", "--json", json.string()});
  INFO(ran.out << ran.err);
  CHECK(ran.code == 0);
  CHECK(holds(ran.out, "AutoGPTQ/AutoGPTQ#325"));
  CHECK(holds(ran.out, "killed 5 of 5;  healthy runs "));
  CHECK(holds(ran.out, ", false alarms 0\n"));
  const std::string document = read_file(json);
  CHECK(holds(document, "\"schema\": \"w4check.faults/1\""));
  CHECK(holds(document, "\"expected_check\": \"value.table\""));
  CHECK(holds(document, "\"fault\": \"bias_twice\""));
  const Ran list = w4check({"list", "faults", "--json", json.string()});
  CHECK(list.code == 0);
  CHECK(holds(read_file(json), "\"id\": \"recognises_seed\""));
}

TEST_CASE("command: lists are text, and JSON where a file is given") {
  const TemporaryFolder folder;
  for (const std::string what : {"kernels", "checks", "layouts"}) {
    const std::string path = (folder.path() / what).string();
    const Ran ran = w4check({"list", what, "--json", path});
    INFO(ran.out);
    CHECK(ran.code == 0);
    CHECK(ran.err.empty());
    CHECK(lines_of(ran.out) > 3);
    CHECK(read_file(path).starts_with("{\n \"" + what + "\": [\n  {\n   \"id\": \""));
    CHECK(
        holds(read_file(path), what == "kernels" ? "\"device\": \"host\"" : "\"device\": \"any\""));
  }
  CHECK(holds(w4check({"list", "kernels", "--plugin", "libw4_mutants.so"}).out,
              "mutant.word_reversed"));
}

TEST_CASE("command: verbose names each case that was not judged") {
  const Ran ran = w4check({"run", "-v", "--check", "exact.zero", "--kernel", "cpu.s*", "--problem",
                           "m=1 n=16 k=64 g=32 order=perm"});
  CHECK(holds(ran.out, "cpu.simd        exact.zero   m=1 n=16 k=64 g=32 order=perm   "));
}

TEST_CASE("command: colour and progress stay away from files") {
  const Ran ran = w4check({"run", "--kernel", "cpu.scalar", "--check", "exact.zero"});
  CHECK_FALSE(holds(ran.out, "\x1b"));
  CHECK(ran.err.empty());
}

}  // namespace w4
