// SPDX-License-Identifier: Apache-2.0
// A report file is whole or absent: written to a temporary beside the target and renamed at the
// end.
#pragma once

#include <string>
#include <string_view>

namespace w4 {

class OutputFile {
 public:
  // Opened now, so that an unwritable path is found before the run starts. Error(input) `path:
  // write: cause`.
  explicit OutputFile(std::string path);
  ~OutputFile();  // without commit() the temporary is removed and the target is as it was
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const { return path_; }
  void commit(std::string_view content);  // Error(input) `path: write: cause`

 private:
  std::string path_, target_,
      temporary_;  // target_: links followed; temporary_ "": a device or pipe, written directly
  int fd_{-1};
};

}  // namespace w4
