// SPDX-License-Identifier: Apache-2.0
// A kernel in this process that computes nothing: y is filled by a rule that looks at no weight. It
// plans, binds and declines as a sound kernel does.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "harness/check.hpp"

namespace w4 {

class Echo : public KernelPort {
 public:
  // The word that output i of a call gets; `poison` is what the buffer held.
  using Word = std::uint32_t (*)(const w4_problem&, const CallBytes&, std::int64_t i,
                                 std::uint32_t poison);

  Echo(Word word, std::string path, std::string contract)
      : word_(word), path_(std::move(path)), contract_(std::move(contract)) {}

  const std::string& kernel() const override { return path_; }
  const PluginInfo& plugin() const override { return info_; }

  using KernelPort::plan;
  Plan plan(const AbiProblem& a, Reply* reply) override {
    if (reply != nullptr) *reply = {};
    Plan plan;
    plan.path = path_, plan.contract = contract_;
    plan.claims = W4_REPEATABLE | W4_BATCH_INVARIANT | W4_ROW_LOCAL | W4_CONCURRENT;
    if (!is_sound(a)) plan.status = W4_BAD_ARGUMENT, plan.reason = "it contradicts itself";
    return plan;
  }

  Reply bind(const AbiProblem& a, const WeightBytes& w, const CallOptions&) override {
    if (handed_over) handed_over(a, w, {});
    bound_ = a.p;
    return {};
  }

  Reply run(const AbiProblem& a, const CallBytes& c, const CallOptions& o) override {
    ++calls_;
    if (handed_over) handed_over(a, {}, c);
    Reply reply;
    if (!is_sound(a)) reply.status = W4_BAD_ARGUMENT;
    // What is declined may have no size.
    const auto& p = reply.status == W4_OK ? a.p : bound_;
    const std::size_t size = p.y_type == W4_F32 || p.y_type == W4_S32 ? 4 : 2;
    const std::int64_t rows = p.m > 0 ? p.m : 1;
    reply.y.assign(static_cast<std::size_t>((rows - 1) * p.y_stride + p.n) * size,
                   static_cast<std::byte>(o.poison));
    if (reply.status != W4_OK) return reply;
    reply.ran = path_;
    const std::uint32_t poison = o.poison * 0x01010101u;
    for (std::int64_t i = 0; i < p.m * p.n; ++i) {
      const std::uint32_t word = word_(p, c, i, poison);
      std::memcpy(reply.y.data() + static_cast<std::size_t>(i / p.n * p.y_stride + i % p.n) * size,
                  &word, size);
    }
    return reply;
  }

  FloatState clean_state() const override { return {}; }
  int calls() const override { return calls_; }
  int deaths() const override { return 0; }

  // Told of all that it is given, where that is wanted.
  std::function<void(const AbiProblem&, const WeightBytes&, const CallBytes&)> handed_over;

 private:
  static bool is_sound(const AbiProblem& a) {
    const auto& p = a.p;
    const auto is_type = [](std::uint32_t t) { return t >= W4_F32 && t <= W4_S32; };
    return p.m >= 0 && p.n > 0 && p.k > 0 && p.group > 0 && p.groups > 0 && p.x_stride >= p.k &&
           p.y_stride >= p.n && p.zero >= W4_ZERO_SIGNED && p.zero <= W4_ZERO_ADD_8 &&
           is_type(p.x_type) && is_type(p.mul_type) && is_type(p.y_type) && is_type(p.scale_type) &&
           ((p.flags & W4_ACT_ORDER) != 0 || p.groups * p.group >= p.k) &&
           (p.flags & ~std::uint32_t{W4_ACT_ORDER | W4_HAS_BIAS}) == 0 &&
           find_layout(a.layout).has_value();
  }

  Word word_;
  std::string path_, contract_;
  PluginInfo info_;
  w4_problem bound_{};
  int calls_{};
};

}  // namespace w4
