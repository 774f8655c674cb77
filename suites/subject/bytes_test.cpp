// SPDX-License-Identifier: Apache-2.0
// Logical values to bytes and to the ABI's struct.
#include <catch2/catch_test_macros.hpp>

#include "harness/subject/subject.hpp"
#include "suites/subject/support.hpp"
#include "suites/support/property.hpp"

using namespace w4;

namespace {

std::vector<int> numbers(const std::vector<std::byte>& bytes) {
  std::vector<int> out;
  for (const std::byte b : bytes) out.push_back(std::to_integer<int>(b));
  return out;
}

Problem shape(std::int64_t m, std::int64_t k, std::int64_t stride, Type x) {
  Problem p;
  p.m = m;
  p.k = p.group = p.x_group = k;
  p.n = p.groups = 1;
  p.x_stride = stride;
  p.x = x;
  return p;
}

Activations words(const Problem& p, std::vector<std::uint32_t> w) {
  Activations x;
  x.type = p.x;
  x.m = p.m;
  x.k = p.k;
  x.words = std::move(w);
  return x;
}

}  // namespace

TEST_CASE("16-bit activations are little endian, gaps are NaN, and nothing follows the last row") {
  const Problem p = shape(2, 2, 3, Type::f16);
  const CallBytes bytes = to_bytes(p, words(p, {0x3c00, 0x1234, 0x5678, 0x9abc}));
  CHECK(numbers(bytes.x) ==
        std::vector<int>{0x00, 0x3c, 0x34, 0x12, 0xff, 0xff, 0x78, 0x56, 0xbc, 0x9a});
  CHECK_FALSE(bytes.x_scale);
  CHECK_FALSE(bytes.x_sum);
}

TEST_CASE("8-bit and 32-bit activations") {
  const Problem p8 = shape(2, 1, 2, Type::s8);
  CHECK(numbers(to_bytes(p8, words(p8, {0x80, 0x7f})).x) == std::vector<int>{0x80, 0x55, 0x7f});
  const Problem p32 = shape(1, 1, 1, Type::f32);
  CHECK(numbers(to_bytes(p32, words(p32, {0x11223344})).x) ==
        std::vector<int>{0x44, 0x33, 0x22, 0x11});
}

TEST_CASE("4-bit activations: low nibble first, a row may begin in the middle of a byte") {
  const Problem p = shape(2, 3, 3, Type::s4);
  CHECK(numbers(to_bytes(p, words(p, {1, 2, 3, 4, 5, 6})).x) == std::vector<int>{0x21, 0x43, 0x65});
  const Problem odd = shape(1, 3, 3, Type::s4);
  CHECK(numbers(to_bytes(odd, words(odd, {1, 2, 15})).x) == std::vector<int>{0x21, 0x5f});
  const Problem gap = shape(2, 1, 3, Type::s4);
  CHECK(numbers(to_bytes(gap, words(gap, {9, 8})).x) == std::vector<int>{0x59, 0x85});
}

TEST_CASE("no rows are no bytes") {
  const Problem p = shape(0, 4, 4, Type::f16);
  CHECK(to_bytes(p, words(p, {})).x.empty());
}

TEST_CASE("4-bit activations can be read back for every stride") {
  check_property("element (row, i) is nibble row*stride+i", [] {
    const auto m = *rc::gen::inRange<std::int64_t>(1, 5), k = *rc::gen::inRange<std::int64_t>(1, 9);
    const Problem p = shape(m, k, k + *rc::gen::inRange<std::int64_t>(0, 4), Type::s4);
    const auto raw = *rc::gen::container<std::vector<std::uint8_t>>(
        static_cast<std::size_t>(m * k), rc::gen::inRange<std::uint8_t>(0, 16));
    const CallBytes bytes = to_bytes(p, words(p, {raw.begin(), raw.end()}));
    RC_ASSERT(bytes.x.size() == static_cast<std::size_t>(((m - 1) * p.x_stride + k + 1) / 2));
    for (std::int64_t i = 0; i < m * k; ++i) {
      const std::int64_t at = i / k * p.x_stride + i % k;
      const int byte = std::to_integer<int>(bytes.x[static_cast<std::size_t>(at / 2)]);
      RC_ASSERT((byte >> (at % 2 * 4) & 15) == raw[static_cast<std::size_t>(i)]);
    }
  });
}

TEST_CASE("activation scales are handed on as floats") {
  const Problem p = shape(1, 1, 1, Type::s8);
  Activations x = words(p, {1});
  x.scale = {1.0F};
  CHECK(numbers(*to_bytes(p, x).x_scale) == std::vector<int>{0, 0, 0x80, 0x3f});
}

TEST_CASE("activations of another shape are refused") {
  const Problem p = shape(1, 2, 2, Type::f16);
  CHECK_THROWS(to_bytes(p, words(p, {1})));
  CHECK_THROWS(to_bytes(p, words(shape(1, 2, 2, Type::bf16), {1, 2})));
}

TEST_CASE("weights: bias by its type, g_idx as int32, zeros absent where none are stored") {
  QuantizedMatrix matrix = small_matrix(small_problem());
  Packed packed = pack(*find_layout("codes"), matrix);
  packed.zero.clear();
  matrix.g_idx = {1, 258};
  matrix.bias_type = Type::bf16;
  matrix.bias = {0x3f80, 0x1234};
  const WeightBytes bytes = to_bytes(packed, matrix);
  CHECK(numbers(*bytes.g_idx) == std::vector<int>{1, 0, 0, 0, 2, 1, 0, 0});
  CHECK(numbers(*bytes.bias) == std::vector<int>{0x80, 0x3f, 0x34, 0x12});
  CHECK(bytes.codes == packed.codes);
  CHECK(bytes.scale == packed.scale);
  CHECK_FALSE(bytes.zero);
  CHECK_FALSE(bytes.scale2);
}

TEST_CASE("the ABI's problem has every field of ours") {
  Problem p = small_problem();
  p.zero = Zero::code;
  p.zero_type = Type::u4;
  p.layout = "gptq_v2";
  p.bias = Type::f32;
  p.order = Order::gidx;
  p.align = 64;
  const AbiProblem abi = to_abi(p);
  CHECK(abi.p.struct_bytes == sizeof(w4_problem));
  CHECK(abi.p.flags == (W4_ACT_ORDER | W4_HAS_BIAS));
  CHECK((abi.p.m == 2 && abi.p.n == 8 && abi.p.k == 16));
  CHECK((abi.p.group == 16 && abi.p.groups == 1 && abi.p.x_group == p.x_group));
  CHECK((abi.p.x_stride == 20 && abi.p.y_stride == 11));
  CHECK((abi.p.x_type == W4_F16 && abi.p.mul_type == W4_F16 && abi.p.y_type == W4_F16));
  CHECK((abi.p.scale_type == W4_F16 && abi.p.zero == W4_ZERO_CODE && abi.p.zero_type == W4_U4));
  CHECK((abi.p.scale2_type == 0 && abi.p.bias_type == W4_F32));
  CHECK((abi.p.x_align == 64 && abi.p.y_align == 64));
  CHECK(abi.layout == "gptq_v2");
  CHECK(to_abi(small_problem()).p.flags == 0);
}

#if defined(__x86_64__)
TEST_CASE("a float state is described by what differs") {
  const FloatState clean{0x1f80, 0x37f};
  CHECK(describe(clean, clean).empty());
  CHECK(describe({0x9fc0, 0x37f}, clean) == "flush-to-zero set, denormals-are-zero set");
  CHECK(describe(clean, {0x9f80, 0x37f}) == "flush-to-zero cleared");
  CHECK(describe({0x5f80, 0xb7f}, clean) == "rounding upward, x87 rounding upward");
  CHECK(describe({0x1f00, 0x27f}, clean) == "exception masks changed, x87 precision 53 bits");
}
#endif
