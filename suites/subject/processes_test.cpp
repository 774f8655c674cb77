// SPDX-License-Identifier: Apache-2.0
// Nothing is left running: not after an end of any kind, nor when the judge itself is killed.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/subject/subject.hpp"
#include "suites/subject/support.hpp"

using namespace w4;

namespace {

// Goes into the environment of every process that this one starts from here on.
std::string mark() {
  setenv("W4_SUBJECT_SUITE", std::to_string(getpid()).c_str(), 1);
  return "W4_SUBJECT_SUITE=" + std::to_string(getpid()) + '\0';
}

template <typename Condition>
bool comes_true(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

int parent_of(int pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string id, name, state;
  int parent = 0;
  stat >> id >> name >> state >> parent;
  return parent;
}

void run_endlessly() {
  const Problem p = small_problem();
  Subject subject(inspect_plugin(plugin_path("hostile")), "hostile.loop_forever", {.seconds = 60});
  subject.bind(to_abi(p), small_weights(p));
  subject.run(to_abi(p), to_bytes(p, small_activations(p)));
}

}  // namespace

TEST_CASE("the mark is seen while a worker runs") {
  const std::string variable = mark();
  Subject subject(inspect_plugin(plugin_path("hostile")), "hostile.none", patient_limits());
  REQUIRE(subject.plan(small_problem()).ok());
  CHECK(processes_with(variable).size() == 2);  // warden and worker
}

TEST_CASE("nothing is left after an end of any kind") {
  const std::string variable = mark();
  for (const char* kernel :
       {"none", "segfault", "exit0", "loop_forever", "stops_itself", "closes_descriptors", "throws",
        "leaves_child", "leaves_grandchild", "thread_left", "plan_hangs"}) {
    INFO(kernel);
    run_hostile(kernel, {}, short_limits());
    CHECK(processes_with(variable).empty());
  }
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);  // every warden was reaped
}

TEST_CASE("a child that a call leaves is gone before the next call") {
  const std::string variable = mark();
  const Problem p = small_problem();
  Subject subject(inspect_plugin(plugin_path("hostile")), "hostile.leaves_grandchild",
                  patient_limits());
  REQUIRE(subject.bind(to_abi(p), small_weights(p)).answered());
  for (int round = 0; round < 3; ++round) {
    CHECK(subject.run(to_abi(p), to_bytes(p, small_activations(p))).children == 1);
    CHECK(processes_with(variable).size() == 2);
  }
}

TEST_CASE("when the judge is killed the worker goes as well") {
  const std::string variable = mark();
  const pid_t judge = fork();
  if (judge == 0) {
    run_endlessly();
    _exit(0);
  }
  REQUIRE(comes_true([&] { return processes_with(variable).size() == 2; }));
  kill(judge, SIGKILL);
  waitpid(judge, nullptr, 0);
  CHECK(comes_true([&] { return processes_with(variable).empty(); }));
}

TEST_CASE("when the warden is killed the worker goes as well, and the judge is told") {
  const std::string variable = mark();
  const Problem p = small_problem();
  Subject subject(inspect_plugin(plugin_path("hostile")), "hostile.loop_forever", {.seconds = 60});
  REQUIRE(subject.bind(to_abi(p), small_weights(p)).answered());
  std::thread killer([&] {
    for (const int pid : processes_with(variable)) {
      if (parent_of(pid) == getpid()) kill(pid, SIGKILL);
    }
  });
  const Reply reply = subject.run(to_abi(p), to_bytes(p, small_activations(p)));
  killer.join();
  CHECK(reply.end == End::crashed);
  CHECK(comes_true([&] { return processes_with(variable).empty(); }));
}

TEST_CASE("a worker has no descriptor but its own") {
  const std::string variable = mark();
  const int leaked = dup(0);  // without close-on-exec
  Subject subject(inspect_plugin(plugin_path("hostile")), "hostile.none", patient_limits());
  REQUIRE(subject.plan(small_problem()).ok());
  for (const int pid : processes_with(variable)) {
    if (parent_of(pid) == getpid()) continue;
    int descriptors = 0;
    while (access(("/proc/" + std::to_string(pid) + "/fd/" + std::to_string(descriptors)).c_str(),
                  F_OK) == 0) {
      ++descriptors;
    }
    CHECK(descriptors == 5);
    for (int fd = descriptors; fd < 64; ++fd) {
      CHECK(access(("/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd)).c_str(), F_OK) !=
            0);
    }
  }
  close(leaked);
}
