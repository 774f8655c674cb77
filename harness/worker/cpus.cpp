// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/cpus.hpp"

#include <cstdlib>

#include <dirent.h>

namespace w4 {
namespace {

void set_all_threads(const cpu_set_t& cpus) {
  sched_setaffinity(0, sizeof cpus, &cpus);
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return;
  while (const dirent* task = readdir(tasks)) {
    const int id = std::atoi(task->d_name);
    if (id > 0) sched_setaffinity(id, sizeof cpus, &cpus);
  }
  closedir(tasks);
}

}  // namespace

OneCpu::OneCpu(bool wanted) {
  if (!wanted || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  int first = 0;
  while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, &before_)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  set_all_threads(one);
  narrowed_ = true;
}

OneCpu::~OneCpu() {
  if (narrowed_) set_all_threads(before_);
}

}  // namespace w4
