// SPDX-License-Identifier: Apache-2.0
// The rule by which a launched device function matches a glob of plan.symbols.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace w4 {

// Every name that a vendor may have written a glob for. A function with a C name has that one only.
//   mangled    _ZN2ns1kIiEEvPf
//   full       void ns::k<int>(float*)
//   qualified  ns::k               without return type, template arguments and parameters
//   base       k
struct SymbolNames {
  std::string mangled, full, qualified, base;
};
SymbolNames names_of(const std::string& mangled);

// "a*, b" -> {"a*", "b"}: split at commas, blanks around a glob and empty ones dropped. Arguments
// of a template hold commas, so a glob that is to match them has * there.
std::vector<std::string> globs_of(std::string_view symbols);

// One of the names matches the glob whole, as of fnmatch(3): * ? [..].
bool matches(const std::string& glob, const SymbolNames&);

}  // namespace w4
