// SPDX-License-Identifier: Apache-2.0
// Problem lines that name a layer: what is filled in, and what is refused.
#include "harness/run/layers.hpp"

#include <catch2/catch_test_macros.hpp>

#include "harness/run/problems.hpp"
#include "reference/layout/layout.hpp"

namespace w4 {

namespace {

const std::string path = W4_FIXTURES "/layers/minilm-l2-gptq-actorder";
const std::string prefix = "encoder.layer.2.attention.self.query";
const std::string plain = W4_FIXTURES "/layers/minilm-l2-gptq-sym";

ResolvedLayer resolved(const std::string& line) {
  LayerStore store({});
  return store.resolve(split_line(line));
}

std::string cause(const std::string& line) {
  LayerStore store({});
  try {
    resolve(problem_line("where", line), 7, store);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string line_of(const std::string& rest) {
  return "m=2 data=layer:" + path + "#" + prefix + rest;
}

}  // namespace

TEST_CASE("layers: matrix keys come from the layer") {
  const ResolvedLayer found = resolved(line_of(""));
  CHECK(found.problem.n == 384);
  CHECK(found.problem.k == 384);
  CHECK(found.problem.group == 128);
  CHECK(found.problem.groups == 3);
  CHECK(found.problem.layout == "gptq_v1");
  CHECK(found.problem.zero == Zero::code_m1);
  CHECK(found.problem.order == Order::gidx);
  CHECK(found.problem.scale == Type::f16);
  CHECK(found.prefix == prefix);
  CHECK(found.about == "gptq_v1, K 384, N 384, group 128, zero code_m1, act-order");
}

TEST_CASE("layers: the resolved line resolves to itself") {
  const Problem once = resolved(line_of("")).problem;
  CHECK(resolved(to_string(once)).problem == once);
  CHECK(layer_source(once.data).sha256.size() == 12);
}

TEST_CASE("layers: the file's own words are bound, and they mean the matrix") {
  const ResolvedLayer found = resolved(line_of(""));
  const QuantizedMatrix& w = found.data->matrix;
  CHECK(found.data->stored == pack(*find_layout("gptq_v1"), w));
  CHECK(w.g_idx.size() == 384);
}

TEST_CASE("layers: AWQ and compressed-tensors words are bound as the file has them") {
  struct Row {
    const char *folder, *layout;
    Zero zero;
  };
  for (const Row& row : {Row{"minilm-l2-awq-g64", "awq_gemm", Zero::code},
                         Row{"minilm-l2-ct-sym", "compressed_tensors", Zero::eight},
                         Row{"minilm-l2-ct-asym-g32", "compressed_tensors", Zero::code}}) {
    INFO(row.folder);
    const ResolvedLayer found =
        resolved("m=1 data=layer:" W4_FIXTURES "/layers/" + std::string(row.folder) + "#" + prefix);
    CHECK(found.problem.layout == row.layout);
    CHECK(found.problem.zero == row.zero);
    CHECK(found.data->stored == pack(*find_layout(row.layout), found.data->matrix));
    CHECK(resolved(to_string(found.problem)).problem == found.problem);
  }
}

TEST_CASE("layers: readers D2 and D3 are packed as v2") {
  for (const std::string reader : {"D2", "D3"}) {
    const ResolvedLayer found = resolved(line_of(" v1zeros=" + reader));
    CHECK(found.problem.layout == "gptq_v2");
    CHECK(found.problem.zero == Zero::code);
    CHECK(found.data->stored == pack(*find_layout("gptq_v2"), found.data->matrix));
    CHECK(found.about.ends_with("zeros read as " + reader + " and packed as gptq_v2"));
    CHECK(resolved(to_string(found.problem)).problem == found.problem);
  }
}

TEST_CASE("layers: a symmetric layer without act-order has neither g_idx nor order") {
  const ResolvedLayer found = resolved("m=1 data=layer:" + plain + "#" + prefix);
  CHECK(found.problem.order == Order::none);
  CHECK(found.data->matrix.g_idx.empty());
}

TEST_CASE("layers: --layer gives x, y and what is multiplied the type of the scales") {
  LayerStore store({});
  const Problem p = store.resolve(store.line_for(path, prefix, V1Zeros::d1, 8)).problem;
  CHECK(p.m == 8);
  CHECK(p.x == Type::f16);
  CHECK(p.mul == Type::f16);
  CHECK(p.y == Type::f16);
  CHECK(p.bias == Type::none);
}

TEST_CASE("layers: a line that agrees with the layer is taken, one that contradicts it is not") {
  CHECK(cause(line_of(" n=384 k=384 g=128 zero=code_m1 layout=gptq_v1 order=gidx")) == "");
  CHECK(cause(line_of(" n=385")) == "where: parse: n=385 contradicts the layer, which has n=384");
  CHECK(cause(line_of(" g=64")) == "where: parse: g=64 contradicts the layer, which has g=128");
  CHECK(cause(line_of(" layout=codes")) ==
        "where: parse: layout=codes contradicts the layer, which has layout=gptq_v1");
  CHECK(cause(line_of(" order=none")) ==
        "where: parse: order=none contradicts the layer, which has order=gidx");
  CHECK(cause(line_of(" bias=f16")) ==
        "where: parse: bias=f16 contradicts the layer, which has bias=none");
  CHECK(cause(line_of(" v1zeros=D4")).starts_with("where: parse: "));
}

TEST_CASE("layers: another hash than the line's is refused, and both are named") {
  const std::string said = cause(line_of("@sha256:0123456789ab"));
  const std::string hash = layer_source(resolved(line_of("")).problem.data).sha256;
  if (hash.empty()) SKIP("this build has no hashes");
  CHECK(said ==
        path + ": sha256: " + prefix + " has " + hash + ", the problem line says 0123456789ab");
}

TEST_CASE("layers: the checkpoint's own faults keep their path") {
  CHECK(cause("m=1 data=layer:/nowhere#p").starts_with("/nowhere: open: "));
  CHECK(cause("m=1 data=layer:" + path + "#nope").starts_with(path + ": "));
}

TEST_CASE("layers: a layer is loaded once") {
  LayerStore store({});
  const auto first = store.resolve(split_line(line_of("")));
  const auto second = store.resolve(split_line(line_of(" x=f16 y=f32")));
  CHECK(first.data == second.data);
}

TEST_CASE("layers: each warning is said once") {
  int warnings = 0;
  LayerStore store([&warnings](const std::string&) { ++warnings; });
  store.warn("a: b: c");
  store.warn("a: b: c");
  CHECK(warnings == 1);
}

}  // namespace w4
