// SPDX-License-Identifier: Apache-2.0
// w4check-worker: the only program that loads a plugin. Started by the judge, never by hand.
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/worker/serve.hpp"
#include "harness/worker/warden.hpp"

// Read by the address sanitizer where it is linked: a plugin's crash shall stay a signal, as it is
// without it.
extern "C" const char* __asan_default_options();
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:handle_sigill=0:allow_user_"
         "segv_handler=1:"
         "use_sigaltstack=0:detect_leaks=0";
}

int main(int count, char** words) {
  if (count != 3 || fcntl(w4::wire::control_fd, F_GETFD) < 0) {
    std::fputs("w4check-worker: started by w4check only\n", stderr);
    return 2;
  }
  // Another thread of the judge may have opened files without close-on-exec; none of them is the
  // plugin's business.
  syscall(SYS_close_range, w4::wire::control_fd + 1, ~0U, 0);
  for (const int fd : {w4::wire::socket_fd, w4::wire::arena_fd, w4::wire::control_fd})
    fcntl(fd, F_SETFD, FD_CLOEXEC);
  const std::uint64_t memory_bytes = std::strtoull(words[2], nullptr, 10);
  w4::become_worker_under_warden();
  const w4::LoadedPlugin plugin = w4::load_plugin(words[1], memory_bytes);
  w4::serve(plugin, memory_bytes);
  _exit(0);
}
