// SPDX-License-Identifier: Apache-2.0
// Every check that may stand in a bundle, on the recorder; its calls become groups of an HDF5 file.
#include <cstdio>
#include <filesystem>
#include <map>

#include "harness/bundle/bundle.hpp"
#include "harness/bundle/recorder.hpp"
#include "harness/fixture/tensors.hpp"
#include "harness/run/environment.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

// exact.onehot has a row for each weight row; above this many outputs address.code, which looks at
// a window of them, has to do.
constexpr std::int64_t most_onehot_outputs = std::int64_t{1} << 20;

std::string number(std::size_t i) {
  char text[24];
  std::snprintf(text, sizeof text, "%05zu", i);
  return text;
}

std::string formula(const Problem& p) {
  const char* weight = p.zero == Zero::signed_codes ? "q*s"
                       : p.zero == Zero::eight      ? "(q-8)*s"
                       : p.zero == Zero::add        ? "q*s+z"
                       : p.zero == Zero::add_8      ? "(q-8)*s+z"
                                                    : "(q-z)*s";
  std::string text = "y[m,n] = sum over k of x[m,k]*" + std::string(weight);
  if (has_x_scale(p)) text += "*x_scale[m,k//x_group]";
  if (p.bias != Type::none) text += ", plus bias[n]";
  text += p.order == Order::none ? "; s, z of row k//group" : "; s, z of row g_idx[k]";
  if (p.zero == Zero::code_m1) text += "; zero holds z-1";
  if (!is_w4a16(p) && quantises_x(p))
    text += "; x is quantised to " + std::string(to_string(p.mul)) +
            " by the kernel, per row and x_group, by absolute maximum";
  return text;
}

class Writer {
 public:
  Writer(const BundleOptions& options) : file_(options.out) {
    file_.attribute("schema", std::string(bundle_schema));
    file_.attribute("generator",
                    "w4check " + std::string(version()) + " (" + std::string(w4::commit()) + ")");
    file_.attribute("kernel", options.kernel);
    file_.attribute("contract", options.contract);
    file_.attribute("claims", words(options.claims));
  }

  void problem(const Problem& p, const std::vector<std::string>& checks) {
    const std::string ids = words(checks), line = to_string(p);
    const std::string name = "problems/" + number(problems_++);
    file_.group(name);
    file_.attribute_of(name, "problem", line);
    file_.attribute_of(name, "checks", ids);
    keys_.push_back(asked_key(line, ids));
    file_.attribute_of(name, "key", keys_.back());
  }

  void call(const std::string& check, const RecordedCall& c) {
    if (!known_.insert(c.key).second) return;  // another check has asked it
    const std::string name = "cases/" + number(++cases_);
    file_.group(name);
    describe(name, check, c);
    for (const Tensor& tensor : weight_tensors(c.problem, *c.weights))
      shared(name + "/" + tensor.name, c.weights_key + tensor.name, tensor);
    for (const Tensor& tensor : call_tensors(c.problem, c.call))
      shared(name + "/" + tensor.name, sha256_hex(tensor.bytes) + shape_key(tensor), tensor);
    const std::int64_t shape[] = {c.problem.m, c.problem.n};
    file_.blank(name + "/y", element_for(c.problem.y), shape, c.poison);
  }

  std::size_t cases() const { return cases_; }
  void commit(const BundleOptions& options) {
    file_.attribute("key", asked_key(options.contract, words(options.claims), keys_));
    file_.commit();
  }

 private:
  static std::string words(const std::vector<std::string>& list) {
    std::string text;
    for (const auto& word : list) text += (text.empty() ? "" : " ") + word;
    return text;
  }

  static std::string shape_key(const Tensor& tensor) {
    std::string key = tensor.name + dtype_name(tensor.element);
    for (const auto size : tensor.shape) key += " " + std::to_string(size);
    return key;
  }

  // Equal tensors of several calls lie in the file once, under several names.
  void shared(const std::string& name, const std::string& key, const Tensor& tensor) {
    const auto [at, fresh] = tensors_.try_emplace(key, name);
    if (!fresh) return file_.link(at->second, name);
    file_.words(name, tensor.element, tensor.shape, tensor.bytes, {tensor.bytes.size() >= 4096});
  }

  void describe(const std::string& name, const std::string& check, const RecordedCall& c) {
    const Problem& p = c.problem;
    const auto text = [&](const char* key, std::string_view value) {
      file_.attribute_of(name, key, std::string(value));
    };
    text("check", check);
    text("problem", to_string(p));
    text("key", c.key);
    text("formula", formula(p));
    text("layout", p.layout);
    text("zero_form", to_string(p.zero));
    text("x_type", to_string(p.x));
    text("mul_type", to_string(p.mul));
    text("y_type", to_string(p.y));
    text("scale_type", to_string(p.scale));
    text("zero_type", to_string(p.zero_type));
    text("y_dtype", dtype_name(element_for(p.y)));
    for (const auto& [key, value] : {std::pair<const char*, std::int64_t>{"m", p.m},
                                     {"n", p.n},
                                     {"k", p.k},
                                     {"group", p.group},
                                     {"groups", p.groups},
                                     {"x_group", p.x_group},
                                     {"poison", c.poison}})
      file_.attribute_of(name, key, value);
  }

  Hdf5Writer file_;
  std::set<std::string> known_;
  std::map<std::string, std::string> tensors_;
  std::vector<std::string> keys_;  // of the problems
  std::size_t problems_{}, cases_{};
};

class LeftOutList {
 public:
  void add(std::string_view check, const std::string& why) {
    if (seen_.insert(std::string(check)).second) list.push_back({std::string(check), why});
  }
  std::vector<LeftOut> list;

 private:
  std::set<std::string> seen_;
};

std::string cannot_hold(const Check& check, const Problem& p) {
  if (check.id == "exact.onehot" && p.k * p.n > most_onehot_outputs)
    return "a row of x for each of " + std::to_string(p.k) + " k";
  return not_in_a_bundle(check.id);
}

// Which checks are due on which problem, as `run` has it.
Schedule schedule_for(const BundleOptions& options, const BundlePlans& plans) {
  Suite suite;
  suite.kernels.push_back(
      {{std::make_shared<PluginInfo>(), ""}, options.kernel, false, false, false, ""});
  suite.problems = options.problems;
  for (const Check& check : checks()) suite.checks.push_back(&check);
  std::vector<PlanAnswer> answers;
  for (const auto& p : suite.problems) answers.push_back({true, plans.plan(to_abi(p.problem)), {}});
  return make_schedule(suite, {answers});
}

void check_problems(const BundleOptions& options) {
  for (const auto& [problem, layer, prefix, about, literal] : options.problems) {
    const std::string line = to_string(problem);
    if (layer != nullptr) fail_input(line, "bundle", "generated data only, no data=layer:");
    if (problem.x_stride != problem.k || problem.y_stride != problem.n)
      fail_input(line, "bundle", "rows of x and y are dense in a file: no xs= or ys=");
    if (problem.m < 1) fail_input(line, "bundle", "m is at least 1");
  }
}

}  // namespace

BundleSummary make_bundle(const BundleOptions& options) {
  check_problems(options);
  BundlePlans plans;
  plans.claims = W4_REPEATABLE | W4_BATCH_INVARIANT | W4_ROW_LOCAL;  // so that all calls are made
  for (const auto& p : options.problems) plans.problems.insert(problem_key(to_abi(p.problem)));
  const auto go_on = [&] {
    if (options.stop && options.stop()) fail_input(options.out, "write", "interrupted");
  };
  Recorder recorder(options.kernel, plans, go_on);
  Writer writer(options);
  LeftOutList left_out;
  for (const Unit& unit : schedule_for(options, plans).units) {
    const Problem& p = options.problems[unit.problem].problem;
    const Plan plan = plans.plan(to_abi(p));
    Plan declared = plan;
    declared.contract = options.contract;
    std::vector<std::string> held;
    for (const Check* check : unit.checks) {
      go_on();
      if (const auto why = cannot_hold(*check, p); !why.empty()) {
        left_out.add(check->id, why);
        continue;
      }
      recorder.begin(p);
      const auto verdict = check->run(recorder, CaseContext{p, nullptr, plan});
      // A check that is not content with right answers asks by what it is answered: not for a file.
      if (verdict.outcome != Outcome::pass && verdict.outcome != Outcome::vacuous &&
          verdict.outcome != Outcome::unsupported) {
        left_out.add(check->id, "its calls depend on answers");
        continue;
      }
      // What a declared order, unit or class makes it ask beside; right answers need not fit those.
      if (!declared.contract.empty()) check->run(recorder, CaseContext{p, nullptr, declared});
      const auto calls = recorder.take();
      if (calls.empty() && verdict.outcome != Outcome::unsupported) continue;
      held.emplace_back(check->id);
      for (const auto& call : calls) writer.call(held.back(), call);
    }
    writer.problem(p, held);
  }
  if (writer.cases() == 0) fail_input(options.out, "make", "no check can be put into a file");
  go_on();
  writer.commit(options);
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(options.out, ignored);
  return {options.problems.size(), writer.cases(), static_cast<std::int64_t>(bytes), left_out.list};
}

}  // namespace w4
