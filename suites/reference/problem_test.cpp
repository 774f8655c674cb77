// SPDX-License-Identifier: Apache-2.0
// The problem line must lose nothing, say no twice the same way, and explain every refusal.
#include "reference/problem.hpp"

#include <algorithm>
#include <ostream>
#include <sstream>

#include "reference/error.hpp"
#include "reference/layout/layout.hpp"
#include "suites/support/property.hpp"

namespace w4 {

void showValue(const Problem& p, std::ostream& out) {
  out << to_string(p);
}

namespace {

std::string refusal(std::string_view line) {
  try {
    return "accepted as: " + to_string(parse_problem(line));
  } catch (const Error& e) {
    CHECK(e.blame() == Blame::input);
    return e.what();
  }
}

template <typename T>
T one_of(std::vector<T> values) {
  return *rc::gen::elementOf(std::move(values));
}
std::int64_t within(std::int64_t low, std::int64_t high) {
  return *rc::gen::inRange(low, high + 1);
}
bool coin() {
  return within(0, 1) == 1;
}

std::string some_permutation() {
  std::string digits = "01234567";
  for (std::size_t i = 7; i > 0; --i)
    std::swap(digits[i], digits[static_cast<std::size_t>(within(0, static_cast<std::int64_t>(i)))]);
  return digits;
}

void draw_layout(Problem& p) {
  p.layout = one_of<std::string>({"codes", "kpack:" + some_permutation(),
                                  "npack:" + some_permutation(), "gptq_v1", "gptq_v2"});
  const Layout layout = *find_layout(p.layout);
  std::vector<Zero> forms;
  for (unsigned z = 1; z <= 7; ++z)
    if (layout_stores(layout, static_cast<Zero>(z))) forms.push_back(static_cast<Zero>(z));
  p.zero = one_of(forms);
  p.scale = one_of<Type>({Type::f16, Type::bf16, Type::f32});
  p.zero_type = stored_zero_type(layout, p.zero, one_of<Type>({Type::f16, Type::bf16, Type::f32}));
  const bool words = p.layout.starts_with("gptq");
  p.n = within(1, 40) * (words ? 8 : 1);
  p.k = within(1, 40) * (words ? 8 : 1);
}

void draw_types(Problem& p) {
  p.x = one_of<Type>({Type::f16, Type::bf16, Type::f32, Type::s8, Type::s4, Type::e4m3});
  std::vector<Type> narrower = {p.x};
  for (const Type t : {Type::s8, Type::e4m3, Type::s4})
    if (bits_of(t) < bits_of(p.x)) narrower.push_back(t);
  p.mul = one_of(narrower);
  p.y = one_of<Type>({Type::f16, Type::bf16, Type::f32});
  if ((p.mul == Type::s8 || p.mul == Type::s4) && coin()) p.y = Type::s32;
  p.bias = one_of<Type>({Type::none, Type::f16, Type::bf16, Type::f32});
}

std::string draw_data() {
  const std::string source = encode_value(*rc::gen::nonEmpty(rc::gen::arbitrary<std::string>()));
  switch (within(0, 5)) {
    case 0:
      return "layer:" + source;
    case 1:
      return "layer:" + source + "#" + encode_value(*rc::gen::arbitrary<std::string>());
    case 2:
      return "layer:" + source + "#a.b@sha256:0123456789ab";
    case 3:
      return "bundle:" + source;
    case 4:
      return "golden:" + source;
    default:
      return "gen";
  }
}

// Valid, over all keys.
rc::Gen<Problem> problems() {
  return rc::gen::exec([] {
    Problem p;
    p.m = within(0, 40);
    draw_layout(p);
    draw_types(p);
    p.group = coin() ? p.k : within(1, p.k);
    p.order = one_of<Order>({Order::none, Order::perm, Order::gidx});
    p.groups = (p.k + p.group - 1) / p.group + (p.order == Order::gidx ? within(0, 3) : 0);
    p.x_group = bits_of(p.mul) <= 8 && coin() ? within(1, p.k) : p.k;
    p.x_stride = p.k + (coin() ? within(0, 70) : 0);
    p.y_stride = p.n + (coin() ? within(0, 70) : 0);
    p.align = std::int64_t{1} << within(2, 12);
    p.data = draw_data();
    if (is_layer(p)) p.v1zeros = one_of<V1Zeros>({V1Zeros::d1, V1Zeros::d2, V1Zeros::d3});
    p.seed = *rc::gen::arbitrary<std::uint64_t>();
    return p;
  });
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::string key_of(const std::string& word) {
  return word.substr(0, word.find('='));
}

}  // namespace

TEST_CASE("problem: the generator of these tests makes valid problems") {
  check_property("no contradiction", [] {
    const Problem p = *problems();
    RC_ASSERT(contradiction(p) == "");
  });
}

TEST_CASE("problem: parse undoes print for every valid problem") {
  check_property("parse(print(p)) == p", [] {
    const Problem p = *problems();
    RC_ASSERT(parse_problem(to_string(p)) == p);
  });
}

TEST_CASE("problem: keys may come in any order") {
  check_property("shuffled keys", [] {
    const Problem p = *problems();
    std::vector<std::string> words = words_of(to_string(p));
    std::string shuffled;
    while (!words.empty()) {
      const auto i = *rc::gen::inRange<std::size_t>(0, words.size());
      shuffled += words[i] + (coin() ? " " : " \t\n");
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
    }
    RC_ASSERT(parse_problem(shuffled) == p);
  });
}

TEST_CASE("problem: the printed line is its own canonical form") {
  check_property("print(parse(print(p))) == print(p)", [] {
    const std::string line = to_string(*problems());
    RC_ASSERT(to_string(parse_problem(line)) == line);
  });
}

TEST_CASE("problem: print leaves out exactly what the rest implies") {
  check_property("every word is needed", [] {
    const Problem p = *problems();
    const std::vector<std::string> words = words_of(to_string(p));
    for (const std::string& left_out : words) {
      std::string rest;
      for (const std::string& word : words)
        if (word != left_out) rest += word + " ";
      bool differs = true;
      try {
        differs = parse_problem(rest) != p;
      } catch (const Error&) {
      }
      RC_ASSERT(differs);
    }
  });
}

TEST_CASE("problem: keys are printed in canonical order") {
  const std::vector<std::string> order = {
      "m",     "n",  "k",  "g",     "groups", "zero", "layout", "x",     "mul",     "y",    "scale",
      "ztype", "s2", "xg", "order", "bias",   "xs",   "ys",     "align", "v1zeros", "data", "seed"};
  check_property("canonical order", [order] {
    std::size_t last = 0;
    for (const std::string& word : words_of(to_string(*problems()))) {
      const auto at = static_cast<std::size_t>(std::find(order.begin(), order.end(), key_of(word)) -
                                               order.begin());
      RC_ASSERT(at < order.size());
      RC_ASSERT(at >= last);
      last = at;
    }
  });
}

TEST_CASE("problem: defaults are settled after one pass") {
  check_property("with_defaults is idempotent and keeps what is resolved", [] {
    const Problem p = *problems();
    RC_ASSERT(with_defaults(p) == p);
  });
}

TEST_CASE("problem: any bytes are answered with a problem or a reason") {
  check_property("arbitrary text", [] {
    std::string line = *rc::gen::arbitrary<std::string>();
    if (coin()) {
      line = to_string(*problems());
      for (std::int64_t edit = within(0, 3); edit >= 0; --edit) {
        const auto at = *rc::gen::inRange<std::size_t>(0, line.size() + 1);
        line.insert(at, 1, *rc::gen::arbitrary<char>());
        if (coin()) line.erase(*rc::gen::inRange<std::size_t>(0, line.size()), 1);
      }
    }
    try {
      const Problem p = parse_problem(line);
      RC_ASSERT(parse_problem(to_string(p)) == p);
    } catch (const Error& e) {
      RC_ASSERT(e.blame() == Blame::input);
      RC_ASSERT(std::string(e.what()).size() < 300u);
    }
  });
}

TEST_CASE("problem: a very long line is refused briefly") {
  const std::string junk(4 << 20, 'x');
  for (const std::string& line : {junk, junk + "=1", "m=" + junk, "data=" + junk,
                                  "layout=kpack:" + junk, "m=" + std::string(4 << 20, '9')})
    CHECK(refusal(line).size() < 300);
}

TEST_CASE("problem: bare dimensions get every default") {
  const Problem p = parse_problem("m=3 n=5 k=20");
  CHECK(p.group == 20);
  CHECK(p.groups == 1);
  CHECK(p.zero == Zero::eight);
  CHECK(p.layout == "codes");
  CHECK(p.x == Type::f16);
  CHECK(p.mul == Type::f16);
  CHECK(p.y == Type::f16);
  CHECK(p.scale == Type::f16);
  CHECK(p.zero_type == Type::u8);
  CHECK(p.x_group == 20);
  CHECK(p.x_stride == 20);
  CHECK(p.y_stride == 5);
  CHECK(p.align == 16);
  CHECK(p.data == "gen");
  CHECK(p.seed == 7);
  CHECK(to_string(p) == "m=3 n=5 k=20");
}

TEST_CASE("problem: a group above k, g=all and no g are one thing") {
  const Problem p = parse_problem("m=1 n=8 k=100");
  CHECK(parse_problem("m=1 n=8 k=100 g=all") == p);
  CHECK(parse_problem("m=1 n=8 k=100 g=100") == p);
  CHECK(parse_problem("m=1 n=8 k=100 g=2147483647") == p);
  CHECK(parse_problem("m=1 n=8 k=100 xg=all") == p);
}

TEST_CASE("problem: defaults follow other keys") {
  struct Row {
    const char *line, *canonical;
  };
  const Row rows[] = {
      {"m=1 n=8 k=8 x=bf16 mul=bf16 scale=bf16", "m=1 n=8 k=8 x=bf16"},
      {"m=1 n=8 k=8 x=s8 mul=s8 scale=f16", "m=1 n=8 k=8 x=s8"},
      {"m=1 n=8 k=8 x=f32 mul=s8 scale=f32", "m=1 n=8 k=8 x=f32 mul=s8"},
      {"m=1 n=8 k=8 zero=real scale=f32 ztype=f32", "m=1 n=8 k=8 zero=real scale=f32"},
      {"m=1 n=8 k=8 zero=real scale=f32 ztype=f16", "m=1 n=8 k=8 zero=real scale=f32 ztype=f16"},
      {"m=1 n=8 k=8 zero=code ztype=u8", "m=1 n=8 k=8 zero=code"},
      {"m=1 n=8 k=8 zero=code layout=gptq_v2 ztype=u4", "m=1 n=8 k=8 zero=code layout=gptq_v2"},
      {"seed=31 k=100 g=32 groups=4 n=8 m=0", "m=0 n=8 k=100 g=32 seed=0x1f"},
      {"m=1 n=8 k=100 g=32 groups=9 order=gidx", "m=1 n=8 k=100 g=32 groups=9 order=gidx"},
      {"m=1 n=8 k=8 order=perm s2=none bias=none v1zeros=D1", "m=1 n=8 k=8 order=perm"},
  };
  for (const Row& row : rows) CHECK(to_string(parse_problem(row.line)) == row.canonical);
}

TEST_CASE("problem: a layer may leave its matrix open until it is read") {
  Problem p = parse_problem("m=2 data=layer:dir/a.safetensors#b v1zeros=D3 g=64 xs=512");
  CHECK(p.n == 0);
  CHECK(p.k == 0);
  CHECK(p.group == 64);
  CHECK(p.groups == 0);
  CHECK(to_string(p) == "m=2 g=64 xs=512 v1zeros=D3 data=layer:dir/a.safetensors#b");
  CHECK(parse_problem(to_string(p)) == p);
  p.n = 384, p.k = 400, p.layout = "gptq_v1", p.zero = Zero::code_m1;
  p = with_defaults(p);
  CHECK(contradiction(p) == "");
  CHECK(p.groups == 7);
  CHECK(p.zero_type == Type::u4);
  CHECK(p.x_stride == 512);
  CHECK(p.y_stride == 384);
  CHECK(parse_problem(to_string(p)) == p);
}

TEST_CASE("problem: every refusal says what is wrong") {
  struct Row {
    std::string line, reason;
  };
  const std::string ok = "m=1 n=8 k=8 ";
  const Row rows[] = {
      {"", "m= is missing"},
      {"n=8 k=8", "m= is missing"},
      {"m=1 k=8", "n= is missing"},
      {"m=1 n=8", "k= is missing"},
      {ok + "lyout=codes", "unknown key 'lyout', did you mean 'layout'?"},
      {ok + "gruops=1", "unknown key 'gruops', did you mean 'groups'?"},
      {ok + "M=1", "unknown key 'M', did you mean 'm'?"},
      {ok + "kernel=cpu.scalar", "unknown key 'kernel'"},
      {ok + "m=1", "key 'm' is written twice"},
      {ok + "fast", "'fast' is not key=value"},
      {ok + "=f16", "'=f16' is not key=value"},
      {ok + "x=", "x= has no value"},
      {ok + "x=fp16", "unknown x 'fp16', did you mean 'f16'?"},
      {ok + "zero=cod", "unknown zero 'cod', did you mean 'code'?"},
      {ok + "zero=code_m2", "did you mean 'code_m1'?"},
      {ok + "layout=gptqv1", "unknown layout 'gptqv1', did you mean 'gptq_v1'?"},
      {ok + "layout=kpack:01234566", "a permutation of 0..7"},
      {ok + "layout=npack:0123456", "a permutation of 0..7"},
      {ok + "layout=kpack", "a permutation of 0..7"},
      {ok + "order=gidxs", "unknown order 'gidxs', did you mean 'gidx'?"},
      {ok + "y=s8", "did you mean 's32'?"},
      {ok + "data=leyer:x", "unknown data 'leyer:', did you mean 'layer:'?"},
      {ok + "data=layer:", "names no path"},
      {ok + "data=layer:#p", "names no path"},
      {ok + "data=golden:", "names no path"},
      {ok + "data=layer:a@sha256:0123", "not 12 hex digits"},
      {ok + "data=layer:a%2", "'%' without two hex digits"},
      {"m=-1 n=8 k=8", "m='-1' is not a decimal number"},
      {"m=+1 n=8 k=8", "m='+1' is not a decimal number"},
      {"m=1x n=8 k=8", "m='1x' is not a decimal number"},
      {"m=0x1 n=8 k=8", "m='0x1' is not a decimal number"},
      {"m=1 n=0 k=8", "n=0 is below 1"},
      {"m=1 n=8 k=0", "k=0 is below 1"},
      {"m=1 n=8 k=8 g=0", "g=0 is below 1"},
      {"m=2147483648 n=8 k=8", "m='2147483648' is past what can be stored (at most 2147483647)"},
      {"m=1 n=2147483647 k=2147483647", "4611686014132420609 elements is past what can be stored"},
      {"m=2147483647 n=64 k=1", "y: 2147483647 x 64 = 137438953408 elements is past"},
      {ok + "seed=0xg", "seed='0xg' is not a number"},
      {ok + "seed=0x", "seed='0x' is not a number"},
      {ok + "seed=0x10000000000000000", "past 64 bits"},
      {ok + "align=24", "align=24 is not a power of two"},
      {ok + "align=8192", "align=8192 is not a power of two within 1..4096"},
      {ok + "align=1", "align=1 is below one element (2 bytes)"},
      {ok + "x=s8 y=f32 align=2", "align=2 is below one element (4 bytes)"},
      {ok + "xs=7", "xs=7 is below k=8"},
      {ok + "ys=7", "ys=7 is below n=8"},
      {ok + "groups=2", "groups=2, but k=8 and g=8 give 1"},
      {ok + "g=2 groups=3 order=gidx", "groups=3, but k=8 and g=2 give 4"},
      {ok + "s2=f16", "no layout of this build stores second-level scales"},
      {ok + "x=s8 mul=f16", "x=s8 is narrower than mul=f16"},
      {ok + "x=f32 mul=f16", "x=f32 and mul=f16 differ"},
      {ok + "x=f16 mul=bf16", "x=f16 and mul=bf16 differ"},
      {ok + "x=s8 mul=e4m3", "x=s8 and mul=e4m3 differ"},
      {ok + "y=s32", "y=s32 needs integer products"},
      {ok + "x=e4m3 y=s32", "y=s32 needs integer products"},
      {ok + "xg=4", "xg=4 without quantised activations"},
      {ok + "zero=real layout=gptq_v2",
       "layout gptq_v2 cannot express zero=real; it stores 8, code"},
      {ok + "zero=code layout=gptq_v1",
       "layout gptq_v1 cannot express zero=code; it stores 8, code_m1"},
      {ok + "zero=signed layout=gptq_v1", "layout gptq_v1 cannot express zero=signed"},
      {"m=1 n=8 k=12 layout=gptq_v1", "k=12 is not a multiple of 8"},
      {"m=1 n=12 k=8 layout=gptq_v2", "n=12 is not a multiple of 8"},
      {ok + "zero=code ztype=u4",
       "layout codes stores the integer zeros of zero=code as u8, not ztype=u4"},
      {ok + "zero=code ztype=f16", "as u8, not ztype=f16"},
      {ok + "zero=add ztype=u8", "zero=add needs a float, not ztype=u8"},
      {ok + "v1zeros=D2", "it needs data=layer:"},
  };
  for (const Row& row : rows) {
    INFO(row.line);
    CHECK(refusal(row.line).find(row.reason) != std::string::npos);
    INFO("said: " << refusal(row.line));
    CHECK(refusal(row.line).find('\n') == std::string::npos);
  }
}

TEST_CASE("problem: contradiction sees fields that a line could not even spell") {
  const Problem good = parse_problem("m=1 n=8 k=8");
  const auto broken = [&good](auto edit) {
    Problem p = good;
    edit(p);
    return contradiction(p);
  };
  CHECK(broken([](Problem&) {}) == "");
  CHECK(broken([](Problem& p) { p.m = -1; }) == "m=-1 is below 0");
  CHECK(broken([](Problem& p) { p.n = 0; }) == "n=0 is below 1");
  CHECK(broken([](Problem& p) { p.group = 0; }) == "g=0 is below 1");
  CHECK(broken([](Problem& p) { p.group = 9; }) == "g=9 is above k=8");
  CHECK(broken([](Problem& p) { p.x_stride = std::int64_t{1} << 62; }).find("past") !=
        std::string::npos);
  CHECK(broken([](Problem& p) { p.x = Type::e5m2; }) == "x=e5m2 is not a type for it");
  CHECK(broken([](Problem& p) { p.layout = "codec"; }).find("'codes'") != std::string::npos);
  CHECK(broken([](Problem& p) { p.data = "golden:a b"; }).find("%XX") != std::string::npos);
  CHECK(broken([](Problem& p) { p.data.clear(); }).find("unknown data") != std::string::npos);
}

TEST_CASE("problem: a repro's own keys are handed back, and only where asked for") {
  const Line line =
      split_line("kernel=cpu.scalar m=1 check=exact.zero n=8 k=8", {"kernel", "check"});
  REQUIRE(line.find("kernel"));
  CHECK(*line.find("kernel") == "cpu.scalar");
  CHECK(*line.find("check") == "exact.zero");
  CHECK(line.find("seed") == nullptr);
  CHECK(parse_problem(line) == parse_problem("m=1 n=8 k=8"));
  CHECK_THROWS_AS(split_line("kernel=a kernel=b", {"kernel"}), Error);
}

TEST_CASE("problem: a value may hold any bytes once encoded") {
  check_property("decode(encode(v)) == v, and a line can hold it", [] {
    const std::string value = *rc::gen::arbitrary<std::string>();
    const std::string encoded = encode_value(value);
    RC_ASSERT(decode_value(encoded) == value);
    RC_ASSERT(encoded.find_first_of(" \t\n\r#@") == std::string::npos);
  });
  CHECK(encode_value("my model/100%#1") == "my%20model/100%25%231");
}

TEST_CASE("problem: where a layer lies survives the line") {
  check_property("layer_source(to_string(s)) == s", [] {
    const LayerSource source{*rc::gen::nonEmpty(rc::gen::arbitrary<std::string>()),
                             *rc::gen::arbitrary<std::string>(), coin() ? "" : "00ff12345678"};
    const std::string data = to_string(source);
    RC_ASSERT(layer_source(data) == source);
    const Problem p = parse_problem("m=1 data=" + data);
    RC_ASSERT(is_layer(p));
    RC_ASSERT(p.data == data);
  });
}

TEST_CASE("problem: the nearest word counts a swap of neighbours as one slip") {
  CHECK(nearest_word("lyaout", {"align", "layout", "x"}) == "layout");
  CHECK(nearest_word("sy", {"xs", "ys"}) == "ys");
  CHECK(nearest_word("anything", {}) == "");
}

TEST_CASE("problem: the family is said by what is multiplied") {
  CHECK(is_w4a16(parse_problem("m=1 n=8 k=8 x=f32")));
  CHECK_FALSE(is_w4a16(parse_problem("m=1 n=8 k=8 x=f32 mul=e4m3")));
}

}  // namespace w4
