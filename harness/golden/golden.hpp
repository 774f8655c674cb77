// SPDX-License-Identifier: Apache-2.0
// Golden files: operands and exact results that outlive the code that made them, and what it means
// when today's code disagrees.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/fixture/foreign.hpp"
#include "harness/run/problems.hpp"
#include "harness/subject/subject.hpp"
#include "reference/multiply.hpp"

namespace w4 {

inline constexpr char golden_schema[] = "w4check.golden/1";

// The products of one dequantisation class, dense [m][n].
struct GoldenClass {
  Dequant dequant{};
  std::vector<Number> exact;  // rounded to odd at 62 bits: decides every tie of every output type
  std::vector<std::uint32_t> y;  // words of the problem's y
};

struct GoldenCase {
  std::string name;    // "00001"
  std::string source;  // "gen", or the data=layer:... that the matrix came from
  Problem problem;     // data=gen; dense rows
  WeightBytes weights;
  CallBytes call;
  std::vector<GoldenClass> classes;     // D1, D5, D6
  std::vector<std::uint32_t> observed;  // what a kernel gave, [m][n] words; may be empty
};

struct GoldenFile {
  std::string path;
  // generator, commit, reference, seed; of recordings also kernel, device, driver, compiler.
  std::map<std::string, std::string> provenance;
  std::vector<GoldenCase> cases;
  std::string content_sha256;  // over names, problems, sources, and every dataset's payload
};

// The case of a problem as today's code has it: generated operands (all 16 codes, every zero point,
// scales of all magnitudes, activations of full significand), or the layer's words.
// `go_on` is called before each of its classes, and may throw.
GoldenCase record_case(const SuiteProblem&, std::size_t number,
                       const std::function<void()>& go_on = {});
// Adds what the kernel gives. Error(input) `kernel: record: cause` where it declines or fails.
void observe_case(GoldenCase&, KernelPort&);

// Error(input) `path: step: cause`. The same content gives the same bytes. Returns content_sha256.
std::string write_golden(const GoldenFile&, const std::string& path);
// Checks the schema, every hash, shape and type. Error(input) `path: read: cause`, with the
// dataset's name. A path is read in a child process.
GoldenFile read_golden(const ForeignFile&);
GoldenFile read_golden(const std::string& path);

enum class DriftClass : std::uint8_t { none, rounding, zero, scale, permutation, tail, other };
std::string_view to_string(DriftClass);

struct Drift {
  DriftClass cls{};
  std::string case_name, dequant;
  std::string tensor;               // zero, scale: where the step is; permutation: its axis
  std::int64_t group{-1}, col{-1};  // of the first step
  int step{};  // of a zero point in codes, of a scale in units of its last place
  std::size_t count{}, outputs{};  // outputs that differ, of how many
  std::string what;                // one sentence
};
// The file's results against today's. Empty: none.
std::vector<Drift> drift_of(const GoldenCase&);

// MANIFEST.sha256 beside the file or in the folder, in the form of sha256sum. Error(input) `path:
// manifest: cause`. A folder's files: all *.h5, each of which must be listed, and the other way
// round. A file whose folder has no manifest, or one that does not list it, is taken as it is.
std::vector<std::string> golden_files(const std::string& file_or_folder);

struct GoldenDifference {
  std::string case_name, what;
};
// What differs in content; provenance does not count.
std::vector<GoldenDifference> diff_golden(const GoldenFile& a, const GoldenFile& b);

}  // namespace w4
