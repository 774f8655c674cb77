// SPDX-License-Identifier: Apache-2.0
#include "reference/error.hpp"

namespace w4 {

void fail_input(const std::string& path, const std::string& step, const std::string& cause) {
  throw Error(path + ": " + step + ": " + cause);
}

void require(bool condition, const char* what, const char* file, int line) {
  if (condition) return;
  throw Error(std::string(file) + ":" + std::to_string(line) + ": " + what, Blame::internal);
}

}  // namespace w4
