// SPDX-License-Identifier: Apache-2.0
// The device side of the worker from upload to verdict, with a driver whose device is the host; and
// the plugin of device kernels where there is no driver at all.
#include <cstdlib>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "suites/support/judge.hpp"

namespace {

using namespace w4;

constexpr char plain[] = "m=3 n=32 k=256 g=32 zero=code";

// Workers started while it lives find the fake driver.
class FakeDriver {
 public:
  FakeDriver() { setenv("LD_LIBRARY_PATH", W4_FAKE_CUDA, 1); }
  ~FakeDriver() { unsetenv("LD_LIBRARY_PATH"); }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;
};

Verdict judge_fake(const std::string& kernel, std::string_view check, const std::string& line) {
  const FakeDriver driver;
  return judge("cuda_emulated_device", "cuda_emulated." + kernel, check, line);
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("device kernels are listed with their device where there is no driver") {
  for (const char* plugin : {"cuda", "cuda_mutants"}) {
    const auto info = inspect_plugin(plugin_path(plugin));
    CHECK(!info.kernels.empty());
    for (const auto& kernel : info.kernels) CHECK(kernel.device == W4_CUDA);
    CHECK(info.device.empty() != info.no_device.empty());
  }
}

TEST_CASE("plan() of a device kernel needs no device") {
  Subject subject(inspect_plugin(plugin_path("cuda")), "cuda.scalar", {});
  const auto plan = subject.plan(parse_problem(plain));
  CHECK(plan.ok());
  CHECK(plan.path == "scalar");
  CHECK(plan.symbols == "w4_cuda_scalar");
  CHECK(plan.launches == 1);
  CHECK((plan.claims & W4_GRAPH_SAFE) != 0);
}

TEST_CASE("run() of a device kernel without a device is an answer with a reason") {
  const auto info = inspect_plugin(plugin_path("cuda"));
  if (info.no_device.empty()) SKIP("there is a device here: " + info.device);
  Subject subject(info, "cuda.scalar", {});
  const auto problem = parse_problem("m=1 n=8 k=8");
  CHECK(subject.bind(to_abi(problem), {}).answered());
  const auto reply = subject.run(to_abi(problem), {});
  CHECK(reply.answered());
  CHECK(reply.status == W4_DEVICE_ERROR);
  CHECK(holds(reply.how, info.no_device));
  CHECK(subject.deaths() == 0);
}

TEST_CASE("the greeting names device and driver") {
  const FakeDriver driver;
  const auto info = inspect_plugin(plugin_path("cuda_emulated_device"));
  CHECK(info.device == "fake device");
  CHECK(holds(info.driver, "CUDA 13.0"));
  CHECK(info.no_device.empty());
}

TEST_CASE("a healthy device kernel passes every check through the device side") {
  for (const auto& check : checks()) {
    const auto verdict = judge_fake("none", check.id, plain);
    INFO(check.id << ": " << verdict.reason << " " << verdict.where);
    CHECK((verdict.outcome == Outcome::pass || verdict.outcome == Outcome::unsupported ||
           verdict.outcome == Outcome::vacuous));
  }
}

TEST_CASE("a read past the codes is caught on the right and named so") {
  const auto verdict = judge_fake("reads_past_codes", "effect.guard", plain);
  INFO(verdict.reason);
  CHECK(verdict.outcome == Outcome::crashed);
  CHECK(holds(verdict.reason, "CUDA error 700 (CUDA_ERROR_ILLEGAL_ADDRESS) inside run()"));
  CHECK(holds(verdict.reason, "outside its buffers"));
  CHECK(holds(verdict.reason, "right before a guard"));
}

TEST_CASE("a write to an input is caught in any place and told from a stray access") {
  for (const char* check : {"effect.inputs", "effect.guard", "exact.zero"}) {
    const auto verdict = judge_fake("writes_input", check, plain);
    INFO(check << ": " << verdict.reason);
    CHECK(verdict.outcome == Outcome::crashed);
    CHECK(holds(verdict.reason, "writing to its input x, which is read-only"));
  }
}

TEST_CASE("a write into the slack behind y is a stray, right before a guard a crash") {
  const FakeDriver driver;
  Subject subject(inspect_plugin(plugin_path("cuda_emulated_device")),
                  "cuda_emulated.writes_past_y", {});
  const auto problem =
      parse_problem("m=1 n=8 k=8 align=16");  // 16 bytes of y: no slack on the right
  QuantizedMatrix matrix;
  matrix.k = matrix.n = matrix.group = 8;
  matrix.groups = 1;
  matrix.codes.assign(64, 9);
  matrix.scales.assign(8, 0x3c00);
  const auto layout = find_layout("codes");
  REQUIRE(layout);
  const auto weights = to_bytes(pack(*layout, matrix), matrix);
  const Activations x{Type::f16, 1, 8, std::vector<std::uint32_t>(8, 0x3c00), {}, {}};
  for (const Place place : {Place::middle, Place::left}) {
    REQUIRE(subject.bind(to_abi(problem), weights, {place}).answered());
    const auto reply = subject.run(to_abi(problem), to_bytes(problem, x), {place});
    REQUIRE(reply.answered());
    REQUIRE(reply.strays.size() == 1);
    CHECK(reply.strays[0].where == "after y");
    CHECK(reply.strays[0].offset == 16);
    CHECK(reply.strays[0].bytes == 2);
    CHECK(reply.y[0] == std::byte{0x00});  // 8 * (9 - 8) is 0x4800 in f16
    CHECK(reply.y[1] == std::byte{0x48});
  }
  REQUIRE(subject.bind(to_abi(problem), weights, {Place::right}).answered());
  const auto reply = subject.run(to_abi(problem), to_bytes(problem, x), {Place::right});
  CHECK(reply.end == End::crashed);
  CHECK(reply.device_error == 700);
  CHECK(holds(reply.how, "outside its buffers"));
}

TEST_CASE("without a tracer launches are unknown, not none") {
  const FakeDriver driver;
  Subject subject(inspect_plugin(plugin_path("cuda_emulated_device")), "cuda_emulated.none", {});
  const auto problem = parse_problem("m=0 n=8 k=8");
  subject.bind(to_abi(problem), {});
  const auto reply = subject.run(to_abi(problem), {});
  CHECK(reply.status == W4_OK);
  CHECK(!reply.launches_known);
}
