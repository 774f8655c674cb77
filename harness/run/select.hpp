// SPDX-License-Identifier: Apache-2.0
// Choosing kernels and checks by comma separated globs; a glob that matches nothing is the user's
// typing error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace w4 {

std::vector<std::string> split_list(std::string_view text, char separator);

struct Selection {
  std::vector<bool> chosen;   // by index of the names
  std::vector<bool> literal;  // named by a pattern without wildcards
};

// Patterns as of fnmatch(3); no pattern chooses all. Throws Error(input) `path: kind: no kind
// matches ...; nearest is`.
Selection select(const std::vector<std::string_view>& names,
                 const std::vector<std::string>& patterns, const std::string& path,
                 const std::string& kind);

}  // namespace w4
