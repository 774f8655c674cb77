// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM end a run early, not at once: what was judged so far is still reported.
#pragma once

namespace w4 {

// The first signal is noted, a second one (not the same, sent twice within 0.2 s) ends the process.
// SIGPIPE is ignored: a closed pipe must not cost a report.
void watch_signals();
bool interrupted();

}  // namespace w4
