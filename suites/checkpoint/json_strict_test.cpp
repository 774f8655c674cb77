// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/json_strict.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "suites/checkpoint/build.hpp"

using namespace w4;
using Catch::Matchers::ContainsSubstring;

static std::string refusal(std::string_view text, const JsonLimits& limits = {}) {
  return error_of([&] { parse_json_strict(text, limits); });
}

TEST_CASE("strict JSON reads every kind of value") {
  const Json j =
      parse_json_strict(R"({"a":[1,-2,0.5,true,null,"x"],"b":{"c":18446744073709551615}})");
  const auto& a = *j.find("a")->array();
  REQUIRE(a.size() == 6);
  CHECK(a[0].integer() == 1);
  CHECK(a[1].integer() == -2);
  CHECK_FALSE(a[2].integer());
  CHECK(*a[3].boolean());
  CHECK(a[4].is_null());
  CHECK(*a[5].string() == "x");
  CHECK_FALSE(j.find("b")->find("c")->integer());
  CHECK(to_text(*j.find("b")->find("c")) == "18446744073709551615");
  CHECK(j.find("nothing") == nullptr);
}

TEST_CASE("strict JSON keeps siblings apart when values nest and grow") {
  const Json j = parse_json_strict(R"({"a":{"x":[[1],[2,3]]},"b":{"x":[4]},"c":5})");
  REQUIRE(j.object()->size() == 3);
  CHECK((*(*j.find("a")->find("x")->array())[1].array())[1].integer() == 3);
  CHECK((*j.find("b")->find("x")->array())[0].integer() == 4);
  CHECK(j.find("c")->integer() == 5);
}

TEST_CASE("strict JSON names a doubled key and where it stands") {
  CHECK_THAT(refusal(R"({"a":1,"b":2,"a":3})"),
             ContainsSubstring("key \"a\" twice in the outermost object"));
  CHECK_THAT(refusal(R"({"t":{"shape":1,"shape":2}})"),
             ContainsSubstring("key \"shape\" twice in \"t\""));
  CHECK_THAT(refusal(R"({"a":1,"\u0061":2})"), ContainsSubstring("twice"));
  CHECK(refusal(R"({"a":{"k":1},"b":{"k":1}})").empty());
}

TEST_CASE("strict JSON refuses what other readers skip or stop at") {
  CHECK_THAT(refusal("\xef\xbb\xbf{}"), ContainsSubstring("byte order mark"));
  CHECK_THAT(refusal(std::string_view("{}\0", 3)), ContainsSubstring("NUL"));
  CHECK_THAT(refusal("{} {}"), ContainsSubstring("not JSON"));
  CHECK_THAT(refusal("{\"a\":1,}"), ContainsSubstring("not JSON"));
  CHECK_THAT(refusal("// c\n{}"), ContainsSubstring("not JSON"));
  CHECK_THAT(refusal(""), ContainsSubstring("not JSON"));
  CHECK_THAT(refusal("{\"\xc3(\":1}"), ContainsSubstring("not JSON"));
  CHECK_THAT(refusal(R"({"\ud800":1})"), ContainsSubstring("not JSON"));
  CHECK_THAT(refusal("1e999"), ContainsSubstring("not JSON"));
}

TEST_CASE("strict JSON bounds depth and number of values") {
  CHECK(refusal("[[[1]]]", {.depth = 3}).empty());
  CHECK_THAT(refusal("[[[[1]]]]", {.depth = 3}), ContainsSubstring("deeper than 3"));
  CHECK_THAT(refusal(std::string(1'000'000, '[')), ContainsSubstring("deeper than 64"));
  CHECK(refusal("[1,2]", {.values = 3}).empty());
  CHECK_THAT(refusal("[1,2,3]", {.values = 3}), ContainsSubstring("more than 3"));
}

TEST_CASE("strict JSON errors are one line of printable text") {
  const auto text = refusal("{\"a\nb\x01\xff\":1}");
  REQUIRE_FALSE(text.empty());
  for (const char c : text) CHECK((c >= 0x20 && c < 0x7f));
}
