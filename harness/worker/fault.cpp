// SPDX-License-Identifier: Apache-2.0
// The handler: async-signal-safe, one packet, then the default action.
#include "harness/worker/fault.hpp"

#include <atomic>

#include <signal.h>
#include <sys/socket.h>
#include <ucontext.h>

namespace w4 {
namespace {

std::atomic<wire::Phase> current_phase{wire::Phase::load};
std::atomic<std::uint64_t> current_base{0};
alignas(64) unsigned char handler_stack[64 * 1024];

void describe_access(const void* context, wire::Fault& fault) {
#if defined(__x86_64__)
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  constexpr long long general_protection = 13, page_fault = 14;
  const long long trap = registers[REG_TRAPNO], error = registers[REG_ERR];
  fault.protection = trap == general_protection;
  if (trap == page_fault) fault.access = (error & 16) ? 2 : (error & 2) ? 1 : 0;
#else
  (void)context;
  (void)fault;
#endif
}

void on_fault(int number, siginfo_t* info, void* context) {
  signal(number, SIG_DFL);
  const bool sent_by_process = info->si_code <= 0;
  if (sent_by_process) {
    raise(number);  // unlike a fault it would not recur
    return;
  }
  wire::Fault fault{};
  fault.kind = wire::Kind::fault;
  fault.signal = number;
  fault.phase = current_phase;
  fault.access = 3;
  fault.address = reinterpret_cast<std::uint64_t>(info->si_addr);
  fault.base = current_base;
  describe_access(context, fault);
  send(wire::socket_fd, &fault, sizeof fault, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

void watch_faults(wire::Phase now, std::uint64_t arena_base) {
  current_phase = now;
  current_base = arena_base;
  stack_t stack{};
  stack.ss_sp = handler_stack;
  stack.ss_size = sizeof handler_stack;
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
}

void set_phase(wire::Phase now) {
  current_phase = now;
}
wire::Phase phase() {
  return current_phase;
}

}  // namespace w4
