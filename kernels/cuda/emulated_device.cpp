// SPDX-License-Identifier: Apache-2.0
// libw4_cuda_emulated_device.so: device kernels that compute on the host when they are launched,
// for a worker whose CUDA driver is suites/device/fake_cuda.cpp. What would be an illegal access on
// a device is a fault here, caught and handed to that driver as the error of the stream.
#include <array>
#include <cstddef>
#include <iterator>

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>

#include "kernels/cuda/kernel.hpp"

namespace w4 {
namespace {

constexpr int illegal_address = 700;
sigjmp_buf after_fault;

void on_fault(int) {
  siglongjmp(after_fault, 1);
}

using FailStream = void (*)(void* stream, int error);
FailStream driver_function() {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver ? reinterpret_cast<FailStream>(dlsym(driver, "w4_fake_fail_stream")) : nullptr;
}

void compute(const Operands& o) {
  for (std::int64_t m = 0; m < o.m; ++m)
    for (std::int64_t n = 0; n < o.n; ++n) store_output(o, m, n, output_at(o, m, n, 0.0F));
}

void read_past_codes(const Operands& o) {
  (void)static_cast<const volatile unsigned char*>(o.codes)[o.codes_bytes];
}

void write_input(const Operands& o) {
  auto* x = static_cast<volatile unsigned char*>(const_cast<void*>(o.x));
  x[0] = static_cast<unsigned char>(x[0] ^ 1u);
}

void write_past_y(const Operands& o) {
  store_float(o.y_type, o.y, (o.m - 1) * o.y_stride + o.n, 0.0F);
}

void do_nothing(const Operands&) {}

template <void (*misdeed)(const Operands&)>
w4_status launch(const Operands& o, void* stream) {
  const FailStream fail = driver_function();
  if (fail == nullptr || stream == nullptr) return W4_DEVICE_ERROR;
  struct sigaction mine {
  }, before;
  mine.sa_handler = on_fault;
  mine.sa_flags = SA_NODEFER;
  sigaction(SIGSEGV, &mine, &before);
  if (sigsetjmp(after_fault, 1) == 0) {
    compute(o);
    misdeed(o);
  } else {
    fail(stream, illegal_address);
  }
  sigaction(SIGSEGV, &before, nullptr);
  return W4_OK;
}

constexpr Row rows[] = {
    {"cuda_emulated.none", W4_CUDA, "scalar", "none", 1, launch<do_nothing>},
    {"cuda_emulated.reads_past_codes", W4_CUDA, "scalar", "reads", 1, launch<read_past_codes>},
    {"cuda_emulated.writes_input", W4_CUDA, "scalar", "writes", 1, launch<write_input>},
    {"cuda_emulated.writes_past_y", W4_CUDA, "scalar", "writes", 1, launch<write_past_y>},
};
constexpr std::size_t count = std::size(rows);

constexpr auto kernels = [] {
  std::array<w4_kernel, count> all{};
  for (std::size_t i = 0; i < count; ++i) all[i] = kernel_of(rows[i]);
  return all;
}();

constexpr auto pointers = [] {
  std::array<const w4_kernel*, count> all{};
  for (std::size_t i = 0; i < count; ++i) all[i] = &kernels[i];
  return all;
}();

constexpr w4_plugin plugin = {sizeof(w4_plugin), W4_ABI_VERSION, "w4check", "emulated device",
                              nullptr,           nullptr,        count,     0,
                              pointers.data()};

}  // namespace
}  // namespace w4

extern "C" const w4_plugin* w4_plugin_entry(std::uint32_t host_abi_version) {
  return host_abi_version == W4_ABI_VERSION ? &w4::plugin : nullptr;
}
