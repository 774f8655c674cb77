// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/gptq_zeros_report.hpp"

#include <array>

#include "harness/checkpoint/text.hpp"
#include "reference/layout/gptq_zeros.hpp"

namespace w4 {
namespace {

struct Site {
  std::int64_t group{}, column{};
  std::uint32_t word{};
  int nibble{};
};

std::vector<Site> sites_of_15(std::span<const std::uint32_t> words, std::int64_t n) {
  std::vector<Site> sites;
  for (std::size_t i = 0; i < words.size(); ++i)
    for (int p = 0; p < 8; ++p)
      if ((words[i] >> (4 * p) & 15) == 15) {
        const auto at = static_cast<std::int64_t>(i) * 8;
        sites.push_back({at / n, at % n + p, words[i], p});
      }
  return sites;
}

// The top nibbles that are 15, if no other nibble of the word is; else 0.
int run_to_top(std::uint32_t word) {
  int run = 0;
  while (run < 8 && (word >> (28 - 4 * run) & 15) == 15) ++run;
  for (int p = 0; p < 8 - run; ++p)
    if ((word >> (4 * p) & 15) == 15) return 0;
  return run;
}

// Writer E3 leaves nothing but such runs, and some longer than one nibble.
bool looks_like_e3(const std::vector<Site>& sites) {
  bool long_run = false;
  for (const Site& s : sites) {
    const int run = run_to_top(s.word);
    if (run == 0) return false;
    long_run = long_run || run > 1;
  }
  return long_run;
}

std::string readings(std::uint32_t word, int nibble) {
  std::string out;
  for (const V1Zeros reader : {V1Zeros::d1, V1Zeros::d2, V1Zeros::d3}) {
    std::array<std::uint8_t, 8> z{};
    read_v1_word(reader, word, z);
    out += (out.empty() ? "" : ", ") + std::to_string(z[static_cast<std::size_t>(nibble)]) + " (" +
           std::string(to_string(reader)) + ")";
  }
  return out;
}

// A borrow or a carry goes to the next nibble, so that is where readers differ too.
std::string place(const Site& s) {
  std::string out = "group " + std::to_string(s.group) + ", column " + std::to_string(s.column) +
                    " reads " + readings(s.word, s.nibble);
  if (s.nibble < 7 && (s.word >> (4 * s.nibble + 4) & 15) != 15)
    out += " and its neighbour column " + std::to_string(s.column + 1) + " reads " +
           readings(s.word, s.nibble + 1);
  return out;
}

std::string verdict_on_writer(const std::vector<Site>& sites,
                              const std::vector<std::string>& quantizer) {
  for (const auto& writer : quantizer)
    if (lower_case(writer).starts_with("gptqmodel"))
      return "meta.quantizer " + printable(writer) +
             " writes v1 by subtracting from the whole word (E2): --v1-zeros D3 reads it as meant";
  if (looks_like_e3(sites))
    return "every 15 is in a run up to the top of its word: likely writer E3 (unmasked OR), where "
           "the "
           "first of a run is z = 0 and the zeros above it are lost, whatever the reader";
  return "the writer is not known: --v1-zeros D2 is right for E1 (each nibble wraps), D3 for E2 "
         "(borrow across the word)";
}

}  // namespace

std::string ambiguous_zeros(std::span<const std::uint32_t> words, std::int64_t n, V1Zeros reader,
                            const std::vector<std::string>& quantizer) {
  const auto sites = sites_of_15(words, n);
  if (sites.empty()) return {};
  std::vector<std::string> places;
  for (const Site& s : sites) {
    if (places.size() == 3) break;
    places.push_back(place(s));
  }
  std::string out = std::to_string(sites.size()) + " of " + std::to_string(words.size() * 8) +
                    " stored v1 zeros " + (sites.size() == 1 ? "is" : "are") +
                    " 15, ambiguous: " + some_of(places, 3, "; ");
  if (sites.size() > places.size())
    out += "; and " + std::to_string(sites.size() - places.size()) + " more";
  return out + "; " + verdict_on_writer(sites, quantizer) + "; read here with " +
         std::string(to_string(reader));
}

}  // namespace w4
