// SPDX-License-Identifier: Apache-2.0
// Calls of well-behaved kernels, and of one that touches just the byte it is told to.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "harness/subject/subject.hpp"
#include "suites/subject/support.hpp"

using namespace w4;

namespace {

constexpr std::size_t index_of(ProbeTensor t) {
  return static_cast<std::size_t>(t);
}

}  // namespace

TEST_CASE("the example plugin computes the reference's product") {
  Problem p = small_problem();
  const PluginInfo info = inspect_plugin(plugin_path("example"));
  Subject subject(info, "example.scalar", patient_limits());
  REQUIRE(subject.plan(p).ok());
  REQUIRE(subject.bind(to_abi(p), small_weights(p)).answered());
  // Small integers: every sum is exact in fp32 and in the output, so that bits have to agree.
  QuantizedMatrix matrix = small_matrix(p);
  matrix.scales.assign(matrix.scales.size(), 0x3c00);
  Activations x = small_activations(p);
  for (std::size_t i = 0; i < x.words.size(); ++i) x.words[i] = i % 2 ? 0x4000u : 0xbc00u;
  REQUIRE(
      subject.bind(to_abi(p), to_bytes(pack(*find_layout("codes"), matrix), matrix)).answered());
  const Reply reply = subject.run(to_abi(p), to_bytes(p, x));
  REQUIRE(reply.answered());
  REQUIRE(reply.status == W4_OK);
  const auto want = multiply(x, matrix, Dequant::d1, Type::f16, Type::f16);
  for (std::int64_t i = 0; i < p.m * p.n; ++i) {
    std::uint16_t word = 0;
    std::memcpy(&word, reply.y.data() + 2 * (i / p.n * p.y_stride + i % p.n), 2);
    CHECK(same_word(Type::f16, word, want[static_cast<std::size_t>(i)]));
  }
  CHECK(reply.strays.empty());
  CHECK(reply.changed.empty());
  CHECK(subject.calls() == 1);
  CHECK(subject.deaths() == 0);
}

TEST_CASE("addresses repeat from bind to bind and from run to run") {
  const auto first = addresses_in(run_probe({ProbeOp::addresses}));
  CHECK(first == addresses_in(run_probe({ProbeOp::addresses})));
  const Problem p = probe_problem();
  Subject subject(inspect_plugin(W4_PROBE_PLUGIN), "probe.raw", patient_limits());
  for (int round = 0; round < 3; ++round) {
    REQUIRE(subject.bind(to_abi(p), probe_weights(p, {ProbeOp::addresses})).answered());
    CHECK(addresses_in(subject.run(to_abi(p), to_bytes(p, small_activations(p)))) == first);
  }
  CHECK(first[index_of(ProbeTensor::zero)] == 0);
  CHECK(first[index_of(ProbeTensor::x_scale)] == 0);
}

TEST_CASE("x and y have the promised alignment and no more, all else 256 bytes") {
  Problem p = probe_problem();
  for (const std::int64_t align : {2, 16, 64}) {
    p.align = align;
    const Reply reply =
        run_once(W4_PROBE_PLUGIN, "probe.raw", p, probe_weights(p, {ProbeOp::addresses}));
    const auto at = addresses_in(reply);
    const auto exact = static_cast<std::uint64_t>(align);
    CHECK(at[index_of(ProbeTensor::x)] % (2 * exact) == exact);
    CHECK(at[index_of(ProbeTensor::y)] % (2 * exact) == exact);
    for (const auto t : {ProbeTensor::codes, ProbeTensor::scale, ProbeTensor::workspace}) {
      CHECK(at[index_of(t)] % 256 == 0);
      CHECK(at[index_of(t)] != 0);
    }
  }
}

#if defined(__x86_64__)
TEST_CASE("a vector access that counts on more alignment is told from other faults") {
  const Reply reply = run_probe({ProbeOp::vector_read, ProbeTensor::x, 0});
  CHECK(reply.end == End::crashed);
  CHECK(reply.how ==
        "signal 11 (SIGSEGV) inside run(), by an aligned vector access on a misaligned address, or "
        "an address that "
        "cannot exist");
}

TEST_CASE("reading and writing are told apart, at the exact byte, on both sides of every buffer") {
  const struct {
    ProbeTensor tensor;
    const char* name;
    std::int64_t bytes;
  } tensors[] = {
      {ProbeTensor::x, "x", 64}, {ProbeTensor::y, "y", 256}, {ProbeTensor::codes, "codes", 1024}};
  for (const auto& t : tensors) {
    const std::string prefix = "signal 11 (SIGSEGV) inside run(), ", name = t.name;
    CHECK(run_probe({ProbeOp::read, t.tensor, -1}, {.place = Place::left}).how ==
          prefix + "reading 1 byte before " + name);
    CHECK(run_probe({ProbeOp::store, t.tensor, -5}, {.place = Place::left}).how ==
          prefix + "writing 5 bytes before " + name);
    CHECK(run_probe({ProbeOp::read, t.tensor, t.bytes}, {.place = Place::right}).how ==
          prefix + "reading 1 byte past the end of " + name);
    CHECK(run_probe({ProbeOp::store, t.tensor, t.bytes + 2}, {.place = Place::right}).how ==
          prefix + "writing 3 bytes past the end of " + name);
  }
}
#endif

TEST_CASE("in the middle nothing faults, and each changed byte around any buffer is a stray") {
  for (const auto& [tensor, name] :
       {std::pair{ProbeTensor::x, "x"}, std::pair{ProbeTensor::scale, "scale"},
        std::pair{ProbeTensor::workspace, "workspace"}, std::pair{ProbeTensor::y, "y"}}) {
    const Reply reply = run_probe({ProbeOp::write, tensor, -1});
    REQUIRE(reply.answered());
    REQUIRE(reply.strays.size() == 1);
    CHECK(reply.strays[0].where == std::string("before ") + name);
    CHECK(reply.strays[0].offset == -1);
    CHECK(reply.strays[0].bytes == 1);
  }
  const Reply after = run_probe({ProbeOp::write, ProbeTensor::workspace, probe_workspace_bytes});
  REQUIRE(after.strays.size() == 1);
  CHECK(after.strays[0].where == "after workspace");
  CHECK(after.strays[0].offset == probe_workspace_bytes);
  CHECK(run_probe({ProbeOp::write, ProbeTensor::workspace, 5}).strays.empty());
}

TEST_CASE("a stray is told once: the next call starts clean") {
  const Problem p = probe_problem();
  Subject subject(inspect_plugin(W4_PROBE_PLUGIN), "probe.raw", patient_limits());
  REQUIRE(subject.bind(to_abi(p), probe_weights(p, {ProbeOp::write, ProbeTensor::codes, -1}))
              .answered());
  const CallBytes bytes = to_bytes(p, small_activations(p));
  CHECK(subject.run(to_abi(p), bytes).strays.size() == 1);
  CHECK(subject.run(to_abi(p), bytes).strays.size() == 1);
  REQUIRE(subject.bind(to_abi(p), probe_weights(p, {ProbeOp::addresses})).answered());
  CHECK(subject.run(to_abi(p), bytes).strays.empty());
}

TEST_CASE("what lies between the rows of y is not the kernel's") {
  Problem p = probe_problem();
  p.y_stride = 70;
  const Reply reply = run_once(W4_PROBE_PLUGIN, "probe.raw", p,
                               probe_weights(p, {ProbeOp::write, ProbeTensor::y, 2 * 65}));
  REQUIRE(reply.strays.size() == 1);
  CHECK(reply.strays[0].where == "between rows of y");
  CHECK((reply.strays[0].offset == 130 && reply.strays[0].bytes == 1));
  const Reply inside = run_once(W4_PROBE_PLUGIN, "probe.raw", p,
                                probe_weights(p, {ProbeOp::write, ProbeTensor::y, 2 * 70}));
  CHECK(inside.strays.empty());
}

TEST_CASE("inputs and the caller's structs are compared after the call") {
  using Names = std::vector<std::string>;
  CHECK(run_probe({ProbeOp::write, ProbeTensor::x, 3}).changed == Names{"x"});
  CHECK(run_probe({ProbeOp::write, ProbeTensor::scale, 3}).changed == Names{"scale"});
  CHECK(run_probe({ProbeOp::change_problem}).changed == Names{"problem"});
  CHECK(run_probe({ProbeOp::change_weight}).changed == Names{"weight"});
  CHECK(run_probe({ProbeOp::change_call}).changed == Names{"call"});
  const Reply past = run_probe({ProbeOp::past_call});
  REQUIRE(past.strays.size() == 1);
  CHECK(past.strays[0].where == "after the call struct");
}

TEST_CASE("packed weights: the blob serves, the source is gone") {
  const Problem p = probe_problem();
  const Reply ok = run_probe({ProbeOp::addresses}, {}, "probe.packed");
  REQUIRE(ok.answered());
  const auto at = addresses_in(ok);
  CHECK(at[index_of(ProbeTensor::scale)] == 0);
  CHECK(at[index_of(ProbeTensor::codes)] % 256 == 0);
  CHECK(at[index_of(ProbeTensor::codes)] != at[index_of(ProbeTensor::source)]);
  CHECK(run_probe({ProbeOp::write, ProbeTensor::codes, 20}, {}, "probe.packed").changed ==
        std::vector<std::string>{"packed"});
  const Reply kept = run_probe({ProbeOp::read, ProbeTensor::source, 20}, {}, "probe.packed");
  CHECK(kept.end == End::crashed);
#if defined(__x86_64__)
  CHECK(kept.how ==
        "signal 11 (SIGSEGV) inside run(), reading byte 20 of codes, which only pack() is given");
#endif
}

TEST_CASE("m = 0 is a call with NULL for x and y") {
  Problem p = probe_problem();
  Subject subject(inspect_plugin(W4_PROBE_PLUGIN), "probe.raw", patient_limits());
  REQUIRE(subject.bind(to_abi(p), probe_weights(p, {ProbeOp::addresses})).answered());
  p.m = 0;
  const Reply reply = subject.run(to_abi(p), to_bytes(p, small_activations(p)));
  CHECK(reply.answered());
  CHECK(reply.status == W4_OK);
  CHECK(reply.y.empty());
}

TEST_CASE("one bind serves other m, strides and alignments") {
  Problem p = probe_problem();
  Subject subject(inspect_plugin(W4_PROBE_PLUGIN), "probe.raw", patient_limits());
  REQUIRE(subject.bind(to_abi(p), probe_weights(p, {ProbeOp::addresses})).answered());
  p.m = 5;
  p.y_stride = 100;
  p.align = 32;
  const Reply reply = subject.run(to_abi(p), to_bytes(p, small_activations(p)));
  REQUIRE(reply.answered());
  CHECK(reply.y.size() == (4 * 100 + 64) * 2);
  CHECK(addresses_in(reply)[index_of(ProbeTensor::y)] % 64 == 32);
}

TEST_CASE("what plan() declines run() can be asked all the same, with a sound y") {
  const Problem p = probe_problem();
  Subject subject(inspect_plugin(W4_PROBE_PLUGIN), "probe.raw", patient_limits());
  REQUIRE(subject.bind(to_abi(p), probe_weights(p, {ProbeOp::addresses})).answered());
  AbiProblem odd = to_abi(p);
  odd.p.m = -3;
  const Reply reply = subject.run(odd, to_bytes(p, small_activations(p)));
  CHECK(reply.answered());
  CHECK(reply.status == W4_BAD_ARGUMENT);
  CHECK(reply.y == std::vector<std::byte>((64 + 64) * 2, std::byte{0xff}));
  CHECK(subject.bind(odd, probe_weights(p, {ProbeOp::addresses})).status == W4_BAD_ARGUMENT);
}

TEST_CASE("the layout's name travels with the problem") {
  Subject subject(inspect_plugin(W4_PROBE_PLUGIN), "probe.raw", patient_limits());
  AbiProblem p = to_abi(probe_problem());
  p.layout = "no_such_layout";
  const Plan plan = subject.plan(p);
  CHECK(plan.reason == "no_such_layout");
  CHECK(plan.workspace_bytes == probe_workspace_bytes);
}

TEST_CASE("after a death the next call starts a new worker, and what was bound is there again") {
  const Problem p = small_problem();
  Subject subject(inspect_plugin(plugin_path("hostile")), "hostile.aborts", patient_limits());
  REQUIRE(subject.bind(to_abi(p), small_weights(p)).answered());
  const CallBytes bytes = to_bytes(p, small_activations(p));
  for (int round = 1; round <= 3; ++round) {
    CHECK(subject.run(to_abi(p), bytes).end == End::crashed);
    CHECK(subject.deaths() == round);
    CHECK(subject.calls() == round);
    CHECK(subject.plan(p).ok());
  }
}

TEST_CASE("subjects in several threads do not disturb one another") {
  const Problem p = small_problem();
  const PluginInfo info = inspect_plugin(plugin_path("hostile"));
  const CallBytes bytes = to_bytes(p, small_activations(p));
  const Reply honest = run_hostile("none");
  std::vector<std::thread> threads;
  std::vector<int> right(8), wrong(8);
  for (std::size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 5; ++round) {
        Subject good(info, "hostile.none", patient_limits()),
            bad(info, "hostile.leaves_grandchild", patient_limits());
        Subject dying(info, "hostile.aborts", patient_limits());
        for (Subject* s : {&good, &bad, &dying}) s->bind(to_abi(p), small_weights(p));
        const bool ok = good.run(to_abi(p), bytes).y == honest.y &&
                        bad.run(to_abi(p), bytes).children == 1 &&
                        dying.run(to_abi(p), bytes).end == End::crashed &&
                        good.run(to_abi(p), bytes).y == honest.y;
        (ok ? right : wrong)[t] += 1;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(right == std::vector<int>(8, 5));
  CHECK(wrong == std::vector<int>(8, 0));
}

TEST_CASE("a subject made in one thread can be used after that thread has ended") {
  const Problem p = small_problem();
  std::unique_ptr<Subject> subject;
  std::thread([&] {
    subject = std::make_unique<Subject>(inspect_plugin(plugin_path("hostile")), "hostile.none",
                                        patient_limits());
    subject->bind(to_abi(p), small_weights(p));
  }).join();
  CHECK(subject->run(to_abi(p), to_bytes(p, small_activations(p))).answered());
  CHECK(subject->deaths() == 0);
}

namespace {

// More threads than processors, so that a worker runs a small part of the time.
class Crowd {
 public:
  Crowd() {
    for (unsigned i = 0; i < 3 * std::max(2u, std::thread::hardware_concurrency()); ++i)
      threads_.emplace_back([this] {
        while (busy_) {
        }
      });
  }
  ~Crowd() { busy_ = false; }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

 private:
  std::atomic<bool> busy_{true};
  std::vector<std::jthread> threads_;
};

struct Timed {
  Reply reply;
  std::chrono::milliseconds took{};
};

Timed spin_in_a_crowd(std::uint32_t milliseconds) {
  const Crowd crowd;
  const Problem p = probe_problem();
  const auto began = std::chrono::steady_clock::now();
  Timed out{run_once(W4_PROBE_PLUGIN, "probe.raw", p,
                     probe_weights(p, {ProbeOp::spin, {}, milliseconds}), {}, short_limits()),
            {}};
  out.took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - began);
  return out;
}

}  // namespace

TEST_CASE("time spent waiting for a processor is not charged to the kernel") {
  const auto [reply, took] = spin_in_a_crowd(300);
  INFO(reply.how);
  CHECK(reply.answered());
  if (took < std::chrono::milliseconds(600)) SKIP("the crowd was too small to show anything");
}

TEST_CASE("a limit that waiting has extended is told with the waiting") {
  const auto [reply, took] = spin_in_a_crowd(60'000);
  INFO(reply.how);
  CHECK(reply.end == End::timed_out);
  CHECK(reply.how.starts_with("no answer within 0.5 s"));
  if (took < std::chrono::milliseconds(1000)) SKIP("the crowd was too small to show anything");
  CHECK(reply.how.starts_with("no answer within 0.5 s, "));
  CHECK(reply.how.ends_with(" of waiting for a processor not counted inside run()"));
}
