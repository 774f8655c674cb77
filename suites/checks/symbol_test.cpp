// SPDX-License-Identifier: Apache-2.0
// dispatch.symbol against a device that is made up here: which launches are declared, which not.
#include <functional>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "harness/checks/symbols.hpp"
#include "suites/support/judge.hpp"

namespace {

using namespace w4;

Launch launch(std::string name, bool cut = false) {
  Launch one;
  one.name = std::move(name);
  one.cut = cut;
  return one;
}

// Answers every call with zeros, and says that it launched what it was told to.
class FakeDevice final : public KernelPort {
 public:
  explicit FakeDevice(std::uint32_t device = W4_CUDA) { info_.kernels = {{"fake", device}}; }
  std::function<void(Reply&, int call)> edit{};

  const std::string& kernel() const override { return name_; }
  const PluginInfo& plugin() const override { return info_; }
  using KernelPort::plan;
  Plan plan(const AbiProblem&, Reply* reply) override {
    if (reply != nullptr) *reply = {};
    return {};
  }
  Reply bind(const AbiProblem&, const WeightBytes&, const CallOptions&) override { return {}; }
  Reply run(const AbiProblem& p, const CallBytes&, const CallOptions&) override {
    Reply reply;
    reply.y.resize(static_cast<std::size_t>(p.p.m * p.p.y_stride * 4));
    reply.on_device = reply.launches_known = true;
    if (edit) edit(reply, calls_);
    if (reply.launches_seen == 0)
      reply.launches_seen = static_cast<std::uint32_t>(reply.launches.size());
    ++calls_;
    return reply;
  }
  FloatState clean_state() const override { return {}; }
  int calls() const override { return calls_; }
  int deaths() const override { return 0; }

 private:
  std::string name_{"fake"};
  PluginInfo info_;
  int calls_{};
};

Verdict judge_symbols(FakeDevice& device, const std::string& symbols, std::uint32_t launches = 0,
                      const std::string& line = "m=2 n=8 k=16") {
  Plan plan;
  plan.symbols = symbols;
  plan.launches = launches;
  const auto verdict =
      check_named("dispatch.symbol").run(device, CaseContext{parse_problem(line), nullptr, plan});
  UNSCOPED_INFO(symbols << ": " << to_string(verdict.outcome) << ": " << verdict.reason);
  return verdict;
}

// Both calls launch these.
Verdict judge_launched(const std::vector<std::string>& names, const std::string& symbols,
                       std::uint32_t launches = 0) {
  FakeDevice device;
  device.edit = [&](Reply& reply, int) {
    for (const auto& name : names) reply.launches.push_back(launch(name));
  };
  return judge_symbols(device, symbols, launches);
}

// void ns::tile<__half, 4>(ns::Args)
constexpr char tile[] = "_ZN2ns4tileI6__halfLi4EEEvNS_4ArgsE";

}  // namespace

TEST_CASE("a mangled name is taken apart into those that a vendor writes") {
  const auto names = names_of(tile);
  CHECK(names.full == "void ns::tile<__half, 4>(ns::Args)");
  CHECK(names.qualified == "ns::tile");
  CHECK(names.base == "tile");
  const auto plain = names_of("_ZN2ns1kEPf");
  CHECK(plain.full == "ns::k(float*)");
  CHECK(plain.qualified == "ns::k");
  CHECK(plain.base == "k");
  const auto hidden = names_of("_ZN12_GLOBAL__N_11kILb1EEEvi");
  CHECK(hidden.full == "void (anonymous namespace)::k<true>(int)");
  CHECK(hidden.qualified == "(anonymous namespace)::k");
  CHECK(hidden.base == "k");
  const auto nested = names_of("_Z6kernelIN2ns1AIiLi3EE4typeEEvT_");
  CHECK(nested.full == "void kernel<ns::A<int, 3>::type>(ns::A<int, 3>::type)");
  CHECK(nested.qualified == "kernel");
  const auto member = names_of("_ZN2ns1AIjE3runEv");
  CHECK(member.full == "ns::A<unsigned int>::run()");
  CHECK(member.base == "run");
}

TEST_CASE("a C name is itself and nothing else") {
  for (const char* name : {"w4_cuda_scalar", "i", "_Z"}) {
    const auto names = names_of(name);
    CHECK(names.mangled == name);
    CHECK(names.full.empty());
    CHECK(matches(name, names));
    CHECK_FALSE(matches("int", names));
  }
}

TEST_CASE("globs match a name whole, in any of its spellings") {
  const auto names = names_of(tile);
  for (const char* glob : {"_ZN2ns4tile*", "*4tile*", "void ns::tile<__half*", "ns::tile", "ns::*",
                           "tile", "t?le", "t[hi]le", "*"})
    CHECK(matches(glob, names));
  for (const char* glob : {"til", "ile", "ns::", "ns::tile<*", "Tile", ""})
    CHECK_FALSE(matches(glob, names));
}

TEST_CASE("globs are split at commas, blanks and nothings dropped") {
  CHECK(globs_of("a*, b ,,c") == std::vector<std::string>{"a*", "b", "c"});
  CHECK(globs_of("").empty());
  CHECK(globs_of(" , ").empty());
}

TEST_CASE("launches that are declared, all of them, pass") {
  CHECK(judge_launched({"gemm"}, "gemm", 1).outcome == Outcome::pass);
  CHECK(judge_launched({tile, "reduce"}, "tile,reduce*").outcome == Outcome::pass);
  CHECK(judge_launched({"step_a", "step_b", "step_a"}, "step_*", 3).outcome == Outcome::pass);
}

TEST_CASE("a device function that is not declared is a fallback that names it") {
  const auto verdict = judge_launched({"gemm", tile}, "gemm,gemv");
  CHECK(verdict.outcome == Outcome::fallback);
  CHECK(kind_of(verdict) == "unexpected_symbol");
  CHECK(verdict.reason.find("void ns::tile<__half, 4>(ns::Args)") != std::string::npos);
  const auto& evidence = std::get<Evidence::Object>(verdict.evidence.value);
  bool named = false;
  for (const auto& [key, value] : evidence)
    named = named || (key == "name" && std::get<std::string>(value.value) == tile);
  CHECK(named);
}

TEST_CASE("a declared glob that nothing matches is a fallback") {
  CHECK(kind_of(judge_launched({"gemm"}, "gemm,reduce*")) == "missing_symbol");
  const auto none = judge_launched({}, "gemm");
  CHECK(none.outcome == Outcome::fallback);
  CHECK(kind_of(none) == "missing_symbol");
}

TEST_CASE("another number of launches than declared is a fallback, 0 is not said") {
  const auto verdict = judge_launched({"gemm", "gemm"}, "gemm", 1);
  CHECK(verdict.outcome == Outcome::fallback);
  CHECK(kind_of(verdict) == "launch_count");
  CHECK(judge_launched({"gemm", "gemm"}, "gemm", 0).outcome == Outcome::pass);
}

TEST_CASE("what only the second call launches is seen") {
  FakeDevice device;
  device.edit = [](Reply& reply, int call) {
    reply.launches.push_back(launch(call == 0 ? "gemm" : "other"));
  };
  CHECK(kind_of(judge_symbols(device, "gemm")) == "unexpected_symbol");
  CHECK(device.calls() == 2);
}

TEST_CASE("launches that could not be seen are never passed") {
  FakeDevice blind;
  blind.edit = [](Reply& reply, int) { reply.launches_known = false; };
  CHECK(judge_symbols(blind, "gemm", 1).outcome == Outcome::unsupported);

  FakeDevice many;
  many.edit = [](Reply& reply, int) {
    reply.launches.assign(8, launch("gemm"));
    reply.launches_seen = 9;
  };
  CHECK(judge_symbols(many, "gemm").outcome == Outcome::unsupported);
  CHECK(judge_symbols(many, "gemm,reduce").outcome == Outcome::unsupported);
  CHECK(judge_symbols(many, "reduce").outcome == Outcome::fallback);
  CHECK(judge_symbols(many, "gemm", 8).outcome == Outcome::fallback);
}

TEST_CASE("of a name that was cut only its start is known") {
  FakeDevice device;
  device.edit = [](Reply& reply, int) { reply.launches = {launch("_ZN2ns4tileI", true)}; };
  CHECK(judge_symbols(device, "_ZN2ns4tile*").outcome == Outcome::pass);
  CHECK(judge_symbols(device, "tile").outcome == Outcome::unsupported);
  CHECK(judge_symbols(device, "_ZN2ns4tileI").outcome == Outcome::unsupported);
}

TEST_CASE("host kernels and kernels without symbols are not asked, and say why") {
  FakeDevice host(W4_HOST);
  const auto on_host = judge_symbols(host, "gemm");
  CHECK(on_host.outcome == Outcome::unsupported);
  CHECK(on_host.reason.find("host kernel") != std::string::npos);
  FakeDevice device;
  CHECK(judge_symbols(device, "").outcome == Outcome::unsupported);
  CHECK(judge_symbols(device, "gemm", 0, "m=0 n=8 k=16").outcome == Outcome::unsupported);
  CHECK(host.calls() + device.calls() == 0);
}
