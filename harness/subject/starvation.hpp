// SPDX-License-Identifier: Apache-2.0
// How long a worker was ready to run and had no processor: a time limit must not count that, or a
// busy machine turns healthy kernels red.
#pragma once

#include <map>

#include <sys/types.h>

namespace w4 {

class Starvation {
 public:
  // Counts from now on, for the threads of the warden's only child.
  explicit Starvation(pid_t warden);
  // The most that one thread has waited since; 0 where the kernel keeps no such count
  // (/proc/PID/task/TID/schedstat).
  double seconds() const;

 private:
  pid_t warden_;
  std::map<pid_t, double> before_;
};

}  // namespace w4
