// SPDX-License-Identifier: Apache-2.0
// The worker's loop: one request, one call of the plugin, one answer.
#pragma once

#include <cstdint>

#include "harness/worker/plugin.hpp"

namespace w4 {

// Returns when the judge has said goodbye; the plugin is closed then. memory_bytes: of the plugin,
// beside the arena.
void serve(const LoadedPlugin&, std::uint64_t memory_bytes);

}  // namespace w4
