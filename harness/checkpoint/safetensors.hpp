// SPDX-License-Identifier: Apache-2.0
// The safetensors container: 8 bytes of length, a JSON header, data. Nothing in a file is believed
// before it is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/checkpoint/checkpoint.hpp"

namespace w4 {

constexpr std::uint64_t safetensors_header_limit =
    100'000'000;  // bytes; as the format's own library

// Bits an element takes, for every dtype that the format defines; nullopt for any other word.
std::optional<int> dtype_bits(std::string_view dtype);

struct SafetensorsFile {
  std::map<std::string, TensorView> tensors;
  std::vector<std::string> warnings;  // causes only
};

// A whole file in memory. Views point into `bytes`. A tensor of unknown dtype is kept, unsized:
// whoever needs it refuses it. Throws Error(input) `path: header: cause`.
SafetensorsFile read_safetensors(const std::string& path, std::span<const std::byte> bytes);

// A file mapped for reading.
class MappedFile {
 public:
  // Throws Error(input) `path: open: cause` for what is not a regular file that can be read.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return bytes_; }
  // Throws Error(input) if the file has become shorter than its mapping, where a read would end in
  // SIGBUS.
  void check_size() const;

 private:
  std::string path_;
  int fd_{-1};
  std::span<const std::byte> bytes_;
};

}  // namespace w4
