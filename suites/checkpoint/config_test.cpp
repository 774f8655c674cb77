// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/config.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "suites/checkpoint/build.hpp"

using namespace w4;
using Catch::Matchers::ContainsSubstring;

static std::string refusal(std::string_view text) {
  return error_of([&] { parse_config("quantize_config.json", text); });
}

TEST_CASE("config: every field under its own name and its other one") {
  const auto c = parse_config("config.json",
                              R"({"quantization_config":{"method":"GPTQ","bits":4,"group_size":-1,
    "desc_act":true,"sym":false,"format":"gptq_v2","meta":{"quantizer":["gptqmodel:4.2.0"],"static_groups":true}}})");
  REQUIRE(c);
  CHECK(c->method == "gptq");
  CHECK(c->format == "gptq_v2");
  CHECK(c->bits == 4);
  CHECK(c->group == -1);
  CHECK(c->desc_act == true);
  CHECK(c->sym == false);
  CHECK(c->static_groups == true);
  CHECK(c->quantizer == std::vector<std::string>{"gptqmodel:4.2.0"});
  const auto old =
      parse_config("quant_config.json",
                   R"({"w_bit":4,"q_group_size":128,"checkpoint_format":"gptq","format":"x"})");
  CHECK(old->bits == 4);
  CHECK(old->group == 128);
  CHECK(old->format == "gptq");
}

TEST_CASE("config: absent and null say nothing") {
  const auto c = parse_config("quantize_config.json", R"({"bits":null,"sym":null})");
  REQUIRE(c);
  CHECK_FALSE(c->bits);
  CHECK_FALSE(c->sym);
  CHECK_FALSE(c->desc_act);
  CHECK(c->method.empty());
}

TEST_CASE("config: a float model's config.json is no quantisation config") {
  CHECK_FALSE(parse_config("config.json", R"({"model_type":"bert","bits":"many"})"));
  CHECK_FALSE(parse_config("config.json", R"({"quantization_config":null})"));
}

TEST_CASE("config: wrong types are named with what is there") {
  CHECK_THAT(refusal(R"({"group_size":"thirty-two"})"),
             ContainsSubstring("group_size is \"thirty-two\""));
  CHECK_THAT(refusal(R"({"group_size":0})"), ContainsSubstring("group_size is 0"));
  CHECK_THAT(refusal(R"({"group_size":-2})"), ContainsSubstring("group_size is -2"));
  CHECK_THAT(refusal(R"({"group_size":128.0})"), ContainsSubstring("must be a whole number"));
  CHECK_THAT(refusal(R"({"bits":"4"})"), ContainsSubstring("bits is \"4\""));
  CHECK_THAT(refusal(R"({"sym":1})"), ContainsSubstring("sym is 1: must be true or false"));
  CHECK_THAT(refusal(R"([])"), ContainsSubstring("must be a JSON object"));
  CHECK_THAT(refusal(R"({"quantization_config":[]})"), ContainsSubstring("must be an object"));
  CHECK_THAT(refusal(R"({"bits":4,"bits":3})"), ContainsSubstring("\"bits\" twice"));
}

TEST_CASE("config: files are preferred in the order of the packers") {
  TemporaryFolder folder;
  const auto preferred = [&](const std::string& stem) {
    const auto files = read_configs(folder.path(), stem);
    return files.found.empty() ? "" : files.found.front().file;
  };
  CHECK(preferred("m").empty());
  folder.write("config.json", R"({"quantization_config":{"bits":4}})");
  CHECK(preferred("m") == "config.json");
  folder.write("quant_config.json", R"({"bits":4})");
  CHECK(preferred("m") == "quant_config.json");
  folder.write("quantize_config.json", R"({"bits":4})");
  CHECK(preferred("m") == "quantize_config.json");
  folder.write("m.config.json", R"({"bits":4})");
  CHECK(preferred("m") == "m.config.json");
  CHECK(preferred("") == "quantize_config.json");
  CHECK(read_configs(folder.path(), "m").conflicts.empty());
}

TEST_CASE("config: a conflict names both files and both values") {
  TemporaryFolder folder;
  folder.write("quantize_config.json", R"({"bits":4,"group_size":128,"desc_act":true})");
  folder.write("config.json",
               R"({"quantization_config":{"bits":4,"group_size":64,"desc_act":false}})");
  const auto files = read_configs(folder.path(), "");
  REQUIRE(files.conflicts.size() == 1);
  CHECK_THAT(files.conflicts[0], ContainsSubstring("quantize_config.json and config.json") &&
                                     ContainsSubstring("group_size 128 against 64") &&
                                     ContainsSubstring("desc_act true against false") &&
                                     !ContainsSubstring("bits"));
}

TEST_CASE("config: a broken file is refused by its own path even if another is preferred") {
  TemporaryFolder folder;
  folder.write("quantize_config.json", R"({"bits":4})");
  const auto bad = folder.write("config.json", R"({"quantization_)");
  CHECK_THAT(error_of([&] { read_configs(folder.path(), ""); }),
             ContainsSubstring(bad + ": config: not JSON"));
}
