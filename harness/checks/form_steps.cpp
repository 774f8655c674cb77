// SPDX-License-Identifier: Apache-2.0
// The steps of a form in integers: what each gives for one observation, bit for bit.
#include <bit>

#include "harness/checks/form.hpp"

namespace w4 {
namespace {

// mant * 2^exp with room for a product of three words.
struct Wide {
  Int128 mant{};
  int exp{};
};

Wide operator*(Wide a, Wide b) {
  return {a.mant * b.mant, a.exp + b.exp};
}
Wide operator-(Wide a) {
  return {-a.mant, a.exp};
}
Wide whole(std::int64_t v) {
  return {v, 0};
}
Wide value(Type t, std::uint32_t word) {
  const auto number = decode(t, word);
  return {number.value.mant, number.value.exp};
}
Wide value(float f) {
  return value(Type::f32, std::bit_cast<std::uint32_t>(f));
}

std::uint32_t round(Type t, Wide a) {
  return round_to(t, a.mant, a.exp);
}

// One rounding of an exact sum of two.
std::uint32_t round(Type t, Wide a, Wide b) {
  ExactSum sum;
  sum.add(a.mant, a.exp);
  sum.add(b.mant, b.exp);
  return sum.round(t);
}

Wide rounded(Type t, Wide a) {
  return value(t, round(t, a));
}
Wide rounded(Type t, Wide a, Wide b) {
  return value(t, round(t, a, b));
}

// The operands as numbers: w = (q - z)*s, or q*s + z for the additive forms.
struct Operands {
  Wide q, z, s, x, xs;
  bool additive{};
  bool integer{};
};

Operands operands(const Problem& p, const Observation& o) {
  Operands in;
  in.additive = p.zero >= Zero::add;
  in.integer = has_integer_zero(p.zero);
  const int q = code_value(p.zero, o.code);
  in.q = whole(p.zero == Zero::add_8 ? q - 8 : q);
  in.z = p.zero == Zero::signed_codes ? whole(0)
         : p.zero == Zero::eight      ? whole(8)
         : in.integer                 ? whole(static_cast<std::int32_t>(o.zero))
                                      : value(p.zero_type, o.zero);
  in.s = value(p.scale, o.scale);
  in.x = value(p.x, o.x);
  in.xs = value(o.x_scale);
  return in;
}

// The weight's terms: one, or two that are summed exactly (b.mant == 0: one).
struct Pair {
  Wide a, b;
};

Pair exact_weight(const Operands& in) {
  if (in.integer) return {Wide{in.q.mant - in.z.mant, 0} * in.s, {}};
  if (in.additive) return {in.q * in.s, in.z};
  return {in.q * in.s, -in.z * in.s};
}

Pair weight(const Form& f, const Operands& in, Type h) {
  const auto exact = exact_weight(in);
  const Wide bias = whole(h == Type::bf16 ? 128 : 1024);
  const auto plus = [](Wide a, Wide b) { return Wide{a.mant + b.mant, a.exp}; };
  switch (f.weight) {
    case WeightStep::exact:
      return exact;
    case WeightStep::round:
      return {exact.b.mant == 0 ? rounded(f.at, exact.a) : rounded(f.at, exact.a, exact.b), {}};
    case WeightStep::stepwise: {
      if (in.additive)
        return {rounded(f.at, rounded(Type::f32, rounded(Type::f32, in.q * in.s), in.z)), {}};
      return {rounded(f.at, rounded(Type::f32, rounded(Type::f32, in.q, -in.z) * in.s)), {}};
    }
    case WeightStep::twice: {
      const auto wide =
          exact.b.mant == 0 ? rounded(Type::f32, exact.a) : rounded(Type::f32, exact.a, exact.b);
      return {rounded(f.at, wide), {}};
    }
    case WeightStep::d2:
      return {rounded(f.at, rounded(f.at, in.q * in.s), -rounded(f.at, in.z * in.s)), {}};
    case WeightStep::d3:
      return {rounded(f.at, in.q * in.s, -rounded(f.at, in.z * in.s)), {}};
    case WeightStep::d4:
      return {rounded(f.at, plus(bias, in.q) * in.s, -rounded(f.at, plus(bias, in.z) * in.s)), {}};
    case WeightStep::d6:
      return {rounded(f.at, rounded(f.at, in.q, -in.z) * in.s), {}};
    case WeightStep::d7:
      return {rounded(f.at, rounded(f.at, in.q * in.s), in.z), {}};
  }
  return exact;
}

// The zero term apart; additive forms have B = -x*z.
Wide split_sum(const Apart& how, const Operands& in) {
  constexpr Type f32 = Type::f32;
  const auto xq = rounded(f32, in.x * in.q), xz = rounded(f32, in.x * in.z);
  if (how.join == Join::common) return rounded(f32, rounded(f32, xq, -xz) * in.s);
  const auto zs = in.additive ? -in.z : rounded(f32, in.z * in.s);
  Wide a = how.scaled_code ? in.x * rounded(f32, in.q * in.s) : xq * in.s;
  Wide b = how.scaled_zero || in.additive ? in.x * zs : xz * in.s;
  if (how.x_scale_inside)
    return rounded(f32, rounded(f32, rounded(f32, a) * in.xs),
                   -rounded(f32, rounded(f32, b) * in.xs));
  if (how.join != Join::fuse_a) a = rounded(f32, a);
  if (how.join != Join::fuse_b) b = rounded(f32, b);
  return rounded(f32, a, -b);
}

std::uint32_t output(const Form& f, const Operands& in, Type h, Type y) {
  constexpr Type f32 = Type::f32;
  const auto store = [&](Wide sum) {
    return f.partial == Type::none ? round(y, sum) : round(y, rounded(f.partial, sum));
  };
  const auto last = [&](Wide sum) { return store(rounded(f32, sum * in.xs)); };
  const auto d = [&] {
    return in.integer ? Wide{in.q.mant - in.z.mant, 0} : rounded(f32, in.q, -in.z);
  };
  switch (f.output) {
    case OutputStep::once: {
      const auto w = weight(f, in, h);
      const auto x = in.x * in.xs;
      if (f.partial != Type::none)
        return round(
            y, w.b.mant == 0 ? rounded(f.partial, w.a * x) : rounded(f.partial, w.a * x, w.b * x));
      return w.b.mant == 0 ? round(y, w.a * x) : round(y, w.a * x, w.b * x);
    }
    case OutputStep::through_f32: {
      const auto w = weight(f, in, h);
      return last(w.b.mant == 0 ? rounded(f32, w.a * in.x) : rounded(f32, w.a * in.x, w.b * in.x));
    }
    case OutputStep::scale_last:
      return last(rounded(f32, rounded(f32, in.x * d()) * in.s));
    case OutputStep::x_scale_first:
      return store(rounded(f32, rounded(f32, in.x * d() * in.xs) * in.s));
    case OutputStep::scales_joined:
      return store(rounded(f32, in.x * d() * rounded(f32, in.s * in.xs)));
    case OutputStep::x_times_scale:
      return last(rounded(f32, rounded(f32, in.x * in.s) * d()));
    case OutputStep::split:
      return f.apart.x_scale_inside ? store(split_sum(f.apart, in)) : last(split_sum(f.apart, in));
  }
  return 0;
}

}  // namespace

std::uint32_t predict(const Problem& p, const Form& f, const Observation& o) {
  return output(f, operands(p, o), f.at, p.y);
}

WeightTerms weight_under(const Problem& p, const Form& f, const Observation& o) {
  const auto [a, b] = weight(f, operands(p, o), f.at);
  const auto narrow = [](Wide w) { return Dyadic{static_cast<std::int64_t>(w.mant), w.exp}; };
  return {{narrow(a), narrow(b)}};
}

}  // namespace w4
