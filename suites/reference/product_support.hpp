// SPDX-License-Identifier: Apache-2.0
// Small products of any form, type and kind of data from one seed, for the tests of the slow and
// the fast reference.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "reference/multiply.hpp"

namespace w4 {

enum class Data : std::uint8_t {
  integers,  // every word a small integer, scales powers of two: double arithmetic is exact
  plain,     // ordinary magnitudes, full significands
  finite,    // any finite word
  any        // any word at all, NaN and infinity among them
};

struct Shape {
  std::int64_t m{}, n{}, k{}, group{};
};

struct Forms {
  Zero zero{Zero::eight};
  Type x{Type::f16}, scale{Type::f16}, zero_type{Type::f16}, bias{Type::none};
  bool g_idx{}, x_scale{};
};

struct Product {
  Activations x;
  QuantizedMatrix w;
};

// A pure function of (seed, index): the finaliser of splitmix64.
class Words {
 public:
  explicit Words(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t next() {
    std::uint64_t v = (seed_ += 0x9e3779b97f4a7c15);
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9;
    v = (v ^ (v >> 27)) * 0x94d049bb133111eb;
    return v ^ (v >> 31);
  }
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(bound));
  }

  std::uint32_t word(Type t, Data data) {
    const int bits = bits_of(t);
    const auto raw = static_cast<std::uint32_t>(next()) & (bits == 32 ? ~0u : (1u << bits) - 1);
    switch (data) {
      case Data::integers:
        return from_double(t, static_cast<double>(below(15) - 7));
      case Data::plain:
        return from_double(t, static_cast<double>(below(1 << 28) - (1 << 27)) * 0x1p-26);
      case Data::any:
        if (is_float(t) && next() % 64 == 0)
          return next() % 2 == 0 ? nan_word(t) : inf_word(t, next() % 2 == 0);
        return raw;
      case Data::finite:
        break;
    }
    return decode(t, raw).kind == NumberKind::finite ? raw : from_double(t, 1.5);
  }

  std::uint32_t scale(Type t, Data data) {
    if (data != Data::integers) return word(t, data);
    return from_double(t, std::bit_cast<double>((1020 + next() % 6) << 52));
  }

 private:
  std::uint64_t seed_;
};

inline QuantizedMatrix make_matrix(const Shape& s, const Forms& f, Data data, Words& words) {
  QuantizedMatrix w;
  w.k = s.k;
  w.n = s.n;
  w.group = s.group;
  w.groups = (s.k + s.group - 1) / s.group + (f.g_idx ? 1 : 0);
  w.zero = f.zero;
  w.scale_type = f.scale;
  w.zero_type = f.zero_type;
  for (std::int64_t i = 0; i < s.k * s.n; ++i)
    w.codes.push_back(static_cast<std::uint8_t>(words.next() % 16));
  for (std::int64_t i = 0; i < w.groups * s.n; ++i) {
    w.scales.push_back(words.scale(f.scale, data));
    if (!has_stored_zero(f.zero)) continue;
    w.zeros.push_back(has_integer_zero(f.zero) ? static_cast<std::uint32_t>(words.next() % 17)
                                               : words.word(f.zero_type, data));
  }
  for (std::int64_t i = 0; f.g_idx && i < s.k; ++i)
    w.g_idx.push_back(static_cast<std::int32_t>(words.below(w.groups)));
  w.bias_type = f.bias;
  for (std::int64_t i = 0; f.bias != Type::none && i < s.n; ++i)
    w.bias.push_back(words.word(f.bias, data));
  return w;
}

inline Product make_product(const Shape& s, const Forms& f, Data data, std::uint64_t seed) {
  Words words(seed);
  Product p{{f.x, s.m, s.k, {}, {}, 0}, make_matrix(s, f, data, words)};
  for (std::int64_t i = 0; i < s.m * s.k; ++i) p.x.words.push_back(words.word(f.x, data));
  if (!f.x_scale) return p;
  p.x.group = 1 + words.below(s.k);
  const std::int64_t groups = (s.k + p.x.group - 1) / p.x.group;
  for (std::int64_t i = 0; i < s.m * groups; ++i) {
    p.x.scale.push_back(std::bit_cast<float>(words.scale(Type::f32, data)));
  }
  return p;
}

inline std::string show(const Forms& f) {
  return std::string(to_string(f.zero)) + " x=" + std::string(to_string(f.x)) +
         " scale=" + std::string(to_string(f.scale)) +
         " ztype=" + std::string(to_string(f.zero_type)) +
         " bias=" + std::string(to_string(f.bias)) + (f.g_idx ? " g_idx" : "") +
         (f.x_scale ? " x_scale" : "");
}

// One of each, picked by the bits of `pick`: a generator that shrinks towards the first of every
// list.
inline Forms forms_from(std::uint32_t pick) {
  const Type x[] = {Type::f16, Type::bf16, Type::f32, Type::s8, Type::s4, Type::e4m3, Type::e5m2};
  const Type floats[] = {Type::f16, Type::bf16, Type::f32};
  const Type bias[] = {Type::none, Type::f16, Type::f32, Type::bf16};
  const auto take = [&pick](std::uint32_t n) {
    const std::uint32_t v = pick % n;
    pick /= n;
    return v;
  };
  Forms f;
  f.zero = static_cast<Zero>(1 + take(7));
  f.x = x[take(7)];
  f.scale = floats[take(3)];
  f.zero_type = floats[take(3)];
  f.bias = bias[take(4)];
  f.g_idx = take(2) == 1;
  f.x_scale = take(2) == 1;
  return f;
}
constexpr std::uint32_t all_forms = 7 * 7 * 3 * 3 * 4 * 2 * 2;

}  // namespace w4
