// SPDX-License-Identifier: Apache-2.0
#include "suites/checkpoint/truth.hpp"

#include <type_traits>

#include "harness/fixture/foreign.hpp"

namespace w4 {
namespace {

template <typename T>
std::vector<T> values_of(const ForeignFile& file, const std::string& name) {
  const auto& array = array_of(file, name);
  std::vector<T> out(static_cast<std::size_t>(array.count()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if constexpr (std::is_integral_v<T>)
      out[i] = static_cast<T>(integer_at(array, at));
    else
      out[i] = static_cast<T>(number_at(array, at));
  }
  return out;
}

}  // namespace

Truth read_truth(const std::string& path) {
  const auto file = read_foreign(path);
  Truth t;
  t.k = array_of(file, "/codes").shape.at(0);
  t.n = array_of(file, "/codes").shape.at(1);
  t.codes = values_of<std::uint8_t>(file, "/codes");
  t.groups = array_of(file, "/scales").shape.at(0);
  t.scales = values_of<float>(file, "/scales");
  t.zeros = values_of<float>(file, "/zeros");
  t.g_idx = values_of<std::int32_t>(file, "/g_idx");
  if (file.datasets.contains("/scaled_zeros")) t.added = values_of<float>(file, "/scaled_zeros");
  if (file.datasets.contains("/dequant")) t.dequant = values_of<float>(file, "/dequant");
  return t;
}

}  // namespace w4
