// SPDX-License-Identifier: Apache-2.0
#include "harness/run/paths.hpp"

#include <fstream>
#include <set>

#include "reference/error.hpp"

namespace w4 {
namespace {

// What decides a path: not the numbers, nor where they come from.
std::string shape_of(Problem p) {
  p.data = "gen", p.seed = 7, p.v1zeros = V1Zeros::d1;
  return to_string(p);
}

std::string key_of(const std::string& kernel, const Problem& p) {
  return kernel + ' ' + shape_of(p);
}

void read_line(const std::string& text, PathExpectations& into) {
  auto line = split_line(text, {"kernel", "path"});
  std::string kernel, path;
  std::erase_if(line.pairs, [&](const auto& pair) {
    if (pair.first == "kernel") kernel = pair.second;
    if (pair.first == "path") path = decode_value(pair.second);
    return pair.first == "kernel" || pair.first == "path";
  });
  if (kernel.empty() || path.empty())
    throw Error(kernel.empty() ? "kernel= is missing" : "path= is missing");
  const auto [it, fresh] = into.emplace(key_of(kernel, parse_problem(line)), path);
  if (!fresh && it->second != path)
    throw Error("says '" + path + "' where an earlier line says '" + it->second + "'");
}

}  // namespace

PathExpectations read_paths(const std::string& file) {
  std::ifstream in(file);
  if (!in) fail_input(file, "open", "cannot be read");
  PathExpectations all;
  std::string text;
  for (int number = 1; std::getline(in, text); ++number) {
    if (text.empty() || text.front() == '#') continue;
    try {
      read_line(text, all);
    } catch (const Error& error) {
      fail_input(file + ":" + std::to_string(number), "parse", error.what());
    }
  }
  if (all.empty()) fail_input(file, "list", "no expectations");
  return all;
}

void expect_path(PathExpectations& all, const std::string& kernel, const Problem& p,
                 const std::string& path) {
  all[key_of(kernel, p)] = path;
}

std::string expected_path(const PathExpectations& all, const std::string& kernel,
                          const Problem& p) {
  const auto found = all.find(key_of(kernel, p));
  return found == all.end() ? std::string() : found->second;
}

std::string paths_text(const RunResult& run) {
  std::string text =
      "# kernel, path, problem: w4check run ... --record-paths FILE wrote this; w4check run ... "
      "--paths FILE holds to it.\n";
  std::set<std::string> written;
  for (const auto& plan : run.plans) {
    if (!plan.accepted || plan.path.empty()) continue;
    const auto line = "kernel=" + run.kernels[plan.kernel].name +
                      " path=" + encode_value(plan.path) + " " +
                      shape_of(run.problems[plan.problem].problem);
    if (written.insert(line).second) text += line + "\n";
  }
  return text;
}

}  // namespace w4
