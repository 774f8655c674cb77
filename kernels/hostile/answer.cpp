// SPDX-License-Identifier: Apache-2.0
// Kernels whose answers are hostile: a plan that crashes, hangs or lies, strings that are none, a
// refusal in run().
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "kernels/hostile/misdeeds.hpp"

namespace w4 {
namespace {

volatile std::uintptr_t unmapped = 8;
volatile unsigned spun{};

void crash_in_plan(w4_plan&) {
  *reinterpret_cast<volatile int*>(unmapped) = 1;
}

void hang_in_plan(w4_plan&) {
  for (;;) spun = spun + 1;
}

void ask_for_an_exbibyte(w4_plan& plan) {
  plan.packed_bytes = std::uint64_t{1} << 60;
}

void ask_for_exbibyte_workspace(w4_plan& plan) {
  plan.workspace_bytes = std::uint64_t{1} << 60;
}

// 5,000 bytes of path with control characters and broken UTF-8, and a reason without an end.
void answer_garbage(w4_plan& plan) {
  static char path[5001];
  std::memset(path, 'x', sizeof path - 1);
  const unsigned char rubbish[]{'\n', 0x1b, '[', '2', 'J', '"', '<', 0xff, 0xc0, 0x80, 0xed, 0xa0};
  for (std::size_t at = 100; at + sizeof rubbish < sizeof path; at += 700) {
    std::memcpy(path + at, rubbish, sizeof rubbish);
  }
  plan.path = path;
  plan.contract = "dequant= =unit \x01 order=chain(((";
  std::memset(plan.reason, 'r', sizeof plan.reason);
}

// A path that runs to the end of its page, behind which nothing is mapped.
void answer_without_terminator(w4_plan& plan) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  static char* const mapped = [page]() -> char* {
    void* two = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (two == MAP_FAILED) return nullptr;
    std::memset(two, 'x', page);
    mprotect(static_cast<char*>(two) + page, page, PROT_NONE);
    return static_cast<char*>(two);
  }();
  if (mapped) plan.path = mapped + page - 16;
}

void answer_wild_pointer(w4_plan& plan) {
  plan.path = reinterpret_cast<const char*>(std::uintptr_t{unmapped});
}

// Not the same answer to the same question.
void answer_otherwise_each_time(w4_plan& plan) {
  static unsigned asked{};
  plan.path = ++asked % 2 == 0 ? hostile_path : "tiled";
}

const char* other_path() {
  return "other";
}
const char* wild_path() {
  return reinterpret_cast<const char*>(std::uintptr_t{unmapped});
}

constexpr Misdeed rows[] = {
    {.name = "hostile.plan_crashes", .plan = crash_in_plan},
    {.name = "hostile.plan_hangs", .plan = hang_in_plan},
    {.name = "hostile.plan_lies_packed", .plan = ask_for_an_exbibyte, .packs = true},
    {.name = "hostile.plan_lies_workspace", .plan = ask_for_exbibyte_workspace},
    {.name = "hostile.plan_garbage_strings", .plan = answer_garbage},
    {.name = "hostile.plan_unterminated_path", .plan = answer_without_terminator},
    {.name = "hostile.plan_wild_path", .plan = answer_wild_pointer},
    {.name = "hostile.plan_changes", .plan = answer_otherwise_each_time},
    {.name = "hostile.undeclared_path", .ran = other_path},
    {.name = "hostile.wild_ran", .ran = wild_path},
    {.name = "hostile.fails_status", .status = W4_INTERNAL},
    {.name = "hostile.nonsense_status", .status = 77},
};

}  // namespace

std::span<const Misdeed> answer_misdeeds() {
  return rows;
}

}  // namespace w4
