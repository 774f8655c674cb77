// SPDX-License-Identifier: Apache-2.0
// Which device functions a call launched, from the activity records of CUPTI, where there is one.
#pragma once

#include "harness/worker/protocol.hpp"

namespace w4 {

// Loads and enables CUPTI the first time; forgets what was launched before.
void watch_launches();
// Call it when the device is idle. Without CUPTI launches_known stays 0.
void take_launches(void* context, void* stream, wire::Answer&);

}  // namespace w4
