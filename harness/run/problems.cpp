// SPDX-License-Identifier: Apache-2.0
// Reads problem lists and fills what a line leaves open.
#include "harness/run/problems.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "reference/error.hpp"

namespace w4 {

namespace {

std::string_view without_comment(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t'))
      return line.substr(0, i);
  }
  return line;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

std::string hex_seed(std::uint64_t seed) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(seed));
  return text;
}

}  // namespace

ProblemLine problem_line(const std::string& where, std::string_view text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == '\n')) text.remove_suffix(1);
  try {
    return {where, split_line(text), false};
  } catch (const Error& error) {
    if (error.blame() == Blame::internal) throw;
    fail_input(where, "parse", error.what());
  }
}

std::vector<ProblemLine> problem_lines(const std::string& name, std::string_view text) {
  std::vector<ProblemLine> lines;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = without_comment(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!is_blank(line)) lines.push_back(problem_line(name + ":" + std::to_string(number), line));
  }
  if (lines.empty()) fail_input(name, "list", "no problems");
  return lines;
}

std::vector<ProblemLine> read_problem_list(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail_input(path, "open", std::strerror(EISDIR));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_input(path, "open", std::strerror(errno != 0 ? errno : EIO));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) fail_input(path, "read", std::strerror(errno != 0 ? errno : EIO));
  return problem_lines(path, text);
}

SuiteProblem resolve(const ProblemLine& source, std::uint64_t seed, LayerStore& layers) {
  Line line = source.line;
  if (line.find("seed") == nullptr) line.pairs.emplace_back("seed", hex_seed(seed));
  try {
    const std::string* data = line.find("data");
    SuiteProblem out;
    if (data != nullptr && data->starts_with("layer:")) {
      ResolvedLayer found = layers.resolve(line);
      out = {std::move(found.problem), std::move(found.data), std::move(found.prefix),
             std::move(found.about), false};
    } else {
      out.problem = parse_problem(line);
      if (out.problem.data != "gen")
        throw Error("data=" + out.problem.data + ": only gen and layer: can be run");
    }
    out.literal = source.literal;
    return out;
  } catch (const LayerError&) {
    throw;
  } catch (const Error& error) {
    if (error.blame() == Blame::internal) throw;
    fail_input(source.where, "parse", error.what());
  }
}

std::vector<SuiteProblem> resolve_all(const std::vector<ProblemLine>& lines, std::uint64_t seed,
                                      LayerStore& store) {
  std::vector<SuiteProblem> problems;
  std::map<std::string, std::string> first_seen;
  for (const ProblemLine& line : lines) {
    SuiteProblem problem = resolve(line, seed, store);
    const auto [at, is_new] = first_seen.emplace(to_string(problem.problem), line.where);
    if (is_new)
      problems.push_back(std::move(problem));
    else
      store.warn(line.where + ": problem: the same as " + at->second + ", run once");
  }
  return problems;
}

}  // namespace w4
