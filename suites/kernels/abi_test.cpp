// SPDX-License-Identifier: Apache-2.0
// What the ABI asks of every plugin: tables that are whole, structs that keep their size, refusals
// with a reason.
#include <cstddef>
#include <cstring>
#include <functional>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "suites/kernels/rig.hpp"

namespace w4 {
namespace {

std::vector<const w4_kernel*> all_kernels() {
  std::vector<const w4_kernel*> all;
  for (const char* name : {"cpu", "example"}) {
    const w4_plugin& plugin = load_plugin(name);
    all.insert(all.end(), plugin.kernels, plugin.kernels + plugin.kernel_count);
  }
  return all;
}

// A problem that the kernel takes.
Case good_case(const w4_kernel& kernel) {
  const std::string name = kernel.name;
  if (name == "cpu.scalar_s8") return make_case("codes", W4_ZERO_CODE, W4_S8, {3, 8, 16, 8});
  if (name == "cpu.scalar_s4") return make_case("codes", W4_ZERO_CODE, W4_S4, {3, 8, 16, 8});
  if (name.rfind("cpu.x_int8", 0) == 0) {
    Case c = make_case("codes", W4_ZERO_CODE, W4_F16, {3, 8, 16, 8});
    c.p.mul_type = W4_S8;
    return c;
  }
  if (name == "cpu.gather") {
    Case c = make_case("codes", W4_ZERO_CODE, W4_F16, {3, 8, 16, 8});
    c.p.flags = W4_ACT_ORDER;
    for (int k = 0; k < 16; ++k) c.g_idx.push_back(k % 2);
    return c;
  }
  if (name == "cpu.additive") return make_case("codes", W4_ZERO_ADD, W4_F16, {3, 8, 16, 8});
  if (name == "cpu.bit_trick")
    return make_case("kpack:02461357", W4_ZERO_CODE, W4_F16, {3, 8, 16, 8});
  return make_case("codes", W4_ZERO_CODE, W4_F16, {3, 8, 16, 8});
}

TEST_CASE("plugins say who they are and list distinct kernels") {
  std::set<std::string> names;
  for (const char* name : {"cpu", "example"}) {
    const w4_plugin& plugin = load_plugin(name);
    CHECK(plugin.struct_bytes == sizeof(w4_plugin));
    CHECK(plugin.abi_version == W4_ABI_VERSION);
    CHECK(plugin.vendor != nullptr);
    CHECK(plugin.version != nullptr);
    REQUIRE(plugin.kernel_count > 0);
  }
  for (const w4_kernel* kernel : all_kernels()) {
    CHECK(kernel->struct_bytes == sizeof(w4_kernel));
    CHECK(kernel->device == W4_HOST);
    CHECK(names.insert(kernel->name).second);
  }
}

TEST_CASE("the good problem of each kernel is taken, with a path and claims") {
  for (const w4_kernel* kernel : all_kernels()) {
    INFO(kernel->name);
    Case c = good_case(*kernel);
    c.p.layout = c.layout.c_str();
    w4_plan plan{};
    plan.struct_bytes = sizeof plan;
    CHECK(kernel->plan(kernel, &c.p, &plan) == W4_OK);
    REQUIRE(plan.path != nullptr);
    REQUIRE(plan.contract != nullptr);
    const bool switches = std::strcmp(kernel->name, "cpu.auto") == 0;
    CHECK(plan.claims ==
          (W4_REPEATABLE | W4_ROW_LOCAL | (switches ? 0 : static_cast<int>(W4_BATCH_INVARIANT))));
    CHECK((plan.packed_bytes == 0 || kernel->pack != nullptr));
    CHECK(run_case(*kernel, c).run == W4_OK);
  }
}

struct Edit {
  const char* what;
  std::function<void(w4_problem&)> apply;
};
const std::vector<Edit> edits = {
    {"m", [](w4_problem& p) { p.m = -1; }},
    {"n", [](w4_problem& p) { p.n = 0; }},
    {"k", [](w4_problem& p) { p.k = 0; }},
    {"group 0", [](w4_problem& p) { p.group = 0; }},
    {"group", [](w4_problem& p) { p.group = -1; }},
    {"groups 0", [](w4_problem& p) { p.groups = 0; }},
    {"groups", [](w4_problem& p) { p.groups = 1; }},
    {"x_group", [](w4_problem& p) { p.x_group = 0; }},
    {"x_stride", [](w4_problem& p) { p.x_stride = p.k - 1; }},
    {"y_stride", [](w4_problem& p) { p.y_stride = p.n - 1; }},
    {"x_align 0", [](w4_problem& p) { p.x_align = 0; }},
    {"x_align", [](w4_problem& p) { p.x_align = 12; }},
    {"y_align", [](w4_problem& p) { p.y_align = 1; }},
    {"layout", [](w4_problem& p) { p.layout = "no_such_layout"; }},
    {"no layout", [](w4_problem& p) { p.layout = nullptr; }},
    {"digits", [](w4_problem& p) { p.layout = "kpack:01234566"; }},
    {"digit", [](w4_problem& p) { p.layout = "kpack:0246135"; }},
    {"long digits", [](w4_problem& p) { p.layout = "kpack:024613570"; }},
    {"x type", [](w4_problem& p) { p.x_type = 99; }},
    {"mul type", [](w4_problem& p) { p.mul_type = 99; }},
    {"y type", [](w4_problem& p) { p.y_type = 99; }},
    {"s32", [](w4_problem& p) { p.y_type = W4_S32; }},
    {"scale type", [](w4_problem& p) { p.scale_type = 99; }},
    {"scale2 type", [](w4_problem& p) { p.scale2_type = W4_F16; }},
    {"zero", [](w4_problem& p) { p.zero = 99; }},
    {"zero 0", [](w4_problem& p) { p.zero = 0; }},
    {"zero type", [](w4_problem& p) { p.zero_type = 99; }},
    {"bias type", [](w4_problem& p) { p.flags |= W4_HAS_BIAS; }},
    {"flag", [](w4_problem& p) { p.flags |= 1u << 7; }},
    {"demand", [](w4_problem& p) { p.flags |= 1u << 25; }},
    {"graph", [](w4_problem& p) { p.flags |= W4_WANT_GRAPH; }},
    {"size", [](w4_problem& p) { p.n = p.y_stride = std::int64_t{1} << 62; }},
    {"rows", [](w4_problem& p) { p.m = std::int64_t{1} << 62; }},
    {"struct_bytes", [](w4_problem& p) { p.struct_bytes = offsetof(w4_problem, layout); }},
    {"no struct_bytes", [](w4_problem& p) { p.struct_bytes = 0; }},
};

// With act-order there may be as few groups as g_idx names.
bool takes(const Case& c, const Edit& edit) {
  return !c.g_idx.empty() && std::strcmp(edit.what, "groups") == 0;
}

TEST_CASE("a refused problem has a reason, and run() refuses it alike and writes nothing") {
  for (const w4_kernel* kernel : all_kernels()) {
    for (const Edit& edit : edits) {
      INFO(kernel->name << ": " << edit.what);
      const Case c = good_case(*kernel);
      if (takes(c, edit)) continue;
      w4_problem p = c.p;
      p.layout = c.layout.c_str();
      edit.apply(p);
      w4_plan plan{};
      plan.struct_bytes = sizeof plan;
      const w4_status planned = kernel->plan(kernel, &p, &plan);
      CHECK((planned == W4_UNSUPPORTED || planned == W4_BAD_ARGUMENT));
      CHECK(std::strlen(plan.reason) > 0);
      std::vector<std::uint8_t> bytes(4096, 0x5a);
      const w4_in in{bytes.data(), bytes.size()};
      w4_weight weight{};
      weight.struct_bytes = sizeof weight;
      weight.codes = weight.scale = weight.zero = in;
      w4_call call{};
      call.struct_bytes = sizeof call;
      call.problem = &p;
      call.weight = &weight;
      call.x = in;
      call.y = call.workspace = {bytes.data(), bytes.size()};
      CHECK(kernel->run(kernel, &call) == planned);
      CHECK(call.ran == nullptr);
      CHECK(bytes == std::vector<std::uint8_t>(4096, 0x5a));
    }
  }
}

TEST_CASE("contradictions are bad arguments") {
  for (const w4_kernel* kernel : all_kernels()) {
    for (std::size_t i = 0; i < 13; ++i) {
      INFO(kernel->name << ": " << edits[i].what);
      Case c = good_case(*kernel);
      if (takes(c, edits[i])) continue;
      c.p.layout = c.layout.c_str();
      edits[i].apply(c.p);
      w4_plan plan{};
      plan.struct_bytes = sizeof plan;
      CHECK(kernel->plan(kernel, &c.p, &plan) == W4_BAD_ARGUMENT);
    }
  }
}

TEST_CASE("plan writes nothing beyond the struct_bytes it finds") {
  for (const w4_kernel* kernel : all_kernels()) {
    for (std::uint32_t size = 4; size <= sizeof(w4_plan) + 32; ++size) {
      for (const bool good : {true, false}) {
        Case c = good_case(*kernel);
        c.p.layout = good ? c.layout.c_str() : "no_such_layout";
        const Guarded memory(size, 8, 0x77);
        auto* bytes = static_cast<std::uint8_t*>(memory.data());
        std::memcpy(bytes, &size, sizeof size);
        // The page after `memory` may not be touched; the few bytes up to it are zero.
        const w4_status status = kernel->plan(kernel, &c.p, static_cast<w4_plan*>(memory.data()));
        CHECK(status != W4_INTERNAL);
        std::uint32_t kept = 0;
        std::memcpy(&kept, bytes, sizeof kept);
        REQUIRE(kept == size);
        for (std::size_t i = sizeof(w4_plan); i < size; ++i) REQUIRE(bytes[i] == 0x77);
        for (std::size_t i = size; i < (size + 7) / 8 * 8; ++i) REQUIRE(bytes[i] == 0);
      }
    }
  }
}

// The first `bytes` of a struct that says so, right before a page that may not be touched.
template <typename Struct>
Struct* shortened(Struct whole, const Guarded& memory) {
  whole.struct_bytes = static_cast<std::uint32_t>(memory.size());
  std::memcpy(memory.data(), &whole, memory.size());
  return static_cast<Struct*>(memory.data());
}

TEST_CASE("nothing is read beyond the struct_bytes of problem, weight and call") {
  for (const w4_kernel* kernel : all_kernels()) {
    INFO(kernel->name);
    Case c = good_case(*kernel);
    c.p.layout = c.layout.c_str();
    w4_plan plan{};
    plan.struct_bytes = sizeof plan;
    w4_weight weight{};
    w4_call call{};
    call.struct_bytes = sizeof call;
    for (std::size_t size = 8; size < sizeof(w4_problem); size += 8) {
      const Guarded memory(size, 8);
      call.problem = shortened(c.p, memory);
      CHECK(kernel->plan(kernel, call.problem, &plan) == W4_BAD_ARGUMENT);
      CHECK(kernel->run(kernel, &call) == W4_BAD_ARGUMENT);
    }
    call.problem = &c.p;
    for (std::size_t size = 8; size < sizeof(w4_weight); size += 8) {
      const Guarded memory(size, 8);
      call.weight = shortened(weight, memory);
      CHECK(kernel->run(kernel, &call) == W4_BAD_ARGUMENT);
    }
    for (std::size_t size = 8; size < sizeof(w4_call); size += 8) {
      const Guarded memory(size, 8);
      CHECK(kernel->run(kernel, shortened(call, memory)) == W4_BAD_ARGUMENT);
    }
  }
}

TEST_CASE("null pointers and absent or short buffers are bad arguments") {
  for (const w4_kernel* kernel : all_kernels()) {
    INFO(kernel->name);
    Case c = good_case(*kernel);
    c.p.layout = c.layout.c_str();
    w4_plan plan{};
    plan.struct_bytes = sizeof plan;
    CHECK(kernel->plan(nullptr, &c.p, &plan) == W4_BAD_ARGUMENT);
    CHECK(kernel->plan(kernel, nullptr, &plan) == W4_BAD_ARGUMENT);
    CHECK(kernel->plan(kernel, &c.p, nullptr) == W4_BAD_ARGUMENT);
    CHECK(kernel->run(kernel, nullptr) == W4_BAD_ARGUMENT);
    w4_call call{};
    call.struct_bytes = sizeof call;
    CHECK(kernel->run(kernel, &call) == W4_BAD_ARGUMENT);
    call.problem = &c.p;
    CHECK(kernel->run(kernel, &call) == W4_BAD_ARGUMENT);
    w4_weight weight{};
    weight.struct_bytes = sizeof weight;
    call.weight = &weight;
    CHECK(kernel->run(kernel, &call) == W4_BAD_ARGUMENT);
    if (kernel->pack != nullptr) {
      CHECK(kernel->pack(kernel, &c.p, &weight, {nullptr, 0}, nullptr) == W4_BAD_ARGUMENT);
    }
  }
}

TEST_CASE("no rows: done, nothing read or written") {
  for (const w4_kernel* kernel : all_kernels()) {
    INFO(kernel->name);
    Case c = good_case(*kernel);
    c.p.m = 0;
    c.p.layout = c.layout.c_str();
    w4_weight weight{};
    weight.struct_bytes = sizeof weight;
    w4_call call{};
    call.struct_bytes = sizeof call;
    call.problem = &c.p;
    call.weight = &weight;
    CHECK(kernel->run(kernel, &call) == W4_OK);
    CHECK(call.ran != nullptr);
  }
}

TEST_CASE("a blob depends on nothing that pack() may not use") {
  for (const char* name : {"cpu.simd", "cpu.bit_trick", "cpu.folded", "cpu.gather", "cpu.auto"}) {
    const w4_kernel& kernel = find_kernel("cpu", name);
    Case c = make_case("gptq_v1", W4_ZERO_8, W4_F16, {1, 8, 16, 8});
    if (std::strcmp(name, "cpu.gather") == 0) c.p.flags = W4_ACT_ORDER;
    w4_plan plan{};
    plan.struct_bytes = sizeof plan;
    c.p.layout = c.layout.c_str();
    REQUIRE(kernel.plan(&kernel, &c.p, &plan) == W4_OK);
    const std::uint64_t bytes = plan.packed_bytes;
    REQUIRE(bytes > 0);
    c.p.m = 900;
    c.p.x_stride = 31;
    c.p.y_stride = 77;
    c.p.x_align = c.p.y_align = 128;
    REQUIRE(kernel.plan(&kernel, &c.p, &plan) == W4_OK);
    CHECK(plan.packed_bytes == bytes);
  }
}

}  // namespace
}  // namespace w4
