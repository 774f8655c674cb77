// SPDX-License-Identifier: Apache-2.0
// One check on one kernel of a plugin of this build, without the engine.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "harness/check.hpp"
#include "reference/error.hpp"

namespace w4 {

inline const Check& check_named(std::string_view id) {
  for (const auto& check : checks())
    if (check.id == id) return check;
  throw Error("no check " + std::string(id), Blame::internal);
}

inline std::string plugin_path(const std::string& name) {
  return std::string(W4_BINARY_DIR) + "/libw4_" + name + ".so";
}

// The verdict of `check` on `kernel` of lib<name>; a declined problem is `unsupported` with plan's
// reason.
inline Verdict judge(const std::string& plugin, const std::string& kernel, std::string_view check,
                     const std::string& line) {
  Subject subject(inspect_plugin(plugin_path(plugin)), kernel, {});
  const auto problem = parse_problem(line);
  const auto plan = subject.plan(problem);
  if (!plan.ok()) return with(Outcome::unsupported, plan.reason);
  return check_named(check).run(subject, CaseContext{problem, nullptr, plan});
}

// The evidence's "kind", "" if there is none.
inline std::string kind_of(const Verdict& verdict) {
  const auto* object = std::get_if<Evidence::Object>(&verdict.evidence.value);
  if (object == nullptr || object->empty() || object->front().first != "kind") return {};
  return std::get<std::string>(object->front().second.value);
}

}  // namespace w4
