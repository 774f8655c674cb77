// SPDX-License-Identifier: Apache-2.0
// Walks /proc for children, because a double fork or a new session hides a process from its process
// group only.
#include "harness/worker/processes.hpp"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace w4 {
namespace {

pid_t parent_of(const char* pid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  char text[512];
  const ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return -1;
  text[length] = 0;
  const char* name_end = std::strrchr(text, ')');  // the name may hold spaces and parentheses
  int parent = -1;
  if (!name_end || std::sscanf(name_end + 1, " %*c %d", &parent) != 1) return -1;
  return parent;
}

}  // namespace

bool has_children() {
  siginfo_t info;
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

int kill_children() {
  DIR* proc = opendir("/proc");
  if (!proc) return 0;
  int count = 0;
  const pid_t self = getpid();
  while (const dirent* entry = readdir(proc)) {
    if (!std::isdigit(static_cast<unsigned char>(entry->d_name[0]))) continue;
    if (parent_of(entry->d_name) != self) continue;
    kill(static_cast<pid_t>(std::atol(entry->d_name)), SIGKILL);
    ++count;
  }
  closedir(proc);
  return count;
}

void end_descendants(double seconds) {
  const int rounds = static_cast<int>(seconds * 1000);
  for (int round = 0; round < rounds; ++round) {
    pid_t reaped = 0;
    while ((reaped = waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (reaped < 0 && errno == ECHILD) return;
    kill_children();
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace w4
