// SPDX-License-Identifier: Apache-2.0
#include "harness/checks/form.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <unordered_set>

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

bool form_applies(const Problem& p, const Form& f) {
  const bool additive = p.zero >= Zero::add, integer = has_integer_zero(p.zero);
  const bool no_zero = p.zero == Zero::signed_codes;
  switch (f.weight) {
    case WeightStep::d2:
    case WeightStep::d3:
      return !additive;
    case WeightStep::d4:
      return integer && !no_zero && f.at != Type::f32;
    case WeightStep::d6:
      return p.zero == Zero::real;
    case WeightStep::d7:
      return additive;
    case WeightStep::twice:
      return f.at != Type::f32;
    case WeightStep::stepwise:
      return f.at != Type::f32 && !integer;
    default:
      break;
  }
  if (f.output == OutputStep::split) {
    if (no_zero || (f.apart.x_scale_inside && !(!is_w4a16(p)))) return false;
    return !additive || (f.apart.join != Join::common && !f.apart.scaled_zero);
  }
  const bool scale_apart =
      f.output >= OutputStep::scale_last && f.output <= OutputStep::x_times_scale;
  return !(scale_apart && additive);
}

std::vector<Apart> ways_apart() {
  std::vector<Apart> all{{false, false, Join::common, false}};
  for (const bool zero : {false, true})
    for (const bool code : {false, true}) {
      for (const auto join : {Join::subtract, Join::fuse_a, Join::fuse_b})
        all.push_back({zero, code, join, false});
      all.push_back({zero, code, Join::subtract, true});
    }
  return all;
}

// ---- known faults, tried when no healthy form fits

struct Fault {
  const char* id;
  const char* what;
  // Edits the operands of one observation as the faulty kernel would see them.
  void (*edit)(const Problem&, Observation&);
  bool truncate;   // the output is cut, not rounded
  Type weight_at;  // none: as the form says
};

void keep(const Problem&, Observation&) {}

void shift_zero(const Problem& p, Observation& o, int by) {
  // Signed and 8 have no stored zero: the code moves the other way, unbounded, which one nibble
  // cannot say; see faults().
  if (p.zero == Zero::code || p.zero == Zero::code_m1)
    o.zero = static_cast<std::uint32_t>(static_cast<int>(o.zero) + by);
  if (p.zero == Zero::real) o.zero = from_double(p.zero_type, to_double(p.zero_type, o.zero) + by);
}

void flush_scale(const Problem& p, Observation& o) {
  const auto number = decode(p.scale, o.scale);
  const double least = p.scale == Type::f16 ? std::ldexp(1, -14) : std::ldexp(1, -126);
  if (number.kind == NumberKind::finite && std::abs(to_double(p.scale, o.scale)) < least)
    o.scale = 0;
}

constexpr std::array faults{
    Fault{"truncation", "results are truncated, not rounded, to the output type", keep, true,
          Type::none},
    Fault{"scale_flushed", "subnormal scales are flushed to zero", flush_scale, false, Type::none},
    Fault{"zero_plus_1", "the zero point is read one too high: every weight is one step too low",
          [](const Problem& p, Observation& o) { shift_zero(p, o, 1); }, false, Type::none},
    Fault{"zero_minus_1", "the zero point is read one too low: every weight is one step too high",
          [](const Problem& p, Observation& o) { shift_zero(p, o, -1); }, false, Type::none},
    Fault{"zero_as_8", "the stored zero point is ignored: 8 is used",
          [](const Problem& p, Observation& o) {
            if (p.zero == Zero::code || p.zero == Zero::code_m1) o.zero = 8;
            if (p.zero == Zero::real) o.zero = from_double(p.zero_type, 8);
          },
          false, Type::none},
    Fault{"zero_ignored", "the zero point is ignored: 0 is used",
          [](const Problem& p, Observation& o) {
            if (p.zero != Zero::signed_codes && p.zero != Zero::eight) o.zero = 0;
          },
          false, Type::none},
    Fault{"zero_wraps", "a zero point of 16 is taken modulo 16",
          [](const Problem& p, Observation& o) {
            if (has_integer_zero(p.zero)) o.zero &= 15;
          },
          false, Type::none},
    Fault{"scale_sign_lost", "the sign of scales is lost",
          [](const Problem& p, Observation& o) {
            o.scale &= bits_of(p.scale) == 32 ? 0x7fffffffu : 0x7fffu;
          },
          false, Type::none},
    Fault{"scale_as_bf16", "scales are rounded to bf16 before use",
          [](const Problem& p, Observation& o) {
            const auto word = from_double(Type::bf16, to_double(p.scale, o.scale));
            o.scale = from_double(p.scale, to_double(Type::bf16, word));
          },
          false, Type::none},
    Fault{"scale_as_f16", "scales are rounded to fp16 before use",
          [](const Problem& p, Observation& o) {
            const auto word = from_double(Type::f16, to_double(p.scale, o.scale));
            o.scale = from_double(p.scale, to_double(Type::f16, word));
          },
          false, Type::none},
    Fault{"x_as_bf16", "activations are rounded to bf16 before use",
          [](const Problem& p, Observation& o) {
            const auto word = from_double(Type::bf16, to_double(p.x, o.x));
            o.x = from_double(p.x, to_double(Type::bf16, word));
          },
          false, Type::none},
    Fault{"weight_as_bf16", "weights are rounded to bf16", keep, false, Type::bf16},
    Fault{"x_scale_ignored", "x_scale is ignored",
          [](const Problem&, Observation& o) { o.x_scale = 1; }, false, Type::none},
};

// zero=8 and signed have no zero word to move, so these faults are said of the problem: its form
// becomes code.
Problem as_code(Problem p) {
  p.zero = Zero::code;
  return p;
}

std::uint32_t truncated(const Problem& p, const Form& f, const Observation& o) {
  Problem wide = p;
  wide.y = Type::f32;
  const auto exact = value(Type::f32, predict(wide, f, o));
  return truncate_to(p.y, exact.mant, exact.exp);
}

bool explains(const Problem& p, const Fault& fault, const Form& form,
              std::span<const Observation> sample) {
  Form f = form;
  if (fault.weight_at != Type::none) f.at = fault.weight_at, f.weight = WeightStep::round;
  return std::all_of(sample.begin(), sample.end(), [&](Observation o) {
    fault.edit(p, o);
    const auto word = fault.truncate ? truncated(p, f, o) : predict(p, f, o);
    return same_word(p.y, word, o.got);
  });
}

const Fault* find_fault(const Problem& p, std::span<const Form> forms,
                        std::span<const Observation> sample) {
  for (const auto& fault : faults)
    for (const auto& form : forms)
      if (explains(p, fault, form, sample)) return &fault;
  return nullptr;
}

}  // namespace

std::string_view step_name(const Form& f) {
  constexpr std::array<std::string_view, 9> names{"D5", "D1", "D2", "D3", "D4",
                                                  "D6", "D7", "D1", "D1"};
  return names[static_cast<std::size_t>(f.weight)];
}

std::string_view class_name(const Form& f) {
  return f.at == Type::f32 ? "D5" : step_name(f);
}

std::string describe(const Form& f) {
  constexpr std::array<std::string_view, 7> outputs{"rounded once",
                                                    "through fp32",
                                                    "scale after the sum",
                                                    "x_scale before the scale",
                                                    "scale times x_scale first",
                                                    "x times scale first",
                                                    "zero term summed apart"};
  std::string text(step_name(f));
  if (f.weight != WeightStep::exact) text += " in " + std::string(to_string(f.at));
  if (f.weight >= WeightStep::twice) text += " by way of fp32";
  text += ", " + std::string(outputs[static_cast<std::size_t>(f.output)]);
  if (f.partial != Type::none) text += ", sums in " + std::string(to_string(f.partial));
  return text;
}

std::vector<Form> healthy_forms(const Problem& p, Type partial) {
  std::vector<Form> forms;
  const auto add = [&](WeightStep weight, Type at, OutputStep output, Apart apart = {}) {
    Form form{weight, at, output, apart, Type::none};
    if (!form_applies(p, form)) return;
    forms.push_back(form);
    form.partial = partial;
    if (partial != Type::none) forms.push_back(form);
  };
  for (const auto out :
       {OutputStep::once, OutputStep::through_f32, OutputStep::scale_last,
        OutputStep::x_scale_first, OutputStep::scales_joined, OutputStep::x_times_scale})
    add(WeightStep::exact, Type::f32, out);
  for (const auto& apart : ways_apart())
    add(WeightStep::exact, Type::f32, OutputStep::split, apart);
  for (const auto step : {WeightStep::round, WeightStep::d2, WeightStep::d3, WeightStep::d4,
                          WeightStep::d6, WeightStep::d7, WeightStep::twice, WeightStep::stepwise})
    for (const auto out : {OutputStep::once, OutputStep::through_f32}) {
      if (is_w4a16(p) && p.mul != Type::f32) add(step, p.mul, out);
      add(step, Type::f32, out);
    }
  return forms;
}

std::uint32_t predict(const Problem& p, const Form& f, const Observation& o) {
  return output(f, operands(p, o), f.at, p.y);
}

WeightTerms weight_under(const Problem& p, const Form& f, const Observation& o) {
  const auto [a, b] = weight(f, operands(p, o), f.at);
  const auto narrow = [](Wide w) { return Dyadic{static_cast<std::int64_t>(w.mant), w.exp}; };
  return {{narrow(a), narrow(b)}};
}

bool splits_zero(const Form& f) {
  return f.output >= OutputStep::split;
}

namespace {

// Observations whose operands and word have been met before say nothing new.
struct Met {
  std::uint32_t code, zero, scale, x, got, x_scale;
  bool operator==(const Met&) const = default;
};
struct MetHash {
  std::size_t operator()(const Met& m) const {
    std::uint64_t h = 0x9e3779b97f4a7c15ull;
    for (const std::uint32_t v : {m.code, m.zero, m.scale, m.x, m.got, m.x_scale})
      h = (h ^ v) * 0xff51afd7ed558ccdull, h ^= h >> 29;
    return static_cast<std::size_t>(h);
  }
};

}  // namespace

Identified identify(const Problem& p, std::span<const Observation> seen, Type partial) {
  Identified result;
  result.forms = healthy_forms(p, partial);
  const auto all = result.forms;
  std::vector<std::size_t> first_miss(all.size(), seen.size());
  std::vector<bool> alive(all.size(), true);
  std::unordered_set<Met, MetHash> met;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const auto& o = seen[i];
    if (!met.insert({o.code, o.zero, o.scale, o.x, o.got, std::bit_cast<std::uint32_t>(o.x_scale)})
             .second)
      continue;
    for (std::size_t f = 0; f < all.size(); ++f) {
      if (!alive[f] || same_word(p.y, predict(p, all[f], seen[i]), seen[i].got)) continue;
      alive[f] = false;
      first_miss[f] = i;
    }
  }
  result.forms.clear();
  for (std::size_t f = 0; f < all.size(); ++f)
    if (alive[f]) result.forms.push_back(all[f]);
  if (!result.forms.empty() || seen.empty()) return result;

  // No form fits: say which is nearest over a sample, what it misses, and whether a known fault
  // explains everything.
  std::vector<std::size_t> sample;
  for (std::size_t i = 0; i < seen.size(); i += std::max<std::size_t>(1, seen.size() / 4096))
    sample.push_back(i);
  for (const auto miss : first_miss) sample.push_back(miss);
  std::size_t fewest = sample.size() + 1;
  for (const auto& form : all) {
    std::vector<std::size_t> off;
    for (const auto i : sample)
      if (!same_word(p.y, predict(p, form, seen[i]), seen[i].got)) off.push_back(i);
    if (off.size() >= fewest) continue;
    fewest = off.size();
    result.nearest = form;
    result.off = std::move(off);
  }
  std::sort(result.off.begin(), result.off.end());
  result.off.erase(std::unique(result.off.begin(), result.off.end()), result.off.end());
  std::vector<Observation> evidence;
  for (const auto i : sample) evidence.push_back(seen[i]);
  const Fault* fault = find_fault(p, all, evidence);
  if (fault == nullptr && (p.zero == Zero::eight || p.zero == Zero::signed_codes)) {
    for (auto& o : evidence) {
      o.zero = 8;
      if (p.zero == Zero::signed_codes) o.code = static_cast<std::uint8_t>(o.code ^ 8);
    }
    fault = find_fault(as_code(p), all, evidence);
  }
  if (fault != nullptr) result.fault = fault->what, result.fault_id = fault->id;
  return result;
}

}  // namespace w4
