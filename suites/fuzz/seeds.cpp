// SPDX-License-Identifier: Apache-2.0
#include "suites/fuzz/seeds.hpp"

#include <filesystem>
#include <stdexcept>

#include <stdlib.h>

#include "harness/bundle/bundle.hpp"
#include "harness/fixture/unpack.hpp"
#include "harness/golden/golden.hpp"
#include "suites/fuzz/records.hpp"
#include "suites/support/temporary_folder.hpp"

namespace w4 {
namespace {

namespace fs = std::filesystem;

// A problem for each form that a tensor can have in a file.
constexpr const char* problems[] = {
    "m=1 n=8 k=16 g=8 zero=code",
    "m=2 n=8 k=16 zero=signed x=s4 y=f32 xg=8",
    "m=1 n=8 k=32 g=16 zero=8 layout=gptq_v1 x=s8 y=s32",
    "m=1 n=8 k=16 g=8 zero=code_m1 layout=gptq_v1 order=gidx groups=3",
    "m=2 n=3 k=16 zero=real layout=kpack:02461357 x=bf16 y=bf16 bias=bf16",
    "m=1 n=3 k=9 g=8 zero=add x=f32 y=f32 order=gidx bias=f32",
    "m=1 n=8 k=16 g=8 zero=code layout=awq_gemm",
    "m=1 n=8 k=16 g=8 zero=code layout=compressed_tensors x=e4m3",
};

std::string golden_seed(const TemporaryFolder& folder, const char* line) {
  GoldenFile golden;
  golden.provenance = {{"generator", "seeds"}, {"seed", "7"}};
  golden.cases = {record_case({parse_problem(line), nullptr, "", "", false}, 1)};
  golden.cases[0].observed = golden.cases[0].classes[0].y;
  write_golden(golden, folder.file("golden.h5"));
  return to_records(read_foreign(folder.file("golden.h5")));
}

// The first calls alone: a file of all is larger than a fuzzer can do with. The first y is filled,
// the second has another type.
std::string bundle_seed(const TemporaryFolder& folder, const char* line) {
  BundleOptions options;
  options.problems = {{parse_problem(line), nullptr, "", "", true}};
  options.out = folder.file("bundle.h5");
  make_bundle(options);
  auto file = read_foreign(options.out);
  const auto late = [](const auto& entry) {
    return entry.first.starts_with("/cases/") && !entry.first.starts_with("/cases/00001") &&
           !entry.first.starts_with("/cases/00002");
  };
  std::erase_if(file.groups, late);
  std::erase_if(file.datasets, late);
  std::erase_if(file.attributes, late);
  auto& y = file.datasets.at("/cases/00001/y");
  y.data = std::make_shared<const std::vector<std::byte>>(y.data->size());
  file.datasets.at("/cases/00002/y").kind = ForeignKind::unsigned_integer;
  return to_records(file);
}

std::string plain_seed(const TemporaryFolder& folder, const char* vector) {
  unpack_layer(std::string(W4_FIXTURES "/vectors/") + vector + ".safetensors", "", V1Zeros::d1,
               folder.file("plain.h5"));
  ForeignLimits limits;
  limits.left_out = {"/dequant"};
  return to_records(read_foreign(folder.file("plain.h5"), limits));
}

}  // namespace

std::vector<std::string> hdf5_seeds() {
  const TemporaryFolder folder;
  std::vector<std::string> seeds{to_records(read_foreign(W4_FIXTURES "/hdf5/plain.h5"))};
  for (const char* line : problems) {
    seeds.push_back(golden_seed(folder, line));
    seeds.push_back(bundle_seed(folder, line));
  }
  for (const char* vector :
       {"gptq_v1/k64n32_g32_sym_negscale", "gptq_v1/k64n96_g32_sym_desc",
        "awq_gemv_fast/k64n32_g32_extreme", "compressed_tensors/k72n33_g24_asym"})
    seeds.push_back(plain_seed(folder, vector));
  return seeds;
}

}  // namespace w4
