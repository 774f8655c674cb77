// SPDX-License-Identifier: Apache-2.0
// Small files of every schema, as the records of the hdf5 target.
#pragma once

#include <string>
#include <vector>

namespace w4 {

// Made of files that the writers wrote and the child process read.
std::vector<std::string> hdf5_seeds();

}  // namespace w4
