// SPDX-License-Identifier: Apache-2.0
#include "harness/bundle/player.hpp"

#include <algorithm>

#include "harness/bundle/bundle.hpp"
#include "harness/checks/rig.hpp"
#include "harness/fixture/tensors.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find(' ', at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

Problem problem_of(const ForeignFile& file, const std::string& object) try {
  return parse_problem(text_attribute(file, object, "problem"));
} catch (const Error& error) {
  if (std::string(error.what()).starts_with(file.path + ": ")) throw;
  fail_input(file.path, "read", "attribute problem of " + object + ": " + error.what());
}

std::string shape_text(const Problem& p) {
  return "[" + std::to_string(p.m) + ", " + std::to_string(p.n) + "]";
}

void check_output(const ForeignFile& file, BundleCase& c) {
  const auto at = file.datasets.find(c.name + "/y");
  if (at == file.datasets.end()) {
    c.fault_kind = "missing", c.y_fault = c.name + "/y is missing";
    return;
  }
  const auto& y = at->second;
  const auto element = element_for(c.problem.y);
  if (!has_element(y, element) || y.shape != std::vector{c.problem.m, c.problem.n}) {
    c.fault_kind = "misshapen";
    c.y_fault = c.name + "/y is " + describe(y) + ", " + dtype_name(element) + " " +
                shape_text(c.problem) + " is expected";
    return;
  }
  const auto bytes = y.bytes();
  if (!std::all_of(bytes.begin(), bytes.end(),
                   [&](std::byte b) { return b == std::byte{c.poison}; }))
    return;
  c.fault_kind = "not_written", c.y_fault = c.name + "/y was never written";
}

// Weights that several cases share are hashed once.
class Keys {
 public:
  explicit Keys(const ForeignFile& file) : file_(file) {}

  std::string key(const BundleCase& c) {
    const auto abi = to_abi(c.problem);
    const void* codes = array_of(file_, c.name + "/codes").data.get();
    const auto id = std::pair{codes, array_of(file_, c.name + "/scale").data.get()};
    const auto* zero = file_.datasets.contains(c.name + "/zero")
                           ? array_of(file_, c.name + "/zero").data.get()
                           : nullptr;
    const auto problem = problem_key(abi);
    auto& weights = weights_[{id.first, id.second, zero, problem}];
    if (weights.empty()) weights = weights_key(abi, read_weights(file_, c.name, c.problem));
    return call_key(weights, abi, read_call(file_, c.name, c.problem), c.poison);
  }

 private:
  const ForeignFile& file_;
  std::map<std::tuple<const void*, const void*, const void*, std::string>, std::string> weights_;
};

void read_problems(Bundle& bundle) {
  for (const auto& [name, attributes] : bundle.file.groups) {
    if (!name.starts_with("/problems/")) continue;
    bundle.problems.push_back(problem_of(bundle.file, name));
    bundle.checks.push_back(split(text_attribute(bundle.file, name, "checks")));
    bundle.plans.problems.insert(problem_key(to_abi(bundle.problems.back())));
  }
  if (bundle.problems.empty()) fail_input(bundle.path, "read", "no group below /problems");
}

void read_cases(Bundle& bundle) {
  const auto& file = bundle.file;
  Keys keys(file);
  for (const auto& [name, attributes] : file.groups) {
    if (!name.starts_with("/cases/")) continue;
    BundleCase c;
    c.name = name;
    c.problem = problem_of(file, name);
    if (!bundle.plans.problems.contains(problem_key(to_abi(c.problem))))
      fail_input(file.path, "read", name + " has a problem that is not below /problems");
    c.check = text_attribute(file, name, "check");
    c.poison = static_cast<std::uint8_t>(integer_attribute(file, name, "poison") & 0xff);
    const auto& key = text_attribute(file, name, "key");
    if (key.substr(0, key.find('.')) != keys.key(c))
      fail_input(file.path, "read",
                 "the operands of " + name + " are not what they were when " + bundle.generator +
                     " made the file");
    check_output(file, c);
    bundle.by_key[key] = bundle.cases.size();
    bundle.cases.push_back(std::move(c));
  }
  if (bundle.cases.empty()) fail_input(bundle.path, "read", "no group below /cases");
}

}  // namespace

Bundle read_bundle(const std::string& path) {
  Bundle bundle;
  bundle.path = path;
  bundle.file = read_foreign(path);
  const auto& schema = text_attribute(bundle.file, "/", "schema");
  if (schema != bundle_schema)
    fail_input(path, "read",
               "schema is \"" + schema + "\", this version reads \"" + bundle_schema + "\"");
  bundle.kernel = text_attribute(bundle.file, "/", "kernel");
  bundle.generator = text_attribute(bundle.file, "/", "generator");
  bundle.plans.contract = text_attribute(bundle.file, "/", "contract");
  bundle.plans.claims = read_claims(split(text_attribute(bundle.file, "/", "claims")));
  read_problems(bundle);
  read_cases(bundle);
  return bundle;
}

Plan Player::plan(const AbiProblem& p, Reply* reply) {
  if (reply) *reply = {};
  return bundle_->plans.plan(p);
}

Reply Player::bind(const AbiProblem& p, const WeightBytes& weights, const CallOptions&) {
  counter_.bind(weights_key(p, weights));
  return {};
}

Reply Player::run(const AbiProblem& p, const CallBytes& call, const CallOptions& options) {
  ++calls_;
  const auto at = bundle_->by_key.find(counter_.next(p, call, options.poison));
  if (at == bundle_->by_key.end())
    throw CaseOver{
        with(Outcome::not_run, "the bundle does not hold a call that this check makes: " +
                                   bundle_->generator + " made the file")};
  const BundleCase& c = bundle_->cases[at->second];
  if (!c.y_fault.empty()) {
    auto verdict = failed(c.y_fault, Evidence::Object{{"kind", c.fault_kind}, {"case", c.name}});
    throw CaseOver{std::move(verdict)};
  }
  const auto bytes = array_of(bundle_->file, c.name + "/y").bytes();
  Reply reply;
  reply.y.assign(bytes.begin(), bytes.end());
  return reply;
}

}  // namespace w4
