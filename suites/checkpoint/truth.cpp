// SPDX-License-Identifier: Apache-2.0
#include "suites/checkpoint/truth.hpp"

#include "harness/fixture/hdf5_read.hpp"

namespace w4 {

Truth read_truth(const std::string& path) {
  const Hdf5Reader file(path);
  Truth t;
  auto codes = file.bytes("codes");
  t.k = codes.shape.at(0);
  t.n = codes.shape.at(1);
  t.codes = std::move(codes.values);
  auto scales = file.floats("scales");
  t.groups = scales.shape.at(0);
  t.scales = std::move(scales.values);
  t.zeros = file.floats("zeros").values;
  t.g_idx = file.integers("g_idx").values;
  if (file.has("scaled_zeros")) t.added = file.floats("scaled_zeros").values;
  if (file.has("dequant")) t.dequant = file.floats("dequant").values;
  return t;
}

}  // namespace w4
