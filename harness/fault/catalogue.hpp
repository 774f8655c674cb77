// SPDX-License-Identifier: Apache-2.0
// The catalogue of deliberate wrongs: which check must kill each, on which problem, with what
// evidence.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "harness/verdict.hpp"

namespace w4 {

struct Fault {
  std::string_view id;      // the kernel is "mutant." + id
  std::string_view family;  // class of failure: SHAPE GROUP SCALE OVERFLOW PACK ZP ADDR PRECISION
                            // TP INIT GIDX RACE DISPATCH, or CHEAT: a way to pass without computing
  std::string_view report;  // the report it copies, "vllm-project/vllm#45656"; "" where it copies
                            // the class
  std::string_view check;   // expected to see it
  std::string_view kind;    // of the evidence
  std::array<std::string_view, 2> problems;  // lines; it must be seen on each
  std::string_view what;
  Outcome outcome{Outcome::fail};
  bool only{};  // no other check may see it on these problems: what that check is there for
};

std::span<const Fault> faults();
std::string kernel_of(const Fault&);
std::string copied_by(const Fault&);  // the report, or "class PACK"
// The control of all of them.
inline constexpr std::string_view healthy_twin = "mutant.none";

}  // namespace w4
