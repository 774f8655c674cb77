// SPDX-License-Identifier: Apache-2.0
// Any flipped byte of a golden file is refused, reported, or provably without meaning; nothing
// crashes. W4_FLIPS says how many (tools/dev/flip-golden runs 3,000).
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <catch2/catch_test_macros.hpp>

#include "harness/checks/data.hpp"
#include "suites/golden/support.hpp"

TEST_CASE("a flipped byte is refused or reported or has no meaning") {
  using namespace w4;
  const char* asked = std::getenv("W4_FLIPS");
  const int flips = asked ? std::atoi(asked) : 240;
  const TemporaryFolder folder;
  std::ifstream source(W4_FIXTURES "/golden/gptq.h5", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(source), {}};
  REQUIRE(whole.size() > 100'000);
  const auto path = folder.file("flipped.h5");
  const auto content = read_golden(W4_FIXTURES "/golden/gptq.h5").content_sha256;
  int refused = 0, reported = 0, meaningless = 0, crashes = 0;
  for (int i = 0; i < flips; ++i) {
    auto bytes = whole;
    const auto place = draw(7, "flip", static_cast<std::uint64_t>(i)) % bytes.size();
    const auto mask = 1 + draw(7, "mask", static_cast<std::uint64_t>(i)) % 255;
    bytes[place] = static_cast<char>(static_cast<unsigned char>(bytes[place]) ^ mask);
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
    INFO("byte " << place << " xor " << mask);
    try {
      const auto golden = read_golden(path);
      bool drifted = false;
      for (const auto& c : golden.cases) drifted = drifted || !drift_of(c).empty();
      if (drifted) {
        ++reported;
        continue;
      }
      CHECK(golden.content_sha256 == content);
      ++meaningless;
    } catch (const Error& error) {
      const std::string what = error.what();
      INFO(what);
      CHECK(error.blame() == Blame::input);
      CHECK(what.starts_with(path + ": read: "));
      CHECK(what.find('\n') == std::string::npos);
      ++refused;
      crashes += what.find("crashes") != std::string::npos;
    }
  }
  CHECK(refused + reported + meaningless == flips);
  CHECK(refused > flips / 4);  // else the flips hit nothing
  std::printf(
      "%d flips: %d refused (%d where HDF5 crashed in the child), %d reported, %d without "
      "meaning\n",
      flips, refused, crashes, reported, meaningless);
}
