// SPDX-License-Identifier: Apache-2.0
// A tiny right kernel (f16 codes and GPTQ), so that a hostile one misbehaves on top of right
// answers.
#pragma once

#include <cstdint>

#include "kernels/abi/w4_kernel.h"

namespace w4 {

// A row of the table. NULL hooks do nothing.
struct Misdeed {
  const char* name{};
  void (*before)(w4_call&){};  // ahead of the computation
  void (*after)(w4_call&){};   // after it
  void (*plan)(w4_plan&){};    // after an honest plan is filled in
  const char* (*ran)(){};      // the path that run() reports
  w4_status status{W4_OK};     // what run() returns
  bool silent{};               // nothing is computed or written
  bool packs{};                // there is a pack(), which writes nothing
};

inline const char* const hostile_path = "scalar";

// Bytes of y that the call may write.
std::uint64_t y_bytes(const w4_problem&);
std::uint64_t x_bytes(const w4_problem&);
// x, y and scales f16; layout codes (zero forms 8, code) or gptq_v2 (the same); no act-order, no
// bias.
const char* hostile_limitation(const w4_problem&);
// Y = X W with fp32 sums in k order.
void hostile_multiply(const w4_call&);

w4_status plan_hostile(const w4_kernel*, const w4_problem*, w4_plan*);
w4_status run_hostile(const w4_kernel*, w4_call*);

w4_kernel hostile_kernel(const Misdeed&);

}  // namespace w4
