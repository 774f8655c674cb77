// SPDX-License-Identifier: Apache-2.0
// Reads the host's description from the kernel's files.
#include "harness/run/environment.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sched.h>

namespace w4 {

namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The value of the first `key : value` line, as /proc writes them.
std::string field(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (colon != std::string::npos && trimmed(line.substr(0, colon)) == key)
      return trimmed(line.substr(colon + 1));
  }
  return "";
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

std::string compiler_name() {
#if defined(__clang__)
  return "clang++ " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

void read_vectors(Environment& host) {
#if defined(__x86_64__)
  const bool avx512 = __builtin_cpu_supports("avx512f"), avx2 = __builtin_cpu_supports("avx2");
  host.isa = avx512 ? "x86-64 AVX-512" : avx2 ? "x86-64 AVX2" : "x86-64 SSE";
  host.lanes = avx512 ? 16 : avx2 ? 8 : 4;
#elif defined(__aarch64__)
  host.isa = "arm64 NEON";
#else
  host.isa = "unknown";
#endif
}

void read_device(Environment& host) {
  host.device = host.driver = "none";
  std::error_code ignored;
  for (const auto& gpu : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", ignored)) {
    const std::string model = field(gpu.path() / "information", "Model");
    host.device = model.empty() ? "unknown NVIDIA GPU" : model;
    host.driver = field("/proc/driver/nvidia/version", "NVRM version");
    return;
  }
}

}  // namespace

Environment this_environment() {
  Environment host;
  host.cpu = field("/proc/cpuinfo", "model name");
  if (host.cpu.empty()) host.cpu = "unknown";
  host.cores = usable_cores();
  host.compiler = trimmed(compiler_name());
  read_vectors(host);
  read_device(host);
  return host;
}

}  // namespace w4
