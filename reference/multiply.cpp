// SPDX-License-Identifier: Apache-2.0
// The oracle: every leaf of the product by itself, in exact arithmetic.
#include "reference/multiply.hpp"

#include <bit>

#include "reference/error.hpp"

namespace w4 {
namespace {

using Kind = NumberKind;

int sign_of(std::int64_t v) {
  return v < 0 ? -1 : (v > 0 ? 1 : 0);
}

Number integer(std::int64_t v) {
  return {Kind::finite, v < 0, {v, 0}};
}

Weight from(const Number& v) {
  if (v.kind == Kind::finite) return {Kind::finite, sign_of(v.value.mant), {{v.value, {}}}};
  return {v.kind, v.negative ? -1 : 1, {}};
}

Weight sum(const Number& a, const Number& b) {
  const Weight wa = from(a), wb = from(b);
  if (wa.kind == Kind::nan || wb.kind == Kind::nan) return {Kind::nan, 0, {}};
  if (wa.kind == Kind::infinite && wb.kind == Kind::infinite && wa.sign != wb.sign) {
    return {Kind::nan, 0, {}};
  }
  if (wa.kind == Kind::infinite) return wa;
  if (wb.kind == Kind::infinite) return wb;
  ExactSum exact;
  exact.add(a.value.mant, a.value.exp);
  exact.add(b.value.mant, b.value.exp);
  return {Kind::finite, exact.sign(), {{a.value, b.value}}};
}

Dyadic times(Dyadic a, Dyadic b) {
  return {a.mant * b.mant, a.exp + b.exp};
}

Weight product(const Weight& a, const Number& b) {
  const Weight wb = from(b);
  if (a.kind == Kind::nan || wb.kind == Kind::nan) return {Kind::nan, 0, {}};
  const int sign = a.sign * wb.sign;
  if (a.kind == Kind::finite && wb.kind == Kind::finite) {
    return {
        Kind::finite, sign, {{times(a.terms.term[0], b.value), times(a.terms.term[1], b.value)}}};
  }
  return sign == 0 ? Weight{Kind::nan, 0, {}} : Weight{Kind::infinite, sign, {}};
}

Number rounded(const Weight& w, Type h) {
  if (w.kind == Kind::nan) return {Kind::nan, false, {}};
  if (w.kind == Kind::infinite) return decode(h, inf_word(h, w.sign < 0));
  ExactSum exact;
  for (const Dyadic& t : w.terms.term) exact.add(t.mant, t.exp);
  return decode(h, exact.round(h));
}

// The single-term weight w as a number.
Number single(const Weight& w) {
  return {w.kind, w.sign < 0, w.terms.term[0]};
}

Number minus(Number v) {
  v.negative = !v.negative;
  v.value.mant = -v.value.mant;
  return v;
}

// (q-z)*s, or for the additive forms q*s+z, with what `dequant` rounds on the way.
Weight dequantised(const Number& q, const Number& z, const Number& s, bool additive,
                   Dequant dequant, Type h) {
  if (additive) {
    const Weight scaled = product(from(q), s);
    if (dequant == Dequant::d6) return from(rounded(sum(rounded(scaled, h), z), h));
    const Weight w = sum(single(scaled), z);
    return dequant == Dequant::d1 ? from(rounded(w, h)) : w;
  }
  const Weight difference = sum(q, minus(z));
  if (dequant == Dequant::d6) return from(rounded(product(from(rounded(difference, h)), s), h));
  const Weight w = product(difference, s);
  return dequant == Dequant::d1 ? from(rounded(w, h)) : w;
}

// One output: the exact sum, and beside it what infinities and NaN make of it.
struct Accumulator {
  ExactSum exact;
  bool nan{}, above{}, below{};

  void special(Kind kind, int sign) {
    if (kind == Kind::nan || sign == 0) {
      nan = true;
    } else {
      (sign > 0 ? above : below) = true;
    }
  }

  void add(const Number& x, const Number& x_scale, const Weight& w) {
    if (x.kind == Kind::finite && x_scale.kind == Kind::finite && w.kind == Kind::finite) {
      for (const Dyadic& t : w.terms.term) {
        exact.add(Int128{x.value.mant} * x_scale.value.mant * t.mant,
                  x.value.exp + x_scale.value.exp + t.exp);
      }
      return;
    }
    const Weight wx = from(x), ws = from(x_scale);
    const bool any_nan = wx.kind == Kind::nan || ws.kind == Kind::nan || w.kind == Kind::nan;
    special(any_nan ? Kind::nan : Kind::infinite, wx.sign * ws.sign * w.sign);
  }

  void add(const Number& bias) {
    if (bias.kind == Kind::finite) {
      exact.add(bias.value.mant, bias.value.exp);
    } else {
      special(bias.kind, bias.negative ? -1 : 1);
    }
  }

  Kind kind() const {
    if (nan || (above && below)) return Kind::nan;
    return above || below ? Kind::infinite : Kind::finite;
  }

  std::uint32_t round(Type y) const {
    if (kind() == Kind::nan) return nan_word(y);
    if (kind() == Kind::infinite) return inf_word(y, below);
    return exact.round(y);
  }

  Number to_odd() const {
    if (kind() != Kind::finite) return {kind(), kind() == Kind::infinite && below, {}};
    return {Kind::finite, exact.sign() < 0, exact.to_odd(62)};
  }
};

Number x_scale_at(const Activations& x, std::int64_t m, std::int64_t k) {
  if (x.scale.empty()) return integer(1);
  const std::int64_t groups = (x.k + x.group - 1) / x.group;
  const float s = x.scale[static_cast<std::size_t>(m * groups + k / x.group)];
  return decode(Type::f32, std::bit_cast<std::uint32_t>(s));
}

}  // namespace

void check_operands(const Activations& x, const QuantizedMatrix& q) {
  check_shape(q);
  require(x.k == q.k, "x and W agree on k");
  require(x.words.size() == static_cast<std::size_t>(x.m * x.k), "x is [m][k]");
  if (x.scale.empty()) return;
  require(x.group > 0, "x_scale has a group");
  const std::int64_t groups = (x.k + x.group - 1) / x.group;
  require(x.scale.size() == static_cast<std::size_t>(x.m * groups),
          "x_scale is [m][ceil(k/group)]");
}

std::string_view to_string(Dequant d) {
  switch (d) {
    case Dequant::d1:
      return "D1";
    case Dequant::d5:
      return "D5";
    case Dequant::d6:
      return "D6";
  }
  return "?";
}

Weight weight_of_code(const QuantizedMatrix& w, Dequant dequant, Type h, std::uint8_t code,
                      std::int64_t g, std::int64_t n) {
  const std::size_t at = w.at(g, n);
  const bool centred = w.zero == Zero::add_8;
  const Number q = integer(code_value(w.zero, code) - (centred ? 8 : 0));
  const Number s = decode(w.scale_type, w.scales[at]);
  Number z = integer(w.zero == Zero::eight ? 8 : 0);
  if (has_stored_zero(w.zero)) {
    z = has_integer_zero(w.zero) ? integer(w.zeros[at]) : decode(w.zero_type, w.zeros[at]);
  }
  const bool additive = w.zero == Zero::add || centred;
  return dequantised(q, z, s, additive, dequant, h);
}

Weight weight(const QuantizedMatrix& w, Dequant dequant, Type h, std::int64_t k, std::int64_t n) {
  return weight_of_code(w, dequant, h, w.codes[w.at(k, n)], w.group_of(k), n);
}

WeightTerms weight_terms(const QuantizedMatrix& w, Dequant dequant, Type h, std::int64_t k,
                         std::int64_t n) {
  const Weight value = weight(w, dequant, h, k, n);
  require(value.kind == NumberKind::finite, "a finite weight");
  return value.terms;
}

namespace {

// Calls done(m, n, sum) for each output, column by column.
template <typename Done>
void for_each_sum(const Activations& x, const QuantizedMatrix& w, Dequant dequant, Type h,
                  Done done) {
  check_operands(x, w);
  std::vector<Weight> column(static_cast<std::size_t>(w.k));
  for (std::int64_t n = 0; n < w.n; ++n) {
    for (std::int64_t k = 0; k < w.k; ++k) {
      column[static_cast<std::size_t>(k)] = weight(w, dequant, h, k, n);
    }
    for (std::int64_t m = 0; m < x.m; ++m) {
      Accumulator sum;
      for (std::int64_t k = 0; k < w.k; ++k) {
        const Number value = decode(x.type, x.words[static_cast<std::size_t>(m * x.k + k)]);
        sum.add(value, x_scale_at(x, m, k), column[static_cast<std::size_t>(k)]);
      }
      if (!w.bias.empty()) sum.add(decode(w.bias_type, w.bias[static_cast<std::size_t>(n)]));
      done(static_cast<std::size_t>(m * w.n + n), sum);
    }
  }
}

}  // namespace

std::vector<std::uint32_t> multiply(const Activations& x, const QuantizedMatrix& w, Dequant dequant,
                                    Type h, Type y) {
  std::vector<std::uint32_t> out(static_cast<std::size_t>(x.m * w.n));
  for_each_sum(x, w, dequant, h,
               [&](std::size_t at, const Accumulator& sum) { out[at] = sum.round(y); });
  return out;
}

std::vector<Number> exact_products(const Activations& x, const QuantizedMatrix& w, Dequant dequant,
                                   Type h) {
  std::vector<Number> out(static_cast<std::size_t>(x.m * w.n));
  for_each_sum(x, w, dequant, h,
               [&](std::size_t at, const Accumulator& sum) { out[at] = sum.to_odd(); });
  return out;
}

std::uint32_t round_word(const Number& v, Type y) {
  if (v.kind == Kind::nan) return nan_word(y);
  if (v.kind == Kind::infinite) return inf_word(y, v.negative);
  return v.value.mant == 0 ? 0 : round_to(y, Int128{v.value.mant}, v.value.exp);
}

}  // namespace w4
