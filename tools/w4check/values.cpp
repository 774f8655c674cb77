// SPDX-License-Identifier: Apache-2.0
// Reads option values.
#include "tools/w4check/values.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <random>

#include "harness/run/environment.hpp"
#include "harness/run/select.hpp"
#include "reference/error.hpp"

namespace w4 {

namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& text,
                         const std::string& expected) {
  fail_input("w4check", option, "\"" + text + "\" is not " + expected);
}

template <typename T>
bool read_number(std::string_view text, T& value, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

namespace {

namespace fs = std::filesystem;

// The file itself and, where it is a checkpoint or a folder of one, what is read beside it.
std::vector<fs::path> files_read(const fs::path& input) {
  std::error_code ignored;
  std::vector<fs::path> files{input};
  const auto name = input.filename().string();
  const bool folder = fs::is_directory(input, ignored);
  const fs::path home = folder ? input : input.parent_path();
  if (folder || name.ends_with(".index.json")) {
    for (const auto& entry : fs::directory_iterator(home.empty() ? "." : home, ignored)) {
      const auto kind = entry.path().extension();
      if (kind == ".safetensors" || kind == ".json") files.push_back(entry.path());
    }
  } else if (name.ends_with(".safetensors")) {
    files.push_back(home / (input.stem().string() + ".config.json"));
    for (const char* config : {"quantize_config.json", "quant_config.json", "config.json"})
      files.push_back(home / config);
  }
  return files;
}

}  // namespace

void keep_inputs(const std::string& out, const std::vector<std::string>& inputs) {
  std::error_code ignored;
  if (out.empty() || !fs::is_regular_file(out, ignored)) return;
  for (const std::string& input : inputs)
    for (const fs::path& file : files_read(input))
      if (fs::equivalent(out, file, ignored))
        fail_input(out, "write", "is read by this command (" + file.string() + ")");
}

V1Zeros read_v1_zeros(const std::string& text) {
  if (text.empty()) return V1Zeros::d1;
  std::string name = text;
  if (name.front() == 'd') name.front() = 'D';
  if (const auto reader = v1_zeros_named(name)) return *reader;
  refuse("--v1-zeros", text, "one of D1 D2 D3");
}

std::vector<std::int64_t> read_batches(const std::string& text) {
  if (text.empty()) return {1, 8, 32, 128};
  std::vector<std::int64_t> batches;
  for (const std::string& part : split_list(text, ',')) {
    std::int64_t m = 0;
    if (!read_number(part, m) || m < 1 || m > 65536)
      refuse("--batch", part, "a number of rows from 1 to 65536");
    if (std::find(batches.begin(), batches.end(), m) == batches.end()) batches.push_back(m);
  }
  return batches;
}

namespace {

double read_seconds(const char* option, const std::string& text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || !(seconds > 0) || seconds > 86400)
    refuse(option, text, "a number of seconds above 0, at most 86400");
  return seconds;
}

}  // namespace

WorkerLimits read_timeout(const std::string& text) {
  WorkerLimits limits;
  if (!text.empty()) limits.seconds = read_seconds("--timeout", text);
  return limits;
}

double read_search(const std::string& text) {
  return text.empty() ? 0 : read_seconds("--search", text);
}

int read_jobs(const std::string& text) {
  if (text.empty()) return this_environment().cores;
  int jobs = 0;
  if (!read_number(text, jobs) || jobs < 1 || jobs > 1024)
    refuse("--jobs", text, "a number from 1 to 1024");
  return jobs;
}

std::uint64_t read_seed(const std::string& text) {
  if (text.empty()) return 7;
  if (text == "random") {
    // The only place where chance enters: the seed is printed, and every repro carries it.
    std::random_device source;
    return static_cast<std::uint64_t>(source()) << 32 | source();
  }
  std::uint64_t seed = 0;
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (!read_number(std::string_view(text).substr(hex ? 2 : 0), seed, hex ? 16 : 10)) {
    refuse("--seed", text, "a number of 64 bits (decimal or 0x...) or random");
  }
  return seed;
}

}  // namespace w4
