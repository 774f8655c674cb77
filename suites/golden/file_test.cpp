// SPDX-License-Identifier: Apache-2.0
// Golden files: what is written is read, the bytes are a function of the content, and what does not
// hold is refused in one line.
#include <fstream>

#include <catch2/catch_test_macros.hpp>

#include "harness/fixture/hdf5_file.hpp"
#include "suites/golden/support.hpp"
#include "suites/support/property.hpp"
#include "suites/support/types.hpp"

namespace {

using namespace w4;

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

GoldenFile file_of(const std::vector<std::string>& lines) {
  GoldenFile file;
  file.provenance = {{"generator", "suite"}, {"seed", "0x7"}};
  for (const auto& line : lines)
    file.cases.push_back(
        record_case({parse_problem(line), nullptr, "", "", false}, file.cases.size() + 1));
  return file;
}

constexpr char plain[] = "m=2 n=8 k=64 g=32 zero=code";

}  // namespace

TEST_CASE("the same content gives the same bytes") {
  const TemporaryFolder folder;
  const auto file = file_of({plain, "m=1 n=8 k=64 g=32 layout=gptq_v1 order=perm bias=f16"});
  write_golden(file, folder.file("a.h5"));
  write_golden(file, folder.file("b.h5"));
  CHECK(read_all(folder.file("a.h5")) == read_all(folder.file("b.h5")));
}

TEST_CASE("every x, mul and y that go together are read as they were written") {
  const TemporaryFolder folder;
  std::size_t count = 0;
  for (const auto& line : lines_of_types("m=2 n=8 k=33")) {
    INFO(line);
    ++count;
    const auto c = golden_case(line);
    const auto read = through_file(c, folder).cases.at(0);
    CHECK(read.call.x == c.call.x);
    CHECK(read.call.x_scale == c.call.x_scale);
    CHECK(drift_of(read).empty());
  }
  CHECK(count > 20);
}

TEST_CASE("the exact sums decide every rounding of every output type") {
  const auto x = Type::f16;
  for (const auto y : {Type::f16, Type::bf16, Type::f32, Type::s32}) {
    // Half-way cases of y, and sums a little beside them.
    for (int i = 0; i < 200; ++i) {
      for (const int far : {0, 60, 200}) {
        ExactSum sum;
        sum.add(2 * (1024 + 37 * i) + 1, -3);
        if (far > 0) sum.add(i % 2 ? 1 : -1, -3 - far);
        const auto odd = sum.to_odd(62);
        CHECK(round_word({NumberKind::finite, sum.sign() < 0, odd}, y) == sum.round(y));
      }
    }
  }
  CHECK(bits_of(x) == 16);
}

TEST_CASE("specials are kept") {
  const TemporaryFolder folder;
  auto c = golden_case(plain);
  c.classes[0].exact[0] = {NumberKind::nan, false, {}};
  c.classes[0].exact[1] = {NumberKind::infinite, true, {}};
  c.classes[0].exact[2] = {NumberKind::infinite, false, {}};
  const auto read = through_file(c, folder).cases.at(0).classes[0];
  CHECK(read.exact[0].kind == NumberKind::nan);
  CHECK((read.exact[1].kind == NumberKind::infinite && read.exact[1].negative));
  CHECK((read.exact[2].kind == NumberKind::infinite && !read.exact[2].negative));
}

TEST_CASE("a future schema, a missing attribute and a foreign file are refused in one line") {
  const TemporaryFolder folder;
  const auto says = [&](const std::function<void(Hdf5Writer&)>& write, const std::string& part) {
    {
      Hdf5Writer file(folder.file("a.h5"));
      write(file);
      file.commit();
    }
    const auto error = error_of([&] { read_golden(folder.file("a.h5")); });
    INFO(error);
    CHECK(error.starts_with(folder.file("a.h5") + ": read: "));
    CHECK(error.find(part) != std::string::npos);
    CHECK(error.find('\n') == std::string::npos);
  };
  says([](Hdf5Writer& f) { f.attribute("schema", std::string("w4check.golden/2")); },
       "schema is \"w4check.golden/2\"");
  says([](Hdf5Writer& f) { f.attribute("seed", std::int64_t{7}); }, "/ has no attribute schema");
  says([](Hdf5Writer& f) { f.attribute("schema", std::string(golden_schema)); },
       "no attribute provenance_sha256");
  says([](Hdf5Writer& f) { f.attribute("schema", std::int64_t{1}); }, "is not text");
}

TEST_CASE("operands that are no matrix and sums that are none are refused, hashes or not") {
  const TemporaryFolder folder;
  const auto says = [&](const char* line, const std::function<void(GoldenCase&)>& spoil) {
    auto c = golden_case(line);
    spoil(c);
    const auto begin = folder.file("case.h5") + ": read: ";
    const auto error = error_of([&] { through_file(c, folder); });
    CHECK(error.starts_with(begin));
    return error.substr(std::min(error.size(), begin.size()));
  };
  const auto sum_of = [](std::int64_t mant, int exp) {
    return [=](GoldenCase& c) {
      c.classes[0].exact[0] = {NumberKind::finite, mant < 0, {mant, exp}};
    };
  };
  CHECK(says("m=1 n=8 k=16 g=8 groups=3 zero=code order=gidx", [](GoldenCase& c) {
          (*c.weights.g_idx)[4] = std::byte{3};
        }) == "dataset /cases/00001/g_idx holds 3 at [1]: must be 0..2");
  CHECK(says("m=1 n=8 k=16 g=8 zero=code", [](GoldenCase& c) {
          (*c.weights.codes)[9] = std::byte{0x15};
        }) == "the weights of /cases/00001 are no matrix: byte 21 at k 1, n 1 is not a 4-bit code");
  for (const auto& spoil :
       {sum_of(INT64_MIN, 0), sum_of(INT64_MAX, 0), sum_of(1, 2001), sum_of(1, INT32_MIN)})
    CHECK(says(plain, spoil) == "dataset /cases/00001/D1/exact_exp holds what no sum has");
}

TEST_CASE("diff says what differs in content, and provenance does not count") {
  const TemporaryFolder folder;
  auto a = file_of({plain}), b = a;
  b.provenance["driver"] = "581";
  a.content_sha256 = write_golden(a, folder.file("a.h5"));
  b.content_sha256 = write_golden(b, folder.file("b.h5"));
  CHECK(diff_golden(a, b).empty());
  a.cases[0].observed = b.cases[0].observed = a.cases[0].classes[0].y;
  b.cases[0].observed[9] ^= 1;
  a.content_sha256 = write_golden(a, folder.file("a.h5"));
  b.content_sha256 = write_golden(b, folder.file("b.h5"));
  const auto differences =
      diff_golden(read_golden(folder.file("a.h5")), read_golden(folder.file("b.h5")));
  REQUIRE(differences.size() == 1);
  CHECK(differences[0].what.starts_with(
      "observed: 1 of 16 words differ, at most 1 ulps; first y[1,1]"));
}

TEST_CASE("a manifest is compared before anything is opened") {
  const TemporaryFolder folder;
  write_golden(file_of({plain}), folder.file("a.h5"));
  const auto bytes = read_all(folder.file("a.h5"));
  const auto hash = sha256_hex(std::as_bytes(std::span(bytes)));
  std::ofstream(folder.file("MANIFEST.sha256")) << hash << "  a.h5\n";
  CHECK(golden_files(folder.path().string()) == std::vector{folder.file("a.h5")});
  CHECK(golden_files(folder.file("a.h5")) == std::vector{folder.file("a.h5")});
  std::ofstream(folder.file("b.h5")) << "x";
  CHECK(error_of([&] { golden_files(folder.path().string()); }) ==
        folder.file("b.h5") + ": manifest: is not listed in MANIFEST.sha256");
  std::filesystem::remove(folder.file("b.h5"));
  std::ofstream(folder.file("a.h5"), std::ios::app) << "x";
  for (const auto& path : {folder.path().string(), folder.file("a.h5")})
    CHECK(error_of([&] { golden_files(path); }) ==
          folder.file("a.h5") + ": manifest: does not have the SHA-256 that MANIFEST.sha256 says");
  std::ofstream(folder.file("MANIFEST.sha256")) << hash << "  gone.h5\n";
  CHECK(error_of([&] { golden_files(folder.path().string()); }) ==
        folder.file("gone.h5") + ": manifest: cannot be read");
}
