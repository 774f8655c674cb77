// SPDX-License-Identifier: Apache-2.0
// w4_fuzz_seeds FOLDER: the seeds of the hdf5 target as files, for tools/dev/fuzz.
#include <cstdio>
#include <exception>
#include <fstream>

#include "suites/fuzz/seeds.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: w4_fuzz_seeds FOLDER\n"), 2;
  try {
    int number = 0;
    for (const auto& seed : w4::hdf5_seeds()) {
      std::ofstream file(std::string(argv[1]) + "/seed." + std::to_string(number++),
                         std::ios::binary);
      file.write(seed.data(), static_cast<std::streamsize>(seed.size()));
      if (!file.flush()) return std::fprintf(stderr, "%s: write: failed\n", argv[1]), 2;
    }
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 2;
  }
  return 0;
}
