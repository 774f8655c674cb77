// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/json_strict.hpp"

#include <limits>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "harness/checkpoint/text.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

// nlohmann's parser keeps its own stack on the heap, so depth is bounded here for the sake of
// whoever walks the result.
class Builder {
 public:
  Builder(Json& root, const JsonLimits& limits) : root_(root), limits_(limits) {}

  bool null() { return add({nullptr}); }
  bool boolean(bool v) { return add({v}); }
  bool number_integer(std::int64_t v) { return add({v}); }
  bool number_unsigned(std::uint64_t v) { return add({v}); }
  bool number_float(double v, const std::string&) { return add({v}); }
  bool string(std::string& v) { return add({std::move(v)}); }
  bool binary(nlohmann::json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open({JsonObject{}}); }
  bool start_array(std::size_t) { return open({JsonArray{}}); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    if (!open_.back().keys.insert(name).second)
      throw Error("key " + in_quotes(name) + " twice in " + place());
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) {
    const std::string_view what = e.what();
    const auto cut = what.find("] ");
    throw Error("not JSON: " +
                printable(cut == std::string_view::npos ? what : what.substr(cut + 2)));
  }

 private:
  struct Level {
    Json* value;
    std::string name;  // the key it stands under
    std::unordered_set<std::string> keys;
  };

  std::string place() const {
    return open_.back().name.empty() ? "the outermost object" : in_quotes(open_.back().name);
  }

  Json* put(Json v) {
    if (++values_ > limits_.values)
      throw Error("more than " + std::to_string(limits_.values) + " JSON values");
    if (open_.empty()) return &(root_ = std::move(v));
    Json& parent = *open_.back().value;
    if (auto* array = std::get_if<JsonArray>(&parent.value))
      return &array->emplace_back(std::move(v));
    auto& object = std::get<JsonObject>(parent.value);
    return &object.emplace_back(key_, std::move(v)).second;
  }

  bool add(Json v) {
    put(std::move(v));
    return true;
  }

  bool open(Json v) {
    if (open_.size() >= limits_.depth)
      throw Error("nested deeper than " + std::to_string(limits_.depth) + " levels");
    std::string name = key_;
    // The children of an open value are added to it alone, so this address stays good until it is
    // closed.
    Json* place_of_value = put(std::move(v));
    open_.push_back({place_of_value, std::move(name), {}});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  Json& root_;
  const JsonLimits& limits_;
  std::vector<Level> open_;
  std::string key_;
  std::size_t values_{};
};

}  // namespace

std::optional<std::int64_t> Json::integer() const {
  if (const auto* v = std::get_if<std::int64_t>(&value)) return *v;
  if (const auto* v = std::get_if<std::uint64_t>(&value))
    if (*v <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return static_cast<std::int64_t>(*v);
  return std::nullopt;
}

const Json* Json::find(std::string_view key) const {
  if (const auto* members = object())
    for (const auto& [name, member] : *members)
      if (name == key) return &member;
  return nullptr;
}

std::string to_text(const Json& json) {
  if (json.is_null()) return "null";
  if (const auto* v = json.boolean()) return *v ? "true" : "false";
  if (const auto* v = json.string()) return in_quotes(*v);
  if (json.array()) return "an array";
  if (json.object()) return "an object";
  if (const auto* v = std::get_if<double>(&json.value)) {
    std::string text = nlohmann::json(*v).dump();
    return text;
  }
  if (const auto* v = std::get_if<std::uint64_t>(&json.value)) return std::to_string(*v);
  return std::to_string(std::get<std::int64_t>(json.value));
}

Json parse_json_strict(std::string_view text, const JsonLimits& limits) {
  // Both are skipped or taken as the end by the parser, and other readers do otherwise.
  if (text.starts_with("\xef\xbb\xbf"))
    throw Error("begins with a byte order mark, must begin with JSON");
  if (text.find('\0') != std::string_view::npos) throw Error("not JSON: holds a NUL byte");
  Json root;
  Builder builder(root, limits);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) throw Error("not JSON");
  return root;
}

}  // namespace w4
