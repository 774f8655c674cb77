// SPDX-License-Identifier: Apache-2.0
// One line on a terminal that says what runs, how many of how many, and how long is left; nothing
// elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace w4 {

bool colour_wanted();  // stdout is a terminal and NO_COLOR is not set

class Progress {
 public:
  Progress();   // looks whether stderr is a terminal
  ~Progress();  // clears the line
  void show(std::size_t done, std::size_t total, const std::string& what);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool on_terminal_{}, shown_{};
  Clock::time_point start_, last_;
};

// "120 of 412 cases   cpu.simd   about 12 s left"
std::string progress_line(std::size_t done, std::size_t total, const std::string& what,
                          double elapsed_s);

}  // namespace w4
