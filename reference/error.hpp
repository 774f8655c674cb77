// SPDX-License-Identifier: Apache-2.0
// The one exception type: bad input (usage: exit 2) or a broken precondition of our own (internal:
// exit 3).
#pragma once

#include <stdexcept>
#include <string>

namespace w4 {

enum class Blame { input, internal };

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what, Blame blame = Blame::input)
      : std::runtime_error(what), blame_(blame) {}
  Blame blame() const { return blame_; }

 private:
  Blame blame_;
};

// `path: step: cause`, the one line that a person sees.
[[noreturn]] void fail_input(const std::string& path, const std::string& step,
                             const std::string& cause);
void require(bool condition, const char* what, const char* file = __builtin_FILE(),
             int line = __builtin_LINE());

}  // namespace w4
