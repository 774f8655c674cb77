// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/config.hpp"

#include <filesystem>

#include "harness/checkpoint/json_strict.hpp"
#include "harness/checkpoint/safetensors.hpp"
#include "harness/checkpoint/text.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

// The first of the names that is there and not null.
const Json* member(const Json& from, std::initializer_list<std::string_view> names) {
  for (const auto name : names)
    if (const Json* found = from.find(name); found && !found->is_null()) return found;
  return nullptr;
}

[[noreturn]] void wrong_type(std::string_view name, const Json& value, const char* wanted) {
  throw Error(std::string(name) + " is " + to_text(value) + ": must be " + wanted);
}

std::string read_word(const Json& from, std::initializer_list<std::string_view> names) {
  const Json* value = member(from, names);
  if (!value) return {};
  if (!value->string()) wrong_type(*names.begin(), *value, "a string");
  return lower_case(*value->string());
}

std::optional<std::int64_t> read_integer(const Json& from,
                                         std::initializer_list<std::string_view> names) {
  const Json* value = member(from, names);
  if (!value) return std::nullopt;
  const auto number = value->integer();
  if (!number) wrong_type(*names.begin(), *value, "a whole number");
  return number;
}

std::optional<bool> read_flag(const Json& from, std::string_view name) {
  const Json* value = member(from, {name});
  if (!value) return std::nullopt;
  if (!value->boolean()) wrong_type(name, *value, "true or false");
  return *value->boolean();
}

std::vector<std::string> read_quantizer(const Json& from) {
  const Json* meta = member(from, {"meta"});
  const Json* value = meta ? member(*meta, {"quantizer"}) : nullptr;
  if (!value) return {};
  if (value->string()) return {*value->string()};
  std::vector<std::string> out;
  if (value->array())
    for (const Json& item : *value->array())
      if (item.string()) out.push_back(*item.string());
  return out;
}

std::optional<std::int64_t> checked_group(std::optional<std::int64_t> group) {
  if (group && (*group == 0 || *group < -1))
    throw Error("group_size is " + std::to_string(*group) +
                ": must be positive, or -1 for one group");
  return group;
}

// What the weights of one entry of compressed-tensors' config_groups say.
struct WeightScheme {
  std::optional<std::int64_t> bits, group;
  std::optional<bool> sym;
  std::string actorder, number;
  friend bool operator==(const WeightScheme&, const WeightScheme&) = default;
};

WeightScheme read_scheme(const Json& weights) {
  WeightScheme s;
  s.bits = read_integer(weights, {"num_bits"});
  s.group = checked_group(read_integer(weights, {"group_size"}));
  s.sym = read_flag(weights, "symmetric");
  s.number = read_word(weights, {"type"});
  if (!s.group && read_word(weights, {"strategy"}) == "channel") s.group = -1;
  if (const Json* order = member(weights, {"actorder"}))
    s.actorder =
        order->boolean() ? (*order->boolean() ? "true" : "") : read_word(weights, {"actorder"});
  return s;
}

// The one scheme of all groups; where they differ, none is taken.
void read_config_groups(const Json& groups, QuantConfig& c) {
  if (!groups.object()) throw Error("config_groups is " + to_text(groups) + ": must be an object");
  std::optional<WeightScheme> scheme;
  for (const auto& [name, group] : *groups.object()) {
    const Json* weights = member(group, {"weights"});
    if (!weights) continue;
    const WeightScheme next = read_scheme(*weights);
    c.overrides = c.overrides || (scheme && *scheme != next);
    scheme = next;
  }
  if (!scheme || c.overrides) return;
  c.bits = scheme->bits, c.group = scheme->group, c.sym = scheme->sym;
  c.actorder = scheme->actorder, c.number = scheme->number;
}

QuantConfig read_settings(const std::string& file, const Json& from) {
  QuantConfig c;
  c.file = file;
  c.method = read_word(from, {"quant_method", "method"});
  c.format = read_word(from, {"checkpoint_format", "format"});
  if (const Json* version = member(from, {"version"}); version && version->string())
    c.version = lower_case(*version->string());
  c.packing_format = read_word(from, {"packing_format"});
  c.bits = read_integer(from, {"bits", "w_bit"});
  c.group = checked_group(read_integer(from, {"group_size", "q_group_size"}));
  c.desc_act = read_flag(from, "desc_act");
  c.sym = read_flag(from, "sym");
  c.static_groups = read_flag(from, "static_groups");
  if (const Json* meta = member(from, {"meta"}); meta && !c.static_groups)
    if (const Json* value = member(*meta, {"static_groups"}); value && value->boolean())
      c.static_groups = *value->boolean();
  c.marlin = read_flag(from, "is_marlin_format");
  if (const Json* dynamic = member(from, {"dynamic"}))
    c.overrides = dynamic->object() && !dynamic->object()->empty();
  if (const Json* groups = member(from, {"config_groups"})) read_config_groups(*groups, c);
  c.quantizer = read_quantizer(from);
  return c;
}

// One field as text, "" where it is absent.
struct Field {
  const char* name;
  std::string (*text)(const QuantConfig&);
};

template <typename T>
std::string text_of(const std::optional<T>& value) {
  if (!value) return {};
  if constexpr (std::is_same_v<T, bool>)
    return *value ? "true" : "false";
  else
    return std::to_string(*value);
}

const Field fields[] = {
    {"quant_method", [](const QuantConfig& c) { return c.method; }},
    {"checkpoint_format", [](const QuantConfig& c) { return c.format; }},
    {"bits", [](const QuantConfig& c) { return text_of(c.bits); }},
    {"group_size", [](const QuantConfig& c) { return text_of(c.group); }},
    {"desc_act", [](const QuantConfig& c) { return text_of(c.desc_act); }},
    {"sym", [](const QuantConfig& c) { return text_of(c.sym); }},
    {"is_marlin_format", [](const QuantConfig& c) { return text_of(c.marlin); }},
};

std::string conflict(const QuantConfig& first, const QuantConfig& other) {
  std::vector<std::string> lines;
  for (const Field& field : fields) {
    const auto a = field.text(first), b = field.text(other);
    if (!a.empty() && !b.empty() && a != b)
      lines.push_back(std::string(field.name) + ' ' + printable(a) + " against " + printable(b));
  }
  if (lines.empty()) return {};
  return "config files disagree: " + first.file + " and " + other.file + ": " +
         some_of(lines, lines.size()) + "; " + first.file + " is taken";
}

std::optional<std::string> read_text(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  const MappedFile file(path.string());
  return std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
}

}  // namespace

std::optional<QuantConfig> parse_config(const std::string& file, std::string_view text) {
  const Json root = parse_json_strict(text);
  if (!root.object()) throw Error("is " + to_text(root) + ": must be a JSON object");
  if (const Json* inner = member(root, {"quantization_config", "compression_config"})) {
    if (!inner->object())
      throw Error("quantization_config is " + to_text(*inner) + ": must be an object");
    return read_settings(file, *inner);
  }
  if (file == "config.json")
    return std::nullopt;  // a model's own: its other fields are not about this
  return read_settings(file, root);
}

ConfigFiles read_configs(const std::string& folder, const std::string& stem) {
  std::vector<std::string> names;
  if (!stem.empty()) names.push_back(stem + ".config.json");
  for (const char* name : {"quantize_config.json", "quant_config.json", "config.json"})
    names.emplace_back(name);
  ConfigFiles files;
  for (const auto& name : names) {
    const auto path = std::filesystem::path(folder) / name;
    const auto text = read_text(path);
    if (!text) continue;
    std::optional<QuantConfig> config;
    try {
      config = parse_config(name, *text);
    } catch (const Error& e) {
      fail_input(path.string(), "config", e.what());
    }
    if (!config) continue;
    if (files.found.empty()) files.text = *text;
    files.found.push_back(std::move(*config));
  }
  for (std::size_t i = 1; i < files.found.size(); ++i)
    if (auto line = conflict(files.found.front(), files.found[i]); !line.empty())
      files.conflicts.push_back(std::move(line));
  return files;
}

}  // namespace w4
