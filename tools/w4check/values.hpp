// SPDX-License-Identifier: Apache-2.0
// Values of options that need more than a conversion. All throw Error `w4check: option: cause`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/subject/subject.hpp"
#include "reference/problem.hpp"

namespace w4 {

// Error(input) `OUT: write: ...` if OUT is one of the files that the command reads: a path named,
// for a checkpoint its shards and configs too. "" is no output.
void keep_inputs(const std::string& out, const std::vector<std::string>& inputs);
V1Zeros read_v1_zeros(const std::string&);                   // "": D1
std::vector<std::int64_t> read_batches(const std::string&);  // "": 1,8,32,128; doubles dropped
WorkerLimits read_timeout(const std::string&);               // "": the default
double read_search(const std::string&);                      // seconds; "": 0, no search
int read_jobs(const std::string&);                           // "": as many as cores
std::uint64_t read_seed(const std::string&);  // "": 7; decimal, 0x..., or random: drawn here

}  // namespace w4
