// SPDX-License-Identifier: Apache-2.0
// Runs a RapidCheck property inside a Catch2 3 test case (the packaged bridge is for Catch2 2). The
// seed is fixed, so a red test is red again; W4_RC_SEED sets another.
#pragma once

#include <cstdlib>
#include <sstream>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <rapidcheck.h>

namespace w4 {

template <typename Testable>
void check_property(const std::string& description, Testable&& testable) {
  rc::detail::TestMetadata metadata;
  metadata.id = description;
  metadata.description = description;
  auto params = rc::detail::configuration().testParams;
  const char* seed = std::getenv("W4_RC_SEED");
  params.seed = seed != nullptr ? std::strtoull(seed, nullptr, 0) : 7;
  const auto result = rc::detail::checkTestable(std::forward<Testable>(testable), metadata, params);
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  INFO(description << ": " << message.str());
  REQUIRE(result.template is<rc::detail::SuccessResult>());
}

}  // namespace w4
