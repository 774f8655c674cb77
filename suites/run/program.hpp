// SPDX-License-Identifier: Apache-2.0
// Runs the built program as a user does, and reads what it says.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "suites/support/temporary_folder.hpp"

namespace w4 {

struct Ran {
  int code{};
  std::string out, err;
};

// w4check with these arguments. `meanwhile` is called with the process's id once it runs.
Ran w4check(const std::vector<std::string>& arguments,
            const std::function<void(int)>& meanwhile = {});

std::string read_file(const std::filesystem::path&);
bool holds(const std::string& text, const std::string& part);
std::size_t lines_of(const std::string& text);
// What stands between `begin` and the next `end`; "" if there is none.
std::string between(const std::string& text, const std::string& begin, const std::string& end);
// JSON text with the values of these keys (no objects, no lists) replaced by -.
std::string without_values(std::string json, const std::vector<std::string>& keys);

}  // namespace w4
