// SPDX-License-Identifier: Apache-2.0
// libw4_cpu.so: one row per kernel.
#include <array>
#include <cstring>
#include <iterator>

#include "kernels/cpu/kernel.hpp"

namespace w4 {
namespace {

// name, what it takes, what it says, whether it packs and how, multiply
// clang-format off
constexpr Row rows[] = {
    {"cpu.scalar", &scalar_can, nullptr, scalar_outline, false, nullptr, scalar_multiply},
    {"cpu.scalar_s8", &scalar_s8_can, nullptr, scalar_integer_outline, false, nullptr, scalar_integer_multiply},
    {"cpu.scalar_s4", &scalar_s4_can, nullptr, scalar_integer_outline, false, nullptr, scalar_integer_multiply},
    {"cpu.bit_trick", &bit_trick_can, nullptr, bit_trick_outline, true, bit_trick_pack, bit_trick_multiply},
    {"cpu.folded", &folded_can, nullptr, folded_outline, true, folded_pack, folded_multiply},
    {"cpu.dense", &dense_can, nullptr, dense_outline, false, nullptr, dense_multiply},
    {"cpu.x_int8_amax", &x_int8_can, nullptr, x_int8_amax_outline, false, nullptr, x_int8_amax_multiply},
    {"cpu.x_int8_minmax", &x_int8_can, nullptr, x_int8_minmax_outline, false, nullptr, x_int8_minmax_multiply},
#if W4_CPU_SIMD
    {"cpu.simd", &simd_can, nullptr, simd_outline, true, simd_pack, simd_multiply},
    {"cpu.gather", &gather_can, nullptr, gather_outline, true, gather_pack, gather_multiply},
    {"cpu.additive", &additive_can, nullptr, additive_outline, true, additive_pack, additive_multiply},
#endif
    {"cpu.auto", nullptr, auto_check, auto_outline, true, auto_pack, auto_multiply},
};
// clang-format on
constexpr std::size_t count = std::size(rows);

constexpr auto kernels = [] {
  std::array<w4_kernel, count> all{};
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = {sizeof(w4_kernel),
              W4_HOST,
              rows[i].name,
              plan_kernel,
              rows[i].packs ? pack_kernel : nullptr,
              run_kernel,
              &rows[i]};
  }
  return all;
}();

constexpr auto pointers = [] {
  std::array<const w4_kernel*, count> all{};
  for (std::size_t i = 0; i < count; ++i) all[i] = &kernels[i];
  return all;
}();

constexpr w4_plugin plugin = {sizeof(w4_plugin), W4_ABI_VERSION, "w4check", W4_CPU_VERSION, nullptr,
                              nullptr,           count,          0,         pointers.data()};

}  // namespace

const Row* find_row(const char* name) {
  for (const Row& row : rows) {
    if (row.can != nullptr && std::strcmp(row.name, name) == 0) return &row;
  }
  return nullptr;
}

}  // namespace w4

extern "C" const w4_plugin* w4_plugin_entry(std::uint32_t host_abi_version) {
  return host_abi_version == W4_ABI_VERSION ? &w4::plugin : nullptr;
}
