// SPDX-License-Identifier: Apache-2.0
#include "harness/checks/symbols.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <cxxabi.h>
#include <fnmatch.h>

namespace w4 {
namespace {

std::string demangled(const std::string& mangled) {
  if (!mangled.starts_with("_Z")) return {};  // "i" alone would be read as a type
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? std::string(text.get()) : std::string();
}

// Where the bracket that closes at the end opens; npos if none closes there. Within parentheses
// < and > may be operators.
std::size_t opening(std::string_view text, char open, char close) {
  if (text.empty() || text.back() != close) return std::string_view::npos;
  int depth = 0, parentheses = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (open != '(' && text[i] == ')') ++parentheses;
    if (open != '(' && text[i] == '(') --parentheses;
    if (parentheses > 0) continue;
    if (text[i] == close) ++depth;
    if (text[i] == open && --depth == 0) return i;
  }
  return std::string_view::npos;
}

// The last of `what` outside all brackets.
std::size_t last_outside(std::string_view text, std::string_view what) {
  int depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] == ')' || text[i] == '>') ++depth;
    if (text[i] == '(' || text[i] == '<') --depth;
    if (depth == 0 && text.substr(i).starts_with(what)) return i;
  }
  return std::string_view::npos;
}

std::string_view behind(std::string_view text, std::string_view what) {
  const auto at = last_outside(text, what);
  return at == std::string_view::npos ? text : text.substr(at + what.size());
}

}  // namespace

SymbolNames names_of(const std::string& mangled) {
  SymbolNames names{mangled, demangled(mangled), {}, {}};
  std::string_view text = names.full;
  text = text.substr(0, opening(text, '(', ')'));
  text = text.substr(0, opening(text, '<', '>'));
  text = behind(text, " ");
  names.qualified = text;
  names.base = behind(text, "::");
  return names;
}

std::vector<std::string> globs_of(std::string_view symbols) {
  std::vector<std::string> globs;
  while (!symbols.empty()) {
    const auto end = std::min(symbols.find(','), symbols.size());
    const auto item = symbols.substr(0, end);
    const auto first = item.find_first_not_of(" \t"), last = item.find_last_not_of(" \t");
    if (first != std::string_view::npos) globs.emplace_back(item.substr(first, last - first + 1));
    symbols.remove_prefix(std::min(end + 1, symbols.size()));
  }
  return globs;
}

bool matches(const std::string& glob, const SymbolNames& names) {
  for (const std::string* name : {&names.mangled, &names.full, &names.qualified, &names.base})
    if (!name->empty() && fnmatch(glob.c_str(), name->c_str(), 0) == 0) return true;
  return false;
}

}  // namespace w4
