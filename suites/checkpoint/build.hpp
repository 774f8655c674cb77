// SPDX-License-Identifier: Apache-2.0
// Checkpoints made by the tests themselves: a header and bytes in memory, files in a folder that
// goes away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace w4 {

// A JSON header and data as a safetensors file has them.
std::string container(std::string_view header, std::string_view data = {});

struct TestTensor {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::string bytes;
};
std::string container(const std::vector<TestTensor>&);

// A sound GPTQ v1 layer "l": codes k + n, zeros z = 8 in every word of `zeros`, fp16 scales of 1.
struct TestLayer {
  std::int64_t k{64}, n{16}, groups{2};
  std::uint32_t zeros{0x77777777};
  std::vector<std::int32_t> g_idx{};  // empty: k / (k / groups)
  std::string bias_dtype{};           // "": no bias
};
std::vector<TestTensor> tensors_of(const TestLayer&);

std::span<const std::byte> bytes_of(std::string_view);

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string path() const { return path_.string(); }
  std::string operator/(std::string_view name) const { return (path_ / name).string(); }
  std::string write(std::string_view name, std::string_view text) const;  // the path
  std::vector<std::string> names() const;                                 // sorted

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::string& path);

// What Error says, "" if nothing is thrown; errors of our own making (Blame::internal) are passed
// on.
template <typename Call>
std::string error_of(Call&& call);

}  // namespace w4

#include "reference/error.hpp"

template <typename Call>
std::string w4::error_of(Call&& call) {
  try {
    call();
  } catch (const Error& e) {
    if (e.blame() == Blame::internal) throw;
    return e.what();
  }
  return {};
}
