// SPDX-License-Identifier: Apache-2.0
// The wrong launches that plugin.cpp has rows for.
#pragma once

#include "kernels/cuda/kernel.hpp"

namespace w4 {

w4_status launch_none(const Operands&, void* stream);
w4_status launch_reads_past_codes(const Operands&, void* stream);
w4_status launch_writes_input(const Operands&, void* stream);
w4_status launch_wrong_zero(const Operands&, void* stream);
w4_status launch_undeclared(const Operands&, void* stream);
w4_status launch_null_stream(const Operands&, void* stream);

}  // namespace w4
