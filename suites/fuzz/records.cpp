// SPDX-License-Identifier: Apache-2.0
#include "suites/fuzz/records.hpp"

#include "harness/fixture/foreign_wire.hpp"

namespace w4 {
namespace {

using foreign_wire::Tag;

class Records {
 public:
  void group(const std::string& name, const ForeignAttributes& all) {
    number(Tag::group);
    text(name);
    attributes(name, all);
  }

  void dataset(const std::string& name, const ForeignArray& array, const ForeignAttributes& all) {
    number(Tag::dataset);
    text(name);
    number(array.kind);
    number(static_cast<std::uint8_t>(array.element_bytes));
    number(static_cast<std::uint8_t>(array.shape.size()));
    for (const auto size : array.shape) number(size);
    const auto next = static_cast<std::uint32_t>(index_.size());
    const auto [at, fresh] = index_.try_emplace(array.data.get(), next);
    number(at->second);
    if (fresh) {
      number(Tag::bytes);
      number(static_cast<std::uint64_t>(array.data->size()));
      out_.append(reinterpret_cast<const char*>(array.data->data()), array.data->size());
    }
    attributes(name, all);
  }

  std::string end() && {
    number(Tag::done);
    return std::move(out_);
  }

 private:
  template <typename T>
  void number(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(const std::string& value) {
    number(static_cast<std::uint32_t>(value.size()));
    out_ += value;
  }
  void attributes(const std::string& object, const ForeignAttributes& all) {
    constexpr Tag tags[] = {Tag::integer, Tag::real, Tag::text};
    for (const auto& [name, value] : all) {
      number(tags[value.index()]);
      text(object);
      text(name);
      if (const auto* words = std::get_if<std::string>(&value)) text(*words);
      if (const auto* integer = std::get_if<std::int64_t>(&value)) number(*integer);
      if (const auto* real = std::get_if<double>(&value)) number(*real);
    }
  }

  std::string out_;
  std::map<const void*, std::uint32_t> index_;
};

}  // namespace

std::string to_records(const ForeignFile& file) {
  Records records;
  for (const auto& [name, attributes] : file.groups) records.group(name, attributes);
  for (const auto& [name, array] : file.datasets)
    records.dataset(name, array, file.attributes.at(name));
  return std::move(records).end();
}

}  // namespace w4
