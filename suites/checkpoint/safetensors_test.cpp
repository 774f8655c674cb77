// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/safetensors.hpp"

#include <cstring>
#include <fstream>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "suites/checkpoint/build.hpp"
#include "suites/support/property.hpp"

using namespace w4;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

static std::string refusal(std::string_view file) {
  return error_of([&] { read_safetensors("f", bytes_of(file)); });
}

static std::string one_tensor(const std::string& entry, std::string_view data) {
  return container("{\"t\":" + entry + "}", data);
}

TEST_CASE("safetensors: views point at the bytes of their tensors") {
  const auto file = container(
      {{"a", "U8", {3}, "abc"}, {"b", "F16", {1, 2}, "wxyz"}, {"c", "I64", {}, "12345678"}});
  const auto read = read_safetensors("f", bytes_of(file));
  REQUIRE(read.tensors.size() == 3);
  CHECK(read.warnings.empty());
  const auto& b = read.tensors.at("b");
  CHECK(b.dtype == "F16");
  CHECK(b.shape == std::vector<std::int64_t>{1, 2});
  CHECK(std::memcmp(b.bytes.data(), "wxyz", 4) == 0);
  CHECK(read.tensors.at("c").bytes.size() == 8);
}

TEST_CASE("safetensors: a header without tensors is legal") {
  CHECK(read_safetensors("f", bytes_of(container("{}"))).tensors.empty());
}

TEST_CASE("safetensors: every length of a cut file is refused, none read past its end") {
  const auto file = container({{"a", "U8", {3}, "abc"}, {"b", "F16", {1, 2}, "wxyz"}});
  const std::size_t header_end = file.size() - 7;  // seven bytes of data
  for (std::size_t length = 0; length < file.size(); ++length) {
    const std::string cut =
        file.substr(0, length);  // its own allocation, so that a sanitiser sees the end
    INFO("cut to " << length);
    const char* cause = length < 8            ? "shorter than the 8"
                        : length < header_end ? "exceeds the file"
                                              : "past the end of the file";
    CHECK_THAT(refusal(cut), StartsWith("f: header: ") && ContainsSubstring(cause));
  }
  CHECK(refusal(file).empty());
}

TEST_CASE("safetensors: lengths near the limit and near 2^64 do not wrap") {
  for (const std::uint64_t length : {safetensors_header_limit + 1, std::uint64_t{1} << 40,
                                     ~std::uint64_t{0}, ~std::uint64_t{0} - 7}) {
    std::string file(16, ' ');
    std::memcpy(file.data(), &length, 8);
    CHECK_THAT(refusal(file), ContainsSubstring("past the limit"));
  }
}

TEST_CASE("safetensors: a tensor of no elements may have any other dimension") {
  CHECK(
      refusal(
          one_tensor(
              R"({"dtype":"F32","shape":[4611686018427387904,0,4611686018427387904],"data_offsets":[0,0]})",
              ""))
          .empty());
}

TEST_CASE("safetensors: element counts that wrap in 64 bits are refused") {
  CHECK_THAT(refusal(one_tensor(
                 R"({"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]})", "")),
             ContainsSubstring("past any file"));
  CHECK_THAT(refusal(one_tensor(
                 R"({"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]})", "")),
             ContainsSubstring("past any file"));
}

TEST_CASE("safetensors: types of less than a byte count in bits") {
  CHECK(refusal(one_tensor(R"({"dtype":"F4","shape":[4],"data_offsets":[0,2]})", "ab")).empty());
  CHECK_FALSE(
      refusal(one_tensor(R"({"dtype":"F4","shape":[3],"data_offsets":[0,2]})", "ab")).empty());
}

TEST_CASE("safetensors: sizes are whole numbers as written") {
  for (const char* bad : {"1.0", "1e0", "-1", "\"1\"", "null", "true", "18446744073709551616"}) {
    INFO(bad);
    CHECK_THAT(
        refusal(one_tensor(
            std::string(R"({"dtype":"U8","shape":[)") + bad + R"(],"data_offsets":[0,1]})", "a")),
        ContainsSubstring("shape holds"));
  }
}

TEST_CASE("safetensors: entries without a part name the tensor and the part") {
  CHECK_THAT(refusal(one_tensor(R"({"shape":[1],"data_offsets":[0,1]})", "a")),
             ContainsSubstring("\"t\" has no dtype"));
  CHECK_THAT(refusal(one_tensor(R"({"dtype":"U8","data_offsets":[0,1]})", "a")),
             ContainsSubstring("\"t\" has no shape"));
  CHECK_THAT(refusal(one_tensor(R"({"dtype":"U8","shape":[1]})", "a")),
             ContainsSubstring("\"t\" has no data_offsets"));
  CHECK_THAT(refusal(one_tensor(R"({"dtype":8,"shape":[1],"data_offsets":[0,1]})", "a")),
             ContainsSubstring("dtype is 8"));
  CHECK_THAT(refusal(one_tensor("7", "")), ContainsSubstring("must be an object"));
}

TEST_CASE("safetensors: overlap is refused with both names, a gap and a tail are told") {
  const std::string a = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)";
  const auto overlap = refusal(
      container("{" + a + R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", "123"));
  CHECK_THAT(overlap, ContainsSubstring("\"b\" and \"a\" overlap"));
  const auto file =
      container("{" + a + R"("b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})", "123456");
  const auto read = read_safetensors("f", bytes_of(file));
  REQUIRE(read.warnings.size() == 2);
  CHECK_THAT(read.warnings[0], ContainsSubstring("1 bytes before \"b\""));
  CHECK_THAT(read.warnings[1], ContainsSubstring("2 trailing bytes"));
}

TEST_CASE("safetensors: the same bytes for two tensors are an overlap") {
  const auto text = refusal(container(
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
      "12"));
  CHECK_THAT(text, ContainsSubstring("overlap"));
}

TEST_CASE("safetensors: an unknown dtype is kept for whoever does not need the tensor") {
  const auto file = one_tensor(R"({"dtype":"Q9","shape":[7],"data_offsets":[0,1]})", "a");
  CHECK(read_safetensors("f", bytes_of(file)).tensors.at("t").dtype == "Q9");
}

TEST_CASE("safetensors: a header must begin with a brace and hold no NUL") {
  CHECK_THAT(refusal(container(" {}")), ContainsSubstring("must begin with {"));
  CHECK_THAT(refusal(container(std::string("{}\0\0", 4))), ContainsSubstring("NUL"));
  CHECK(refusal(container("{}    ")).empty());
}

TEST_CASE("safetensors: names in messages cannot break the line") {
  const auto text = refusal(container(R"({"a\nb\u001b[31m":{}})"));
  CHECK_THAT(text, ContainsSubstring("a\\x0ab\\x1b[31m"));
  CHECK(text.find('\n') == std::string::npos);
}

TEST_CASE("safetensors: property: what is put together is read back") {
  check_property("container round trip", [] {
    const auto count = *rc::gen::inRange<std::size_t>(0, 6);
    std::vector<TestTensor> tensors;
    for (std::size_t i = 0; i < count; ++i) {
      const auto rows = *rc::gen::inRange<std::int64_t>(0, 5),
                 columns = *rc::gen::inRange<std::int64_t>(0, 5);
      const auto bytes = *rc::gen::container<std::string>(
          static_cast<std::size_t>(rows * columns * 2), rc::gen::arbitrary<char>());
      tensors.push_back({"t" + std::to_string(i), "BF16", {rows, columns}, bytes});
    }
    const auto file = container(tensors);
    const auto read = read_safetensors("f", bytes_of(file));
    RC_ASSERT(read.tensors.size() == count);
    RC_ASSERT(read.warnings.empty());
    for (const auto& t : tensors) {
      const auto& view = read.tensors.at(t.name);
      RC_ASSERT(view.shape == t.shape);
      RC_ASSERT(std::string(reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size()) ==
                t.bytes);
    }
  });
}

TEST_CASE("safetensors: property: a damaged file is refused or read within its bounds") {
  const auto sound = container(tensors_of({}));
  check_property("mutation", [&] {
    std::string file = sound;
    const auto edits = *rc::gen::inRange(1, 6);
    for (int i = 0; i < edits; ++i) {
      const auto at = *rc::gen::inRange<std::size_t>(0, std::min<std::size_t>(file.size(), 420));
      file[at] = *rc::gen::element('0', '1', '9', '-', '{', '}', '[', ']', ',', '"', '.', ' ', '\0',
                                   '\xff');
    }
    try {
      const auto read = read_safetensors("f", bytes_of(file));
      const auto whole = bytes_of(file);
      for (const auto& [name, view] : read.tensors) {
        RC_ASSERT(view.bytes.data() >= whole.data());
        RC_ASSERT(view.bytes.data() + view.bytes.size() <= whole.data() + whole.size());
      }
    } catch (const Error& e) {
      RC_ASSERT(e.blame() == Blame::input);
      RC_ASSERT(std::string(e.what()).starts_with("f: header: "));
    }
  });
}

TEST_CASE("mapped file: a file that shrank is refused instead of read") {
  TemporaryFolder folder;
  const auto path = folder.write("a", std::string(10'000, 'x'));
  const MappedFile file(path);
  CHECK(file.bytes().size() == 10'000);
  CHECK(error_of([&] { file.check_size(); }).empty());
  REQUIRE(truncate(path.c_str(), 100) == 0);
  CHECK_THAT(error_of([&] { file.check_size(); }),
             ContainsSubstring("has shrunk from 10000 to 100 bytes"));
}

TEST_CASE("mapped file: what is no regular file is refused at once") {
  TemporaryFolder folder;
  const auto open = [](const std::string& path) {
    return error_of([&] { const MappedFile f(path); });
  };
  CHECK_THAT(open(folder / "absent"), ContainsSubstring("open: No such file"));
  CHECK_THAT(open(folder.path()), ContainsSubstring("not a regular file"));
  REQUIRE(mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK_THAT(open(folder / "fifo"), ContainsSubstring("not a regular file"));
}
