// SPDX-License-Identifier: Apache-2.0
// One loop over two events: a change of the worker, the judge going away.
#include "harness/worker/warden.hpp"

#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/worker/processes.hpp"
#include "harness/worker/protocol.hpp"

namespace w4 {
namespace {

constexpr int last_words_ms = 500;  // for the plugin's close(), once the judge has said goodbye

void enter_worker(pid_t warden, const sigset_t& mask) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != warden) _exit(1);  // it died before the line above
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  setpgid(0, 0);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  close(wire::control_fd);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
}

// True once the worker has ended or stopped.
bool look(pid_t worker, wire::Ended& ended) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(worker), &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) !=
      0) {
    return errno == ECHILD;
  }
  if (info.si_pid != worker) return false;
  ended.code = info.si_code;
  ended.status = info.si_status;
  return true;
}

[[noreturn]] void watch(pid_t worker, int children_fd) {
  wire::Ended ended{wire::Kind::ended, 0, 0};
  pollfd events[2] = {{children_fd, POLLIN, 0}, {wire::control_fd, POLLIN, 0}};
  while (!look(worker, ended)) {
    if (poll(events, 2, -1) < 0 && errno != EINTR) break;
    signalfd_siginfo drained;
    if (events[0].revents) (void)!read(children_fd, &drained, sizeof drained);
    if (!events[1].revents) continue;
    // One byte asks for the end at once; an end of file leaves time for a last word.
    char byte = 0;
    const ssize_t got = recv(wire::control_fd, &byte, 1, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got == 0 && !look(worker, ended)) poll(events, 1, last_words_ms);
    look(worker, ended);
    break;
  }
  kill(-worker, SIGKILL);
  kill(worker, SIGKILL);
  end_descendants(5.0);
  send(wire::control_fd, &ended, sizeof ended, MSG_NOSIGNAL | MSG_DONTWAIT);
  _exit(0);
}

}  // namespace

void become_worker_under_warden() {
  const pid_t warden = getpid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t block, mask;
  sigemptyset(&block);
  sigaddset(&block, SIGCHLD);
  sigprocmask(SIG_BLOCK, &block, &mask);
  const int children_fd = signalfd(-1, &block, SFD_CLOEXEC | SFD_NONBLOCK);
  const pid_t worker = fork();
  if (worker == 0) {
    close(children_fd);
    enter_worker(warden, mask);
    return;
  }
  if (worker < 0 || children_fd < 0) _exit(1);
  // The judge's end of file on socket and pipe must mean the worker's.
  close(wire::socket_fd);
  close(wire::arena_fd);
  const int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null_fd, 1);
  dup2(null_fd, 2);
  watch(worker, children_fd);
}

}  // namespace w4
