// SPDX-License-Identifier: Apache-2.0
// The worker of a build without CUDA.
#include "harness/worker/cuda_driver.hpp"

namespace w4 {

const CudaDriver* cuda_driver(std::string& why) {
  why = "this build has no CUDA";
  return nullptr;
}

DeviceFacts device_facts() {
  return {false, "this build has no CUDA", ""};
}

}  // namespace w4
