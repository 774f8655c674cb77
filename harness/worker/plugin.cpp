// SPDX-License-Identifier: Apache-2.0
// dlopen, and each thing that can be wrong with what it gives, in one sentence each.
#include "harness/worker/plugin.hpp"

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <set>
#include <string>

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/worker/cuda_driver.hpp"
#include "harness/worker/fault.hpp"
#include "harness/worker/float_state.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define W4_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define W4_SANITIZED 1
#endif
#endif

namespace w4 {
namespace {

constexpr std::size_t longest_name = 127;

void greet(const wire::Greeting& greeting) {
  if (send(wire::socket_fd, &greeting, sizeof greeting, MSG_NOSIGNAL) < 0) _exit(1);
}

[[noreturn]] void refuse(const std::string& cause) {
  wire::Greeting greeting;
  greeting.kind = wire::Kind::refused;
  copy_text(greeting.text, cause.c_str());
  greet(greeting);
  _exit(1);
}

// dlerror() begins with the path, which the judge prints anyway.
std::string loader_error(const std::string& path) {
  const char* text = dlerror();
  std::string error = text ? text : "no reason given";
  const std::string prefix = path + ": ";
  return error.rfind(prefix, 0) == 0 ? error.substr(prefix.size()) : error;
}

// What lies beyond struct_bytes reads as 0.
template <typename T>
T read_grown(const T* from) {
  T copy{};
  std::memcpy(&copy, from, from->struct_bytes < sizeof(T) ? from->struct_bytes : sizeof(T));
  return copy;
}

bool good_name(const char* name) {
  const std::size_t length = strnlen(name, longest_name + 1);
  if (length == 0 || length > longest_name) return false;
  for (std::size_t i = 0; i < length; ++i) {
    const char c = name[i];
    const bool good = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_' || c == '-';
    if (!good) return false;
  }
  return true;
}

LoadedKernel check_kernel(const w4_kernel* self, std::uint32_t index,
                          std::set<std::string>& names) {
  const std::string which = "kernel " + std::to_string(index);
  if (!self) refuse(which + " is NULL");
  if (self->struct_bytes < offsetof(w4_kernel, user)) {
    refuse(which + ": struct_bytes is " + std::to_string(self->struct_bytes) +
           ", too small for ABI version 1");
  }
  const LoadedKernel kernel{self, read_grown(self)};
  const w4_kernel& table = kernel.table;
  if (!table.name) refuse(which + " has no name");
  if (!good_name(table.name)) {
    refuse(which + ": the name is empty, longer than " + std::to_string(longest_name) +
           " characters, or has others than A-Z a-z 0-9 . _ -");
  }
  const std::string name = table.name;
  if (!names.insert(name).second) refuse("two kernels are named " + name);
  if (!table.plan) refuse("kernel " + name + " has no plan()");
  if (!table.run) refuse("kernel " + name + " has no run()");
  if (table.device != W4_HOST && table.device != W4_CUDA) {
    refuse("kernel " + name + ": device " + std::to_string(table.device) + " is unknown");
  }
  return kernel;
}

LoadedPlugin check_plugin(const w4_plugin* plugin) {
  if (!plugin) refuse("w4_plugin_entry(1) returned NULL: it cannot serve ABI version 1");
  if (plugin->struct_bytes < offsetof(w4_plugin, kernels) + sizeof plugin->kernels) {
    refuse("w4_plugin.struct_bytes is " + std::to_string(plugin->struct_bytes) +
           ", too small for ABI version 1");
  }
  LoadedPlugin loaded;
  loaded.table = read_grown(plugin);
  if (loaded.table.abi_version != W4_ABI_VERSION) {
    refuse("speaks ABI version " + std::to_string(loaded.table.abi_version) +
           ", this is version 1");
  }
  if (loaded.table.kernel_count == 0 || !loaded.table.kernels) refuse("has no kernels");
  std::set<std::string> names;
  for (std::uint32_t i = 0; i < loaded.table.kernel_count; ++i) {
    loaded.kernels.push_back(check_kernel(loaded.table.kernels[i], i, names));
  }
  return loaded;
}

LoadedPlugin load_unguarded(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) refuse(loader_error(path));
  using Entry = const w4_plugin* (*)(std::uint32_t);
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "w4_plugin_entry"));
  if (!entry) refuse("has no symbol w4_plugin_entry");
  LoadedPlugin loaded = check_plugin(entry(W4_ABI_VERSION));
  if (loaded.needs_device()) limit_memory(RLIM_INFINITY);
  if (loaded.table.open) {
    const w4_status status = loaded.table.open(0);
    if (status != W4_OK) refuse("open() failed with status " + std::to_string(status));
  }
  return loaded;
}

void tell_device() {
  const DeviceFacts facts = device_facts();
  wire::Greeting greeting;
  greeting.kind = wire::Kind::device;
  greeting.device = facts.present;
  copy_text(greeting.text, facts.name.c_str());
  copy_text(greeting.version, facts.driver.c_str());
  greet(greeting);
}

}  // namespace

bool LoadedPlugin::needs_device() const {
  for (const LoadedKernel& kernel : kernels) {
    if (kernel.table.device == W4_CUDA) return true;
  }
  return false;
}

void copy_text(char* to, std::size_t room, const char* from) {
  const std::size_t length = from ? strnlen(from, room - 1) : 0;
  if (length) std::memcpy(to, from, length);
  to[length] = 0;
}

void limit_memory(std::uint64_t bytes) {
#if defined(W4_SANITIZED)
  (void)bytes;
#else
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
  setrlimit(RLIMIT_AS, &limit);
#endif
}

LoadedPlugin load_plugin(const char* path, std::uint64_t memory_bytes) {
  limit_memory(memory_bytes);
  watch_faults(wire::Phase::load, 0);
  reset_float_state();
  wire::Greeting hello;
  hello.kind = wire::Kind::hello;
  hello.before = read_float_state();
  LoadedPlugin loaded;
  try {
    loaded = load_unguarded(path);
  } catch (const std::exception& error) {
    refuse(std::string("threw a C++ exception while it was loaded: ") + error.what());
  } catch (...) {
    refuse("threw a C++ exception while it was loaded");
  }
  hello.after = read_float_state();
  copy_text(hello.text, loaded.table.vendor);
  copy_text(hello.version, loaded.table.version);
  for (const LoadedKernel& kernel : loaded.kernels) {
    wire::Greeting greeting;
    greeting.kind = wire::Kind::kernel;
    greeting.device = kernel.table.device;
    copy_text(greeting.text, kernel.table.name);
    greet(greeting);
  }
  if (loaded.needs_device()) tell_device();
  std::fflush(stdout);
  reset_float_state();
  set_phase(wire::Phase::idle);
  greet(hello);
  return loaded;
}

}  // namespace w4
