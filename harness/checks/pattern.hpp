// SPDX-License-Identifier: Apache-2.0
// From a wrong address map to a sentence: which regular fault would produce it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/verdict.hpp"
#include "reference/layout/layout.hpp"

namespace w4 {

// Where a probed output came from. `due` is the flat index that should feed (k, n), `got` the one
// that does, or one of the two below.
constexpr std::int64_t from_nothing = -1;  // the output does not depend on any probed value
constexpr std::int64_t no_address =
    -2;  // the output is no single probed value (sums, NaN, rubbish)
constexpr std::int64_t not_written = -3;  // the poison is still there

struct Wrong {
  std::int64_t k{}, n{};
  std::int64_t due{}, got{};
};

// What is probed: the rows x columns that the flat indices run over, and how one of them is named.
struct Probed {
  std::string tensor;  // "codes", "scales", "zeros"
  std::int64_t rows{}, cols{};
  bool by_group{};  // rows are groups, not k
};

struct Finding {
  std::string what, where, why;
  Evidence evidence;
};

// `wrong` is not empty, in (k, n) order; `probed_rows` is how many k were looked at; layout names
// words and nibbles for codes. `g_idx` (may be empty) and `group` explain groups.
Finding explain_addresses(const Probed&, std::span<const Wrong>, const Layout&,
                          const QuantizedMatrix&, std::int64_t probed_rows);

}  // namespace w4
