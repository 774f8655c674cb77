// SPDX-License-Identifier: Apache-2.0
// One request, one answer, and every way in which there is none.
#include "harness/subject/session.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "reference/error.hpp"

namespace w4 {
namespace {

constexpr double seconds_per_product = 50e-9, seconds_per_byte = 10e-9, longest_allowance = 3600;

double allowance(const w4_problem& p, const std::vector<const Segment*>& segments) {
  const auto size = [](std::int64_t d) {
    return static_cast<double>(std::max<std::int64_t>(d, 1));
  };
  double seconds = seconds_per_product * size(p.m) * size(p.n) * size(p.k);
  for (const Segment* s : segments) seconds += seconds_per_byte * static_cast<double>(s->bytes);
  return std::min(seconds, longest_allowance);
}

std::string phase_name(wire::Kind kind) {
  if (kind == wire::Kind::plan) return "plan()";
  return kind == wire::Kind::pack ? "pack()" : "run()";
}

template <std::size_t N>
std::string text_of(const char (&text)[N]) {
  return ascii_only(std::string(text, strnlen(text, N)));
}

std::string plan_key(const AbiProblem& problem) {
  w4_problem p = problem.p;
  p.layout = nullptr;
  std::string key(sizeof p, '\0');
  std::memcpy(key.data(), &p, sizeof p);
  return key + problem.layout;
}

void take_touched(std::uint32_t touched, Reply& reply) {
  if (touched & wire::touched_problem) reply.changed.push_back("problem");
  if (touched & wire::touched_weight) reply.changed.push_back("weight");
  if (touched & wire::touched_call) reply.changed.push_back("call");
  if (touched & wire::wrote_past_plan)
    reply.strays.push_back({"after the plan struct", sizeof(w4_plan), 1});
  if (touched & wire::wrote_past_call)
    reply.strays.push_back({"after the call struct", sizeof(w4_call), 1});
}

void take_device(const wire::Answer& answer, const std::vector<const Segment*>& segments,
                 Reply& reply) {
  reply.launches_known = answer.launches_known != 0;
  reply.launches_seen = answer.launches_seen;
  for (std::uint32_t i = 0;
       i < std::min<std::size_t>(answer.launches_seen, std::size(answer.launch)); ++i) {
    const wire::Launch& from = answer.launch[i];
    Launch launch;
    launch.name = text_of(from.name);
    launch.cut = launch.name.size() + 1 == sizeof from.name;
    std::copy(std::begin(from.grid), std::end(from.grid), launch.grid);
    std::copy(std::begin(from.block), std::end(from.block), launch.block);
    launch.elsewhere = from.elsewhere != 0;
    reply.launches.push_back(std::move(launch));
  }
  for (std::uint32_t i = 0; i < std::min<std::size_t>(answer.strays_used, std::size(answer.strays));
       ++i) {
    const wire::DeviceStray& stray = answer.strays[i];
    for (const Segment* s : segments) {
      if (s->closed || s->at != stray.at) continue;
      reply.strays.push_back(
          {(stray.offset < 0 ? "before " : "after ") + s->name, stray.offset, stray.bytes});
    }
  }
}

}  // namespace

void set_problem(wire::Request& request, const AbiProblem& problem) {
  require(problem.layout.size() < sizeof request.layout,
          "a layout name of fewer than 256 characters");
  request.problem = problem.p;
  if (request.problem.struct_bytes == 0) request.problem.struct_bytes = sizeof(w4_problem);
  request.problem.layout = nullptr;
  std::memcpy(request.layout, problem.layout.c_str(), problem.layout.size() + 1);
}

Session::Session(PluginInfo plugin, std::string kernel, WorkerLimits limits)
    : plugin_(std::move(plugin)), kernel_(std::move(kernel)), limits_(limits) {
  const auto same = [&](const PluginInfo::Kernel& k) { return k.name == kernel_; };
  const auto found = std::find_if(plugin_.kernels.begin(), plugin_.kernels.end(), same);
  require(found != plugin_.kernels.end(), "a kernel of this plugin");
  on_device_ = found->device == W4_CUDA;
}

bool Session::start(Reply& reply) {
  if (worker_ && !worker_->death()) return true;
  worker_.reset();
  plans_.clear();
  device_started_ = false;
  worker_ = std::make_unique<WorkerProcess>(plugin_.path, limits_.memory_bytes, arena_.fd());
  const auto said = read_hello(*worker_, std::max(limits_.seconds, shortest_load_seconds));
  if (const auto* hello = std::get_if<Hello>(&said)) {
    const auto same = [&](const PluginInfo::Kernel& k) { return k.name == kernel_; };
    const auto found = std::find_if(hello->kernels.begin(), hello->kernels.end(), same);
    index_ = static_cast<std::uint32_t>(found - hello->kernels.begin());
    if (found != hello->kernels.end()) return true;
    reply.how = "loaded again, the plugin has no kernel of this name";
  } else {
    reply.how = "loaded again: " + std::get<std::string>(said);
  }
  reply.end = End::crashed;
  reply.state = plugin_.before_load;
  ++deaths_;
  worker_.reset();
  return false;
}

void Session::take_printed(Reply& reply) const {
  worker_->drain();
  reply.printed = ascii_only(worker_->printed());
  reply.printed_bytes = worker_->printed_bytes();
}

void Session::die(const wire::Request& request, const std::vector<const Segment*>& segments,
                  Reply& reply) {
  const Death& death = *worker_->death();
  ++deaths_;
  reply.end = death.end;
  reply.state = plugin_.before_load;
  reply.signal = death.signal;
  reply.device_error = death.device_error;
  const bool between = death.fault && death.fault->phase == wire::Phase::idle;
  reply.how =
      death.how + (between ? " between two calls"
                           : (death.threw ? " out of " : " inside ") + phase_name(request.kind));
  if (death.fault) {
    if (death.fault->phase == wire::Phase::strings) reply.how += ", in a string that it returned";
    reply.how += ", " + describe_fault(*death.fault, segments, arena_.bytes());
  }
  take_printed(reply);
}

bool Session::exchange(wire::Request& request, const std::vector<const Segment*>& segments,
                       double seconds, wire::Answer& answer, Reply& reply) {
  request.kernel = index_;
  request.sequence = ++sequence_;
  worker_->forget_printed();
  worker_->send(request);
  do {
    if (!worker_->receive(&answer, sizeof answer, seconds)) {
      die(request, segments, reply);
      return false;
    }
  } while (answer.sequence != sequence_);  // of a process that outlived its call
  if (answer.kind == wire::Kind::refused)
    throw Error("memory for a call: " + text_of(answer.reason), Blame::internal);
  if (answer.kind == wire::Kind::device_error) {
    worker_->end({.device_error = answer.device_code, .how = text_of(answer.reason)});
    die(request, segments, reply);
    return false;
  }
  if (answer.kind == wire::Kind::threw) {
    const std::string what = text_of(answer.reason);
    worker_->end(
        {.threw = true, .how = "threw a C++ exception" + (what.empty() ? "" : " (" + what + ")")});
    die(request, segments, reply);
    return false;
  }
  reply.status = answer.status;
  reply.state = {answer.state.mxcsr, answer.state.x87};
  reply.children = static_cast<int>(answer.children);
  reply.seconds = answer.seconds;
  take_touched(answer.touched, reply);
  take_device(answer, segments, reply);
  take_printed(reply);
  return true;
}

bool Session::call(wire::Request& request, const std::vector<const Segment*>& segments,
                   std::uint64_t end, Reply& reply) {
  reply.on_device = on_device_;
  if (on_device_ && !plugin_.no_device.empty()) {
    reply.status = W4_DEVICE_ERROR;
    reply.how = "no CUDA device: " + plugin_.no_device;
    return false;
  }
  if (!start(reply)) return false;
  request.arena_bytes = arena_.bytes();
  set_guards(request, segments, end);
  set_windows(request, segments);
  wire::Answer answer;
  double seconds = limits_.seconds + allowance(request.problem, segments);
  if (on_device_ && !device_started_) seconds += device_start_seconds;
  device_started_ = true;
  if (!exchange(request, segments, seconds, answer, reply)) return false;
  reply.ran = text_of(answer.path);
  return true;
}

std::optional<Plan> Session::ask(const AbiProblem& problem, Reply& reply) {
  if (!start(reply)) return std::nullopt;
  wire::Request request;
  request.kind = wire::Kind::plan;
  set_problem(request, problem);
  wire::Answer answer;
  if (!exchange(request, {}, limits_.seconds, answer, reply)) return std::nullopt;
  Plan plan;
  plan.status = answer.status;
  plan.path = text_of(answer.path);
  plan.symbols = text_of(answer.symbols);
  plan.contract = text_of(answer.contract);
  plan.reason = text_of(answer.reason);
  plan.claims = answer.claims;
  plan.workspace_bytes = answer.workspace_bytes;
  plan.packed_bytes = answer.packed_bytes;
  plan.launches = answer.launches;
  plans_[plan_key(problem)] = plan;
  return plan;
}

std::optional<Plan> Session::known_plan(const AbiProblem& problem, Reply& reply) {
  if (!start(reply)) return std::nullopt;
  const auto known = plans_.find(plan_key(problem));
  if (known != plans_.end()) return known->second;
  Reply asked;
  const auto plan = ask(problem, asked);
  if (!plan) reply = asked;
  return plan;
}

}  // namespace w4
