// SPDX-License-Identifier: Apache-2.0
// Temporary, write, rename.
#include "harness/report/output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "reference/error.hpp"

namespace w4 {

namespace fs = std::filesystem;

namespace {

// Renaming over a link would replace the link, and over a device the device.
std::string followed(const std::string& path) {
  fs::path target(path);
  std::error_code failed;
  constexpr int deepest = 40;  // as the system's own limit; a loop is found when the file is opened
  for (int i = 0; i < deepest && fs::is_symlink(target, failed); ++i) {
    target = target.parent_path() / fs::read_symlink(target, failed);
  }
  return target.string();
}

[[noreturn]] void fail_write(const std::string& path, int error) {
  fail_input(path, "write", std::strerror(error));
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)), target_(followed(path_)) {
  std::error_code ignored;
  if (path_.empty()) fail_write("\"\"", ENOENT);
  if (fs::is_directory(target_, ignored)) fail_write(path_, EISDIR);
  if (fs::exists(target_, ignored) && !fs::is_regular_file(target_, ignored)) {
    fd_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    if (fs::exists(target_, ignored) && access(target_.c_str(), W_OK) != 0)
      fail_write(path_, errno);
    const fs::path at(target_);
    temporary_ = (at.parent_path() /
                  ("." + at.filename().string() + "." + std::to_string(getpid()) + ".tmp"))
                     .string();
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  if (fd_ >= 0) return;
  temporary_.clear();
  fail_write(path_, errno);
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::commit(std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd_, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_write(path_, errno);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (close(std::exchange(fd_, -1)) != 0) fail_write(path_, errno);
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail_write(path_, errno);
  temporary_.clear();
}

}  // namespace w4
