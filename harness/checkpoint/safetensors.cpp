// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/safetensors.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "harness/checkpoint/json_strict.hpp"
#include "harness/checkpoint/text.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

constexpr std::array<std::pair<std::string_view, int>, 20> dtypes{{
    {"BOOL", 8}, {"U8", 8},   {"I8", 8},      {"F8_E5M2", 8}, {"F8_E4M3", 8},
    {"I16", 16}, {"U16", 16}, {"F16", 16},    {"BF16", 16},   {"I32", 32},
    {"U32", 32}, {"F32", 32}, {"I64", 64},    {"U64", 64},    {"F64", 64},
    {"C64", 64}, {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F8_E8M0", 8},
}};

struct Entry {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t begin{}, end{};
};

class HeaderReader {
 public:
  HeaderReader(const std::string& path, std::uint64_t data_bytes)
      : path_(path), data_bytes_(data_bytes) {}

  std::vector<Entry> entries;
  std::vector<std::string> warnings;

  [[noreturn]] void fail(const std::string& cause) const { fail_input(path_, "header", cause); }

  void read(std::string_view text) {
    if (text.empty()) fail("empty: must be a JSON object");
    if (text.starts_with("\xef\xbb\xbf")) fail("begins with a byte order mark: must begin with {");
    Json root;
    try {
      root = parse_json_strict(text, {.depth = 16});
    } catch (const Error& e) {
      fail(e.what());
    }
    if (!root.object()) fail("is " + to_text(root) + ": must be a JSON object");
    if (text.front() != '{') fail("begins with a blank: must begin with {");
    for (const auto& [name, value] : *root.object()) {
      if (name == "__metadata__")
        read_metadata(value);
      else
        entries.push_back(read_entry(name, value));
    }
    check_placement();
  }

 private:
  void read_metadata(const Json& value) {
    bool good = value.object() != nullptr;
    if (good)
      for (const auto& [key, text] : *value.object()) good = good && text.string();
    if (!good) warnings.push_back("__metadata__ does not map strings to strings: ignored");
  }

  Entry read_entry(const std::string& name, const Json& value) {
    if (!value.object()) fail(in_quotes(name) + " is " + to_text(value) + ": must be an object");
    Entry e{name, {}, {}, 0, 0};
    const Json* dtype = value.find("dtype");
    if (!dtype) fail(in_quotes(name) + " has no dtype");
    if (!dtype->string())
      fail(in_quotes(name) + ": dtype is " + to_text(*dtype) + ": must be a string");
    e.dtype = *dtype->string();
    e.shape = read_sizes(name, "shape", value.find("shape"));
    const auto offsets = read_sizes(name, "data_offsets", value.find("data_offsets"));
    if (offsets.size() != 2)
      fail(in_quotes(name) + ": data_offsets holds " + std::to_string(offsets.size()) +
           " numbers: must hold two");
    e.begin = static_cast<std::uint64_t>(offsets[0]);
    e.end = static_cast<std::uint64_t>(offsets[1]);
    check_size(e);
    for (const auto& [key, unused] : *value.object())
      if (key != "dtype" && key != "shape" && key != "data_offsets")
        warnings.push_back(in_quotes(name) + " has an unknown key " + in_quotes(key) + ": ignored");
    return e;
  }

  std::vector<std::int64_t> read_sizes(const std::string& name, const char* key,
                                       const Json* value) {
    if (!value) fail(in_quotes(name) + " has no " + key);
    if (!value->array())
      fail(in_quotes(name) + ": " + key + " is " + to_text(*value) + ": must be an array");
    std::vector<std::int64_t> out;
    for (const Json& item : *value->array()) {
      const auto number = item.integer();
      if (!number || *number < 0)
        fail(in_quotes(name) + ": " + key + " holds " + to_text(item) +
             ": must hold whole numbers from 0 to 2^63-1");
      out.push_back(*number);
    }
    return out;
  }

  void check_size(const Entry& e) {
    const auto range =
        "data_offsets [" + std::to_string(e.begin) + ", " + std::to_string(e.end) + "]";
    if (e.begin > e.end) fail(in_quotes(e.name) + ": " + range + " run backwards");
    if (e.end > data_bytes_)
      fail(in_quotes(e.name) + ": " + range + " run past the end of the file, which has " +
           std::to_string(data_bytes_) + " bytes of data");
    const auto bits = dtype_bits(e.dtype);
    if (!bits) return;
    const auto size = bytes_needed(e.shape, *bits);
    if (!size)
      fail(in_quotes(e.name) + ": shape " + shape_text(e.shape) + " is past any file's size");
    if (*size != e.end - e.begin)
      fail(in_quotes(e.name) + ": " + e.dtype + " " + shape_text(e.shape) + " needs " +
           std::to_string(*size) + " bytes, its " + range + " hold " +
           std::to_string(e.end - e.begin));
  }

  static std::optional<std::uint64_t> bytes_needed(std::span<const std::int64_t> shape, int bits) {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
    std::uint64_t total = static_cast<std::uint64_t>(bits);
    for (const auto size : shape)
      if (__builtin_mul_overflow(total, static_cast<std::uint64_t>(size), &total))
        return std::nullopt;
    if (total % 8 != 0) return std::nullopt;
    return total / 8;
  }

  // The format wants every byte in exactly one tensor. A byte in two is refused; a byte in none
  // harms nobody.
  void check_placement() {
    std::vector<const Entry*> order;
    for (const auto& e : entries)
      if (e.begin != e.end) order.push_back(&e);
    std::sort(order.begin(), order.end(),
              [](const Entry* a, const Entry* b) { return a->begin < b->begin; });
    std::uint64_t covered = 0;
    const Entry* last = nullptr;
    for (const Entry* e : order) {
      if (e->begin < covered)
        fail(in_quotes(e->name) + " and " + in_quotes(last->name) + " overlap: both hold bytes " +
             std::to_string(e->begin) + " to " + std::to_string(std::min(covered, e->end) - 1) +
             " of the data");
      if (e->begin > covered)
        warnings.push_back(std::to_string(e->begin - covered) + " bytes before " +
                           in_quotes(e->name) +
                           " belong to no tensor: a gap that the format forbids");
      covered = e->end;
      last = e;
    }
    if (covered < data_bytes_)
      warnings.push_back(std::to_string(data_bytes_ - covered) +
                         " trailing bytes after the last tensor belong to no tensor");
  }

  const std::string& path_;
  std::uint64_t data_bytes_;
};

std::uint64_t header_length(const std::string& path, std::span<const std::byte> bytes) {
  const auto fail = [&](const std::string& cause) { fail_input(path, "header", cause); };
  if (bytes.size() < 8)
    fail("the file has " + std::to_string(bytes.size()) +
         " bytes: shorter than the 8 of the header's length");
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  if (length > safetensors_header_limit)
    fail("header length " + std::to_string(length) + " is past the limit of " +
         std::to_string(safetensors_header_limit) + " bytes");
  if (length > bytes.size() - 8)
    fail("header length " + std::to_string(length) + " exceeds the file: it ends after " +
         std::to_string(bytes.size() - 8) + " bytes of the header");
  return length;
}

}  // namespace

std::optional<int> dtype_bits(std::string_view dtype) {
  for (const auto& [name, bits] : dtypes)
    if (name == dtype) return bits;
  return std::nullopt;
}

SafetensorsFile read_safetensors(const std::string& path, std::span<const std::byte> bytes) {
  const auto length = static_cast<std::size_t>(header_length(path, bytes));
  const auto data = bytes.subspan(8 + length);
  HeaderReader reader(path, data.size());
  reader.read({reinterpret_cast<const char*>(bytes.data()) + 8, length});
  SafetensorsFile file;
  file.warnings = std::move(reader.warnings);
  for (Entry& e : reader.entries) {
    TensorView view{
        std::move(e.dtype), std::move(e.shape),
        data.subspan(static_cast<std::size_t>(e.begin), static_cast<std::size_t>(e.end - e.begin)),
        path};
    file.tensors.emplace(std::move(e.name), std::move(view));
  }
  return file;
}

}  // namespace w4
