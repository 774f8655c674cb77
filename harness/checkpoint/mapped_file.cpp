// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/checkpoint/safetensors.hpp"
#include "reference/error.hpp"

namespace w4 {

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const auto give_up = [&](const std::string& cause) {
    if (fd_ >= 0) close(fd_);
    fail_input(path, "open", cause);
  };
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a FIFO must not block us
  if (fd_ < 0) give_up(std::strerror(errno));
  struct stat info {};
  if (fstat(fd_, &info) != 0) give_up(std::strerror(errno));
  if (!S_ISREG(info.st_mode)) give_up("not a regular file");
  if (info.st_size == 0) return;  // mmap refuses it; readers of the format say what is wrong
  const auto size = static_cast<std::size_t>(info.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd_, 0);
  if (data == MAP_FAILED) give_up(std::string("mmap: ") + std::strerror(errno));
  bytes_ = {static_cast<const std::byte*>(data), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  if (fd_ >= 0) close(fd_);
}

void MappedFile::check_size() const {
  struct stat info {};
  if (fstat(fd_, &info) != 0) fail_input(path_, "open", std::strerror(errno));
  if (static_cast<std::size_t>(info.st_size) < bytes_.size())
    fail_input(path_, "open",
               "has shrunk from " + std::to_string(bytes_.size()) + " to " +
                   std::to_string(info.st_size) + " bytes since it was opened");
}

}  // namespace w4
