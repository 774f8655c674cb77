// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "harness/checkpoint/checkpoint.hpp"
#include "suites/checkpoint/build.hpp"

using namespace w4;
using Catch::Matchers::ContainsSubstring;

static std::string refusal(const std::string& path) {
  return error_of([&] { open_checkpoint(path); });
}

static std::string tensor_file(const std::string& name) {
  return container({{name, "U8", {1}, "x"}});
}

static std::string index_of(const std::string& map) {
  return "{\"weight_map\":{" + map + "}}";
}

TEST_CASE("open: a folder without index takes all its files") {
  TemporaryFolder folder;
  folder.write("a.safetensors", tensor_file("a"));
  folder.write("b.safetensors", tensor_file("b"));
  const auto c = open_checkpoint(folder.path());
  CHECK(c.tensors.size() == 2);
  CHECK(c.shards == 2);
  CHECK(c.config == nullptr);
}

TEST_CASE("open: a tensor in two files of a folder is ambiguous") {
  TemporaryFolder folder;
  folder.write("a.safetensors", tensor_file("same"));
  folder.write("b.safetensors", tensor_file("same"));
  CHECK_THAT(refusal(folder.path()),
             ContainsSubstring("\"same\"") && ContainsSubstring("a.safetensors"));
}

TEST_CASE("open: an index, its folder and a single file are told apart") {
  TemporaryFolder folder;
  const auto shard = folder.write("m-1.safetensors", tensor_file("a"));
  const auto index = folder.write("m.safetensors.index.json", index_of(R"("a":"m-1.safetensors")"));
  CHECK(open_checkpoint(folder.path()).file == "m.safetensors.index.json");
  CHECK(open_checkpoint(index).tensors.size() == 1);
  CHECK(open_checkpoint(shard).file == "m-1.safetensors");
}

TEST_CASE("open: tensors that the index does not list are left out, and said") {
  TemporaryFolder folder;
  folder.write("1.safetensors", container({{"a", "U8", {1}, "x"}, {"b", "U8", {1}, "y"}}));
  folder.write("2.safetensors", tensor_file("a"));
  const auto index =
      folder.write("m.index.json", index_of(R"("a":"2.safetensors","c":"3.safetensors")"));
  folder.write("3.safetensors", tensor_file("c"));
  CHECK(open_checkpoint(index).warnings.empty());
  folder.write("m.index.json", index_of(R"("a":"2.safetensors","b":"1.safetensors")"));
  const auto c = open_checkpoint(index);
  REQUIRE(c.warnings.size() == 1);
  CHECK_THAT(c.warnings[0],
             ContainsSubstring("\"a\" of") || ContainsSubstring("\"2.safetensors\" is taken"));
  CHECK(c.tensors.size() == 2);
}

TEST_CASE("open: an index names files of its own folder and nothing else") {
  TemporaryFolder folder;
  folder.write("secret", tensor_file("a"));
  folder.write("in/1.safetensors", tensor_file("a"));
  for (const std::string shard : {"../secret", "/etc/passwd", "x/../../secret", "", "..", "sub/"}) {
    const auto index = folder.write("in/m.index.json", index_of("\"a\":\"" + shard + "\""));
    INFO(shard);
    CHECK_THAT(refusal(index), ContainsSubstring("outside the folder"));
  }
  const auto index = folder.write("in/m.index.json", index_of("\"a\":\"1.safetensors\\u0000\""));
  CHECK_THAT(refusal(index), ContainsSubstring("outside the folder"));
  folder.write("in/sub/1.safetensors", tensor_file("a"));
  folder.write("in/m.index.json", index_of(R"("a":"sub/1.safetensors")"));
  CHECK(refusal(index).empty());
}

TEST_CASE("open: an index of the wrong form says what it lacks") {
  TemporaryFolder folder;
  const auto with = [&](const std::string& text) {
    return refusal(folder.write("m.index.json", text));
  };
  CHECK_THAT(with("{}"), ContainsSubstring("index: has no object weight_map"));
  CHECK_THAT(with("[]"), ContainsSubstring("index: has no object weight_map"));
  CHECK_THAT(with(index_of("")), ContainsSubstring("weight_map is empty"));
  CHECK_THAT(with(index_of("\"a\":1")), ContainsSubstring("\"a\" maps to 1"));
  CHECK_THAT(with(index_of(R"("a":"x","a":"y")")), ContainsSubstring("\"a\" twice"));
  CHECK_THAT(with("{\"weight_"), ContainsSubstring("index: not JSON"));
}

TEST_CASE("open: several indices in a folder must be chosen from") {
  TemporaryFolder folder;
  folder.write("a.index.json", index_of(R"("a":"x")"));
  folder.write("b.index.json", index_of(R"("a":"x")"));
  CHECK_THAT(refusal(folder.path()),
             ContainsSubstring("several indices") && ContainsSubstring("b.index.json"));
}

TEST_CASE("open: nothing there and nothing inside") {
  TemporaryFolder folder;
  CHECK_THAT(refusal(folder / "absent"), ContainsSubstring("absent: open: "));
  CHECK_THAT(refusal(folder.path()), ContainsSubstring("open: holds no .safetensors file"));
}

TEST_CASE("open: other containers are called by their name") {
  TemporaryFolder folder;
  const std::string rest(64, '\1');
  CHECK_THAT(refusal(folder.write("a.gguf", "GGUF\x03" + std::string(3, '\0') + rest)),
             ContainsSubstring("GGUF"));
  CHECK_THAT(refusal(folder.write("a.bin", "PK\x03\x04" + rest)), ContainsSubstring("zip archive"));
  CHECK_THAT(refusal(folder.write("a.h5", "\x89HDF\r\n\x1a\n" + rest)), ContainsSubstring("HDF5"));
}

TEST_CASE("open: a header whose length looks like another container's mark is still read") {
  const std::string entry = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  const std::string header = entry + std::string(0x280 - entry.size() - 1, ' ') + "}";
  TemporaryFolder folder;
  CHECK(refusal(folder.write("a.safetensors", container(header, "x"))).empty());
}
