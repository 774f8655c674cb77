// SPDX-License-Identifier: Apache-2.0
// A golden file's datasets and hashes, written and read by one list of them.
#include <algorithm>
#include <cstring>
#include <set>

#include "harness/fixture/tensors.hpp"
#include "harness/golden/golden.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

// NaN and the infinities of Number, in a dataset of exponents.
constexpr std::int32_t special = INT32_MAX;
constexpr std::int64_t most_mant = std::int64_t{1} << 62;  // none is as large

template <typename T>
std::vector<std::byte> bytes_from(const std::vector<T>& values) {
  std::vector<std::byte> out(values.size() * sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

std::vector<std::byte> word_bytes(const std::vector<std::uint32_t>& words, Type type) {
  const auto size = static_cast<std::size_t>(bits_of(type) / 8);
  std::vector<std::byte> out(words.size() * size);
  for (std::size_t i = 0; i < words.size(); ++i)
    std::memcpy(out.data() + i * size, &words[i], size);
  return out;
}

void add_class(std::vector<Tensor>& out, const GoldenCase& c, const GoldenClass& result) {
  const std::vector<std::int64_t> shape{c.problem.m, c.problem.n};
  std::vector<std::int64_t> mant;
  std::vector<std::int32_t> exp;
  for (const Number& v : result.exact) {
    const bool finite = v.kind == NumberKind::finite;
    mant.push_back(finite                           ? v.value.mant
                   : v.kind == NumberKind::infinite ? (v.negative ? -1 : 1)
                                                    : 0);
    exp.push_back(finite ? v.value.exp : special);
  }
  const std::string folder = std::string(to_string(result.dequant)) + "/";
  out.push_back({folder + "exact_mant", Hdf5Element::s64, shape, bytes_from(mant)});
  out.push_back({folder + "exact_exp", Hdf5Element::s32, shape, bytes_from(exp)});
  out.push_back({folder + "y", element_for(c.problem.y), shape, word_bytes(result.y, c.problem.y)});
}

std::vector<Tensor> tensors_of(const GoldenCase& c) {
  auto out = weight_tensors(c.problem, c.weights);
  for (auto& tensor : call_tensors(c.problem, c.call)) out.push_back(std::move(tensor));
  for (const auto& result : c.classes) add_class(out, c, result);
  if (!c.observed.empty())
    out.push_back({"observed",
                   element_for(c.problem.y),
                   {c.problem.m, c.problem.n},
                   word_bytes(c.observed, c.problem.y)});
  return out;
}

std::string hash_text(const std::string& text) {
  return sha256_hex(std::as_bytes(std::span(text)));
}

// Over type, shape and the little-endian payload.
std::string payload_hash(const std::string& type_and_shape, std::span<const std::byte> bytes) {
  return hash_text(type_and_shape + "\n" + sha256_hex(bytes));
}

std::string type_and_shape(const Tensor& tensor) {
  std::string text = dtype_name(tensor.element) + " [";
  for (std::size_t i = 0; i < tensor.shape.size(); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(tensor.shape[i]);
  return text + "]";
}

std::string case_line(const std::string& name, const std::string& problem,
                      const std::string& source) {
  return "case " + name + "\n" + problem + "\n" + source + "\n";
}

std::string provenance_hash(const std::map<std::string, std::string>& provenance) {
  std::string text;
  for (const auto& [key, value] : provenance)
    text += std::to_string(key.size()) + " " + key + " " + std::to_string(value.size()) + " " +
            value + "\n";
  return hash_text(text);
}

const std::set<std::string> own_attributes{"schema", "content_sha256", "provenance_sha256"};

class Reader {
 public:
  explicit Reader(const ForeignFile& from) : from_(from) {}

  void read(GoldenFile& out) {
    for (const auto& [name, attributes] : from_.groups) {
      if (!name.starts_with("/cases/") || name.find('/', 7) != std::string::npos) continue;
      out.cases.push_back(read_case(name));
    }
    for (const auto& [name, array] : from_.datasets)
      if (!used_.contains(name)) fail("dataset " + name + " belongs to no case");
    if (out.cases.empty()) fail("no group below /cases");
    out.content_sha256 = hash_text(content_);
  }

 private:
  [[noreturn]] void fail(const std::string& cause) const { fail_input(from_.path, "read", cause); }

  GoldenCase read_case(const std::string& group) {
    GoldenCase c;
    c.name = group.substr(7);
    const auto& line = text_attribute(from_, group, "problem");
    c.source = text_attribute(from_, group, "source");
    content_ += case_line(c.name, line, c.source);
    c.problem = generated_problem(from_, group);
    check_hashes(group);
    c.weights = read_weights(from_, group, c.problem);
    check_operands(c, group);
    c.call = read_call(from_, group, c.problem);
    for (const auto dequant : {Dequant::d1, Dequant::d5, Dequant::d6})
      c.classes.push_back(
          read_class(group + "/" + std::string(to_string(dequant)), dequant, c.problem));
    if (from_.datasets.contains(group + "/observed"))
      c.observed = words(group + "/observed", c.problem);
    check_expected(c, group);
    return c;
  }

  // What is multiplied when the file is verified.
  void check_operands(const GoldenCase& c, const std::string& group) const {
    try {
      matrix_from(c.problem, c.weights);
    } catch (const Error& error) {
      fail("the weights of " + group + " are no matrix: " + error.what());
    }
  }

  // Every dataset below the group, in the order of names.
  void check_hashes(const std::string& group) {
    for (auto at = from_.datasets.lower_bound(group + "/");
         at != from_.datasets.end() && at->first.starts_with(group + "/"); ++at) {
      const auto& [name, array] = *at;
      const auto hash = payload_hash(describe(array), array.bytes());
      if (text_attribute(from_, name, "sha256") != hash)
        fail("dataset " + name + " does not have the SHA-256 that it says");
      content_ += name.substr(group.size() + 1) + " " + hash + "\n";
    }
  }

  std::vector<std::uint32_t> words(const std::string& name, const Problem& p) {
    const std::int64_t shape[] = {p.m, p.n};
    const auto& array = array_of(from_, name, shape);
    if (!has_element(array, element_for(p.y)))
      fail("dataset " + name + " is " + describe(array) + ", " + dtype_name(element_for(p.y)) +
           " is expected");
    std::vector<std::uint32_t> out(static_cast<std::size_t>(array.count()));
    const auto size = static_cast<std::size_t>(array.element_bytes);
    for (std::size_t i = 0; i < out.size(); ++i)
      std::memcpy(&out[i], array.bytes().data() + i * size, size);
    return out;
  }

  GoldenClass read_class(const std::string& group, Dequant dequant, const Problem& p) {
    const std::int64_t shape[] = {p.m, p.n};
    array_of(from_, group + "/exact_mant", shape);
    array_of(from_, group + "/exact_exp", shape);
    const auto mant = integers_of(from_, group + "/exact_mant");
    const auto exp = integers_of(from_, group + "/exact_exp");
    GoldenClass result{dequant, {}, words(group + "/y", p)};
    for (std::size_t i = 0; i < mant.size(); ++i) {
      const auto kind = exp[i] != special ? NumberKind::finite
                        : mant[i] == 0    ? NumberKind::nan
                                          : NumberKind::infinite;
      Number v{kind, mant[i] < 0, {}};
      if (kind == NumberKind::finite) {
        if (exp[i] < -2000 || exp[i] > 2000 || mant[i] <= -most_mant || mant[i] >= most_mant)
          fail("dataset " + group + "/exact_exp holds what no sum has");
        v.value = {mant[i], static_cast<int>(exp[i])};
      }
      result.exact.push_back(v);
    }
    return result;
  }

  // Nothing else lies in the group: what is not read would not be compared.
  void check_expected(const GoldenCase& c, const std::string& group) {
    for (const auto& tensor : tensors_of(c)) used_.insert(group + "/" + tensor.name);
  }

  const ForeignFile& from_;
  std::string content_;
  std::set<std::string> used_;
};

}  // namespace

std::string write_golden(const GoldenFile& golden, const std::string& path) {
  Hdf5Writer file(path);
  std::string content;
  for (const auto& c : golden.cases) {
    const std::string group = "cases/" + c.name;
    file.group(group);
    const auto line = to_string(c.problem);
    file.attribute_of(group, "problem", line);
    file.attribute_of(group, "source", c.source);
    content += case_line(c.name, line, c.source);
    auto tensors = tensors_of(c);
    std::sort(tensors.begin(), tensors.end(),
              [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
    for (const auto& tensor : tensors) {
      const auto hash = payload_hash(type_and_shape(tensor), tensor.bytes);
      file.words(group + "/" + tensor.name, tensor.element, tensor.shape, tensor.bytes,
                 {tensor.bytes.size() >= 4096});
      file.attribute_of(group + "/" + tensor.name, "sha256", hash);
      content += tensor.name + " " + hash + "\n";
    }
  }
  const auto content_hash = hash_text(content);
  file.attribute("schema", std::string(golden_schema));
  file.attribute("content_sha256", content_hash);
  file.attribute("provenance_sha256", provenance_hash(golden.provenance));
  for (const auto& [key, value] : golden.provenance) file.attribute(key, value);
  file.commit();
  return content_hash;
}

GoldenFile read_golden(const ForeignFile& from) {
  const auto& path = from.path;
  const auto& schema = text_attribute(from, "/", "schema");
  if (schema != golden_schema)
    fail_input(path, "read",
               "schema is \"" + schema + "\", this version reads \"" + golden_schema + "\"");
  GoldenFile out;
  out.path = path;
  for (const auto& [key, value] : from.groups.at("/"))
    if (!own_attributes.contains(key)) out.provenance[key] = text_attribute(from, "/", key);
  if (text_attribute(from, "/", "provenance_sha256") != provenance_hash(out.provenance))
    fail_input(path, "read", "the provenance does not have the SHA-256 that the file says");
  Reader(from).read(out);
  if (text_attribute(from, "/", "content_sha256") != out.content_sha256)
    fail_input(path, "read", "the cases do not have the content_sha256 that the file says");
  return out;
}

GoldenFile read_golden(const std::string& path) {
  return read_golden(read_foreign(path));
}

}  // namespace w4
