// SPDX-License-Identifier: Apache-2.0
// The worker program's first process: starts the worker proper and sees to it that nothing outlives
// it or the judge.
#pragma once

namespace w4 {

// Forks. Returns in the child only, which is the worker: own process group, killed with the warden,
// adopts orphans, no core file. The warden waits for the worker's end, its stop, or the end of file
// on the control socket; then it kills every descendant, tells the judge how the worker ended, and
// exits.
//
// A process of its own, because the parent-death signal follows the thread that started the child:
// judge threads come and go, the warden has one. It holds no plugin, so nothing in it can be
// crashed or hung by one.
void become_worker_under_warden();

}  // namespace w4
