// SPDX-License-Identifier: Apache-2.0
// A file as the records that w4check-h5read writes of it: seeds of the hdf5 target.
#pragma once

#include <string>

#include "harness/fixture/foreign.hpp"

namespace w4 {

// read_records gives the same file again. A group's attributes follow it, a dataset's too; equal
// names come in the order of the maps, not of the HDF5 file.
std::string to_records(const ForeignFile&);

}  // namespace w4
