// SPDX-License-Identifier: Apache-2.0
// Spawns the program with its streams in files.
#include "suites/run/program.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace w4 {

namespace fs = std::filesystem;

Ran w4check(const std::vector<std::string>& arguments, const std::function<void(int)>& meanwhile) {
  const TemporaryFolder folder;
  const std::string program = W4_BINARY_DIR "/w4check";
  const std::string out = (folder.path() / "out").string(), err = (folder.path() / "err").string();
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("cannot start " + program);
  if (meanwhile) meanwhile(child);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), read_file(out),
          read_file(err)};
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const auto at = text.find(begin);
  if (at == std::string::npos) return "";
  const auto from = at + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

std::string without_values(std::string json, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    const std::string label = "\"" + key + "\": ";
    for (auto at = json.find(label); at != std::string::npos; at = json.find(label, at + 1)) {
      const auto from = at + label.size();
      json.replace(from, json.find_first_of(",\n", from) - from, "-");
    }
  }
  return json;
}

}  // namespace w4
