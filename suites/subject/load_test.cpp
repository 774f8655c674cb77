// SPDX-License-Identifier: Apache-2.0
// What a plugin says of itself, and why one cannot be used.
#include <filesystem>
#include <fstream>

#include <catch2/catch_test_macros.hpp>
#include <unistd.h>

#include "harness/subject/subject.hpp"
#include "reference/error.hpp"
#include "suites/subject/support.hpp"

using namespace w4;

namespace {

// `path: load: cause`, of which the cause comes back.
std::string cause_of(const std::string& path) {
  try {
    inspect_plugin(path, short_limits());
  } catch (const Error& error) {
    CHECK(error.blame() == Blame::input);
    const std::string text = error.what(), prefix = path + ": load: ";
    REQUIRE(text.substr(0, prefix.size()) == prefix);
    CHECK(text.find('\n') == std::string::npos);
    return text.substr(prefix.size());
  }
  return "it was loaded";
}

std::string bad(const std::string& name) {
  return cause_of(plugin_path("bad_" + name));
}

}  // namespace

TEST_CASE("a plugin tells its vendor, version and kernels") {
  const PluginInfo info = inspect_plugin(W4_PROBE_PLUGIN);
  CHECK(info.vendor == "probe");
  CHECK(info.version == "1");
  REQUIRE(info.kernels.size() == 2);
  CHECK(info.kernels[0].name == "probe.raw");
  CHECK(info.kernels[0].device == W4_HOST);
  CHECK(info.before_load == info.after_load);
}

TEST_CASE("a library that flips the float state when it is loaded is told") {
  const PluginInfo info = inspect_plugin(plugin_path("hostile_ftz"));
  CHECK(describe(info.after_load, info.before_load).find("flush-to-zero set") != std::string::npos);
}

TEST_CASE("the float state that loading left is reset before a call") {
  const Problem p = small_problem();
  const Reply reply =
      run_once(plugin_path("hostile_ftz"), "hostile.ftz_at_load", p, small_weights(p));
  REQUIRE(reply.answered());
  CHECK(reply.state == inspect_plugin(plugin_path("hostile_ftz")).before_load);
}

TEST_CASE("unusable plugins: no symbol") {
  CHECK(bad("nosymbol") == "has no symbol w4_plugin_entry");
}
TEST_CASE("unusable plugins: entry returns NULL") {
  CHECK(bad("version") == "w4_plugin_entry(1) returned NULL: it cannot serve ABI version 1");
}
TEST_CASE("unusable plugins: another ABI version") {
  CHECK(bad("abi") == "speaks ABI version 99, this is version 1");
}
TEST_CASE("unusable plugins: no kernels") {
  CHECK(bad("nokernels") == "has no kernels");
}
TEST_CASE("unusable plugins: a doubled name") {
  CHECK(bad("duplicate") == "two kernels are named bad.only");
}
TEST_CASE("unusable plugins: a kernel without a name") {
  CHECK(bad("nullname") == "kernel 0 has no name");
}
TEST_CASE("unusable plugins: open() fails") {
  CHECK(bad("open") == "open() failed with status 3");
}
TEST_CASE("unusable plugins: a crash at load") {
  CHECK(bad("crash").find("signal 11 (SIGSEGV) before it said which kernels it has") == 0);
}
TEST_CASE("unusable plugins: an exit at load") {
  CHECK(bad("ctor") == "exited with status 0 before it said which kernels it has");
}
TEST_CASE("unusable plugins: a hang at load") {
  const auto how = bad("hang");
  CHECK(how.starts_with("no answer within 5 s"));
  CHECK(how.ends_with(" before it said which kernels it has"));
}
TEST_CASE("unusable plugins: no such file, a folder, no library") {
  CHECK(cause_of("/nowhere/libw4_none.so") == "there is no such file");
  CHECK(cause_of("libw4_none.so") == "there is no such file");
  CHECK(cause_of("/tmp") == "it is a folder");
  const auto file =
      std::filesystem::temp_directory_path() / ("w4-not-a-library-" + std::to_string(getpid()));
  std::ofstream(file)
      << "not a library, but long enough to have a header of sixty-four bytes or more\n";
  CHECK(cause_of(file.string()).find("ELF") != std::string::npos);
  std::filesystem::remove(file);
}

TEST_CASE("a path is relative to where the program was started, and absolute from then on") {
  namespace fs = std::filesystem;
  const fs::path plugin = W4_PROBE_PLUGIN;
  fs::current_path(plugin.parent_path());
  const PluginInfo info = inspect_plugin(plugin.filename().string());
  CHECK(info.path == plugin.string());
  fs::current_path("/");
  Subject subject(info, "probe.raw", patient_limits());
  CHECK(subject.plan(probe_problem()).ok());
}

TEST_CASE("a plugin without a slash is also found beside the program") {
  std::filesystem::current_path("/");
  const std::string name = std::filesystem::path(W4_PROBE_PLUGIN).filename().string();
  CHECK(inspect_plugin(name).path == W4_PROBE_PLUGIN);
}
