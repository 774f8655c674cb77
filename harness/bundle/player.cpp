// SPDX-License-Identifier: Apache-2.0
#include "harness/bundle/player.hpp"

#include "harness/bundle/file.hpp"
#include "harness/checks/rig.hpp"

namespace w4 {

Plan Player::plan(const AbiProblem& p, Reply* reply) {
  if (reply) *reply = {};
  return bundle_->plans.plan(p);
}

Reply Player::bind(const AbiProblem& p, const WeightBytes& weights, const CallOptions&) {
  counter_.bind(weights_key(p, weights));
  return {};
}

Reply Player::run(const AbiProblem& p, const CallBytes& call, const CallOptions& options) {
  ++calls_;
  const auto at = bundle_->by_key.find(counter_.next(p, call, options.poison));
  if (at == bundle_->by_key.end())
    throw CaseOver{
        with(Outcome::not_run, "the bundle does not hold a call that this check makes: " +
                                   bundle_->generator + " made the file")};
  const BundleCase& c = bundle_->cases[at->second];
  if (!c.y_fault.empty()) {
    auto verdict = failed(c.y_fault, Evidence::Object{{"kind", c.fault_kind}, {"case", c.name}});
    throw CaseOver{std::move(verdict)};
  }
  const auto bytes = array_of(bundle_->file, c.name + "/y").bytes();
  Reply reply;
  reply.y.assign(bytes.begin(), bytes.end());
  return reply;
}

}  // namespace w4
