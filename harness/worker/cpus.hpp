// SPDX-License-Identifier: Apache-2.0
// Narrows this process, threads that a plugin has started included, to one CPU for the time of a
// call.
#pragma once

#include <sched.h>

namespace w4 {

class OneCpu {
 public:
  explicit OneCpu(bool wanted);
  ~OneCpu();
  OneCpu(const OneCpu&) = delete;
  OneCpu& operator=(const OneCpu&) = delete;

 private:
  bool narrowed_{};
  cpu_set_t before_{};
};

}  // namespace w4
