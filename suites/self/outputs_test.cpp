// SPDX-License-Identifier: Apache-2.0
// Not one output is beyond the reach of a check: a healthy kernel with output i changed, and
// nothing else, is red for every i. And a check whose outputs all say nothing is vacuous.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "harness/checks/compare.hpp"
#include "harness/checks/data.hpp"
#include "suites/support/judge.hpp"

namespace {

using namespace w4;

// A kernel whose answers are edited on their way to the judge.
class Edited final : public KernelPort {
 public:
  using Edit = std::function<void(const w4_problem&, std::vector<std::byte>& y)>;
  Edited(KernelPort& inner, Edit edit) : inner_(inner), edit_(std::move(edit)) {}

  const std::string& kernel() const override { return inner_.kernel(); }
  const PluginInfo& plugin() const override { return inner_.plugin(); }
  Plan plan(const AbiProblem& p, Reply* reply) override { return inner_.plan(p, reply); }
  Reply bind(const AbiProblem& p, const WeightBytes& w, const CallOptions& o) override {
    return inner_.bind(p, w, o);
  }
  Reply run(const AbiProblem& p, const CallBytes& c, const CallOptions& o) override {
    Reply reply = inner_.run(p, c, o);
    if (p.p.m > 0) edit_(p.p, reply.y);
    return reply;
  }
  FloatState clean_state() const override { return inner_.clean_state(); }
  int calls() const override { return inner_.calls(); }
  int deaths() const override { return inner_.deaths(); }

 private:
  KernelPort& inner_;
  Edit edit_;
};

class Healthy {
 public:
  explicit Healthy(const std::string& line)
      : problem_(parse_problem(line)),
        subject_(inspect_plugin(plugin_path("mutants")), "mutant.none", {}),
        plan_(subject_.plan(problem_)) {}
  Verdict judge(std::string_view check, Edited::Edit edit,
                std::shared_ptr<const LayerData> layer = nullptr) {
    Edited edited(subject_, std::move(edit));
    return check_named(check).run(edited, CaseContext{problem_, std::move(layer), plan_});
  }
  const Problem& problem() const { return problem_; }

 private:
  Problem problem_;
  Subject subject_;
  Plan plan_;
};

std::size_t word_bytes(const w4_problem& p) {
  return p.y_type == W4_F32 ? 4 : 2;
}

// The word at (row, column) of y, by `change`.
template <typename Change>
Edited::Edit at(std::int64_t row, std::int64_t column, Change change) {
  return [=](const w4_problem& p, std::vector<std::byte>& y) {
    if (row >= p.m || column >= p.n) return;
    const std::size_t size = word_bytes(p);
    auto* place = y.data() + static_cast<std::size_t>(row * p.y_stride + column) * size;
    std::uint32_t word = 0;
    std::memcpy(&word, place, size);
    word = change(word);
    std::memcpy(place, &word, size);
  };
}

// Two words further from zero; a number stays a number.
std::uint32_t two_words_off(std::uint32_t word) {
  return word + 2;
}

constexpr const char* judged_word_by_word[] = {"address.code",  "address.scale",  "address.zero",
                                               "address.x",     "value.table",    "exact.zero",
                                               "exact.onehot",  "exact.dense24",  "exact.stride11",
                                               "exact.block11", "exact.samesign", "exact.special"};

constexpr char small[] = "m=3 n=5 k=24 g=8 zero=code";

}  // namespace

TEST_CASE("a rubbish word at output i is seen by every check that judges words, for every i") {
  Healthy healthy(small);
  for (const auto* check : judged_word_by_word) {
    CHECK(healthy.judge(check, [](const w4_problem&, std::vector<std::byte>&) {}).outcome ==
          Outcome::pass);
    for (std::int64_t m = 0; m < 3; ++m)
      for (std::int64_t n = 0; n < 5; ++n) {
        INFO(check << " y[" << m << "," << n << "]");
        CHECK(healthy.judge(check, at(m, n, [](std::uint32_t) { return 0x1235u; })).outcome ==
              Outcome::fail);
      }
  }
}

TEST_CASE("one bit of output i is seen by the exact checks, for every i and every type of y") {
  for (const auto* y : {"f16", "bf16", "f32"}) {
    Healthy healthy(std::string(small) + " y=" + y);
    for (const auto* check : {"exact.zero", "exact.dense24", "exact.stride11", "exact.block11"})
      for (std::int64_t m = 0; m < 3; ++m)
        for (std::int64_t n = 0; n < 5; ++n) {
          INFO(check << " " << y << " y[" << m << "," << n << "]");
          CHECK(healthy.judge(check, at(m, n, [](std::uint32_t w) { return w ^ 1u; })).outcome ==
                Outcome::fail);
        }
  }
}

TEST_CASE("NaN, and a word that was never written, are seen at every output") {
  Healthy healthy(small);
  for (const std::uint32_t word : {0x7e00u, 0xffffu})
    for (std::int64_t m = 0; m < 3; ++m)
      for (std::int64_t n = 0; n < 5; ++n) {
        INFO("y[" << m << "," << n << "]");
        CHECK(healthy.judge("exact.dense24", at(m, n, [word](std::uint32_t) { return word; }))
                  .outcome == Outcome::fail);
      }
}

TEST_CASE("one bit of output i is seen where an order is declared, for every i") {
  Healthy healthy(small);
  CHECK(healthy.judge("contract.bits", [](const w4_problem&, std::vector<std::byte>&) {}).outcome ==
        Outcome::pass);
  for (std::int64_t m = 0; m < 3; ++m)
    for (std::int64_t n = 0; n < 5; ++n) {
      INFO("y[" << m << "," << n << "]");
      CHECK(healthy.judge("contract.bits", at(m, n, [](std::uint32_t w) { return w ^ 1u; }))
                .outcome == Outcome::fail);
    }
}

// A NaN at output i brings its interval to light; the ends of it pass, the words beside them do
// not.
TEST_CASE("an interval of bound.* holds what it says and not one word more, for every i") {
  for (const auto* y : {"f16", "f32"}) {
    Healthy healthy(std::string("m=3 n=5 k=24 g=8 zero=code y=") + y);
    for (const auto* check : {"bound.d", "bound.r"})
      for (std::int64_t m = 0; m < 3; ++m)
        for (std::int64_t n = 0; n < 5; ++n) {
          const auto with_word = [&](std::uint32_t word) {
            return healthy.judge(check, [=](const w4_problem& p, std::vector<std::byte>& bytes) {
              if (p.m == 3) at(m, n, [word](std::uint32_t) { return word; })(p, bytes);
            });
          };
          const auto shown = with_word(y == std::string("f16") ? 0x7e00u : 0x7fc00000u);
          REQUIRE(shown.worst.has_value());
          const auto lo = shown.worst->want_lo_bits, hi = shown.worst->want_hi_bits;
          const bool negative = (lo >> (y == std::string("f16") ? 15 : 31)) != 0;
          INFO(check << " " << y << " y[" << m << "," << n << "] " << lo << ".." << hi);
          CHECK(with_word(lo).outcome == Outcome::pass);
          CHECK(with_word(hi).outcome == Outcome::pass);
          CHECK(with_word(negative ? lo + 1 : lo - 1).outcome == Outcome::fail);
          CHECK(with_word(negative ? hi - 1 : hi + 1).outcome == Outcome::fail);
        }
  }
}

TEST_CASE("intervals are tight: two words beside a right 16-bit output is outside, for every i") {
  Healthy healthy("m=3 n=5 k=8 g=8 zero=code");
  for (const auto* check : {"bound.d", "bound.r"}) {
    CHECK(healthy.judge(check, [](const w4_problem&, std::vector<std::byte>&) {}).outcome ==
          Outcome::pass);
    for (std::int64_t m = 0; m < 3; ++m)
      for (std::int64_t n = 0; n < 5; ++n) {
        INFO(check << " y[" << m << "," << n << "]");
        // Only the call with all rows is bounded; one-hot rows before it tell the form.
        const auto edit = [=](const w4_problem& p, std::vector<std::byte>& y) {
          if (p.m == 3) at(m, n, two_words_off)(p, y);
        };
        CHECK(healthy.judge(check, edit).outcome == Outcome::fail);
      }
  }
}

TEST_CASE("a row of NaN that leaves none in its own row proves nothing, and is vacuous") {
  Healthy healthy(small);
  const auto zeros = [](const w4_problem&, std::vector<std::byte>& y) {
    std::fill(y.begin(), y.end(), std::byte{0});
  };
  CHECK(healthy.judge("effect.rowlocal", zeros).outcome == Outcome::vacuous);
}

TEST_CASE("a layer whose weights are all 0 cannot show a decoding fault, and is vacuous") {
  Healthy healthy(small);
  const auto& p = healthy.problem();
  auto layer = std::make_shared<LayerData>();
  layer->matrix = neutral_matrix({p, nullptr, {}});
  layer->stored = pack(*find_layout(p.layout), layer->matrix);
  const auto as_it_is = [](const w4_problem&, std::vector<std::byte>&) {};
  CHECK(healthy.judge("exact.onehot", as_it_is, layer).outcome == Outcome::vacuous);
}

TEST_CASE("sums that are all expected to be 0 are vacuous, but for the check that is about zeros") {
  Healthy healthy(small);
  const auto& p = healthy.problem();
  const ExactOperands operands{neutral_matrix({p, nullptr, {}}), zero_rows(p, p.m)};
  const std::vector<std::uint32_t> words(static_cast<std::size_t>(p.m * p.n));
  CHECK(compare_exact(p, operands, words).outcome == Outcome::vacuous);
  const auto as_it_is = [](const w4_problem&, std::vector<std::byte>&) {};
  CHECK(healthy.judge("exact.zero", as_it_is).outcome == Outcome::pass);
}
