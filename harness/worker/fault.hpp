// SPDX-License-Identifier: Apache-2.0
// Tells the judge where a memory fault was, then lets it take its course.
#pragma once

#include <cstdint>

#include "harness/worker/protocol.hpp"

namespace w4 {

// Installs the handler of SIGSEGV and SIGBUS on a stack of its own; before each call, for a plugin
// may have replaced it.
void watch_faults(wire::Phase, std::uint64_t arena_base);
void set_phase(wire::Phase);
wire::Phase phase();

}  // namespace w4
