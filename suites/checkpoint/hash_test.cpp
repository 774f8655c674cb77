// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>

#include "harness/checkpoint/checkpoint.hpp"
#include "suites/checkpoint/build.hpp"
#include "suites/checkpoint/tsv.hpp"

using namespace w4;

static std::string hash_of(const std::vector<TestTensor>& tensors) {
  TemporaryFolder folder;
  return read_layer(open_checkpoint(folder.write("m.safetensors", container(tensors))), "",
                    V1Zeros::d1)
      .sha256;
}

// The digest was made by another program (Python's struct and hashlib) from the preimage that
// checkpoint.hpp lays down.
TEST_CASE("layer hash: the documented preimage") {
  const auto checkpoint = open_checkpoint(vectors + "/gptq_v1/k128n32_g64_asym_bf16.safetensors");
  CHECK(read_layer(checkpoint, "", V1Zeros::d1).sha256 ==
        "e183894d07017e14b8dad2f38cae9415c913eca326484d908a08b98586725a28");
}

TEST_CASE("layer hash: the order of tensors in the file does not matter, a bit does") {
  auto tensors = tensors_of({});
  const auto hash = hash_of(tensors);
  std::swap(tensors[0], tensors[3]);
  CHECK(hash_of(tensors) == hash);
  tensors[1].bytes[0] ^= 1;
  CHECK(hash_of(tensors) != hash);
}

TEST_CASE("layer hash: other tensors of the file do not count") {
  auto tensors = tensors_of({});
  const auto hash = hash_of(tensors);
  tensors.push_back({"norm.weight", "F16", {2}, "abcd"});
  CHECK(hash_of(tensors) == hash);
}
