// SPDX-License-Identifier: Apache-2.0
#include "harness/bundle/recorder.hpp"

#include <algorithm>
#include <cstring>

#include "harness/fixture/tensors.hpp"
#include "reference/error.hpp"
#include "reference/fast/multiply.hpp"

namespace w4 {
namespace {

// The product over those k alone where some row of x is not +0: one-hot rows leave few. Zero times
// a weight that is no number would be lost, so a matrix with such weights is kept whole.
void keep_used(Activations& x, QuantizedMatrix& w) {
  std::vector<std::int64_t> used;
  for (std::int64_t k = 0; k < x.k; ++k)
    for (std::int64_t m = 0; m < x.m; ++m)
      if (x.words[static_cast<std::size_t>(m * x.k + k)] != 0) {
        used.push_back(k);
        break;
      }
  if (used.empty()) used.push_back(0);
  if (2 * used.size() > static_cast<std::size_t>(x.k)) return;
  const auto unusable = [&](std::uint32_t word) {
    return is_nan(w.scale_type, word) || is_inf(w.scale_type, word);
  };
  const bool whole = w.g_idx.empty() && std::any_of(w.scales.begin(), w.scales.end(), unusable);
  if (whole) return;
  const auto count = static_cast<std::int64_t>(used.size());
  const auto x_groups = x.scale.empty() ? 0 : (x.k + x.group - 1) / x.group;
  Activations less;
  less.type = x.type, less.m = x.m, less.k = count, less.group = 1;
  for (std::int64_t m = 0; m < x.m; ++m)
    for (const auto k : used) {
      less.words.push_back(x.words[static_cast<std::size_t>(m * x.k + k)]);
      if (!x.scale.empty())
        less.scale.push_back(x.scale[static_cast<std::size_t>(m * x_groups + k / x.group)]);
    }
  std::vector<std::uint8_t> codes;
  std::vector<std::int32_t> g_idx;
  for (const auto k : used) {
    g_idx.push_back(static_cast<std::int32_t>(w.group_of(k)));
    codes.insert(codes.end(), w.codes.begin() + k * w.n, w.codes.begin() + (k + 1) * w.n);
  }
  w.k = w.group = count;
  w.codes = std::move(codes), w.g_idx = std::move(g_idx);
  x = std::move(less);
}

}  // namespace

std::vector<std::uint32_t> right_words(const Problem& p, const WeightBytes& weights,
                                       const CallBytes& call, Dequant dequant) {
  auto matrix = matrix_from(p, weights);
  auto x = activations_from(p, call);
  keep_used(x, matrix);
  return fast::multiply(x, matrix, dequant, p.mul, p.y);
}

Recorder::Recorder(std::string kernel, BundlePlans plans, std::function<void()> before_call)
    : kernel_(std::move(kernel)), plans_(std::move(plans)), before_call_(std::move(before_call)) {}

void Recorder::begin(const Problem& p) {
  problem_ = p;
  calls_of_check_.clear();
}

std::vector<RecordedCall> Recorder::take() {
  return std::move(calls_of_check_);
}

Plan Recorder::plan(const AbiProblem& p, Reply* reply) {
  if (reply) *reply = {};
  return plans_.plan(p);
}

Reply Recorder::bind(const AbiProblem& p, const WeightBytes& weights, const CallOptions&) {
  weights_ = std::make_shared<WeightBytes>(weights);
  weights_key_ = w4::weights_key(p, weights);
  counter_.bind(weights_key_);
  return {};
}

Reply Recorder::run(const AbiProblem& abi, const CallBytes& call, const CallOptions& options) {
  require(weights_ != nullptr, "bind() before run()");
  before_call_();
  ++calls_;
  Problem p = problem_;
  p.m = abi.p.m;
  calls_of_check_.push_back(
      {counter_.next(abi, call, options.poison), p, weights_, weights_key_, call, options.poison});
  Reply reply;
  const auto size = static_cast<std::size_t>(bits_of(p.y) / 8);
  reply.y.resize(static_cast<std::size_t>(p.m * p.n) * size);
  // Repeats of a call are asked by the hundred.
  if (Asked now{p, weights_, call}; now != asked_) {
    asked_ = std::move(now);
    words_ = right_words(p, *weights_, call, Dequant::d5);
  }
  for (std::size_t i = 0; i < words_.size(); ++i)
    std::memcpy(reply.y.data() + i * size, &words_[i], size);
  return reply;
}

}  // namespace w4
