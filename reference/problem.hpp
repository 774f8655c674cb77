// SPDX-License-Identifier: Apache-2.0
// What is computed: one value and one `key=value` line, the same in case files, logs, reports and
// repros.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/type.hpp"

namespace w4 {

// perm: k shuffled among groups of equal size (but for a ragged last one); gidx: any g_idx
enum class Order : std::uint8_t { none, perm, gidx };
enum class V1Zeros : std::uint8_t { d1, d2, d3 };  // the three readers of GPTQ v1 zeros (README.md)
std::string_view to_string(V1Zeros);               // "D1", as in the problem line
std::optional<V1Zeros> v1_zeros_named(std::string_view);

// Y[m,n] = y( sum_k x_scale[m, k/x_group] * X[m,k] * W[k,n] + bias[n] ). Every field is resolved:
// no "default" values, but for data=layer:..., where n and k (and what follows from them) are 0
// until the layer has filled them in.
struct Problem {
  std::int64_t m{}, n{}, k{};
  std::int64_t group{};   // k per scale, at most k (one group per column), the last may be partial
  std::int64_t groups{};  // ceil(k/group), or more with order=gidx
  Zero zero{Zero::eight};
  std::string layout{"codes"};
  Type x{Type::f16}, mul{Type::f16}, y{Type::f16};
  Type scale{Type::f16}, zero_type{Type::u8}, scale2{Type::none};
  std::int64_t x_group{};
  Order order{Order::none};
  Type bias{Type::none};
  std::int64_t x_stride{}, y_stride{};
  std::int64_t align{16};  // bytes, of X and Y
  V1Zeros v1zeros{V1Zeros::d1};
  std::string data{"gen"};
  std::uint64_t seed{7};
  friend bool operator==(const Problem&, const Problem&) = default;
};

// Which kernel family: mul f16, bf16, f32; s8, e4m3; s4.
bool is_w4a16(const Problem&);
// x is stored wider than it is multiplied: the kernel quantises it, per row and x_group, by
// absolute maximum.
bool quantises_x(const Problem&);
// A call brings x_scale: x is quantised, and not by the kernel.
bool has_x_scale(const Problem&);

// Canonical order, defaults left out. parse_problem(to_string(p)) == p for every p that
// parse_problem can return.
std::string to_string(const Problem&);

// A key=value line cut into pairs. `extra` keys (kernel, check, plugin, fault of a repro) are
// accepted beside the problem's own and returned; all else is refused with the nearest known word.
// Throws Error without a path.
struct Line {
  std::vector<std::pair<std::string, std::string>> pairs;
  const std::string* find(std::string_view key) const;
};
Line split_line(std::string_view text, const std::vector<std::string_view>& extra = {});

// Throws Error (the cause only; callers add path and step) for unknown keys and values (with the
// nearest word), doubled keys, contradictions, and sizes past what can be stored.
Problem parse_problem(std::string_view line);
Problem parse_problem(const Line&);
// The contradictions that parse_problem refuses; "" if there is none. For code that edits a
// Problem.
std::string contradiction(const Problem&);
// What is unset (0, Type::none) follows from the others as the line's defaults do: group, groups,
// x_group, strides, mul, scale. A group or x_group above k is k. zero_type: as the layout stores it
// for integer forms; else, if it is not a float, as scale.
Problem with_defaults(Problem);

// Bytes that a value cannot hold as they are (blanks, control, '%', '#', '@', above 0x7e) as %XX;
// and back. Decoding throws Error on a '%' without two hex digits.
std::string encode_value(std::string_view);
std::string decode_value(std::string_view);

// data=layer:PATH#PREFIX@sha256:12hex, path and prefix decoded; prefix and hash may be "".
struct LayerSource {
  std::string path, prefix, sha256;
  friend bool operator==(const LayerSource&, const LayerSource&) = default;
};
bool is_layer(const Problem&);
LayerSource layer_source(std::string_view data);  // throws Error if data is not of that form
std::string to_string(const LayerSource&);        // "layer:..."

// The keys of the line, in canonical order.
std::vector<std::string_view> problem_keys();

// The known word nearest to `word`, for "did you mean".
std::string nearest_word(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace w4
