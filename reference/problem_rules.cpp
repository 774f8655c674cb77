// SPDX-License-Identifier: Apache-2.0
// What a problem may not say: ranges, sizes that cannot be stored, and keys that contradict each
// other.
#include <algorithm>

#include "reference/layout/layout.hpp"
#include "reference/problem_words.hpp"

namespace w4 {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return b > 0 ? (a + b - 1) / b : 0;
}
std::string word(Type t) {
  return std::string(to_string(t));
}

struct Range {
  std::string_view key;
  std::int64_t value, low;
};

std::string range_fault(const Problem& p) {
  // A layer's n and k, and what follows from them, may still be unknown.
  const std::int64_t least = is_layer(p) ? 0 : 1;
  const std::int64_t of_k = p.k > 0 ? 1 : least, of_n = p.n > 0 ? 1 : least;
  const Range ranges[] = {{"m", p.m, 0},
                          {"n", p.n, least},
                          {"k", p.k, least},
                          {"g", p.group, of_k},
                          {"groups", p.groups, of_k},
                          {"xg", p.x_group, of_k},
                          {"xs", p.x_stride, of_k},
                          {"ys", p.y_stride, of_n}};
  for (const Range& r : ranges) {
    if (r.value > max_dimension)
      return past_storage(std::string(r.key) + "=", std::to_string(r.value), max_dimension);
    if (r.value < r.low)
      return std::string(r.key) + "=" + std::to_string(r.value) + " is below " +
             std::to_string(r.low);
  }
  return "";
}

struct Typed {
  std::string_view key;
  Type value;
  std::span<const Type> allowed;
};

std::string type_fault(const Problem& p) {
  const Typed typed[] = {{"x", p.x, x_types},
                         {"mul", p.mul, x_types},
                         {"y", p.y, y_types},
                         {"scale", p.scale, scale_types},
                         {"ztype", p.zero_type, zero_types},
                         {"s2", p.scale2, scale2_types},
                         {"bias", p.bias, bias_types}};
  for (const Typed& t : typed)
    if (std::find(t.allowed.begin(), t.allowed.end(), t.value) == t.allowed.end())
      return std::string(t.key) + "=" + word(t.value) + " is not a type for it";
  if (p.scale2 != Type::none)
    return "s2=" + word(p.scale2) + ": no layout of this build stores second-level scales";
  const bool quantised = bits_of(p.mul) <= 8;
  if (bits_of(p.x) < bits_of(p.mul))
    return "x=" + word(p.x) + " is narrower than mul=" + word(p.mul) +
           ": a kernel narrows X, it does not widen it";
  if (p.x != p.mul && !(quantised && bits_of(p.x) > bits_of(p.mul)))
    return "x=" + word(p.x) + " and mul=" + word(p.mul) +
           " differ: X is multiplied as it is stored, or quantised to a narrower s8, e4m3 or s4";
  if (p.y == Type::s32 && p.mul != Type::s8 && p.mul != Type::s4)
    return "y=s32 needs integer products (mul=s8 or s4), not mul=" + word(p.mul);
  if (!quantised && p.x_group != p.k)
    return "xg=" + std::to_string(p.x_group) +
           " without quantised activations: mul=" + word(p.mul) +
           " has no x scales (only s8, e4m3 and s4 have)";
  return "";
}

std::string group_fault(const Problem& p) {
  if (p.k == 0) return "";
  if (p.group > p.k) return "g=" + std::to_string(p.group) + " is above k=" + std::to_string(p.k);
  if (p.x_group > p.k)
    return "xg=" + std::to_string(p.x_group) + " is above k=" + std::to_string(p.k);
  const std::int64_t least = divide_up(p.k, p.group);
  if (p.groups == least || (p.order == Order::gidx && p.groups > least)) return "";
  return "groups=" + std::to_string(p.groups) + ", but k=" + std::to_string(p.k) +
         " and g=" + std::to_string(p.group) + " give " + std::to_string(least) +
         (p.groups > least ? " (more only with order=gidx)" : "");
}

std::string layout_fault(const Problem& p) {
  if (const std::string fault = unknown_layout(p.layout); !fault.empty()) return fault;
  const Layout layout = *find_layout(p.layout);
  const bool known =
      p.k > 0 && p.n > 0;  // else layout, zero form and types are yet to come from the layer
  if (known && layout_stores(layout, p.zero)) {
    const Type stored = default_zero_type(p);
    if (has_integer_zero(p.zero) && p.zero_type != stored)
      return "layout " + p.layout +
             " stores the integer zeros of zero=" + std::string(to_string(p.zero)) + " as " +
             word(stored) + ", not ztype=" + word(p.zero_type);
    if (!has_integer_zero(p.zero) && !is_float(p.zero_type))
      return "zero=" + std::string(to_string(p.zero)) +
             " needs a float, not ztype=" + word(p.zero_type);
  }
  // Multiples of everything stand in for what the layer will say.
  const std::int64_t k = p.k > 0 ? p.k : 128, n = p.n > 0 ? p.n : 128;
  return layout.refuses({k, n, std::max<std::int64_t>(p.groups, 1), p.zero, p.scale,
                         known ? p.zero_type : p.scale, p.k > 0 ? p.group : k,
                         p.order != Order::none});
}

std::string stride_fault(const Problem& p) {
  if (p.x_stride < p.k)
    return "xs=" + std::to_string(p.x_stride) + " is below k=" + std::to_string(p.k);
  if (p.y_stride < p.n)
    return "ys=" + std::to_string(p.y_stride) + " is below n=" + std::to_string(p.n);
  const std::int64_t element = std::max(bits_of(p.x), bits_of(p.y)) / 8;
  if (p.align < 1 || p.align > 4096 || (p.align & (p.align - 1)) != 0)
    return "align=" + std::to_string(p.align) + " is not a power of two within 1..4096";
  if (p.align < element)
    return "align=" + std::to_string(p.align) + " is below one element (" +
           std::to_string(element) + " bytes)";
  return "";
}

struct Size {
  std::string_view what;
  std::int64_t rows, per_row;
};

// Dimensions are below 2^31, so no product here leaves an int64.
std::string size_fault(const Problem& p) {
  const Size sizes[] = {{"x", p.m, p.x_stride},
                        {"y", p.m, p.y_stride},
                        {"codes", p.k, p.n},
                        {"scales", p.groups, p.n},
                        {"x scales", p.m, divide_up(p.k, p.x_group)}};
  for (const Size& s : sizes)
    if (s.rows * s.per_row > max_elements)
      return past_storage(std::string(s.what) + ": ",
                          std::to_string(s.rows) + " x " + std::to_string(s.per_row) + " = " +
                              std::to_string(s.rows * s.per_row) + " elements",
                          max_elements);
  return "";
}

std::string source_fault(const Problem& p) {
  if (const std::string fault = data_fault(p.data); !fault.empty()) return fault;
  if (p.v1zeros != V1Zeros::d1 && !is_layer(p))
    return "v1zeros is how the zeros of a stored layer are read: it needs data=layer:...";
  return "";
}

}  // namespace

std::string contradiction(const Problem& p) {
  for (const auto fault :
       {source_fault, range_fault, type_fault, group_fault, layout_fault, stride_fault, size_fault})
    if (const std::string found = fault(p); !found.empty()) return found;
  return "";
}

bool is_w4a16(const Problem& p) {
  return bits_of(p.mul) > 8;
}

bool quantises_x(const Problem& p) {
  return bits_of(p.x) > bits_of(p.mul);
}

bool has_x_scale(const Problem& p) {
  return !is_w4a16(p) && !quantises_x(p);
}

}  // namespace w4
