// SPDX-License-Identifier: Apache-2.0
// posix_spawn, and which descriptor goes where.
#include "harness/subject/spawn.hpp"

#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/worker/protocol.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

std::string worker_path() {
  const std::string folder = own_folder();
  const std::string beside = folder + "/w4check-worker";
  if (access(beside.c_str(), X_OK) == 0) return beside;
  const std::string above = folder + "/../w4check-worker";
  return access(above.c_str(), X_OK) == 0 ? above : beside;
}

std::pair<Descriptor, Descriptor> socket_pair() {
  int fds[2];
  require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0, "socketpair failed");
  return {Descriptor(fds[0]), Descriptor(fds[1])};
}

std::pair<Descriptor, Descriptor> output_pipe() {
  int fds[2];
  require(pipe2(fds, O_CLOEXEC) == 0, "pipe2 failed");
  fcntl(fds[0], F_SETFL, O_NONBLOCK);
  return {Descriptor(fds[0]), Descriptor(fds[1])};
}

// Above every number that the child's descriptors go to, so that no dup2 overwrites the source of a
// later one.
Descriptor out_of_the_way(int fd) {
  Descriptor copy(fcntl(fd, F_DUPFD_CLOEXEC, 16));
  require(copy.get() >= 0, "no file descriptor is left");
  return copy;
}

struct SpawnPlan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(
        &attributes, 0);  // an interrupt from the terminal is the judge's, the warden follows it
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

void Descriptor::reset() {
  // The analyser loses fd_ where a pair is taken apart by a structured binding.
  if (fd_ >= 0) close(fd_);  // NOLINT(clang-analyzer-core.UndefinedBinaryOperatorResult)
  fd_ = -1;
}

std::string own_folder() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  require(length > 0, "/proc/self/exe cannot be read");
  return std::filesystem::path(std::string(path, static_cast<std::size_t>(length)))
      .parent_path()
      .string();
}

Spawned spawn_worker(const std::string& plugin_path, std::uint64_t memory_bytes, int arena_fd) {
  auto [socket, worker_socket] = socket_pair();
  auto [control, warden_control] = socket_pair();
  auto [pipe, worker_pipe] = output_pipe();
  const Descriptor sources[] = {out_of_the_way(worker_pipe.get()),
                                out_of_the_way(worker_socket.get()), out_of_the_way(arena_fd),
                                out_of_the_way(warden_control.get())};
  SpawnPlan plan;
  posix_spawn_file_actions_addopen(&plan.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&plan.actions, sources[0].get(), 1);
  posix_spawn_file_actions_adddup2(&plan.actions, sources[0].get(), 2);
  posix_spawn_file_actions_adddup2(&plan.actions, sources[1].get(), wire::socket_fd);
  posix_spawn_file_actions_adddup2(&plan.actions, sources[2].get(), wire::arena_fd);
  posix_spawn_file_actions_adddup2(&plan.actions, sources[3].get(), wire::control_fd);
  const std::string program = worker_path(), memory = std::to_string(memory_bytes);
  char* const words[] = {const_cast<char*>(program.c_str()), const_cast<char*>(plugin_path.c_str()),
                         const_cast<char*>(memory.c_str()), nullptr};
  Spawned spawned{std::move(socket), std::move(control), std::move(pipe), -1};
  const int error =
      posix_spawn(&spawned.pid, program.c_str(), &plan.actions, &plan.attributes, words, environ);
  if (error != 0) throw Error(program + ": start: " + std::strerror(error), Blame::internal);
  return spawned;
}

}  // namespace w4
