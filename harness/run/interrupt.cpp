// SPDX-License-Identifier: Apache-2.0
// When the first signal came, noted by a handler.
#include "harness/run/interrupt.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace w4 {

namespace {
constexpr std::int64_t same_signal_ms = 200;
std::atomic<std::int64_t> first_ms{0};  // when the first signal came; 0: none yet
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// The second signal ends the program as it always would, if it is a second one: timeout(1) sends
// its signal to the process and to the group, and so twice.
void note_signal(int signal) {
  std::int64_t first = 0;
  const std::int64_t now = now_ms();
  if (first_ms.compare_exchange_strong(first, now) || now - first < same_signal_ms) return;
  std::signal(signal, SIG_DFL);
  raise(signal);
}
}  // namespace

void watch_signals() {
  struct sigaction noted {};
  noted.sa_handler = note_signal;
  noted.sa_flags = SA_RESTART;
  sigaction(SIGINT, &noted, nullptr);
  sigaction(SIGTERM, &noted, nullptr);
}

void ignore_closed_pipes() {
  std::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() {
  return first_ms != 0;
}

}  // namespace w4
