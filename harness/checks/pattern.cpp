// SPDX-License-Identifier: Apache-2.0
#include "harness/checks/pattern.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "harness/checks/rig.hpp"

namespace w4 {
namespace {

struct Scene {
  const Probed& probed;
  std::span<const Wrong> wrong;
  const Layout& layout;
  const QuantizedMatrix& matrix;
  std::int64_t probed_rows;
};

std::int64_t row_of(const Scene& s, std::int64_t index) {
  return index / s.probed.cols;
}
std::int64_t col_of(const Scene& s, std::int64_t index) {
  return index % s.probed.cols;
}

std::string count_of(const Scene& s) {
  return std::to_string(s.wrong.size()) + " of " + std::to_string(s.probed_rows * s.matrix.n) +
         " probed (k, n) are wrong";
}

std::set<std::int64_t> columns(const Scene& s) {
  std::set<std::int64_t> set;
  for (const auto& w : s.wrong) set.insert(w.n);
  return set;
}

std::set<std::int64_t> rows(const Scene& s) {
  std::set<std::int64_t> set;
  for (const auto& w : s.wrong) set.insert(w.k);
  return set;
}

std::string show_set(const std::set<std::int64_t>& set) {
  const auto span = *set.rbegin() - *set.begin() + 1;
  if (span == static_cast<std::int64_t>(set.size())) return show_range(*set.begin(), *set.rbegin());
  return std::to_string(*set.begin()) + " .. " + std::to_string(*set.rbegin()) + " (" +
         std::to_string(set.size()) + " of them)";
}

Evidence range_evidence(const std::set<std::int64_t>& set) {
  return Evidence::Object{{"first", *set.begin()}, {"last", *set.rbegin()}, {"count", set.size()}};
}

bool all_got(const Scene& s, std::int64_t value) {
  return std::all_of(s.wrong.begin(), s.wrong.end(),
                     [&](const Wrong& w) { return w.got == value; });
}

std::optional<Finding> unwritten(const Scene& s) {
  if (!all_got(s, not_written)) return std::nullopt;
  const auto cols = columns(s);
  return Finding{
      "outputs are never written", "columns " + show_set(cols) + " of y",
      "the poison put there before the call is still there; " + count_of(s),
      Evidence::Object{{"kind", "not_written"}, {"tensor", "y"}, {"n", range_evidence(cols)}}};
}

std::optional<Finding> dropped(const Scene& s) {
  if (!all_got(s, from_nothing)) return std::nullopt;
  const auto ks = rows(s), ns = columns(s);
  const bool whole_rows = s.wrong.size() == ks.size() * static_cast<std::size_t>(s.matrix.n);
  Finding finding;
  finding.evidence = Evidence::Object{{"kind", "dropped"},
                                      {"tensor", s.probed.tensor},
                                      {"k", range_evidence(ks)},
                                      {"n", range_evidence(ns)}};
  finding.where = "k " + show_set(ks) + ", columns " + show_set(ns);
  finding.why = "a one-hot activation there gives no trace of the stored value; " + count_of(s);
  const bool tail = whole_rows && *ks.rbegin() == s.matrix.k - 1 &&
                    *ks.rbegin() - *ks.begin() + 1 == static_cast<std::int64_t>(ks.size());
  if (static_cast<std::int64_t>(ks.size()) == s.probed_rows && whole_rows)
    finding.what = "the stored " + s.probed.tensor + " do not reach the output";
  else if (tail)
    finding.what = "the last " + std::to_string(ks.size()) + " of k are dropped from the sum";
  else
    finding.what = "some k do not enter the sum";
  return finding;
}

// A word is what the layout stores eight codes in; `codes` (a byte each) is looked at in blocks of
// eight k.
struct Slot {
  std::int64_t word{};
  int nibble{};
};

Slot slot_of(const Scene& s, std::int64_t k, std::int64_t n) {
  if (s.layout.word_bits < 16) return {(k / 8) * s.matrix.n + n, static_cast<int>(k % 8)};
  const auto site = s.layout.code_site(s.layout, geometry_of(s.matrix), k, n);
  return {site.bit / s.layout.word_bits, static_cast<int>(site.bit % s.layout.word_bits / 4)};
}

using NibbleMap = std::array<int, 8>;

std::string show_map(const NibbleMap& map, std::size_t slots) {
  std::string text;
  for (std::size_t i = 0; i < slots; ++i)
    text += (text.empty() ? "" : " ") + std::to_string(map[i]);
  return text;
}

bool merge(NibbleMap& into, const NibbleMap& from) {
  for (std::size_t i = 0; i < 8; ++i) {
    if (from[i] < 0) continue;
    if (into[i] >= 0 && into[i] != from[i]) return false;
    into[i] = from[i];
  }
  return true;
}

// All wrong reads stay inside their word and move its nibbles by one and the same permutation.
std::optional<Finding> nibble_permutation(const Scene& s) {
  if (s.probed.by_group) return std::nullopt;
  std::map<std::int64_t, NibbleMap> words;
  for (const auto& w : s.wrong) {
    if (w.got < 0) return std::nullopt;
    const auto due = slot_of(s, w.k, w.n), got = slot_of(s, row_of(s, w.got), col_of(s, w.got));
    if (due.word != got.word) return std::nullopt;
    auto [it, fresh] = words.try_emplace(due.word, NibbleMap{-1, -1, -1, -1, -1, -1, -1, -1});
    it->second[static_cast<std::size_t>(due.nibble)] = got.nibble;
  }
  NibbleMap map{-1, -1, -1, -1, -1, -1, -1, -1};
  for (const auto& [word, partial] : words)
    if (!merge(map, partial)) return std::nullopt;
  for (std::size_t i = 0; i < 8; ++i)
    if (map[i] < 0) map[i] = static_cast<int>(i);
  const auto& first = s.wrong.front();
  const auto slot = slot_of(s, first.k, first.n);
  std::set<std::int64_t> ks, ns;
  for (const auto& w : s.wrong)
    if (slot_of(s, w.k, w.n).word == slot.word) ks.insert(w.k), ns.insert(w.n);
  const std::size_t slots = s.layout.word_bits == 16 ? 4 : 8;
  bool reversed = true;
  for (std::size_t i = 0; i < slots; ++i)
    reversed = reversed && map[i] == static_cast<int>(slots - 1 - i);
  const std::string unit = s.layout.word_bits < 16 ? "eight codes of a block"
                           : slots == 4            ? "four nibbles of a word"
                                                   : "eight nibbles of a word";
  Finding finding;
  finding.what = "the " + unit + " are read in " + (reversed ? "reverse" : "another") + " order (" +
                 show_map(map, slots) + ")";
  const auto tensor = s.layout.word_bits < 16 ? "codes" : "qweight";
  finding.where = "k " + show_set(ks) + " of column" + (ns.size() > 1 ? "s " : " ") + show_set(ns) +
                  ", stored in " + tensor + " word " + std::to_string(slot.word) +
                  (words.size() == 1 ? "; every other word is right"
                                     : " and " + std::to_string(words.size() - 1) + " others");
  finding.why = "slot i of the word is due, slot map[i] is what the output shows; " + count_of(s);
  Evidence::List list;
  for (std::size_t i = 0; i < slots; ++i) list.emplace_back(map[i]);
  finding.evidence = Evidence::Object{
      {"kind", "permutation"},
      {"tensor", s.probed.tensor},
      {"block", slots},
      {"map", list},
      {"words", words.size()},
      {"site", Evidence::Object{
                   {"word", slot.word}, {"nibble", slot.nibble}, {"k", first.k}, {"n", first.n}}}};
  return finding;
}

std::string row_name(const Scene& s) {
  return s.probed.by_group ? "group" : "k";
}

// One offset (rows, columns) explains every wrong read.
std::optional<Finding> constant_offset(const Scene& s) {
  std::optional<std::pair<std::int64_t, std::int64_t>> offset;
  for (const auto& w : s.wrong) {
    if (w.got < 0) return std::nullopt;
    const std::pair now{row_of(s, w.got) - row_of(s, w.due), col_of(s, w.got) - col_of(s, w.due)};
    if (offset && *offset != now) return std::nullopt;
    offset = now;
  }
  const auto [rows_off, cols_off] = *offset;
  Finding finding;
  finding.what = s.probed.tensor + " are read from ";
  if (rows_off != 0)
    finding.what += row_name(s) + (rows_off > 0 ? " +" : " ") + std::to_string(rows_off);
  if (rows_off != 0 && cols_off != 0) finding.what += " and ";
  if (cols_off != 0)
    finding.what += std::string("column ") + (cols_off > 0 ? "+" : "") + std::to_string(cols_off);
  finding.what += " instead of their own";
  if (s.probed.by_group && std::abs(rows_off) == 1 && cols_off == 0)
    finding.what = "the group index is off by one for " + s.probed.tensor;
  finding.where = "k " + show_set(rows(s)) + ", columns " + show_set(columns(s));
  finding.why = count_of(s);
  finding.evidence = Evidence::Object{
      {"kind", "offset"}, {"tensor", s.probed.tensor}, {"rows", rows_off}, {"cols", cols_off}};
  return finding;
}

// Each k reads the group that the first k of its tile belongs to.
std::optional<Finding> tile_group(const Scene& s) {
  if (!s.probed.by_group) return std::nullopt;
  for (const std::int64_t tile : {16, 32, 64, 128, 256, 512}) {
    const bool fits = std::all_of(s.wrong.begin(), s.wrong.end(), [&](const Wrong& w) {
      return w.got >= 0 && col_of(s, w.got) == w.n &&
             row_of(s, w.got) == s.matrix.group_of(w.k / tile * tile);
    });
    if (!fits) continue;
    return Finding{
        "the " + s.probed.tensor + " of a tile's first group serve the whole tile of " +
            std::to_string(tile) + " k",
        "k " + show_set(rows(s)) + ", columns " + show_set(columns(s)), count_of(s),
        Evidence::Object{{"kind", "tile_group"}, {"tensor", s.probed.tensor}, {"tile", tile}}};
  }
  return std::nullopt;
}

std::optional<Finding> act_order_ignored(const Scene& s) {
  if (!s.probed.by_group || s.matrix.g_idx.empty()) return std::nullopt;
  const bool fits = std::all_of(s.wrong.begin(), s.wrong.end(), [&](const Wrong& w) {
    return w.got >= 0 && col_of(s, w.got) == w.n && row_of(s, w.got) == w.k / s.matrix.group;
  });
  if (!fits) return std::nullopt;
  return Finding{"g_idx is ignored: " + s.probed.tensor + " are taken from group k/" +
                     std::to_string(s.matrix.group),
                 "k " + show_set(rows(s)), count_of(s),
                 Evidence::Object{{"kind", "g_idx_ignored"}, {"tensor", s.probed.tensor}}};
}

std::optional<Finding> one_group(const Scene& s) {
  if (!s.probed.by_group) return std::nullopt;
  std::set<std::int64_t> groups;
  for (const auto& w : s.wrong) {
    if (w.got < 0 || col_of(s, w.got) != w.n) return std::nullopt;
    groups.insert(row_of(s, w.got));
  }
  if (groups.size() != 1) return std::nullopt;
  return Finding{
      "every group uses the " + s.probed.tensor + " of group " + std::to_string(*groups.begin()),
      "k " + show_set(rows(s)), count_of(s),
      Evidence::Object{
          {"kind", "one_group"}, {"tensor", s.probed.tensor}, {"group", *groups.begin()}}};
}

// Rows are right, columns are exchanged by one map.
std::optional<Finding> column_map(const Scene& s) {
  std::map<std::int64_t, std::int64_t> map;
  for (const auto& w : s.wrong) {
    if (w.got < 0 || row_of(s, w.got) != row_of(s, w.due)) return std::nullopt;
    const auto [it, fresh] = map.try_emplace(w.n, col_of(s, w.got));
    if (it->second != col_of(s, w.got)) return std::nullopt;
  }
  Evidence::List pairs;
  for (const auto& [due, got] : map) {
    if (pairs.size() == 8) break;
    pairs.emplace_back(Evidence::List{due, got});
  }
  const auto& [due, got] = *map.begin();
  return Finding{s.probed.tensor + " of some columns come from other columns",
                 std::to_string(map.size()) + " columns, first: column " + std::to_string(due) +
                     " reads column " + std::to_string(got),
                 "rows are right, columns move by one map; " + count_of(s),
                 Evidence::Object{{"kind", "columns"},
                                  {"tensor", s.probed.tensor},
                                  {"count", map.size()},
                                  {"pairs", pairs}}};
}

std::string name_source(const Scene& s, std::int64_t got) {
  if (got == from_nothing) return "nothing";
  if (got == no_address) return "no single value";
  if (got == not_written) return "not written";
  return row_name(s) + " " + std::to_string(row_of(s, got)) + ", column " +
         std::to_string(col_of(s, got));
}

Finding scattered(const Scene& s) {
  const auto& first = s.wrong.front();
  Finding finding;
  finding.what = s.probed.tensor + " reach the wrong outputs, in no pattern we know";
  if (all_got(s, no_address))
    finding.what = "outputs are no single stored value of " + s.probed.tensor;
  finding.where = "first at k " + std::to_string(first.k) + ", column " + std::to_string(first.n) +
                  ": due " + name_source(s, first.due) + ", got " + name_source(s, first.got);
  finding.why = count_of(s);
  Evidence::List list;
  for (const auto& w : s.wrong.first(std::min<std::size_t>(8, s.wrong.size())))
    list.emplace_back(Evidence::Object{{"k", w.k}, {"n", w.n}, {"due", w.due}, {"got", w.got}});
  finding.evidence = Evidence::Object{{"kind", all_got(s, no_address) ? "no_address" : "scattered"},
                                      {"tensor", s.probed.tensor},
                                      {"count", s.wrong.size()},
                                      {"first", list}};
  return finding;
}

}  // namespace

Finding explain_addresses(const Probed& probed, std::span<const Wrong> wrong, const Layout& layout,
                          const QuantizedMatrix& matrix, std::int64_t probed_rows) {
  const Scene scene{probed, wrong, layout, matrix, probed_rows};
  // From the most specific to the least.
  constexpr std::array patterns{unwritten,       dropped,   nibble_permutation, act_order_ignored,
                                constant_offset, one_group, tile_group,         column_map};
  for (const auto& pattern : patterns)
    if (auto finding = pattern(scene)) return *finding;
  return scattered(scene);
}

}  // namespace w4
