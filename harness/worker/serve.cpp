// SPDX-License-Identifier: Apache-2.0
// Calls into the plugin; everything that a call may leave behind is looked at before the answer
// goes out.
#include "harness/worker/serve.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/worker/arena.hpp"
#include "harness/worker/cpus.hpp"
#include "harness/worker/cuda_driver.hpp"
#include "harness/worker/device_memory.hpp"
#include "harness/worker/fault.hpp"
#include "harness/worker/float_state.hpp"
#include "harness/worker/processes.hpp"

namespace w4 {
namespace {

constexpr unsigned char fence_byte = 0xa5;

// A struct that the library writes into, with a strip behind it that it may not touch.
template <typename T>
struct Fenced {
  T value{};
  unsigned char fence[64];
  Fenced() {
    std::memset(fence, fence_byte, sizeof fence);
    value.struct_bytes = sizeof(T);
  }
  bool intact() const {
    for (const unsigned char byte : fence) {
      if (byte != fence_byte) return false;
    }
    return true;
  }
};

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// What a call is given. The structs are the worker's; a changed one is told, not trusted.
struct Operands {
  w4_problem problem{};
  w4_weight weight{};
  Fenced<w4_plan> plan;
  Fenced<w4_call> call;
};

class Server {
 public:
  // A driver reserves more addresses than any limit on memory.
  Server(const LoadedPlugin& plugin, std::uint64_t memory_bytes)
      : plugin_(plugin), memory_bytes_(plugin.needs_device() ? RLIM_INFINITY : memory_bytes) {}
  void answer(const wire::Request&);

 private:
  void fill(Operands&, const wire::Request&) const;
  w4_status call(const LoadedKernel&, Operands&, const wire::Request&);
  void tell(const Operands&, const wire::Request&);
  void look_around(const Operands&, const Operands& before);
  std::string prepare(const wire::Request&);
  void finish_on_device(const wire::Request&);
  void refuse(const std::string& why);
  void send_answer();
  bool on_device(const wire::Request&) const;
  // Where the kernel of this call finds its operands.
  void* at(wire::Range range) const { return on_device_ ? device_->at(range) : arena_.at(range); }
  w4_in in(wire::Range range) const { return {at(range), range.bytes}; }
  w4_out out(wire::Range range) const { return {at(range), range.bytes}; }

  const LoadedPlugin& plugin_;
  std::uint64_t memory_bytes_;
  MappedArena arena_;
  std::optional<DeviceMemory> device_;  // from the first call that needs it
  bool on_device_{};                    // this call
  wire::Answer answer_;
  pid_t self_{getpid()};
};

void Server::fill(Operands& to, const wire::Request& from) const {
  to.problem = from.problem;
  to.problem.layout = from.layout;
  to.weight.struct_bytes = sizeof to.weight;
  w4_weight& weight = to.weight;
  weight.codes = in(from.codes);
  weight.scale = in(from.scale);
  weight.zero = in(from.zero);
  weight.scale2 = in(from.scale2);
  weight.zero2 = in(from.zero2);
  weight.g_idx = in(from.g_idx);
  weight.bias = in(from.bias);
  w4_call& call = to.call.value;
  call.problem = &to.problem;
  call.weight = &to.weight;
  call.x = in(from.x);
  call.x_scale = in(from.x_scale);
  call.x_sum = in(from.x_sum);
  call.y = out(from.y);
  call.workspace = out(from.workspace);
  call.stream = on_device_ ? device_->stream() : nullptr;
}

w4_status Server::call(const LoadedKernel& kernel, Operands& with, const wire::Request& request) {
  switch (request.kind) {
    case wire::Kind::plan:
      return kernel.table.plan(kernel.self, &with.problem, &with.plan.value);
    case wire::Kind::pack:
      if (!kernel.table.pack) return W4_INTERNAL;
      return kernel.table.pack(kernel.self, &with.problem, &with.weight, out(request.packed),
                               with.call.value.stream);
    default:
      return kernel.table.run(kernel.self, &with.call.value);
  }
}

void Server::look_around(const Operands& after, const Operands& before) {
  const auto changed = [](const auto& a, const auto& b) {
    return std::memcmp(&a, &b, sizeof a) != 0;
  };
  w4_call call = after.call.value;
  call.ran = nullptr;
  std::uint32_t touched = 0;
  if (changed(after.problem, before.problem)) touched |= wire::touched_problem;
  if (changed(after.weight, before.weight)) touched |= wire::touched_weight;
  if (changed(call, before.call.value)) touched |= wire::touched_call;
  if (!after.plan.intact()) touched |= wire::wrote_past_plan;
  if (!after.call.intact()) touched |= wire::wrote_past_call;
  answer_.touched = touched;
  std::fflush(stdout);
  if (has_children()) {
    answer_.children = static_cast<std::uint32_t>(kill_children());
    end_descendants(5.0);
  }
}

void Server::tell(const Operands& after, const wire::Request& request) {
  set_phase(wire::Phase::strings);
  const w4_plan& plan = after.plan.value;
  if (request.kind == wire::Kind::plan) {
    answer_.launches = plan.launches;
    answer_.workspace_bytes = plan.workspace_bytes;
    answer_.packed_bytes = plan.packed_bytes;
    answer_.claims = plan.claims;
    copy_text(answer_.path, plan.path);
    copy_text(answer_.symbols, plan.symbols);
    copy_text(answer_.contract, plan.contract);
    std::memcpy(answer_.reason, plan.reason,
                sizeof plan.reason);  // whether or not it is terminated
  } else if (request.kind == wire::Kind::run) {
    copy_text(answer_.path, after.call.value.ran);
  }
}

wire::Phase phase_of(wire::Kind kind) {
  if (kind == wire::Kind::plan) return wire::Phase::plan;
  return kind == wire::Kind::pack ? wire::Phase::pack : wire::Phase::run;
}

bool Server::on_device(const wire::Request& request) const {
  return request.kind != wire::Kind::plan &&
         plugin_.kernels.at(request.kernel).table.device == W4_CUDA;
}

// "" or why the operands cannot be had.
std::string Server::prepare(const wire::Request& request) {
  on_device_ = on_device(request);
  if (request.kind == wire::Kind::plan) return {};
  if (!arena_.prepare(request, memory_bytes_)) return "the worker cannot map the shared memory";
  if (!on_device_) return {};
  if (!device_) {
    std::string why;
    const CudaDriver* driver = cuda_driver(why);
    if (driver == nullptr) return why;
    device_.emplace(*driver);
  }
  return device_->prepare(request, arena_.bytes());
}

void Server::finish_on_device(const wire::Request& request) {
  device_->finish(request, arena_.bytes(), answer_);
  if (answer_.device_code != 0) answer_.kind = wire::Kind::device_error;
  reset_float_state();
}

void Server::send_answer() {
  const ssize_t sent = send(wire::socket_fd, &answer_, sizeof answer_, MSG_NOSIGNAL);
  if (sent < 0 && (errno == EBADF || errno == ENOTSOCK)) _exit(wire::lost_connection);
}

void Server::refuse(const std::string& why) {
  answer_.kind = wire::Kind::refused;
  copy_text(answer_.reason, why.c_str());
  send_answer();
}

void Server::answer(const wire::Request& request) {
  answer_ = {};
  answer_.sequence = request.sequence;
  answer_.phase = phase_of(request.kind);
  if (const std::string why = prepare(request); !why.empty()) return refuse(why);
  Operands with;
  fill(with, request);
  const Operands before = with;
  watch_faults(answer_.phase, arena_.base());
  const OneCpu narrowed(request.one_cpu != 0);
  reset_float_state();
  const double start = now();
  try {
    answer_.kind = wire::Kind::answer;
    answer_.status = call(plugin_.kernels.at(request.kernel), with, request);
  } catch (const std::exception& error) {
    answer_.kind = wire::Kind::threw;
    copy_text(answer_.reason, error.what());
  } catch (...) {
    answer_.kind = wire::Kind::threw;
  }
  answer_.state = read_float_state();
  reset_float_state();
  answer_.seconds = now() - start;
  if (getpid() != self_) _exit(0);  // a child that came back from the call in its parent's place
  if (answer_.kind == wire::Kind::answer) tell(with, request);
  if (answer_.kind == wire::Kind::answer && on_device_) finish_on_device(request);
  look_around(with, before);
  set_phase(wire::Phase::idle);
  send_answer();
}

}  // namespace

void serve(const LoadedPlugin& plugin, std::uint64_t memory_bytes) {
  const auto server = std::make_unique<Server>(plugin, memory_bytes);
  const auto request = std::make_unique<wire::Request>();
  for (;;) {
    const ssize_t got = recv(wire::socket_fd, request.get(), sizeof *request, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof *request) break;
    server->answer(*request);
  }
  if (plugin.table.close) plugin.table.close();
}

}  // namespace w4
