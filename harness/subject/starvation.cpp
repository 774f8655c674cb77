// SPDX-License-Identifier: Apache-2.0
#include "harness/subject/starvation.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace w4 {
namespace {

// Seconds that each thread of the warden's first child has waited since it began.
std::map<pid_t, double> waits_of_worker(pid_t warden) {
  std::map<pid_t, double> waits;
  const auto id = std::to_string(warden);
  std::ifstream children("/proc/" + id + "/task/" + id + "/children");
  pid_t worker{};
  if (!(children >> worker)) return waits;
  // The worker may end while it is looked at: that is an error of the iterator, not an exception.
  std::error_code gone;
  std::filesystem::directory_iterator thread("/proc/" + std::to_string(worker) + "/task", gone);
  for (; !gone && thread != std::filesystem::directory_iterator(); thread.increment(gone)) {
    std::ifstream counts(thread->path() / "schedstat");
    double on_cpu_ns{}, waiting_ns{};
    if (counts >> on_cpu_ns >> waiting_ns)
      waits[std::stoi(thread->path().filename().string())] = waiting_ns * 1e-9;
  }
  return waits;
}

}  // namespace

Starvation::Starvation(pid_t warden) : warden_(warden), before_(waits_of_worker(warden)) {}

double Starvation::seconds() const {
  double longest = 0;
  for (const auto& [thread, waited] : waits_of_worker(warden_)) {
    const auto known = before_.find(thread);
    longest = std::max(longest, waited - (known == before_.end() ? 0 : known->second));
  }
  return longest;
}

}  // namespace w4
