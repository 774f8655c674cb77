// SPDX-License-Identifier: Apache-2.0
#include "suites/checkpoint/build.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

#include <unistd.h>

namespace w4 {
namespace {

template <typename T>
std::string words(const std::vector<T>& values) {
  std::string out(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

}  // namespace

std::string container(std::string_view header, std::string_view data) {
  std::string out;
  for (int i = 0; i < 8; ++i)
    out += static_cast<char>(static_cast<std::uint64_t>(header.size()) >> (8 * i) & 255);
  return out.append(header).append(data);
}

std::string container(const std::vector<TestTensor>& tensors) {
  std::string header = "{", data;
  for (const auto& t : tensors) {
    header += (header.size() > 1 ? ",\"" : "\"") + t.name + R"(":{"dtype":")" + t.dtype +
              R"(","shape":[)";
    for (std::size_t i = 0; i < t.shape.size(); ++i)
      header += (i ? "," : "") + std::to_string(t.shape[i]);
    header += R"(],"data_offsets":[)" + std::to_string(data.size()) + ',';
    data += t.bytes;
    header += std::to_string(data.size()) + "]}";
  }
  return container(header + "}", data);
}

std::vector<TestTensor> tensors_of(const TestLayer& layer) {
  const auto [k, n, groups] = std::tuple(layer.k, layer.n, layer.groups);
  std::vector<std::uint32_t> codes(static_cast<std::size_t>(k / 8 * n));
  for (std::int64_t row = 0; row < k; ++row)
    for (std::int64_t column = 0; column < n; ++column)
      codes[static_cast<std::size_t>(row / 8 * n + column)] |=
          static_cast<std::uint32_t>((row + column) % 16) << (4 * (row % 8));
  const std::vector<std::uint32_t> zeros(static_cast<std::size_t>(groups * n / 8), layer.zeros);
  const std::vector<std::uint16_t> scales(static_cast<std::size_t>(groups * n), 0x3c00);
  auto g_idx = layer.g_idx;
  if (g_idx.empty())
    for (std::int64_t row = 0; row < k; ++row)
      g_idx.push_back(static_cast<std::int32_t>(row / (k / groups)));
  std::vector<TestTensor> tensors{
      {"l.qweight", "I32", {k / 8, n}, words(codes)},
      {"l.qzeros", "I32", {groups, n / 8}, words(zeros)},
      {"l.scales", "F16", {groups, n}, words(scales)},
      {"l.g_idx", "I32", {static_cast<std::int64_t>(g_idx.size())}, words(g_idx)}};
  if (!layer.bias_dtype.empty())
    tensors.push_back(
        {"l.bias", layer.bias_dtype, {n}, std::string(static_cast<std::size_t>(2 * n), '\0')});
  return tensors;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "w4_suite_XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

std::string TemporaryFolder::write(std::string_view name, std::string_view text) const {
  const auto path = path_ / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  return path.string();
}

std::vector<std::string> TemporaryFolder::names() const {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::string read_file(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

}  // namespace w4
