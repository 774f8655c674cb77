// SPDX-License-Identifier: Apache-2.0
// The table of checks: a check is an ordinary function that may call the kernel many times.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "harness/subject/subject.hpp"
#include "harness/verdict.hpp"
#include "reference/quantized.hpp"

namespace w4 {

// The stored words of a real layer (data=layer:...), loaded once and shared by all cases.
struct LayerData {
  QuantizedMatrix matrix;
  Packed stored;  // in the problem's layout
};

struct CaseContext {
  Problem problem;
  std::shared_ptr<const LayerData> layer;  // null for data=gen
  Plan plan;                               // plan(problem), asked by the engine; ok()
  std::string expected_path{};  // what fixtures/paths says of this kernel and problem; or empty
  // Another kernel of the same plugin, in a worker of its own; null if there is none of that name.
  std::function<std::unique_ptr<KernelPort>(const std::string& kernel)> peer{};
  std::function<bool()> stop{};  // the user has had enough; or empty
};

// What a check throws between two calls once its context says stop.
struct CaseStopped {};

// When a check runs: on every problem, once per geometry (all but m, seed and data) and path, or
// once per kernel.
enum class Scope : std::uint8_t { problem, geometry, kernel };

struct Check {
  std::string_view id;
  Scope scope;
  std::string_view sees, blind_to;
  Verdict (*run)(KernelPort&, const CaseContext&);
  bool fresh_worker{};  // counts calls from the first one of a process on
};

std::span<const Check> checks();

}  // namespace w4
