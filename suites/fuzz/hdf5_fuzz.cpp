// SPDX-License-Identifier: Apache-2.0
// libFuzzer: any records are a golden file, a bundle, plain arrays, or an error `path: read: cause`
// that blames the input, for each of their readers.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include "harness/bundle/file.hpp"
#include "harness/fixture/foreign_records.hpp"
#include "harness/fixture/plain.hpp"
#include "harness/fixture/tensors.hpp"
#include "harness/golden/golden.hpp"
#include "reference/error.hpp"

namespace {

using namespace w4;

constexpr char name[] = "fuzz";

// False where the call refuses.
template <typename Call>
bool accepts(Call call) {
  try {
    call();
    return true;
  } catch (const Error& e) {
    const bool line = std::string(e.what()).starts_with(std::string(name) + ": read: ");
    if (e.blame() == Blame::internal || !line) {
      std::fprintf(stderr, "%s\n", e.what());
      std::abort();
    }
    return false;
  }
}

// Within limits that no allocation of a megabyte passes.
bool read(std::span<const std::byte> bytes, ForeignFile& file) {
  ForeignLimits limits;
  limits.dataset_bytes = 1 << 18;
  limits.total_bytes = 1 << 20;
  limits.text_bytes = 1 << 20;
  return accepts([&] {
    file = read_records(name, limits, [&](void* to, std::size_t count) {
      if (count > bytes.size()) fail_input(name, "read", "the stream ends");
      if (count > 0) std::memcpy(to, bytes.data(), count);
      bytes = bytes.subspan(count);
    });
  });
}

bool is_hash(const std::string& text) {
  const auto hex = text.substr(0, text.find('.'));
  return hex.size() == 64 && hex.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// The fuzzer is built without OpenSSL, where every hash is "". What has the form of one says so
// then, so that damaged values reach what lies behind the hashes.
void believe_hashes(ForeignFile& file) {
  if (!sha256_hex({}).empty()) return;
  for (auto* objects : {&file.groups, &file.attributes})
    for (auto& [object, attributes] : *objects)
      for (auto& [key, value] : attributes)
        if (auto* text = std::get_if<std::string>(&value); text != nullptr && is_hash(*text))
          text->erase(0, 64);
}

void read_arrays(const ForeignFile& file) {
  for (const auto& entry : file.datasets) {
    describe(entry.second);
    floats_of(file, entry.first);
    accepts([&] { integers_of(file, entry.first); });
  }
}

void read_schemas(const ForeignFile& file) {
  GoldenFile golden;
  if (accepts([&] { golden = read_golden(file); }))
    for (const auto& c : golden.cases)  // an error here is none of the input
      matrix_from(c.problem, c.weights), activations_from(c.problem, c.call);
  accepts([&] { read_bundle(file); });
  accepts([&] { read_plain(file); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ForeignFile file;
  if (!read(std::as_bytes(std::span(data, size)), file)) return 0;
  believe_hashes(file);
  read_arrays(file);
  read_schemas(file);
  return 0;
}
