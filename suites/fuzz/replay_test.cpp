// SPDX-License-Identifier: Apache-2.0
// The fuzzers' entry functions without libFuzzer, on what the tree holds and on small damage to it:
// a build without clang still runs them.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

extern "C" int fuzz_problem(const std::uint8_t*, std::size_t);
extern "C" int fuzz_json(const std::uint8_t*, std::size_t);
extern "C" int fuzz_safetensors(const std::uint8_t*, std::size_t);

namespace {

using Entry = int (*)(const std::uint8_t*, std::size_t);

std::size_t feed(Entry entry, std::string_view bytes) {
  entry(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return 1;
}

// The seed itself, cut at up to `cuts` places, and with one byte changed at each of them.
std::size_t feed_damaged(Entry entry, const std::string& seed, std::size_t cuts) {
  std::size_t runs = feed(entry, seed);
  const std::size_t step = std::max<std::size_t>(1, seed.size() / cuts);
  for (std::size_t at = 0; at < seed.size(); at += step) {
    runs += feed(entry, std::string_view(seed).substr(0, at));
    std::string changed = seed;
    for (const int change : {0x01, 0x20, 0x80}) {
      changed[at] = static_cast<char>(seed[at] ^ change);
      runs += feed(entry, changed);
    }
  }
  return runs;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Files below fixtures/`folder` with that extension, at most `most_bytes` long, in order.
std::vector<std::filesystem::path> files(const std::string& folder, const std::string& extension,
                                         std::uintmax_t most_bytes) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(W4_FIXTURES) + "/" + folder))
    if (entry.is_regular_file() && entry.path().extension() == extension &&
        entry.file_size() <= most_bytes)
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

TEST_CASE("the problem line survives its lists and damage to every character of them") {
  std::size_t runs = 0;
  for (const auto& path : files("problems", ".txt", 1 << 20)) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
      runs += feed_damaged(fuzz_problem, line, line.size() + 1);
  }
  CHECK(runs > 10000);
}

TEST_CASE("configs survive the vectors and damage to them") {
  std::size_t runs = 0;
  for (const auto& path : files("vectors", ".json", 1 << 16))
    runs += feed_damaged(fuzz_json, read(path), 60);
  CHECK(runs > 5000);
}

TEST_CASE("safetensors survive the vectors and damage to their headers") {
  std::size_t runs = 0;
  for (const auto& path : files("vectors", ".safetensors", 1 << 14))
    runs += feed_damaged(fuzz_safetensors, read(path).substr(0, 1024), 60);
  CHECK(runs > 5000);
}
