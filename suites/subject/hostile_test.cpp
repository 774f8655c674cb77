// SPDX-License-Identifier: Apache-2.0
// Every hostile kernel through the subject: what each does to its process becomes a reply.
#include <csignal>

#include <catch2/catch_test_macros.hpp>

#include "harness/subject/subject.hpp"
#include "suites/subject/support.hpp"

using namespace w4;

namespace {

void check_crash(const std::string& kernel, int signal, const std::string& how) {
  const Reply reply = run_hostile(kernel);
  CHECK(reply.end == End::crashed);
  CHECK(reply.signal == signal);
  CHECK(reply.how == how);
}

void check_late(const std::string& kernel, const std::string& how) {
  const Reply reply = run_hostile(kernel, {}, short_limits());
  CHECK(reply.end == End::timed_out);
  CHECK(reply.how.starts_with(how));
  CHECK(reply.how.ends_with(" inside run()"));  // a busy machine puts its waiting between them
}

Reply healthy(const std::string& kernel) {
  const Reply reply = run_hostile(kernel);
  const Reply honest = run_hostile("none");
  REQUIRE(reply.answered());
  REQUIRE(honest.answered());
  CHECK(reply.y == honest.y);
  return reply;
}

}  // namespace

TEST_CASE("the control answers, touches nothing and says its path") {
  const Reply reply = run_hostile("none");
  REQUIRE(reply.answered());
  CHECK(reply.status == W4_OK);
  CHECK(reply.ran == "scalar");
  CHECK(reply.y.size() == (11 + 8) * 2);
  CHECK(reply.strays.empty());
  CHECK(reply.changed.empty());
  CHECK(reply.children == 0);
  CHECK(reply.printed_bytes == 0);
  CHECK(reply.how.empty());
}

TEST_CASE("hostile.segfault") {
  check_crash("segfault", SIGSEGV,
              "signal 11 (SIGSEGV) inside run(), writing address 0x8, outside all buffers");
}
TEST_CASE("hostile.aborts") {
  check_crash("aborts", SIGABRT, "signal 6 (SIGABRT) inside run()");
}
TEST_CASE("hostile.raises_sigterm") {
  check_crash("raises_sigterm", SIGTERM, "signal 15 (SIGTERM) inside run()");
}
TEST_CASE("hostile.exit0") {
  check_crash("exit0", 0, "exited with status 0 inside run()");
}
TEST_CASE("hostile.exit0_atexit") {
  check_crash("exit0_atexit", 0, "exited with status 0 inside run()");
}
TEST_CASE("hostile.throws") {
  check_crash("throws", 0,
              "threw a C++ exception (hostile.throws: thrown out of run()) out of run()");
}
TEST_CASE("hostile.closes_descriptors") {
  check_crash("closes_descriptors", 0, "closed its connection without a reply inside run()");
}
TEST_CASE("hostile.loop_forever") {
  check_late("loop_forever", "no answer within 0.5 s");
}
TEST_CASE("hostile.sleeps") {
  check_late("sleeps", "no answer within 0.5 s");
}
TEST_CASE("hostile.stops_itself") {
  check_late("stops_itself", "stopped by signal 19 (SIGSTOP)");
}

#if !defined(__SANITIZE_ADDRESS__)  // the memory limit is off under the sanitizer
TEST_CASE("hostile.allocates_forever") {
  const Reply reply =
      run_hostile("allocates_forever", {}, {.seconds = 10, .memory_bytes = 256u << 20});
  CHECK(reply.end == End::crashed);
  CHECK(reply.signal == SIGABRT);
}
#endif

TEST_CASE("hostile.overrun_y and underrun_y: strays on either side") {
  const Reply over = healthy("overrun_y"), under = healthy("underrun_y");
  REQUIRE(over.strays.size() == 1);
  CHECK(over.strays[0].where == "after y");
  CHECK((over.strays[0].offset == (11 + 8) * 2 && over.strays[0].bytes == 2));
  REQUIRE(under.strays.size() == 1);
  CHECK(under.strays[0].where == "before y");
  CHECK((under.strays[0].offset == -2 && under.strays[0].bytes == 2));
}
TEST_CASE("hostile.underrun_y on the left faults") {
  const Reply reply = run_hostile("underrun_y", {.place = Place::left});
  CHECK(reply.how == "signal 11 (SIGSEGV) inside run(), reading 2 bytes before y");
}
TEST_CASE("hostile.writes_guard_far") {
  const Reply reply = run_hostile("writes_guard_far");
  CHECK(reply.end == End::crashed);
  CHECK(reply.how.find("writing ") != std::string::npos);
  CHECK(reply.how.find(" bytes past the end of y") != std::string::npos);
}
TEST_CASE("hostile.read_past_codes on the right faults, of 128 bytes that end at a page") {
  const Problem p = small_problem();
  WeightBytes weights = small_weights(p);
  weights.codes->resize(256);  // a multiple of the alignment
  const Reply reply = run_once(plugin_path("hostile"), "hostile.read_past_codes", p, weights,
                               {.place = Place::right});
  CHECK(reply.how == "signal 11 (SIGSEGV) inside run(), reading 1 byte past the end of codes");
}
TEST_CASE("hostile.read_past_x on the right faults") {
  Problem p = small_problem();
  p.align = 2;
  const Reply reply = run_once(plugin_path("hostile"), "hostile.read_past_x", p, small_weights(p),
                               {.place = Place::right});
  CHECK(reply.how == "signal 11 (SIGSEGV) inside run(), reading 1 byte past the end of x");
}
TEST_CASE("hostile.scribbles_inputs: told, and put right for the next call") {
  const Problem p = small_problem();
  Subject subject(inspect_plugin(plugin_path("hostile")), "hostile.scribbles_inputs",
                  patient_limits());
  REQUIRE(subject.bind(to_abi(p), small_weights(p)).answered());
  const CallBytes bytes = to_bytes(p, small_activations(p));
  const Reply first = subject.run(to_abi(p), bytes), second = subject.run(to_abi(p), bytes);
  CHECK(first.changed == std::vector<std::string>{"codes"});
  CHECK(second.changed == std::vector<std::string>{"codes"});
  CHECK(first.y == second.y);
}
TEST_CASE("hostile.silent leaves the poison") {
  for (const int poison : {0xff, 0x3c}) {
    const Reply reply = run_hostile("silent", {.poison = static_cast<std::uint8_t>(poison)});
    REQUIRE(reply.answered());
    CHECK(reply.y == std::vector<std::byte>(reply.y.size(), std::byte(poison)));
  }
}
TEST_CASE("hostile.caches_by_address is found out by new contents at the same addresses") {
  const Problem p = small_problem();
  Subject subject(inspect_plugin(plugin_path("hostile")), "hostile.caches_by_address",
                  patient_limits());
  REQUIRE(subject.bind(to_abi(p), small_weights(p)).answered());
  Activations x = small_activations(p);
  const Reply first = subject.run(to_abi(p), to_bytes(p, x));
  for (auto& word : x.words) word ^= 0x8000u;
  const Reply second = subject.run(to_abi(p), to_bytes(p, x));
  REQUIRE(second.answered());
  CHECK(first.y == second.y);  // which is the fault: the product changed its sign
}

TEST_CASE("hostile.floods_stdout is counted, its start is kept, and it blocks nobody") {
  const Reply reply = healthy("floods_stdout");
  CHECK(reply.printed_bytes == std::uint64_t{64} << 20);
  CHECK(reply.printed == std::string(4096, 'f'));
}
TEST_CASE("hostile.prints_line") {
  const Reply reply = healthy("prints_line");
  CHECK(reply.printed == "hostile.prints_line was here ");
  CHECK(reply.printed_bytes == 29);
}
TEST_CASE("hostile.leaves_child and leaves_grandchild are found, also in a session of their own") {
  CHECK(healthy("leaves_child").children == 1);
  CHECK(healthy("leaves_grandchild").children == 1);
}
TEST_CASE("hostile.thread_left answers") {
  CHECK(healthy("thread_left").children == 0);
}

#if defined(__x86_64__)
TEST_CASE("hostile.leaves_ftz and leaves_rounding: told, and not carried into the next call") {
  const Problem p = small_problem();
  for (const auto& [kernel, what] :
       {std::pair{"hostile.leaves_ftz", "flush-to-zero set, denormals-are-zero set"},
        std::pair{"hostile.leaves_rounding", "rounding upward, x87 rounding upward"}}) {
    Subject subject(inspect_plugin(plugin_path("hostile")), kernel, patient_limits());
    REQUIRE(subject.bind(to_abi(p), small_weights(p)).answered());
    const Reply reply = subject.run(to_abi(p), to_bytes(p, small_activations(p)));
    CHECK(describe(reply.state, subject.clean_state()) == what);
    Reply asked;
    subject.plan(p, &asked);
    CHECK(asked.state == subject.clean_state());
  }
}
#endif

TEST_CASE("hostile.plan_crashes and plan_hangs") {
  const Reply crashed = run_hostile("plan_crashes"),
              late = run_hostile("plan_hangs", {}, short_limits());
  CHECK(crashed.how ==
        "signal 11 (SIGSEGV) inside plan(), writing address 0x8, outside all buffers");
  CHECK(late.end == End::timed_out);
  CHECK(late.how.starts_with("no answer within 0.5 s"));
  CHECK(late.how.ends_with(" inside plan()"));
}
TEST_CASE("hostile.plan_lies_packed and plan_lies_workspace: refused before any memory is taken") {
  const Reply packed = run_hostile("plan_lies_packed"),
              workspace = run_hostile("plan_lies_workspace");
  CHECK(packed.answered());
  CHECK(packed.status == W4_INTERNAL);
  CHECK(packed.how == "asks for 1152921504606846976 bytes of packed weights");
  CHECK(workspace.status == W4_INTERNAL);
  CHECK(workspace.how == "asks for 1152921504606846976 bytes of workspace");
}
TEST_CASE("hostile.plan_garbage_strings come back bounded and printable") {
  Subject subject(inspect_plugin(plugin_path("hostile")), "hostile.plan_garbage_strings",
                  patient_limits());
  const Plan plan = subject.plan(small_problem());
  REQUIRE(plan.ok());
  CHECK(plan.reason == std::string(256, 'r'));
  CHECK(plan.path.size() < 5000);
  for (const std::string& text : {plan.path, plan.contract, plan.reason}) {
    CHECK(text.find_first_not_of("xr?[2J\"< dequant=uiorch(") == std::string::npos);
  }
}
TEST_CASE("hostile.plan_unterminated_path, plan_wild_path and wild_ran: strings that are none") {
  for (const char* kernel : {"plan_unterminated_path", "plan_wild_path"}) {
    const Reply reply = run_hostile(kernel);
    CHECK(reply.end == End::crashed);
    CHECK(reply.how.find(
              "signal 11 (SIGSEGV) inside plan(), in a string that it returned, reading") == 0);
  }
  CHECK(run_hostile("wild_ran").how.find("inside run(), in a string that it returned") !=
        std::string::npos);
}
TEST_CASE("hostile.plan_changes: plan() is asked anew each time") {
  Subject subject(inspect_plugin(plugin_path("hostile")), "hostile.plan_changes", patient_limits());
  CHECK(subject.plan(small_problem()).path != subject.plan(small_problem()).path);
}
TEST_CASE("hostile.undeclared_path, fails_status and nonsense_status are passed on") {
  CHECK(healthy("undeclared_path").ran == "other");
  CHECK(healthy("fails_status").status == W4_INTERNAL);
  CHECK(healthy("nonsense_status").status == 77);
}
