// SPDX-License-Identifier: Apache-2.0
// The fake bench: subjects that never start a worker.
#include "suites/run/fake.hpp"

#include <mutex>
#include <stdexcept>

namespace w4 {

namespace {

Script script;
std::vector<std::string> done;
std::mutex mutex;

template <typename T>
T look_up(const std::map<std::string, T>& table, const std::string& key, T otherwise) {
  const auto at = table.find(key);
  return at == table.end() ? otherwise : at->second;
}

Verdict fake_run(const char* id, KernelPort& subject, const CaseContext& context) {
  const std::string key = subject.kernel() + "/" + id + "/" + std::to_string(context.problem.m);
  const std::lock_guard lock(mutex);
  done.push_back(key);
  if (const auto at = script.throws.find(key); at != script.throws.end())
    throw std::runtime_error(at->second);
  return with(look_up(script.outcomes, key, Outcome::pass), "told so");
}

constexpr Check table[] = {
    {"alpha.one", Scope::problem, "", "",
     [](KernelPort& s, const CaseContext& c) { return fake_run("alpha.one", s, c); }},
    {"alpha.two", Scope::geometry, "", "",
     [](KernelPort& s, const CaseContext& c) { return fake_run("alpha.two", s, c); }},
    {"beta.once", Scope::kernel, "", "",
     [](KernelPort& s, const CaseContext& c) { return fake_run("beta.once", s, c); }},
    {"reject.reason", Scope::kernel, "", "",
     [](KernelPort& s, const CaseContext& c) { return fake_run("reject.reason", s, c); }}};

}  // namespace

void set_script(Script next) {
  const std::lock_guard lock(mutex);
  script = std::move(next);
  done.clear();
}

std::vector<std::string> ran() {
  const std::lock_guard lock(mutex);
  return done;
}

Plan declined(const std::string& reason) {
  Plan plan;
  plan.status = W4_UNSUPPORTED;
  plan.reason = reason;
  return plan;
}

std::vector<const Check*> fake_checks() {
  std::vector<const Check*> out;
  for (const Check& check : table) out.push_back(&check);
  return out;
}

Suite fake_suite(const std::vector<std::string>& kernels, const std::vector<std::string>& lines) {
  Suite suite;
  auto info = std::make_shared<PluginInfo>();
  info->path = "./libfake.so";
  for (const std::string& name : kernels) {
    info->kernels.push_back({name, W4_HOST});
    suite.kernels.push_back({{info, ""}, name, false, false, false, ""});
  }
  for (const std::string& line : lines)
    suite.problems.push_back({parse_problem(line), nullptr, "", "", false});
  suite.checks = fake_checks();
  return suite;
}

Bench fake_bench() {
  return {[](const SuiteKernel& kernel, const WorkerLimits& limits) {
            return std::make_unique<Subject>(*kernel.plugin.info, kernel.name, limits);
          },
          [](KernelPort& subject, const Problem& problem, Reply& reply) {
            const std::string key = subject.kernel() + "/" + std::to_string(problem.m);
            const std::lock_guard lock(mutex);
            reply.end = look_up(script.plan_ends, key, End::answered);
            if (!reply.answered()) reply.how = "signal 11 (SIGSEGV)";
            Plan accepted;
            accepted.path = "loop";
            return look_up(script.plans, key, accepted);
          }};
}

std::vector<std::string> told(const RunResult& run) {
  std::vector<std::string> out;
  for (const RunCase& c : run.cases) {
    out.push_back(run.kernels[c.kernel].name + " " + c.check + " " +
                  std::to_string(run.problems[c.problem].problem.m) + " " +
                  std::string(to_string(c.verdict.outcome)) + (c.required ? "" : " optional"));
  }
  return out;
}

}  // namespace w4
