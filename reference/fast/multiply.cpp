// SPDX-License-Identifier: Apache-2.0
// The exact product at machine speed: integers on a common grid, in the narrowest arithmetic that
// provably cannot round or overflow.
#include "reference/fast/multiply.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "reference/error.hpp"

namespace w4::fast {
namespace {

constexpr std::int64_t block_columns =
    64;  // k * 64 * 8 bytes of weights stay in the second-level cache
constexpr std::int64_t block_rows = 4;

int bit_length(std::int64_t v) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::abs(v))));
}

// Without trailing zeros, so that exp is the coarsest grid that holds the value.
Dyadic reduced(Dyadic d) {
  if (d.mant == 0) return {};
  const int zeros = std::countr_zero(static_cast<std::uint64_t>(d.mant));
  return {d.mant >> zeros, d.exp + zeros};
}

// a + b where it fits 62 bits.
std::optional<Dyadic> added(Dyadic a, Dyadic b) {
  if (b.mant == 0) return reduced(a);
  if (a.mant == 0) return reduced(b);
  a = reduced(a);
  b = reduced(b);
  if (a.exp > b.exp) std::swap(a, b);
  const int shift = b.exp - a.exp;
  if (bit_length(a.mant) > 61 || bit_length(b.mant) + shift > 61) return std::nullopt;
  return reduced({a.mant + (b.mant << shift), a.exp});
}

// Values on one grid: integer * 2^exp. `bits` bounds every integer: |integer| < 2^bits.
struct Grid {
  bool ok{true};
  int exp{0}, bits{0};
};

// The coarsest grid of all values, if its integers have at most `limit` bits. Values are reduced.
template <typename At>
Grid common_grid(std::int64_t count, int limit, At&& at) {
  int low = 0, high = 0;
  bool any = false;
  for (std::int64_t i = 0; i < count; ++i) {
    const Dyadic d = at(i);
    if (d.mant == 0) continue;
    const int top = d.exp + bit_length(d.mant);
    low = any ? std::min(low, d.exp) : d.exp;
    high = any ? std::max(high, top) : top;
    any = true;
  }
  return {high - low <= limit, low, high - low};
}

std::int64_t on_grid(const Dyadic& d, const Grid& g) {
  return d.mant == 0 ? 0 : d.mant << (d.exp - g.exp);
}

struct Rows {
  std::vector<Grid> grid;              // [m]
  std::vector<std::int64_t> integers;  // [m+1][k]; the last row is zero, to fill up a block
  std::vector<double> doubles;         // the same; right where bits is at most 53
};

std::vector<double> as_doubles(const std::vector<std::int64_t>& v) {
  std::vector<double> out(v.size());
  std::transform(v.begin(), v.end(), out.begin(),
                 [](std::int64_t i) { return static_cast<double>(i); });
  return out;
}

std::optional<Dyadic> activation(const Activations& x, std::int64_t m, std::int64_t k) {
  const Number v = decode(x.type, x.words[static_cast<std::size_t>(m * x.k + k)]);
  if (v.kind != NumberKind::finite) return std::nullopt;
  if (x.scale.empty()) return reduced(v.value);
  const std::int64_t groups = (x.k + x.group - 1) / x.group;
  const float scale = x.scale[static_cast<std::size_t>(m * groups + k / x.group)];
  const Number s = decode(Type::f32, std::bit_cast<std::uint32_t>(scale));
  if (s.kind != NumberKind::finite) return std::nullopt;
  return reduced({v.value.mant * s.value.mant, v.value.exp + s.value.exp});
}

Rows put_rows(const Activations& x, int limit) {
  Rows rows;
  rows.grid.resize(static_cast<std::size_t>(x.m));
  rows.integers.resize(x.words.size() + static_cast<std::size_t>(x.k));
  std::vector<Dyadic> values(static_cast<std::size_t>(x.k));
  for (std::int64_t m = 0; m < x.m; ++m) {
    Grid& grid = rows.grid[static_cast<std::size_t>(m)];
    for (std::int64_t k = 0; k < x.k && grid.ok; ++k) {
      const std::optional<Dyadic> v = activation(x, m, k);
      grid.ok = v.has_value();
      values[static_cast<std::size_t>(k)] = v.value_or(Dyadic{});
    }
    if (!grid.ok) continue;
    grid = common_grid(x.k, limit,
                       [&](std::int64_t k) { return values[static_cast<std::size_t>(k)]; });
    if (!grid.ok) continue;
    for (std::int64_t k = 0; k < x.k; ++k) {
      rows.integers[static_cast<std::size_t>(m * x.k + k)] =
          on_grid(values[static_cast<std::size_t>(k)], grid);
    }
  }
  rows.doubles = as_doubles(rows.integers);
  return rows;
}

// A block of columns, a grid for each; zeros where a column has none.
struct Columns {
  std::array<Grid, block_columns> grid;
  std::vector<std::int64_t> integers;  // [k][block_columns]
  std::vector<double> doubles;         // the same; right where bits is at most 53
  int bits{};                          // of the widest column
};

// Every code that occurs is dequantised once for its group and column.
void put_column(const QuantizedMatrix& w, Dequant dequant, Type h, int limit, std::int64_t n,
                std::int64_t slot, Columns& columns) {
  std::vector<std::optional<Dyadic>> table(static_cast<std::size_t>(w.groups * 16));
  std::vector<std::uint8_t> known(table.size());
  std::vector<std::size_t> entry(static_cast<std::size_t>(w.k));
  Grid& grid = columns.grid[static_cast<std::size_t>(slot)];
  grid = {};
  for (std::int64_t k = 0; k < w.k; ++k) {
    const std::uint8_t code = w.codes[w.at(k, n)];
    const auto at = static_cast<std::size_t>(w.group_of(k) * 16 + code);
    entry[static_cast<std::size_t>(k)] = at;
    if (known[at] == 0) {
      known[at] = 1;
      const Weight v = weight_of_code(w, dequant, h, code, w.group_of(k), n);
      if (v.kind == NumberKind::finite) table[at] = added(v.terms.term[0], v.terms.term[1]);
    }
    grid.ok = grid.ok && table[at].has_value();
  }
  if (!grid.ok) return;
  const auto value = [&](std::int64_t k) { return *table[entry[static_cast<std::size_t>(k)]]; };
  grid = common_grid(w.k, limit, value);
  if (!grid.ok) return;
  for (std::int64_t k = 0; k < w.k; ++k) {
    columns.integers[static_cast<std::size_t>(k * block_columns + slot)] = on_grid(value(k), grid);
  }
}

// acc[r][c] = sum_k x[r][k] * w[k][c] for up to block_rows rows; both Value and Sum hold every
// partial sum exactly.
template <typename Value, typename Sum>
void sum_products(const Value* const* x, const Value* w, std::int64_t k,
                  Sum (*acc)[block_columns]) {
  for (std::int64_t r = 0; r < block_rows; ++r) std::fill_n(acc[r], block_columns, Sum{});
  for (std::int64_t i = 0; i < k; ++i) {
    const Value* row = w + i * block_columns;
    const Sum x0 = x[0][i], x1 = x[1][i], x2 = x[2][i], x3 = x[3][i];
    for (std::int64_t c = 0; c < block_columns; ++c) {
      const Sum v = row[c];
      acc[0][c] += x0 * v;
      acc[1][c] += x1 * v;
      acc[2][c] += x2 * v;
      acc[3][c] += x3 * v;
    }
  }
}

Columns put_columns(const QuantizedMatrix& w, Dequant dequant, Type h, int limit,
                    std::int64_t first) {
  Columns columns;
  columns.integers.resize(static_cast<std::size_t>(w.k * block_columns));
  for (std::int64_t slot = 0; slot < std::min(block_columns, w.n - first); ++slot) {
    put_column(w, dequant, h, limit, first + slot, slot, columns);
    const Grid& grid = columns.grid[static_cast<std::size_t>(slot)];
    if (grid.ok) columns.bits = std::max(columns.bits, grid.bits);
  }
  columns.doubles = as_doubles(columns.integers);
  return columns;
}

struct Sums {
  Int128 value[block_rows][block_columns];
};

template <typename Value, typename Sum>
void sum_block(const std::vector<Value>& x, const std::array<std::int64_t, block_rows>& rows,
               const std::vector<Value>& w, std::int64_t k, Sums& out) {
  Sum acc[block_rows][block_columns];
  const Value* row[block_rows];
  for (std::size_t r = 0; r < block_rows; ++r) row[r] = x.data() + rows[r] * k;
  sum_products(row, w.data(), k, acc);
  for (std::int64_t r = 0; r < block_rows; ++r) {
    for (std::int64_t c = 0; c < block_columns; ++c)
      out.value[r][c] = static_cast<Int128>(acc[r][c]);
  }
}

int ceil_log2(std::int64_t v) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(v - 1)));
}

// |sum| < 2^bits, and so is every partial sum in any order: double is exact to 2^53, int64 below
// 2^63.
void sum_in(int bits, const Rows& x, const std::array<std::int64_t, block_rows>& rows,
            const Columns& w, std::int64_t k, Sums& out) {
  require(bits <= 126, "a sum that __int128 holds");
  if (bits <= 53) return sum_block<double, double>(x.doubles, rows, w.doubles, k, out);
  if (bits <= 62)
    return sum_block<std::int64_t, std::int64_t>(x.integers, rows, w.integers, k, out);
  sum_block<std::int64_t, Int128>(x.integers, rows, w.integers, k, out);
}

std::uint32_t finish(Int128 sum, int exp, const QuantizedMatrix& w, std::int64_t n, Type y) {
  if (w.bias.empty()) return round_to(y, sum, exp);
  const Number bias = decode(w.bias_type, w.bias[static_cast<std::size_t>(n)]);
  if (bias.kind == NumberKind::nan) return nan_word(y);
  if (bias.kind == NumberKind::infinite) return inf_word(y, bias.negative);
  ExactSum exact;
  exact.add(sum, exp);
  exact.add(bias.value.mant, bias.value.exp);
  return exact.round(y);
}

Activations take_rows(const Activations& x, const std::vector<std::int64_t>& rows) {
  Activations out{x.type, static_cast<std::int64_t>(rows.size()), x.k, {}, {}, x.group};
  const std::int64_t groups = x.scale.empty() ? 0 : (x.k + x.group - 1) / x.group;
  for (const std::int64_t m : rows) {
    out.words.insert(out.words.end(), x.words.begin() + m * x.k, x.words.begin() + (m + 1) * x.k);
    out.scale.insert(out.scale.end(), x.scale.begin() + m * groups,
                     x.scale.begin() + (m + 1) * groups);
  }
  return out;
}

template <typename T>
std::vector<T> take_columns(const std::vector<T>& v, std::int64_t n,
                            const std::vector<std::int64_t>& columns) {
  std::vector<T> out;
  for (std::size_t row = 0; row < v.size(); row += static_cast<std::size_t>(n)) {
    for (const std::int64_t c : columns) out.push_back(v[row + static_cast<std::size_t>(c)]);
  }
  return out;
}

QuantizedMatrix take_columns(const QuantizedMatrix& w, const std::vector<std::int64_t>& columns) {
  QuantizedMatrix out = w;
  out.n = static_cast<std::int64_t>(columns.size());
  out.codes = take_columns(w.codes, w.n, columns);
  out.scales = take_columns(w.scales, w.n, columns);
  out.zeros = take_columns(w.zeros, w.n, columns);
  out.bias = take_columns(w.bias, w.n, columns);
  return out;
}

// y at rows x columns, from the slow product of just these.
void put_slow(const Activations& x, const QuantizedMatrix& w, Dequant dequant, Type h, Type y,
              const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& columns,
              std::vector<std::uint32_t>& out) {
  if (rows.empty() || columns.empty()) return;
  const auto part = w4::multiply(take_rows(x, rows), take_columns(w, columns), dequant, h, y);
  auto word = part.begin();
  for (const std::int64_t m : rows) {
    for (const std::int64_t n : columns) out[static_cast<std::size_t>(m * w.n + n)] = *word++;
  }
}

}  // namespace

std::vector<std::uint32_t> multiply(const Activations& x, const QuantizedMatrix& w, Dequant dequant,
                                    Type h, Type y) {
  check_operands(x, w);
  std::vector<std::uint32_t> out(static_cast<std::size_t>(x.m * w.n));
  // Two such operands and the carries of k terms fit 126 bits, and each one fits int64.
  const int sum_bits = ceil_log2(w.k), limit = (126 - sum_bits) / 2;
  const Rows rows = put_rows(x, limit);
  std::vector<std::int64_t> good_rows, bad_rows, bad_columns,
      all_columns(static_cast<std::size_t>(w.n));
  std::iota(all_columns.begin(), all_columns.end(), 0);
  for (std::int64_t m = 0; m < x.m; ++m) {
    (rows.grid[static_cast<std::size_t>(m)].ok ? good_rows : bad_rows).push_back(m);
  }
  Sums sums;
  for (std::int64_t first = 0; first < w.n; first += block_columns) {
    const Columns columns = put_columns(w, dequant, h, limit, first);
    const std::int64_t width = std::min(block_columns, w.n - first);
    for (std::int64_t c = 0; c < width; ++c) {
      if (!columns.grid[static_cast<std::size_t>(c)].ok) bad_columns.push_back(first + c);
    }
    for (std::size_t at = 0; at < good_rows.size(); at += block_rows) {
      const std::size_t height = std::min<std::size_t>(block_rows, good_rows.size() - at);
      std::array<std::int64_t, block_rows> block;
      block.fill(x.m);
      std::copy_n(good_rows.begin() + static_cast<std::ptrdiff_t>(at), height, block.begin());
      int row_bits = 0;
      for (std::size_t r = 0; r < height; ++r) {
        row_bits = std::max(row_bits, rows.grid[static_cast<std::size_t>(block[r])].bits);
      }
      sum_in(row_bits + columns.bits + sum_bits, rows, block, columns, w.k, sums);
      for (std::size_t r = 0; r < height; ++r) {
        const Grid& row = rows.grid[static_cast<std::size_t>(block[r])];
        for (std::int64_t c = 0; c < width; ++c) {
          const Grid& column = columns.grid[static_cast<std::size_t>(c)];
          if (!column.ok) continue;
          out[static_cast<std::size_t>(block[r] * w.n + first + c)] =
              finish(sums.value[r][c], row.exp + column.exp, w, first + c, y);
        }
      }
    }
  }
  put_slow(x, w, dequant, h, y, good_rows, bad_columns, out);
  put_slow(x, w, dequant, h, y, bad_rows, all_columns, out);
  return out;
}

}  // namespace w4::fast
