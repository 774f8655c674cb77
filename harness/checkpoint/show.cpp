// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/show.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "harness/checkpoint/detect.hpp"
#include "harness/checkpoint/oddities.hpp"
#include "harness/checkpoint/text.hpp"
#include "harness/table_text.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

constexpr std::size_t columns = 10;
using Row = std::vector<std::string>;

const Row header{"layer", "format", "K",          "N",      "group",
                 "zero",  "order",  "codes used", "scales", "note"};

std::string display(const std::string& format) {
  if (format == "compressed_tensors") return "compressed-tensors";
  std::string out = format;  // "gptq v1", "awq gemv-fast"
  const auto first = out.find('_');
  if (first == std::string::npos) return out;
  std::replace(out.begin(), out.end(), '_', '-');
  out[first] = ' ';
  return out;
}

// "1.2e-3": two digits, as short an exponent as can be.
std::string short_number(double v) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1e", v);
  std::string out = text.data();
  const auto e = out.find('e');
  if (e == std::string::npos) return out;
  std::string exponent = out.substr(e + 1);
  const bool minus = exponent.front() == '-';
  exponent.erase(0, exponent.find_first_not_of("+-0"));
  return out.substr(0, e) + (exponent.empty() ? "" : (minus ? "e-" : "e") + exponent);
}

// Magnitudes of the finite scales that are not 0; those are in the note.
std::string scale_range(const QuantizedMatrix& w) {
  double low = 0, high = 0;
  for (const auto word : w.scales) {
    const double v = std::abs(to_double(w.scale_type, word));
    if (!std::isfinite(v) || v == 0) continue;
    low = low == 0 ? v : std::min(low, v);
    high = std::max(high, v);
  }
  return high == 0 ? "none" : short_number(low) + " .. " + short_number(high);
}

// In units of codes; where what is stored is added, -zero/scale is what it was made from.
double zero_of(const QuantizedMatrix& w, std::size_t i) {
  if (w.zero == Zero::eight) return 8;
  if (w.zero != Zero::add) return w.zeros[i];
  return -to_double(w.zero_type, w.zeros[i]) / to_double(w.scale_type, w.scales[i]);
}

std::string zero_range(const QuantizedMatrix& w) {
  if (w.zero == Zero::eight) return "8";
  if (w.zero == Zero::add) {
    long low = 0, high = 0;
    bool first = true;
    for (std::size_t i = 0; i < w.zeros.size(); ++i) {
      const double z = zero_of(w, i);
      if (!(std::abs(z) < 1e6)) continue;
      const long near = std::lround(z);
      low = first ? near : std::min(low, near);
      high = first ? near : std::max(high, near);
      first = false;
    }
    return "~" + std::to_string(low) + ".." + std::to_string(high);
  }
  const auto [low, high] = std::minmax_element(w.zeros.begin(), w.zeros.end());
  return std::to_string(*low) + ".." + std::to_string(*high);
}

std::string note_of(const std::vector<std::string>& warnings) {
  constexpr std::size_t limit = 60;
  std::vector<std::string> notes;
  for (const auto& warning : warnings) notes.push_back(warning.substr(0, warning.find(": ")));
  if (notes.empty()) return {};
  std::string out = notes.front();
  if (out.size() > limit) out = out.substr(0, limit - 3) + "...";
  if (notes.size() > 1) out += " (and " + std::to_string(notes.size() - 1) + " more)";
  return out;
}

std::string name_or_dash(const std::string& prefix) {
  return prefix.empty() ? "-" : printable(prefix);
}

Row row_of(const Layer& layer) {
  const auto& w = layer.matrix;
  const auto counts = code_counts(w);
  const auto used = 16 - std::count(counts.begin(), counts.end(), 0);
  return {name_or_dash(layer.prefix),
          display(layer.format),
          std::to_string(w.k),
          std::to_string(w.n),
          std::to_string(w.group),
          zero_range(w),
          layer.act_order ? "act-order" : "k/group",
          std::to_string(used) + " of 16",
          scale_range(w),
          note_of(layer.warnings)};
}

Row row_of_refused(const std::string& prefix) {
  Row row(columns, "-");
  row[0] = name_or_dash(prefix);
  row[columns - 1] = "not read: see the error";
  return row;
}

std::string count_text(std::size_t count, const char* what) {
  return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

std::string first_line(const Checkpoint& c, const std::map<std::string, Parts>& layers) {
  std::size_t belonging = 0;
  for (const auto& [prefix, parts] : layers) belonging += parts.size();
  return printable(c.file) + "   " + count_text(c.shards, "shard") + ", " +
         count_text(layers.size(), "quantised layer") + ", " +
         count_text(c.tensors.size() - belonging, "other tensor");
}

struct Why {
  std::string format, evidence;
  std::vector<std::string> prefixes;
};

// Layers of one format mostly have the same evidence, and it is said once.
void add_reason(std::vector<Why>& all, const Layer& layer) {
  const auto evidence = some_of(layer.evidence, layer.evidence.size(), "; ");
  const auto format = display(layer.format);
  auto at = std::find_if(all.begin(), all.end(), [&](const Why& w) {
    return w.format == format && w.evidence == evidence;
  });
  if (at == all.end()) at = all.insert(all.end(), {format, evidence, {}});
  at->prefixes.push_back(name_or_dash(layer.prefix));
}

std::string reasons_text(const std::vector<Why>& all) {
  std::string out;
  for (const Why& w : all) {
    const std::string who = all.size() > 1 ? " (" + some_of(w.prefixes, 2) + ")" : "";
    out += "why " + w.format + who + ": " + w.evidence + '\n';
  }
  return out;
}

std::string histogram_text(const QuantizedMatrix& w) {
  const auto counts = code_counts(w);
  std::string codes = "code  ", shares = "share ";
  for (std::size_t code = 0; code < 16; ++code) {
    std::array<char, 32> cell{};
    std::snprintf(cell.data(), cell.size(), "%5zu", code);
    codes += cell.data();
    const double share =
        100.0 * static_cast<double>(counts[code]) / static_cast<double>(w.codes.size());
    std::snprintf(cell.data(), cell.size(), "%5.1f", share);
    shares += cell.data();
  }
  return codes + '\n' + shares + "  % of " + std::to_string(w.codes.size()) + " codes\n";
}

// A number to look at, not a verdict: weights have a mean near 0, so codes lie around their zeros.
std::string mean_text(const QuantizedMatrix& w) {
  double sum = 0;
  for (std::int64_t k = 0; k < w.k; ++k) {
    const std::int64_t row = w.group_of(k) * w.n;
    for (std::int64_t n = 0; n < w.n; ++n)
      sum += w.codes[w.at(k, n)] - zero_of(w, static_cast<std::size_t>(row + n));
  }
  std::array<char, 48> mean{};
  std::snprintf(mean.data(), mean.size(), "%+.3f", sum / static_cast<double>(w.codes.size()));
  return std::string("mean code - zero  ") + mean.data() +
         "   (near 0 in sound layers; near -1 where v2 zeros are read as v1, +1 the other way)\n";
}

}  // namespace

std::vector<std::string> warning_lines(const Checkpoint& checkpoint) {
  std::vector<std::string> lines;
  for (const auto& what : checkpoint.warnings) lines.push_back(checkpoint.path + ": " + what);
  return lines;
}

std::vector<std::string> warning_lines(const Checkpoint& checkpoint, const Layer& layer) {
  std::vector<std::string> lines;
  for (const auto& what : layer.warnings)
    lines.push_back(checkpoint.path + ": " + name_or_dash(layer.prefix) + ": " + what);
  return lines;
}

LayerReport show_layers(const Checkpoint& checkpoint, const std::string& prefix, V1Zeros reader) {
  const auto all = quantised_layers(checkpoint);
  std::vector<std::string> wanted{prefix};
  if (prefix.empty() && !all.empty()) wanted = quantised_prefixes(checkpoint);
  LayerReport report;
  report.warnings = warning_lines(checkpoint);
  std::vector<Row> rows{header};
  std::vector<Why> reasons;
  std::string single;
  for (const auto& name : wanted) {
    try {
      const Layer layer = read_layer(checkpoint, name, reader);
      rows.push_back(row_of(layer));
      add_reason(reasons, layer);
      const auto lines = warning_lines(checkpoint, layer);
      report.warnings.insert(report.warnings.end(), lines.begin(), lines.end());
      if (wanted.size() > 1) continue;
      single = histogram_text(layer.matrix) + mean_text(layer.matrix);
      if (!layer.sha256.empty()) single += "sha256  " + layer.sha256 + '\n';
    } catch (const Error& e) {
      if (e.blame() == Blame::internal) throw;
      report.errors.emplace_back(e.what());
      rows.push_back(row_of_refused(name));
    }
  }
  if (reasons.empty()) throw Error(report.errors.front());
  report.text = first_line(checkpoint, all) + "\n\n" + table_text(rows, 2) + '\n' +
                reasons_text(reasons) + single;
  return report;
}

}  // namespace w4
