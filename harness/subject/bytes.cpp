// SPDX-License-Identifier: Apache-2.0
// From logical values to the ABI's struct and little-endian bytes.
#include <cstring>
#include <type_traits>

#include "harness/subject/subject.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

constexpr std::uint32_t number(auto e) {
  return static_cast<std::uint32_t>(e);
}

static_assert(number(Type::f32) == W4_F32 && number(Type::f16) == W4_F16 &&
              number(Type::bf16) == W4_BF16 && number(Type::e4m3) == W4_E4M3 &&
              number(Type::e5m2) == W4_E5M2 && number(Type::s8) == W4_S8 &&
              number(Type::u8) == W4_U8 && number(Type::s4) == W4_S4 && number(Type::u4) == W4_U4 &&
              number(Type::s32) == W4_S32);
static_assert(number(Zero::signed_codes) == W4_ZERO_SIGNED && number(Zero::eight) == W4_ZERO_8 &&
              number(Zero::code) == W4_ZERO_CODE && number(Zero::code_m1) == W4_ZERO_CODE_M1 &&
              number(Zero::real) == W4_ZERO_REAL && number(Zero::add) == W4_ZERO_ADD &&
              number(Zero::add_8) == W4_ZERO_ADD_8);

std::size_t bytes_for(std::int64_t elements, int bits) {
  return static_cast<std::size_t>((elements * bits + 7) / 8);
}

// Element `index` of a dense tensor, low nibble first where an element is four bits.
void store_word(std::vector<std::byte>& to, std::int64_t index, int bits, std::uint32_t word) {
  if (bits == 4) {
    std::byte& cell = to[static_cast<std::size_t>(index / 2)];
    const int shift = index % 2 ? 4 : 0;
    cell = (cell & std::byte(0xf0 >> shift)) | std::byte((word & 15u) << shift);
    return;
  }
  const int size = bits / 8;
  for (int b = 0; b < size; ++b)
    to[static_cast<std::size_t>(index * size + b)] = std::byte(word >> (8 * b));
}

template <typename T>
std::vector<std::byte> copy_bytes(const std::vector<T>& from) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<std::byte> to(from.size() * sizeof(T));
  if (!to.empty()) std::memcpy(to.data(), from.data(), to.size());
  return to;
}

}  // namespace

AbiProblem to_abi(const Problem& p) {
  AbiProblem abi;
  abi.layout = p.layout;
  w4_problem& to = abi.p;
  to.struct_bytes = sizeof to;
  if (p.order != Order::none) to.flags |= W4_ACT_ORDER;
  if (p.bias != Type::none) to.flags |= W4_HAS_BIAS;
  to.m = p.m;
  to.n = p.n;
  to.k = p.k;
  to.group = p.group;
  to.x_group = p.x_group;
  to.groups = p.groups;
  to.x_stride = p.x_stride;
  to.y_stride = p.y_stride;
  to.x_type = number(p.x);
  to.mul_type = number(p.mul);
  to.y_type = number(p.y);
  to.scale_type = number(p.scale);
  to.zero = number(p.zero);
  to.zero_type = number(p.zero_type);
  to.scale2_type = number(p.scale2);
  to.bias_type = number(p.bias);
  to.x_align = to.y_align = static_cast<std::uint32_t>(p.align);
  return abi;
}

WeightBytes to_bytes(const Packed& packed, const QuantizedMatrix& matrix) {
  WeightBytes bytes;
  bytes.codes = packed.codes;
  bytes.scale = packed.scale;
  if (!packed.zero.empty()) bytes.zero = packed.zero;
  if (!matrix.g_idx.empty()) bytes.g_idx = copy_bytes(matrix.g_idx);
  if (!matrix.bias.empty()) {
    const int bits = bits_of(matrix.bias_type);
    const auto count = static_cast<std::int64_t>(matrix.bias.size());
    bytes.bias.emplace(bytes_for(count, bits));
    for (std::int64_t i = 0; i < count; ++i)
      store_word(*bytes.bias, i, bits, matrix.bias[static_cast<std::size_t>(i)]);
  }
  return bytes;
}

CallBytes to_bytes(const Problem& p, const Activations& x) {
  require(x.m == p.m && x.k == p.k && x.type == p.x, "activations of another problem");
  require(x.words.size() == static_cast<std::size_t>(x.m * x.k), "as many words as m*k");
  CallBytes bytes;
  const int bits = bits_of(x.type);
  const std::int64_t elements = p.m > 0 ? (p.m - 1) * p.x_stride + p.k : 0;
  const std::byte gap{is_float(x.type) ? std::uint8_t{0xff}
                                       : std::uint8_t{0x55}};  // all ones: NaN in every float type
  bytes.x.assign(bytes_for(elements, bits), gap);
  for (std::int64_t row = 0; row < p.m; ++row) {
    for (std::int64_t i = 0; i < p.k; ++i) {
      store_word(bytes.x, row * p.x_stride + i, bits,
                 x.words[static_cast<std::size_t>(row * p.k + i)]);
    }
  }
  if (!x.scale.empty()) bytes.x_scale = copy_bytes(x.scale);
  return bytes;
}

std::string describe(const FloatState& now, const FloatState& before) {
  std::string text;
  const auto say = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  const auto flag = [&](std::uint32_t bit, const char* name) {
    if ((now.mxcsr ^ before.mxcsr) & bit)
      say(std::string(name) + (now.mxcsr & bit ? " set" : " cleared"));
  };
#if defined(__aarch64__)
  constexpr const char* rounding[] = {"to nearest", "upward", "downward", "towards zero"};
  constexpr std::uint32_t rounding_at = 22, masks = 0x9f00;
  flag(1u << 24, "flush-to-zero");
#else
  constexpr const char* rounding[] = {"to nearest", "downward", "upward", "towards zero"};
  constexpr std::uint32_t rounding_at = 13, masks = 0x1f80;
  flag(1u << 15, "flush-to-zero");
  flag(1u << 6, "denormals-are-zero");
#endif
  const std::uint32_t mode = now.mxcsr >> rounding_at & 3;
  if (mode != (before.mxcsr >> rounding_at & 3)) say(std::string("rounding ") + rounding[mode]);
  if ((now.mxcsr ^ before.mxcsr) & masks) say("exception masks changed");
  if (const std::uint32_t x87 = now.x87 ^ before.x87) {
    constexpr const char* precision[] = {"24", "an unknown number of", "53", "64"};
    if (x87 & 0x300) say(std::string("x87 precision ") + precision[now.x87 >> 8 & 3] + " bits");
    if (x87 & 0xc00) say(std::string("x87 rounding ") + rounding[now.x87 >> 10 & 3]);
    if (x87 & 0x3f) say("x87 exception masks changed");
  }
  return text;
}

}  // namespace w4
