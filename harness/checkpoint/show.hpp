// SPDX-License-Identifier: Apache-2.0
// What `layer show` says: a table of layers, why each format was taken, and the codes of a single
// layer.
#pragma once

#include <string>
#include <vector>

#include "harness/checkpoint/checkpoint.hpp"

namespace w4 {

struct LayerReport {
  std::string text;                   // for stdout; ends with a newline
  std::vector<std::string> warnings;  // `path: prefix: what`, for `warning: ` lines
  std::vector<std::string>
      errors;  // `path: step: cause`: layers that are listed but cannot be read
};

// prefix "": every quantised layer. Throws Error(input) where no layer can be read: the first one's
// line.
LayerReport show_layers(const Checkpoint&, const std::string& prefix, V1Zeros reader);

// The lines of warnings of a layer, with its checkpoint's path and its prefix; those of the
// checkpoint itself.
std::vector<std::string> warning_lines(const Checkpoint&, const Layer&);
std::vector<std::string> warning_lines(const Checkpoint&);

}  // namespace w4
