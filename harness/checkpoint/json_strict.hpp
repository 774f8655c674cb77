// SPDX-License-Identifier: Apache-2.0
// JSON read so that no two programs can disagree about it: doubled keys, NUL and byte order marks
// are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace w4 {

struct Json;
using JsonArray = std::vector<Json>;
using JsonObject = std::vector<std::pair<std::string, Json>>;  // in file order; keys differ

struct Json {
  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, JsonArray,
               JsonObject>
      value{nullptr};

  const JsonObject* object() const { return std::get_if<JsonObject>(&value); }
  const JsonArray* array() const { return std::get_if<JsonArray>(&value); }
  const std::string* string() const { return std::get_if<std::string>(&value); }
  const bool* boolean() const { return std::get_if<bool>(&value); }
  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value); }
  // Whole numbers written without fraction or exponent that fit; 1.0 is none.
  std::optional<std::int64_t> integer() const;
  // The member of that key, or nullptr (also where this is no object).
  const Json* find(std::string_view key) const;
};

// As the file would have it, shortened: for messages.
std::string to_text(const Json&);

struct JsonLimits {
  std::size_t depth{64};
  std::size_t values{4'000'000};
};

// Exactly one value, UTF-8, no doubled key in any object. Throws Error with the cause alone:
// callers add path and step.
Json parse_json_strict(std::string_view text, const JsonLimits& limits = {});

}  // namespace w4
