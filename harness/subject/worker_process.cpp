// SPDX-License-Identifier: Apache-2.0
// One poll loop over the worker's socket, the warden's word and the worker's output.
#include "harness/subject/worker_process.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/subject/arena.hpp"
#include "harness/subject/spawn.hpp"
#include "harness/subject/starvation.hpp"

namespace w4 {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t printed_kept = 4096;
constexpr double hang_up_seconds = 0.2;  // from the end of file on the socket to the warden's word
constexpr double unwatched_share =
    0.25;                              // of a limit, before anybody counts waiting for a processor
constexpr double least_told = 0.1;     // times the limit: a shorter extension is not worth a word
constexpr double most_extension = 19;  // times the limit
constexpr double sweep_seconds = 8.0;  // the warden gives up killing before that

Clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Clock::time_point after(double seconds) {
  return Clock::now() + duration_of(seconds);
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", seconds);
  return text;
}

Death death_of(const wire::Ended& ended) {
  Death death;
  switch (ended.code) {
    case CLD_EXITED:
      death.how = ended.status == wire::lost_connection
                      ? "closed its connection without a reply"
                      : "exited with status " + std::to_string(ended.status);
      break;
    case CLD_KILLED:
    case CLD_DUMPED:
      death.signal = ended.status;
      death.how = signal_name(ended.status);
      break;
    case CLD_STOPPED:
      death.end = End::timed_out;
      death.signal = ended.status;
      death.how = "stopped by " + signal_name(ended.status);
      break;
    default:
      death.how = "ended together with its warden";
  }
  return death;
}

// A limit on the time that a worker runs or sleeps: what it waits for a processor is added when the
// limit is reached. The count begins a while into the call, so that short calls cost nothing.
class Limit {
 public:
  Limit(pid_t warden, double seconds)
      : warden_(warden),
        seconds_(seconds),
        watch_from_(after(seconds * unwatched_share)),
        deadline_(after(seconds)) {}
  void shorten(double seconds) { deadline_ = std::min(deadline_, after(seconds)); }
  Clock::time_point next() const { return waits_ ? deadline_ : std::min(watch_from_, deadline_); }
  // Asked at next(), and whenever something else has woken the judge.
  bool reached() {
    const auto now = Clock::now();
    if (!waits_ && now >= watch_from_) waits_.emplace(warden_);
    if (now < deadline_) return false;
    const double waited = std::min(waits_ ? waits_->seconds() : 0, most_extension * seconds_);
    const double more = waited - extended_;
    if (more < 0.001) return true;
    extended_ += more;
    deadline_ += duration_of(more);
    return Clock::now() >= deadline_;
  }
  // What the limit was, and by how much it was extended.
  std::string text() const {
    const std::string limit = seconds_text(seconds_);
    if (extended_ < least_told * seconds_) return limit;
    return limit + ", " + seconds_text(extended_) + " of waiting for a processor not counted";
  }

 private:
  pid_t warden_;
  double seconds_, extended_{};
  Clock::time_point watch_from_, deadline_;
  std::optional<Starvation> waits_;
};

FloatState to_state(wire::FloatBits bits) {
  return {bits.mxcsr, bits.x87};
}

}  // namespace

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return "signal " + std::to_string(number) + (name ? " (SIG" + std::string(name) + ")" : "");
}

std::string ascii_only(const std::string& raw) {
  std::string text = raw;
  for (char& c : text) {
    if (c == '\n' || c == '\t' || c == '\r') c = ' ';
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return text;
}

WorkerProcess::WorkerProcess(const std::string& plugin_path, std::uint64_t memory_bytes,
                             int arena_fd) {
  Spawned spawned = spawn_worker(plugin_path, memory_bytes, arena_fd);
  socket_ = std::move(spawned.socket);
  control_ = std::move(spawned.control);
  pipe_ = std::move(spawned.pipe);
  warden_ = spawned.pid;
}

WorkerProcess::~WorkerProcess() {
  if (ended_) return;
  shutdown(socket_.get(), SHUT_WR);
  shutdown(control_.get(), SHUT_WR);
  await_end(sweep_seconds);
}

void WorkerProcess::send(const wire::Request& request) {
  while (::send(socket_.get(), &request, sizeof request, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

void WorkerProcess::drain() {
  char buffer[65536];
  for (int reads = 0; reads < 64; ++reads) {  // a flood must not keep the judge from its deadline
    const ssize_t got = read(pipe_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) pipe_.reset();
    if (got <= 0) return;
    const auto size = static_cast<std::size_t>(got);
    printed_bytes_ += size;
    printed_.append(buffer, std::min(size, printed_kept - printed_.size()));
  }
}

void WorkerProcess::forget_printed() {
  drain();
  printed_.clear();
  printed_bytes_ = 0;
}

// The next packet that is not a fault report; 0 if there is none now.
std::size_t WorkerProcess::take_packet(void* packet, std::size_t size) {
  while (!hung_up_) {
    const ssize_t got = recv(socket_.get(), packet, size, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return 0;
    hung_up_ = got <= 0;
    if (hung_up_) return 0;
    wire::Kind kind{};
    std::memcpy(&kind, packet, sizeof kind);
    if (kind != wire::Kind::fault || got != sizeof(wire::Fault))
      return static_cast<std::size_t>(got);
    fault_.emplace();
    std::memcpy(&*fault_, packet, sizeof *fault_);
  }
  return 0;
}

void WorkerProcess::reap() {
  while (waitpid(warden_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ended_ = true;
  drain();
}

// True if the warden has spoken, or has gone without a word.
bool WorkerProcess::take_end() {
  wire::Ended ended{};
  const ssize_t got = recv(control_.get(), &ended, sizeof ended, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (!death_) {
    death_ = death_of(got == sizeof ended ? ended : wire::Ended{});
    death_->fault = fault_;
  }
  reap();
  return true;
}

void WorkerProcess::await_end(double seconds) {
  const auto deadline = after(seconds);
  while (!take_end()) {
    if (Clock::now() >= deadline) {
      kill(warden_, SIGKILL);  // the worker follows by its parent-death signal
      reap();
      return;
    }
    pollfd events[2] = {{control_.get(), POLLIN, 0}, {pipe_.get(), POLLIN, 0}};
    poll(events, 2, milliseconds_until(deadline));
    if (events[1].revents) drain();
  }
}

void WorkerProcess::end(Death death) {
  if (!death_) {
    death_ = std::move(death);
    death_->fault = fault_;
  }
  if (ended_) return;
  const char now = 1;
  ::send(control_.get(), &now, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  await_end(sweep_seconds);
}

bool WorkerProcess::receive(void* packet, std::size_t size, double seconds) {
  Limit limit(warden_, seconds);
  for (bool was_open = !hung_up_; !death_;) {
    if (take_packet(packet, size)) return true;
    if (hung_up_ && was_open) {
      limit.shorten(hang_up_seconds);
      was_open = false;
    }
    pollfd events[3] = {{hung_up_ ? -1 : socket_.get(), POLLIN, 0},
                        {control_.get(), POLLIN, 0},
                        {pipe_.get(), POLLIN, 0}};
    poll(events, 3, milliseconds_until(limit.next()));
    if (events[2].revents) drain();
    if (take_packet(packet, size))
      return true;  // an answer counts even if the worker has died since
    if (events[1].revents && take_end()) break;
    if (!limit.reached()) continue;
    if (hung_up_) {
      end({.end = End::crashed, .how = "closed its connection without a reply"});
    } else {
      end({.end = End::timed_out, .how = "no answer within " + limit.text()});
    }
  }
  return false;
}

std::variant<Hello, std::string> read_hello(WorkerProcess& worker, double seconds) {
  Hello hello;
  for (;;) {
    wire::Greeting greeting;
    if (!worker.receive(&greeting, sizeof greeting, seconds)) {
      std::string cause = worker.death()->how + " before it said which kernels it has";
      if (worker.death()->fault) cause += ", " + describe_fault(*worker.death()->fault, {}, 0);
      return cause;
    }
    greeting.text[sizeof greeting.text - 1] = 0;
    greeting.version[sizeof greeting.version - 1] = 0;
    const std::string text = ascii_only(greeting.text);
    if (greeting.kind == wire::Kind::refused) return text;
    if (greeting.kind == wire::Kind::kernel) {
      hello.kernels.push_back({text, greeting.device});
      if (greeting.device == W4_CUDA) seconds = std::max(seconds, device_start_seconds);
    } else if (greeting.kind == wire::Kind::device) {
      (greeting.device ? hello.device : hello.no_device) = text;
      hello.driver = ascii_only(greeting.version);
    } else {
      hello.vendor = text;
      hello.version = ascii_only(greeting.version);
      hello.before_load = to_state(greeting.before);
      hello.after_load = to_state(greeting.after);
      return hello;
    }
  }
}

}  // namespace w4
