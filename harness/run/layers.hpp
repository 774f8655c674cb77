// SPDX-License-Identifier: Apache-2.0
// Real layers as problems: opens checkpoints once and fills the matrix keys of a `data=layer:` line
// from what they hold.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "harness/check.hpp"
#include "harness/checkpoint/checkpoint.hpp"
#include "reference/error.hpp"
#include "reference/problem.hpp"

namespace w4 {

// An Error that already says `path: step: cause` of the checkpoint.
class LayerError : public Error {
 public:
  using Error::Error;
};

struct ResolvedLayer {
  Problem problem;
  std::shared_ptr<const LayerData> data;
  std::string prefix, about;
};

class LayerStore {
 public:
  using Warn = std::function<void(const std::string& line)>;  // `path: prefix: what`
  explicit LayerStore(Warn warn) : warn_(std::move(warn)) {}

  void warn(const std::string& line);  // each line is passed on once

  std::vector<std::string> prefixes(const std::string& path);
  // The line of --layer: x, y and what is multiplied have the type of the layer's scales.
  Line line_for(const std::string& path, const std::string& prefix, V1Zeros reader, std::int64_t m);

  // The line must have data=layer:. Matrix keys (n k g groups zero layout scale ztype s2 order
  // bias) come from the layer; where they are written they must agree with it, and so must the
  // hash. LayerError for the checkpoint's own faults, Error (the cause only) for the line's.
  ResolvedLayer resolve(const Line&);

 private:
  const Checkpoint& checkpoint(const std::string& path);
  const Layer& layer(const std::string& path, const std::string& prefix, V1Zeros reader);
  std::shared_ptr<const LayerData> data(const Layer&, const std::string& key, const Problem&);

  Warn warn_;
  std::set<std::string> warned_;
  std::map<std::string, Checkpoint> checkpoints_;
  std::map<std::tuple<std::string, std::string, V1Zeros>, Layer> layers_;
  std::map<std::string, std::shared_ptr<const LayerData>> data_;
};

}  // namespace w4
