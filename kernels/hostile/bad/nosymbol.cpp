// SPDX-License-Identifier: Apache-2.0
// A library that is no plugin: it exports another symbol.
#include "kernels/abi/w4_kernel.h"

extern "C" W4_EXPORT int w4_not_the_entry(void);
int w4_not_the_entry(void) {
  return 1;
}
