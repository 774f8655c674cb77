// SPDX-License-Identifier: Apache-2.0
// MANIFEST.sha256: whole files are compared before HDF5 opens them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "harness/fixture/hdf5_file.hpp"
#include "harness/golden/golden.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

namespace fs = std::filesystem;

std::string read_all(const fs::path& path, const char* step) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_input(path.string(), step, "cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

// "64 hex, two blanks, name" a line.
std::map<std::string, std::string> read_manifest(const fs::path& path) {
  std::map<std::string, std::string> out;
  const auto text = read_all(path, "manifest");
  for (std::size_t at = 0, number = 1; at < text.size(); ++number) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    const bool hex = line.find_first_not_of("0123456789abcdef") == 64;
    if (!hex || line.substr(64, 2) != "  " || line.size() < 67 ||
        line.find('/') != std::string::npos)
      fail_input(path.string(), "manifest",
                 "line " + std::to_string(number) + " is not `sha256  name`");
    out[line.substr(66)] = line.substr(0, 64);
    at = end + 1;
  }
  return out;
}

void compare(const fs::path& file, const std::string& want) {
  const auto bytes = read_all(file, "manifest");
  if (sha256_hex(std::as_bytes(std::span(bytes))) != want)
    fail_input(file.string(), "manifest", "does not have the SHA-256 that MANIFEST.sha256 says");
}

}  // namespace

std::vector<std::string> golden_files(const std::string& path) {
  std::error_code ignored;
  const fs::path given(path);
  const bool folder = fs::is_directory(given, ignored);
  const fs::path manifest = (folder                    ? given
                             : given.has_parent_path() ? given.parent_path()
                                                       : fs::path(".")) /
                            "MANIFEST.sha256";
  if (!folder) {
    if (!fs::exists(manifest, ignored)) return {path};
    const auto listed = read_manifest(manifest);
    if (const auto at = listed.find(given.filename().string()); at != listed.end())
      compare(given, at->second);
    return {path};
  }
  const auto listed = read_manifest(manifest);
  std::vector<std::string> files;
  for (const auto& [name, hash] : listed) {
    compare(given / name, hash);
    files.push_back((given / name).string());
  }
  for (const auto& entry : fs::directory_iterator(given, ignored)) {
    const auto name = entry.path().filename().string();
    if (entry.path().extension() == ".h5" && !listed.contains(name))
      fail_input(entry.path().string(), "manifest", "is not listed in MANIFEST.sha256");
  }
  if (files.empty()) fail_input(path, "manifest", "lists no file");
  return files;
}

}  // namespace w4
