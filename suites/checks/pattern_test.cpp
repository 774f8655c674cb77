// SPDX-License-Identifier: Apache-2.0
// Wrong address maps and the sentence that each becomes.
#include "harness/checks/pattern.hpp"

#include <functional>

#include <catch2/catch_test_macros.hpp>

#include "harness/checks/data.hpp"
#include "suites/support/context.hpp"

namespace {

using namespace w4;

std::string kind(const Finding& f) {
  return std::get<std::string>(std::get<Evidence::Object>(f.evidence.value).front().second.value);
}

// Every (k, n) reads source(k, n), a flat index; those that are not due are explained.
Finding explain(const std::string& line, bool by_group,
                const std::function<std::int64_t(std::int64_t, std::int64_t)>& source) {
  const LooseContext c(line);
  const auto& p = c.problem;
  const auto matrix = neutral_matrix(c.context);
  std::vector<Wrong> wrong;
  for (std::int64_t k = 0; k < p.k; ++k)
    for (std::int64_t n = 0; n < p.n; ++n) {
      const auto due = (by_group ? matrix.group_of(k) : k) * p.n + n;
      const auto got = source(k, n);
      if (got != due) wrong.push_back({k, n, due, got});
    }
  REQUIRE_FALSE(wrong.empty());
  const Probed probed{by_group ? "scales" : "codes", by_group ? p.groups : p.k, p.n, by_group};
  return explain_addresses(probed, wrong, *find_layout(p.layout), matrix, p.k);
}

}  // namespace

TEST_CASE("one reversed word is a permutation with its site") {
  const auto f = explain("m=1 n=32 k=64 layout=gptq_v1", false, [](std::int64_t k, std::int64_t n) {
    if (n == 17 && k / 8 == 3) k = 24 + (7 - k % 8);
    return k * 32 + n;
  });
  CHECK(kind(f) == "permutation");
  CHECK(f.what.find("reverse order (7 6 5 4 3 2 1 0)") != std::string::npos);
  CHECK(f.where.find("k 24..31 of column 17") != std::string::npos);
}

TEST_CASE("the article's order for its inverse is a permutation of every word") {
  const int order[] = {0, 2, 4, 6, 1, 3, 5, 7};
  const auto f =
      explain("m=1 n=4 k=64 layout=kpack:02461357", false, [&](std::int64_t k, std::int64_t n) {
        // Element e is taken from nibble order[e], which holds element order[order[e]].
        return (k / 8 * 8 + order[order[k % 8]]) * 4 + n;
      });
  CHECK(kind(f) == "permutation");
  CHECK(f.where.find("and 31 others") != std::string::npos);
}

TEST_CASE("group index off by one") {
  const auto f = explain("m=1 n=4 k=128 g=32", true, [](std::int64_t k, std::int64_t n) {
    return std::max<std::int64_t>(0, k / 32 - 1) * 4 + n;
  });
  CHECK(kind(f) == "offset");
  CHECK(f.what.find("off by one") != std::string::npos);
}

TEST_CASE("first group for the whole tile") {
  const auto f = explain("m=1 n=4 k=512 g=32", true,
                         [](std::int64_t k, std::int64_t n) { return k / 128 * 128 / 32 * 4 + n; });
  CHECK(kind(f) == "tile_group");
  CHECK(f.what.find("128 k") != std::string::npos);
}

TEST_CASE("g_idx ignored") {
  const auto f = explain("m=1 n=4 k=128 g=32 order=perm", true,
                         [](std::int64_t k, std::int64_t n) { return k / 32 * 4 + n; });
  CHECK(kind(f) == "g_idx_ignored");
}

TEST_CASE("a dropped tail is said with its length") {
  const auto f = explain("m=1 n=4 k=100", false, [](std::int64_t k, std::int64_t n) {
    return k >= 96 ? from_nothing : k * 4 + n;
  });
  CHECK(kind(f) == "dropped");
  CHECK(f.what == "the last 4 of k are dropped from the sum");
}

TEST_CASE("unwritten columns") {
  const auto f = explain("m=1 n=20 k=32", false, [](std::int64_t k, std::int64_t n) {
    return n >= 16 ? not_written : k * 20 + n;
  });
  CHECK(kind(f) == "not_written");
  CHECK(f.where.find("16..19") != std::string::npos);
}

TEST_CASE("swapped columns are a column map") {
  const auto f = explain("m=1 n=4 k=64 g=32", true,
                         [](std::int64_t k, std::int64_t n) { return k / 32 * 4 + (n ^ 1); });
  CHECK(kind(f) == "columns");
}

TEST_CASE("rubbish is said to be rubbish") {
  const auto f = explain("m=1 n=4 k=64", false, [](std::int64_t k, std::int64_t n) {
    return k == 5 ? no_address : k * 4 + n;
  });
  CHECK(kind(f) == "no_address");
}
