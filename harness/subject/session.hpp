// SPDX-License-Identifier: Apache-2.0
// A worker that has the plugin of one kernel loaded, started anew after each death.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/subject/arena.hpp"
#include "harness/subject/subject.hpp"
#include "harness/subject/worker_process.hpp"

namespace w4 {

inline constexpr double shortest_load_seconds = 5.0;

class Session {
 public:
  Session(PluginInfo, std::string kernel, WorkerLimits);

  const PluginInfo& plugin() const { return plugin_; }
  const std::string& kernel() const { return kernel_; }
  const WorkerLimits& limits() const { return limits_; }
  Arena& arena() { return arena_; }
  int deaths() const { return deaths_; }

  // plan(), asked now; nothing if the worker died of it, and the reply says how.
  std::optional<Plan> ask(const AbiProblem&, Reply&);
  // The same from what this worker has already answered: plan() is pure.
  std::optional<Plan> known_plan(const AbiProblem&, Reply&);
  // One pack() or run(). `segments` in order of address are what the kernel may touch, `end` is
  // behind the last guard. False if the worker died of it, or if there is no device to run it on.
  bool call(wire::Request&, const std::vector<const Segment*>& segments, std::uint64_t end, Reply&);

 private:
  bool start(Reply&);
  bool exchange(wire::Request&, const std::vector<const Segment*>&, double seconds, wire::Answer&,
                Reply&);
  void die(const wire::Request&, const std::vector<const Segment*>&, Reply&);
  void take_printed(Reply&) const;

  PluginInfo plugin_;
  std::string kernel_;
  WorkerLimits limits_;
  Arena arena_;
  std::unique_ptr<WorkerProcess> worker_;
  bool on_device_{}, device_started_{};
  std::uint32_t index_{};  // of the kernel in the plugin's table
  std::uint64_t sequence_{};
  std::map<std::string, Plan> plans_;
  int deaths_{};
};

void set_problem(wire::Request&, const AbiProblem&);

}  // namespace w4
