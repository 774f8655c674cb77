// SPDX-License-Identifier: Apache-2.0
// What a host plugin costs and says with regard to devices: nothing.
#include <catch2/catch_test_macros.hpp>

#include "suites/support/judge.hpp"

TEST_CASE("a plugin of host kernels asks for no device") {
  const auto info = w4::inspect_plugin(w4::plugin_path("cuda_emulated"));
  CHECK(info.device.empty());
  CHECK(info.driver.empty());
  CHECK(info.no_device.empty());
}
