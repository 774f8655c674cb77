// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/safetensors_write.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fcntl.h>
#include <unistd.h>

#include "harness/checkpoint/safetensors.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

namespace fs = std::filesystem;

std::string json_string(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += std::string("\\u00") + digits[byte >> 4] + digits[byte & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string entry_text(const NewTensor& t, std::size_t begin) {
  std::string shape;
  for (const auto size : t.shape) shape += (shape.empty() ? "" : ",") + std::to_string(size);
  return json_string(t.name) + ":{\"dtype\":" + json_string(t.dtype) + ",\"shape\":[" + shape +
         "],\"data_offsets\":[" + std::to_string(begin) + ',' +
         std::to_string(begin + t.bytes.size()) + "]}";
}

// Gone again unless it was renamed.
class Temporary {
 public:
  explicit Temporary(const NewFile& file) : path_(file.path), target_(real_target(file.path)) {
    create();
    write(file.bytes);
  }
  ~Temporary() {
    if (fd_ >= 0) close(fd_);
    if (!name_.empty()) unlink(name_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  void commit() {
    if (std::rename(name_.c_str(), target_.c_str()) != 0) fail(errno);
    name_.clear();
  }

 private:
  [[noreturn]] void fail(int error) const { fail_input(path_, "write", std::strerror(error)); }

  static std::string real_target(const std::string& path) {
    std::error_code error;
    const auto status = fs::status(path, error);
    if (!fs::exists(status)) return path;
    if (!fs::is_regular_file(status)) fail_input(path, "write", "exists and is not a regular file");
    const auto real = fs::canonical(path, error);
    return error ? path : real.string();
  }

  void create() {
    static std::atomic<unsigned> counter{0};
    for (int attempt = 0; attempt < 100 && fd_ < 0; ++attempt) {
      const auto name =
          target_ + ".tmp" + std::to_string(getpid()) + '.' + std::to_string(counter++);
      fd_ = open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
      if (fd_ >= 0)
        name_ = name;
      else if (errno != EEXIST)
        fail(errno);
    }
    if (fd_ < 0) fail_input(path_, "write", "no free temporary name beside it");
  }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto done = ::write(fd_, bytes.data(), bytes.size());
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) fail_and_remove(errno);
      bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
    const int fd = fd_;
    fd_ = -1;
    if (close(fd) != 0) fail_and_remove(errno);
  }

  // A constructor that throws has no destructor run.
  [[noreturn]] void fail_and_remove(int error) {
    if (fd_ >= 0) close(fd_);
    unlink(name_.c_str());
    fail(error);
  }

  std::string path_, target_, name_;
  int fd_{-1};
};

}  // namespace

std::vector<std::byte> safetensors_bytes(std::vector<NewTensor> tensors) {
  const auto bits = [](const NewTensor& t) { return dtype_bits(t.dtype).value_or(8); };
  std::sort(tensors.begin(), tensors.end(), [&](const NewTensor& a, const NewTensor& b) {
    return bits(a) != bits(b) ? bits(a) > bits(b) : a.name < b.name;
  });
  std::string header = R"({"__metadata__":{"format":"pt"})";
  std::size_t end = 0;
  for (const NewTensor& t : tensors) {
    header += ',' + entry_text(t, end);
    end += t.bytes.size();
  }
  header += '}';
  header.append((8 - header.size() % 8) % 8, ' ');
  std::vector<std::byte> file;
  file.reserve(8 + header.size() + end);
  for (int shift = 0; shift < 64; shift += 8)
    file.push_back(static_cast<std::byte>(std::uint64_t{header.size()} >> shift & 255));
  for (const char c : header) file.push_back(static_cast<std::byte>(c));
  for (const NewTensor& t : tensors) file.insert(file.end(), t.bytes.begin(), t.bytes.end());
  return file;
}

void write_files(const std::vector<NewFile>& files) {
  std::vector<std::unique_ptr<Temporary>> temporaries;
  for (const NewFile& file : files) temporaries.push_back(std::make_unique<Temporary>(file));
  for (const auto& temporary : temporaries) temporary->commit();
}

}  // namespace w4
