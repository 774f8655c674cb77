// SPDX-License-Identifier: Apache-2.0
// Writes over one terminal line, at most ten times a second.
#include "harness/report/progress.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "harness/printable.hpp"

namespace w4 {

bool colour_wanted() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
}

std::string progress_line(std::size_t done, std::size_t total, const std::string& what,
                          double elapsed_s) {
  std::string line = std::to_string(done) + " of " + std::to_string(total) + " cases   " +
                     printable(what, whole_text);
  if (done == 0 || elapsed_s < 1) return line;
  const double left = elapsed_s * static_cast<double>(total - done) / static_cast<double>(done);
  return line + "   about " + std::to_string(std::lround(std::ceil(left))) + " s left";
}

Progress::Progress()
    : on_terminal_(isatty(STDERR_FILENO) != 0), start_(Clock::now()), last_(start_) {}

Progress::~Progress() {
  clear();
}

void Progress::show(std::size_t done, std::size_t total, const std::string& what) {
  const auto now = Clock::now();
  if (!on_terminal_ || (shown_ && now - last_ < std::chrono::milliseconds(100))) return;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  std::fprintf(stderr, "\r\x1b[K%s", progress_line(done, total, what, elapsed).c_str());
  std::fflush(stderr);
  last_ = now;
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace w4
