// SPDX-License-Identifier: Apache-2.0
// The children of this process, also those it never started: both warden and worker adopt orphans.
#pragma once

namespace w4 {

bool has_children();  // one system call; the usual answer is no
int kill_children();  // sends SIGKILL to each direct child, zombies included; how many there were
// Kills and reaps until no descendant is left (orphans of the killed come up to us); gives up after
// `seconds`.
void end_descendants(double seconds);

}  // namespace w4
