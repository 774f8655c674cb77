// SPDX-License-Identifier: Apache-2.0
// Writing safetensors and the config beside them, whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace w4 {

struct NewTensor {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};

// The file: header padded to 8 bytes, wide elements first, so that every tensor lies at a multiple
// of its element's size.
std::vector<std::byte> safetensors_bytes(std::vector<NewTensor>);

struct NewFile {
  std::string path;
  std::span<const std::byte> bytes;
};
// All are written to temporaries beside their targets first, then renamed in the order given. Links
// are followed; what exists and is no regular file is refused. Throws Error(input) `path: write:
// cause`.
void write_files(const std::vector<NewFile>&);

}  // namespace w4
