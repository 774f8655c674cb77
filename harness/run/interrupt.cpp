// SPDX-License-Identifier: Apache-2.0
// One flag, set by a signal handler.
#include "harness/run/interrupt.hpp"

#include <atomic>
#include <csignal>

namespace w4 {

namespace {
std::atomic<bool> flag{false};
static_assert(std::atomic<bool>::is_always_lock_free);
void raise_flag(int) {
  flag.store(true);
}
}  // namespace

void watch_signals() {
  struct sigaction once {};
  once.sa_handler = raise_flag;
  once.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &once, nullptr);
  sigaction(SIGTERM, &once, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() {
  return flag.load();
}

}  // namespace w4
