// SPDX-License-Identifier: Apache-2.0
// The table of forms: which there are on a problem, and what they are called.
#include "harness/checks/form.hpp"

#include <array>

namespace w4 {
namespace {

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
    if (no_zero || (f.apart.x_scale_inside && is_w4a16(p))) return false;
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

bool splits_zero(const Form& f) {
  return f.output >= OutputStep::split;
}

}  // namespace w4
