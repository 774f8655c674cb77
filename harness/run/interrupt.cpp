// SPDX-License-Identifier: Apache-2.0
// One flag, set by a signal handler.
#include "harness/run/interrupt.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace w4 {

namespace {
constexpr std::int64_t same_signal_ms = 200;
std::atomic<bool> flag{false};
static_assert(std::atomic<bool>::is_always_lock_free);
volatile std::int64_t raised_at_ms{};

std::int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// The second signal ends the program as it always would, if it is a second one: timeout(1) sends
// its signal to the process and to the group, and so twice.
void raise_flag(int signal) {
  if (!flag.exchange(true)) {
    raised_at_ms = now_ms();
    return;
  }
  if (now_ms() - raised_at_ms < same_signal_ms) return;
  std::signal(signal, SIG_DFL);
  raise(signal);
}
}  // namespace

void watch_signals() {
  struct sigaction noted {};
  noted.sa_handler = raise_flag;
  noted.sa_flags = SA_RESTART;
  sigaction(SIGINT, &noted, nullptr);
  sigaction(SIGTERM, &noted, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() {
  return flag.load();
}

}  // namespace w4
