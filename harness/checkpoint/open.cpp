// SPDX-License-Identifier: Apache-2.0
// From the path a person gives to the tensors of all shards.
#include <algorithm>
#include <filesystem>
#include <set>

#include "harness/checkpoint/checkpoint.hpp"
#include "harness/checkpoint/config.hpp"
#include "harness/checkpoint/json_strict.hpp"
#include "harness/checkpoint/safetensors.hpp"
#include "harness/checkpoint/text.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view tensor_suffix = ".safetensors", index_suffix = ".index.json";

std::string_view chars(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Other containers that people hand in, by their first bytes; read as a length these are past any
// header's limit.
std::string other_container(std::span<const std::byte> bytes) {
  constexpr std::pair<std::string_view, const char*> magics[] = {
      {"GGUF", "a GGUF file"},
      {"PK\x03\x04", "a zip archive (PyTorch .bin, .npz)"},
      {"\x89HDF", "an HDF5 file"},
      {"\x80\x02", "a Python pickle"}};
  if (bytes.size() < 8 || std::all_of(bytes.begin() + 4, bytes.begin() + 8,
                                      [](std::byte b) { return b == std::byte{0}; }))
    return {};
  for (const auto& [magic, what] : magics)
    if (chars(bytes).starts_with(magic)) return what;
  return {};
}

SafetensorsFile open_shard(Checkpoint& into, const std::string& path) {
  auto mapping = std::make_shared<MappedFile>(path);
  if (const auto other = other_container(mapping->bytes()); !other.empty())
    fail_input(path, "header", "looks like " + other + ": not read by this build");
  SafetensorsFile file = read_safetensors(path, mapping->bytes());
  into.mappings.push_back(mapping);
  return file;
}

void add_warnings(Checkpoint& into, const std::string& path, const SafetensorsFile& file,
                  bool many) {
  const std::string where = many ? fs::path(path).filename().string() + ": " : "";
  for (const auto& warning : file.warnings) into.warnings.push_back("header: " + where + warning);
}

using WeightMap = std::map<std::string, std::string>;  // tensor -> shard

WeightMap read_index(const std::string& path) {
  const auto fail = [&](const std::string& cause) { fail_input(path, "index", cause); };
  const MappedFile file(path);
  Json root;
  try {
    root = parse_json_strict(chars(file.bytes()));
  } catch (const Error& e) {
    fail(e.what());
  }
  const Json* map = root.find("weight_map");
  if (!map || !map->object()) fail("has no object weight_map");
  WeightMap shard_of;
  for (const auto& [tensor, shard] : *map->object()) {
    if (!shard.string())
      fail("weight_map: " + in_quotes(tensor) + " maps to " + to_text(shard) +
           ": must be a string");
    shard_of.emplace(tensor, *shard.string());
  }
  if (shard_of.empty()) fail("weight_map is empty");
  return shard_of;
}

// A shard is a file in the folder of its index: an index from elsewhere must not make us open
// anything else.
void check_shard_name(const std::string& index, const std::string& shard) {
  const fs::path name(shard);
  bool inside = !shard.empty() && !name.is_absolute() && shard.find('\0') == std::string::npos &&
                name.has_filename();
  for (const auto& part : name) inside = inside && part != "..";
  if (!inside)
    fail_input(index, "index", "shard " + in_quotes(shard) + " is outside the folder: not opened");
}

std::vector<std::string> tensors_in(const WeightMap& shard_of, const std::string& shard) {
  std::vector<std::string> names;
  for (const auto& [tensor, where] : shard_of)
    if (where == shard) names.push_back(printable(tensor));
  return names;
}

void open_index(Checkpoint& into, const std::string& index) {
  const WeightMap shard_of = read_index(index);
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : shard_of) shards.insert(shard);
  for (const auto& shard : shards) check_shard_name(index, shard);
  const fs::path folder = fs::path(index).parent_path();
  for (const auto& shard : shards)
    if (std::error_code error; !fs::exists(folder / shard, error))
      fail_input(index, "index",
                 "shard " + in_quotes(shard) + " is not there: it should hold " +
                     some_of(tensors_in(shard_of, shard)));
  std::map<std::string, SafetensorsFile> files;
  for (const auto& shard : shards) {
    const std::string path = (folder / shard).string();
    auto& file = files[shard] = open_shard(into, path);
    add_warnings(into, path, file, true);
  }
  into.shards = shards.size();
  for (const auto& [tensor, shard] : shard_of) {
    const auto& held = files.at(shard).tensors;
    const auto found = held.find(tensor);
    if (found == held.end())
      fail_input(index, "index",
                 "tensor " + in_quotes(tensor) + " is not in shard " + in_quotes(shard));
    into.tensors.emplace(tensor, found->second);
  }
  for (const auto& [shard, file] : files)
    for (const auto& [tensor, view] : file.tensors) {
      const auto listed = shard_of.find(tensor);
      if (listed == shard_of.end()) {
        into.warnings.push_back("index: tensor " + in_quotes(tensor) + " of shard " +
                                in_quotes(shard) + " is not in the index: left out");
      } else if (listed->second != shard) {
        into.warnings.push_back("index: tensor " + in_quotes(tensor) + " is in shard " +
                                in_quotes(shard) + " too: " + in_quotes(listed->second) +
                                " is taken");
      }
    }
}

void open_files(Checkpoint& into, const std::vector<std::string>& paths) {
  for (const auto& path : paths) {
    SafetensorsFile file = open_shard(into, path);
    add_warnings(into, path, file, paths.size() > 1);
    for (auto& [name, view] : file.tensors)
      if (const auto [at, fresh] = into.tensors.emplace(name, std::move(view)); !fresh)
        fail_input(path, "open",
                   "tensor " + in_quotes(name) + " is in " + at->second.file + " too");
  }
  into.shards = paths.size();
}

struct Listing {
  std::vector<std::string> indices, files;
};

Listing list_folder(const std::string& folder) {
  Listing out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const auto name = at->path().filename().string();
    if (name.ends_with(index_suffix)) out.indices.push_back(at->path().string());
    if (name.ends_with(tensor_suffix)) out.files.push_back(at->path().string());
  }
  if (error) fail_input(folder, "open", error.message());
  std::sort(out.indices.begin(), out.indices.end());
  std::sort(out.files.begin(), out.files.end());
  return out;
}

void open_folder(Checkpoint& into, const std::string& folder) {
  const Listing listing = list_folder(folder);
  if (listing.indices.size() > 1)
    fail_input(folder, "open", "several indices: " + some_of(listing.indices) + ": name one");
  if (listing.indices.size() == 1) {
    into.file = fs::path(listing.indices[0]).filename().string();
    open_index(into, listing.indices[0]);
    return;
  }
  if (listing.files.empty()) fail_input(folder, "open", "holds no .safetensors file and no index");
  if (listing.files.size() == 1) into.file = fs::path(listing.files[0]).filename().string();
  open_files(into, listing.files);
}

std::string without(const std::string& name, std::string_view suffix) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

}  // namespace

Checkpoint open_checkpoint(const std::string& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status))
    fail_input(path, "open", error ? error.message() : "no such file or folder");
  Checkpoint checkpoint;
  checkpoint.path = path;
  checkpoint.file = fs::path(path).filename().string();
  ConfigFiles configs;
  if (fs::is_directory(status)) {
    if (checkpoint.file.empty() || checkpoint.file == ".") checkpoint.file = path;
    open_folder(checkpoint, path);
    configs = read_configs(path, "");
  } else if (checkpoint.file.ends_with(index_suffix)) {
    open_index(checkpoint, path);
    configs = read_configs(fs::path(path).parent_path().string(), "");
  } else {
    open_files(checkpoint, {path});
    configs = read_configs(fs::path(path).parent_path().string(),
                           without(checkpoint.file, tensor_suffix));
  }
  for (auto& line : configs.conflicts) checkpoint.warnings.push_back("config: " + line);
  checkpoint.configs_json = configs.text;
  if (!configs.found.empty())
    checkpoint.config = std::make_shared<const QuantConfig>(configs.found.front());
  return checkpoint;
}

}  // namespace w4
