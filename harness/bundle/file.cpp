// SPDX-License-Identifier: Apache-2.0
// A bundle's schema: every operand is checked against its key, y alone is the user's.
#include "harness/bundle/file.hpp"

#include <algorithm>
#include <tuple>

#include "harness/bundle/bundle.hpp"
#include "harness/fixture/tensors.hpp"
#include "harness/printable.hpp"
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
    const Shared id{problem_key(abi),    contents(c, "codes"), contents(c, "scale"),
                    contents(c, "zero"), contents(c, "g_idx"), contents(c, "bias")};
    auto& weights = weights_[id];
    if (weights.empty()) weights = weights_key(abi, read_weights(file_, c.name, c.problem));
    return call_key(weights, abi, read_call(file_, c.name, c.problem), c.poison);
  }

 private:
  using Bytes = const void*;
  using Shared = std::tuple<std::string, Bytes, Bytes, Bytes, Bytes, Bytes>;

  Bytes contents(const BundleCase& c, const char* tensor) const {
    const auto at = file_.datasets.find(c.name + "/" + tensor);
    return at == file_.datasets.end() ? nullptr : at->second.data.get();
  }

  const ForeignFile& file_;
  std::map<Shared, std::string> weights_;
};

// The poison of an integer is a number: once other outputs were written it is taken for an answer.
void take_integers(Bundle& bundle) {
  const auto written = [](const BundleCase& c) { return c.y_fault.empty(); };
  if (std::none_of(bundle.cases.begin(), bundle.cases.end(), written)) return;
  for (BundleCase& c : bundle.cases)
    if (c.problem.y == Type::s32 && c.fault_kind == "not_written") c.fault_kind = c.y_fault = "";
}

void read_claims_of(Bundle& bundle) try {
  bundle.plans.claims = read_claims(split(text_attribute(bundle.file, "/", "claims")));
} catch (const Error& error) {
  if (std::string(error.what()).starts_with(bundle.path + ": ")) throw;
  fail_input(bundle.path, "read", std::string("attribute claims of /: ") + error.what());
}

// What a person might cut to get a green.
void read_problems(Bundle& bundle) {
  const auto fail = [&](const std::string& what) {
    fail_input(bundle.path, "read",
               what + " not what they were when " + bundle.generator + " made the file");
  };
  std::vector<std::string> keys;
  for (const auto& [name, attributes] : bundle.file.groups) {
    if (!name.starts_with("/problems/")) continue;
    bundle.problems.push_back(generated_problem(bundle.file, name));
    const auto& checks = text_attribute(bundle.file, name, "checks");
    bundle.checks.push_back(split(checks));
    keys.push_back(asked_key(text_attribute(bundle.file, name, "problem"), checks));
    if (text_attribute(bundle.file, name, "key") != keys.back())
      fail("the problem and the checks of " + name + " (" + to_string(bundle.problems.back()) +
           ") are");
    bundle.plans.problems.insert(problem_key(to_abi(bundle.problems.back())));
  }
  if (bundle.problems.empty()) fail_input(bundle.path, "read", "no group below /problems");
  const auto& claims = text_attribute(bundle.file, "/", "claims");
  if (text_attribute(bundle.file, "/", "key") != asked_key(bundle.plans.contract, claims, keys))
    fail("the contract, the claims or the list of problems are");
}

void read_cases(Bundle& bundle) {
  const auto& file = bundle.file;
  Keys keys(file);
  for (const auto& [name, attributes] : file.groups) {
    if (!name.starts_with("/cases/")) continue;
    BundleCase c;
    c.name = name;
    c.problem = generated_problem(file, name);
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
  take_integers(bundle);
}

}  // namespace

std::uint64_t read_claims(const std::vector<std::string>& words) {
  std::uint64_t claims = 0;
  for (const auto& word : words) {
    const std::uint64_t bit = word == "repeatable"        ? W4_REPEATABLE
                              : word == "batch_invariant" ? W4_BATCH_INVARIANT
                              : word == "row_local"       ? W4_ROW_LOCAL
                                                          : 0;
    if (bit == 0)
      throw Error("unknown claim \"" + word + "\"; nearest is " +
                  nearest_word(word, {"repeatable", "batch_invariant", "row_local"}));
    claims |= bit;
  }
  return claims;
}

Bundle read_bundle(ForeignFile file) {
  Bundle bundle;
  bundle.path = file.path;
  bundle.file = std::move(file);
  const auto& schema = text_attribute(bundle.file, "/", "schema");
  if (schema != bundle_schema)
    fail_input(bundle.path, "read",
               "schema is \"" + schema + "\", this version reads \"" + bundle_schema + "\"");
  bundle.kernel = printable(text_attribute(bundle.file, "/", "kernel"));
  bundle.generator = text_attribute(bundle.file, "/", "generator");
  bundle.plans.contract = text_attribute(bundle.file, "/", "contract");
  read_claims_of(bundle);
  read_problems(bundle);
  read_cases(bundle);
  return bundle;
}

Bundle read_bundle(const std::string& path) {
  return read_bundle(read_foreign(path));
}

}  // namespace w4
