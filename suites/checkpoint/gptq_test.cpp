// SPDX-License-Identifier: Apache-2.0
// GPTQ layers made by hand, one trait at a time.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "harness/checkpoint/checkpoint.hpp"
#include "harness/checkpoint/gptq_zeros_report.hpp"
#include "suites/checkpoint/build.hpp"

using namespace w4;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string plain = R"("quant_method":"gptq","bits":4)";

struct Made {
  Layer layer;
  std::string error;
  bool warns(const std::string& fragment) const {
    for (const auto& w : layer.warnings)
      if (w.find(fragment) != std::string::npos) return true;
    return false;
  }
};

Made make(const std::vector<TestTensor>& tensors, const std::string& config,
          V1Zeros reader = V1Zeros::d1) {
  TemporaryFolder folder;
  const auto path = folder.write("m.safetensors", container(tensors));
  if (!config.empty()) folder.write("quantize_config.json", "{" + config + "}");
  Made made;
  made.error = error_of([&] { made.layer = read_layer(open_checkpoint(path), "", reader); });
  return made;
}

std::vector<std::int32_t> shuffled(std::int64_t k, std::int64_t groups) {
  std::vector<std::int32_t> g(static_cast<std::size_t>(k));
  for (std::int64_t i = 0; i < k; ++i)
    g[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i % groups);
  return g;
}

}  // namespace

TEST_CASE("gptq: codes come out of their nibbles") {
  const auto made = make(tensors_of({}), plain + R"(,"group_size":32,"checkpoint_format":"gptq")");
  REQUIRE(made.error.empty());
  CHECK(made.layer.warnings.empty());
  const auto& w = made.layer.matrix;
  for (std::int64_t k = 0; k < w.k; ++k)
    for (std::int64_t n = 0; n < w.n; ++n) REQUIRE(w.codes[w.at(k, n)] == (k + n) % 16);
  CHECK(w.zero == Zero::eight);
  CHECK(w.zeros.empty());
  CHECK(w.g_idx.empty());
  CHECK_FALSE(made.layer.act_order);
}

TEST_CASE("gptq: symmetric content decides between v1 and v2") {
  const struct {
    std::uint32_t word;
    const char *label, *format;
    bool warns;
  } cases[] = {{0x77777777, "gptq", "gptq_v1", false}, {0x88888888, "gptq_v2", "gptq_v2", false},
               {0x88888888, "gptq", "gptq_v2", true},  {0x77777777, "gptq_v2", "gptq_v1", true},
               {0x77777777, "", "gptq_v1", false},     {0x88888888, "", "gptq_v2", false}};
  for (const auto& c : cases) {
    const std::string label =
        *c.label ? std::string(R"(,"checkpoint_format":")") + c.label + '"' : "";
    const auto made = make(tensors_of({.zeros = c.word}), plain + label);
    INFO(c.label << " over " << std::hex << c.word);
    REQUIRE(made.error.empty());
    CHECK(made.layer.format == c.format);
    CHECK(made.layer.matrix.zero == Zero::eight);
    CHECK(made.warns("wins") == c.warns);
  }
}

TEST_CASE("gptq: asymmetric zeros follow the label, and v1 is assumed aloud") {
  const auto v1 = make(tensors_of({.zeros = 0x76543210}), plain + R"(,"checkpoint_format":"gptq")");
  CHECK(v1.layer.matrix.zero == Zero::code_m1);
  CHECK(v1.layer.matrix.zeros[0] == 1);
  CHECK(v1.layer.matrix.zeros[7] == 8);
  CHECK(v1.layer.warnings.empty());
  const auto v2 =
      make(tensors_of({.zeros = 0x76543210}), plain + R"(,"checkpoint_format":"gptq_v2")");
  CHECK(v2.layer.matrix.zero == Zero::code);
  CHECK(v2.layer.matrix.zeros[0] == 0);
  const auto none = make(tensors_of({.zeros = 0x76543210}), plain);
  CHECK(none.layer.format == "gptq_v1");
  CHECK(none.warns("v1 is assumed"));
}

TEST_CASE("gptq: zeros are 8 everywhere or they are kept") {
  for (const std::uint32_t word : {0x77777778u, 0x67777777u}) {
    const auto made = make(tensors_of({.zeros = word}), plain);
    CHECK(made.layer.matrix.zero == Zero::code_m1);
    CHECK(made.layer.matrix.zeros.size() == 32);
  }
}

TEST_CASE("gptq: readers of an ambiguous v1 word differ, and the layout for kernels follows") {
  const std::string config = plain + R"(,"checkpoint_format":"gptq")";
  const auto tensors = tensors_of({.zeros = 0x777777f0});
  const auto d1 = make(tensors, config, V1Zeros::d1), d2 = make(tensors, config, V1Zeros::d2),
             d3 = make(tensors, config, V1Zeros::d3);
  CHECK(d1.layer.ambiguous_zeros);
  CHECK(d1.layer.matrix.zeros[1] == 16);
  CHECK(d2.layer.matrix.zeros[1] == 0);
  CHECK(d2.layer.matrix.zeros[2] == 8);
  CHECK(d3.layer.matrix.zeros[1] == 0);
  CHECK(d3.layer.matrix.zeros[2] == 9);
  CHECK(d1.layer.matrix.zero == Zero::code_m1);
  CHECK(d3.layer.matrix.zero == Zero::code);
  CHECK(kernel_layout(d1.layer) == "gptq_v1");
  CHECK(kernel_zeros(d1.layer) == d1.layer.qzeros);
  for (const auto* made : {&d2, &d3}) {
    CHECK(made->layer.format == "gptq_v1");
    CHECK(kernel_layout(made->layer) == "gptq_v2");
  }
  CHECK(std::to_integer<int>(kernel_zeros(d2.layer)[0]) == 0x01);
  CHECK(std::to_integer<int>(kernel_zeros(d2.layer)[1]) == 0x88);
  CHECK(std::to_integer<int>(kernel_zeros(d3.layer)[1]) == 0x89);
}

TEST_CASE("gptq: a symmetric layer is the same for every reader") {
  for (const auto reader : {V1Zeros::d1, V1Zeros::d2, V1Zeros::d3}) {
    const auto made = make(tensors_of({}), plain, reader);
    CHECK(made.layer.matrix.zero == Zero::eight);
    CHECK(kernel_layout(made.layer) == "gptq_v1");
    CHECK_FALSE(made.layer.ambiguous_zeros);
  }
}

TEST_CASE("gptq: the group size comes from the tensors where no config says it") {
  CHECK(make(tensors_of({}), "").layer.matrix.group == 32);
  CHECK(make(tensors_of({.groups = 1}), "").layer.matrix.group == 64);
  CHECK(make(tensors_of({.g_idx = shuffled(64, 2)}), "").layer.matrix.group == 32);
  std::vector<std::int32_t> uneven(64, 0);
  for (std::size_t i = 48; i < 64; ++i) uneven[i] = 1;
  CHECK(make(tensors_of({.g_idx = uneven}), "").layer.matrix.group == 48);
}

TEST_CASE("gptq: a config's group that fits ceil(K/G) holds only if g_idx does not contradict it") {
  std::vector<std::int32_t> uneven(64, 0);
  for (std::size_t i = 48; i < 64; ++i) uneven[i] = 1;
  const auto fits = make(tensors_of({.g_idx = uneven}), plain + R"(,"group_size":48)");
  CHECK(fits.layer.matrix.group == 48);
  CHECK_FALSE(fits.warns("conflict"));
  const auto other = make(tensors_of({.g_idx = uneven}), plain + R"(,"group_size":40)");
  CHECK(other.layer.matrix.group == 48);
  CHECK(other.warns("conflict"));
  CHECK_FALSE(other.layer.act_order);
}

TEST_CASE("gptq: one group whatever larger size the config says") {
  for (const char* size : {"-1", "64", "128"}) {
    const auto made = make(tensors_of({.groups = 1}),
                           plain + R"(,"checkpoint_format":"gptq","group_size":)" + size);
    CHECK(made.layer.matrix.group == 64);
    CHECK(made.layer.warnings.empty());
  }
}

TEST_CASE("gptq: order is what g_idx says") {
  const auto on = make(tensors_of({.g_idx = shuffled(64, 2)}), plain + R"(,"desc_act":true)");
  CHECK(on.layer.act_order);
  CHECK(on.layer.matrix.g_idx == shuffled(64, 2));
  CHECK(on.layer.warnings.empty());
  const auto off = make(tensors_of({}), plain + R"(,"desc_act":true)");
  CHECK_FALSE(off.layer.act_order);
  CHECK(off.warns("there is no act-order"));
}

TEST_CASE("gptq: act-order without g_idx is lost unless groups are static") {
  auto tensors = tensors_of({});
  tensors.pop_back();
  CHECK_THAT(make(tensors, plain + R"(,"desc_act":true)").error,
             ContainsSubstring("desc_act true"));
  const auto made = make(tensors, plain + R"(,"desc_act":true,"static_groups":true)");
  CHECK(made.error.empty());
  CHECK(made.warns("no g_idx"));
}

TEST_CASE("gptq: groups that no k uses are told") {
  std::vector<std::int32_t> g(64, 0);
  g[5] = 2;
  const auto made = make(tensors_of({.groups = 4, .g_idx = g}), plain + R"(,"group_size":16)");
  REQUIRE(made.error.empty());
  CHECK(made.warns("group 1 is used by no k"));
  CHECK(made.warns("group 0 has 63 members"));
}

TEST_CASE("gptq: zeros that a symmetric label does not explain are told") {
  CHECK(make(tensors_of({.zeros = 0x76543210}), plain + R"(,"sym":true)").warns("sym true"));
}

TEST_CASE("gptq: codes that never occur are told") {
  auto tensors = tensors_of({});
  for (char& byte : tensors[0].bytes) byte = 0x11;
  CHECK(make(tensors, plain).warns("are never used"));
}

TEST_CASE("gptq: a bias is kept, or refused if it does not fit") {
  const auto made = make(tensors_of({.bias_dtype = "F16"}), plain);
  REQUIRE(made.layer.bias);
  CHECK(made.layer.bias->shape == std::vector<std::int64_t>{16});
  CHECK_THAT(make(tensors_of({.bias_dtype = "I16"}), plain).error, ContainsSubstring("bias I16"));
  auto tensors = tensors_of({.bias_dtype = "F16"});
  tensors.back().shape = {8};
  tensors.back().bytes.resize(16);
  CHECK_THAT(make(tensors, plain).error, ContainsSubstring("bias F16 [8]"));
}

TEST_CASE("gptq: labels of other methods over GPTQ tensors are refused with both sides") {
  for (const char* method : {"awq", "compressed-tensors", "hqq", "bitsandbytes"})
    CHECK_THAT(make(tensors_of({}), std::string(R"("quant_method":")") + method + '"').error,
               ContainsSubstring(method) && ContainsSubstring("look like GPTQ"));
  CHECK_THAT(make(tensors_of({}), plain + R"(,"is_marlin_format":true)").error,
             ContainsSubstring("Marlin"));
  CHECK_THAT(make(tensors_of({}), plain + R"(,"checkpoint_format":"bitblas")").error,
             ContainsSubstring("bitblas"));
}

TEST_CASE("gptq: AutoRound files that are packed as GPTQ are GPTQ") {
  const std::string config = R"("quant_method":"auto-round","bits":4,"packing_format":)";
  CHECK(make(tensors_of({}), config + R"("auto_round:auto_gptq")").error.empty());
  CHECK_THAT(make(tensors_of({}), config + R"("auto_round:auto_awq")").error,
             ContainsSubstring("auto_awq"));
}

TEST_CASE("gptq: a prefix must be named where there are several layers") {
  TemporaryFolder folder;
  auto tensors = tensors_of({});
  for (auto t : tensors_of({})) {
    t.name = "other" + t.name.substr(1);
    tensors.push_back(t);
  }
  tensors.push_back({"norm.weight", "F16", {2}, "abcd"});
  const auto checkpoint = open_checkpoint(folder.write("m.safetensors", container(tensors)));
  CHECK(quantised_prefixes(checkpoint) == std::vector<std::string>{"l", "other"});
  CHECK_THAT(error_of([&] { read_layer(checkpoint, "", V1Zeros::d1); }),
             ContainsSubstring("--prefix: l, other"));
  CHECK_THAT(error_of([&] { read_layer(checkpoint, "oter", V1Zeros::d1); }),
             ContainsSubstring("no quantised layer \"oter\""));
  CHECK(read_layer(checkpoint, "other", V1Zeros::d1).prefix == "other");
}

TEST_CASE("gptq: a file without quantised layers says so") {
  CHECK_THAT(make({{"norm.weight", "F16", {2}, "abcd"}}, "").error,
             ContainsSubstring("detect: no quantised layer among 1"));
}

TEST_CASE("zeros report: nothing to say without a 15") {
  const std::uint32_t words[] = {0x76543210, 0xeeeeeeee};
  CHECK(ambiguous_zeros(words, 16, V1Zeros::d1, {}).empty());
}

TEST_CASE("zeros report: group, column, neighbour and three readings") {
  const std::uint32_t words[] = {0x77777777, 0x77777777, 0x77777777, 0x77f77777};
  const auto text = ambiguous_zeros(words, 16, V1Zeros::d1, {"gptqmodel:7.7.0"});
  CHECK_THAT(text, ContainsSubstring("1 of 32 stored v1 zeros is 15, ambiguous: ") &&
                       ContainsSubstring("group 1, column 13 reads 16 (D1), 0 (D2), 0 (D3)") &&
                       ContainsSubstring("column 14 reads 8 (D1), 8 (D2), 9 (D3)") &&
                       ContainsSubstring("gptqmodel:7.7.0") && ContainsSubstring("--v1-zeros D3") &&
                       ContainsSubstring("read here with D1"));
}

TEST_CASE("zeros report: runs up to the top of a word mean lost zeros") {
  const std::uint32_t e3[] = {0xffff7777, 0x77777777}, e1[] = {0x7fff7777, 0x77777777};
  CHECK_THAT(ambiguous_zeros(e3, 16, V1Zeros::d1, {}),
             ContainsSubstring("E3") && ContainsSubstring("lost"));
  CHECK_THAT(ambiguous_zeros(e1, 16, V1Zeros::d1, {}),
             !ContainsSubstring("E3") && ContainsSubstring("D2 is right for E1"));
}
