// SPDX-License-Identifier: Apache-2.0
// The spelling and the width of each element type and zero form, one row each.
#include "reference/type.hpp"

namespace w4 {
namespace {

struct TypeRow {
  Type type;
  std::string_view name;
  int bits;
  bool is_float;
};
constexpr TypeRow type_rows[] = {
    {Type::none, "none", 0, false}, {Type::f32, "f32", 32, true},  {Type::f16, "f16", 16, true},
    {Type::bf16, "bf16", 16, true}, {Type::e4m3, "e4m3", 8, true}, {Type::e5m2, "e5m2", 8, true},
    {Type::s8, "s8", 8, false},     {Type::u8, "u8", 8, false},    {Type::s4, "s4", 4, false},
    {Type::u4, "u4", 4, false},     {Type::s32, "s32", 32, false},
};

struct ZeroRow {
  Zero zero;
  std::string_view name;
};
constexpr ZeroRow zero_rows[] = {
    {Zero::signed_codes, "signed"}, {Zero::eight, "8"},   {Zero::code, "code"},
    {Zero::code_m1, "code_m1"},     {Zero::real, "real"}, {Zero::add, "add"},
    {Zero::add_8, "add_8"},
};

constexpr TypeRow unknown_type{Type::none, "?", 0, false};

const TypeRow& row_of(Type type) {
  for (const TypeRow& row : type_rows)
    if (row.type == type) return row;
  return unknown_type;
}

}  // namespace

std::string_view to_string(Type type) {
  return row_of(type).name;
}
int bits_of(Type type) {
  return row_of(type).bits;
}
bool is_float(Type type) {
  return row_of(type).is_float;
}

std::string_view to_string(Zero zero) {
  for (const ZeroRow& row : zero_rows)
    if (row.zero == zero) return row.name;
  return "?";
}

std::optional<Type> type_named(std::string_view name) {
  for (const TypeRow& row : type_rows)
    if (row.name == name) return row.type;
  return std::nullopt;
}

}  // namespace w4
