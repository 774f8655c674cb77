// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM end a run early, not at once: what was judged so far is still reported, and no
// temporary is left.
#pragma once

namespace w4 {

// A closed pipe must not cost a report: SIGPIPE is ignored.
void ignore_closed_pipes();
// For commands that ask interrupted() now and then; in others a signal ends the process. The first
// signal is noted, a second one (not the same, sent twice within 0.2 s) ends the process.
void watch_signals();
bool interrupted();

}  // namespace w4
