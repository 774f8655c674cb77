// SPDX-License-Identifier: Apache-2.0
// Which forms give every observed word; where none does, which known fault explains them.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <unordered_set>

#include "harness/checks/form.hpp"

namespace w4 {
namespace {

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
  const auto exact = decode(Type::f32, predict(wide, f, o)).value;
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
