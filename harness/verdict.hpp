// SPDX-License-Identifier: Apache-2.0
// What a check says about one kernel on one problem.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace w4 {

enum class Outcome : std::uint8_t {
  pass,
  fail,
  fallback,
  vacuous,
  unsupported,
  waived,
  xpass,
  crashed,
  timed_out,
  not_run,
  harness_error
};
std::string_view to_string(Outcome);
// pass and waived are green; a required case of any other outcome is red.
bool is_green(Outcome);

// A small JSON-like value, so that checks need no JSON library. Objects keep their order.
struct Evidence {
  using List = std::vector<Evidence>;
  using Object = std::vector<std::pair<std::string, Evidence>>;
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, List, Object> value{
      nullptr};
  Evidence() = default;
  Evidence(std::nullptr_t) {}
  Evidence(bool b) : value(b) {}
  Evidence(int i) : value(static_cast<std::int64_t>(i)) {}
  Evidence(std::int64_t i) : value(i) {}
  Evidence(std::size_t i) : value(static_cast<std::int64_t>(i)) {}
  Evidence(double d) : value(d) {}
  Evidence(const char* s) : value(std::string(s)) {}
  Evidence(std::string s) : value(std::move(s)) {}
  Evidence(std::string_view s) : value(std::string(s)) {}
  Evidence(List l) : value(std::move(l)) {}
  Evidence(Object o) : value(std::move(o)) {}
  bool empty() const { return std::holds_alternative<std::nullptr_t>(value); }
};

// The worst wrong output word.
struct Worst {
  std::int64_t row{}, col{};
  std::uint32_t got_bits{}, want_lo_bits{}, want_hi_bits{};
  std::int64_t ulps{};
};

// Rows of cells, the first one a heading where the columns need one.
using Table = std::vector<std::vector<std::string>>;

struct Verdict {
  Outcome outcome{Outcome::harness_error};
  std::string reason;                    // one sentence: a cause rather than a symptom ("what")
  std::string where, expected_got, why;  // the other lines of a failure; may be empty
  Evidence evidence;
  std::vector<Table> details;  // the operands that matter, for -v: bits of words, terms of a sum
  std::optional<Worst> worst;
  std::string smallest_fault;  // where a check can say it
  int signal{};
  std::string path_declared, path_observed, path_reason;
  // Device functions that the last call launched: {name, grid, block}, mangled; null where they
  // could not be seen.
  Evidence path_launches{Evidence::List{}};
};

Verdict passed(std::string reason, Evidence = {});
Verdict failed(std::string reason, Evidence = {});
Verdict with(Outcome, std::string reason);

}  // namespace w4
