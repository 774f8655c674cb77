// SPDX-License-Identifier: Apache-2.0
// Kernels that harm the process they run in: its end, its time, its descriptors, children, threads
// and state.
#include <cfenv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "kernels/hostile/misdeeds.hpp"

namespace w4 {
namespace {

volatile unsigned spun{};

[[noreturn]] void spin() {
  for (;;) spun = spun + 1;
}

void sleep_for(time_t seconds) {
  timespec left{seconds, 0};
  while (nanosleep(&left, &left) != 0) {
  }
}

void loop_forever(w4_call&) {
  spin();
}
void exit_at_once(w4_call&) {
  _exit(0);
}
void exit_in_order(w4_call&) {
  std::exit(0);
}
void abort_run(w4_call&) {
  std::abort();
}
void stop_itself(w4_call&) {
  std::raise(SIGSTOP);
}
void raise_sigterm(w4_call&) {
  std::raise(SIGTERM);
}
void sleep_three_seconds(w4_call&) {
  sleep_for(3);
}
void throw_out(w4_call&) {
  throw std::runtime_error("hostile.throws: thrown out of run()");
}

void flood_stdout(w4_call&) {
  static char page[65536];
  std::memset(page, 'f', sizeof page);
  for (int i = 0; i < 1024; ++i) {
    if (write(STDOUT_FILENO, page, sizeof page) <= 0) return;
  }
}

void print_line(w4_call&) {
  std::printf("hostile.prints_line was here\n");
  std::fflush(stdout);
}

void close_descriptors(w4_call&) {
  for (int fd = 0; fd < 1024; ++fd) close(fd);
}

void leave_child(w4_call&) {
  if (fork() != 0) return;
  sleep_for(600);
  _exit(0);
}

// Its own session, and orphaned: neither the process group nor the parent finds it.
void leave_grandchild(w4_call&) {
  const pid_t child = fork();
  if (child > 0) waitpid(child, nullptr, 0);
  if (child != 0) return;
  setsid();
  if (fork() != 0) _exit(0);
  sleep_for(600);
  _exit(0);
}

// pthread and not std::thread, whose template would be one more exported symbol.
void leave_thread(w4_call&) {
  pthread_t thread{};
  const auto spin_in_thread = [](void*) -> void* { spin(); };
  if (pthread_create(&thread, nullptr, spin_in_thread, nullptr) == 0) pthread_detach(thread);
}

void leave_flush_to_zero(w4_call&) {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040u);  // FTZ, DAZ
#elif defined(__aarch64__)
  std::uint64_t control{};
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  control |= std::uint64_t{1} << 24;  // FZ
  __asm__ volatile("msr fpcr, %0" ::"r"(control));
#endif
}

void leave_rounding(w4_call&) {
  std::fesetround(FE_UPWARD);
}

constexpr Misdeed rows[] = {
    {.name = "hostile.loop_forever", .before = loop_forever},
    {.name = "hostile.exit0", .before = exit_at_once},
    {.name = "hostile.exit0_atexit", .before = exit_in_order},
    {.name = "hostile.aborts", .before = abort_run},
    {.name = "hostile.raises_sigterm", .before = raise_sigterm},
    {.name = "hostile.stops_itself", .before = stop_itself},
    {.name = "hostile.throws", .before = throw_out},
    {.name = "hostile.sleeps", .before = sleep_three_seconds},
    {.name = "hostile.floods_stdout", .before = flood_stdout},
    {.name = "hostile.prints_line", .before = print_line},
    {.name = "hostile.closes_descriptors", .before = close_descriptors},
    {.name = "hostile.leaves_child", .before = leave_child},
    {.name = "hostile.leaves_grandchild", .before = leave_grandchild},
    {.name = "hostile.thread_left", .before = leave_thread},
    {.name = "hostile.leaves_ftz", .after = leave_flush_to_zero},
    {.name = "hostile.leaves_rounding", .after = leave_rounding},
};

}  // namespace

std::span<const Misdeed> process_misdeeds() {
  return rows;
}

}  // namespace w4
