// SPDX-License-Identifier: Apache-2.0
// The index files of the fixtures: tab separated, one header line.
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace w4 {

using TsvRow = std::map<std::string, std::string>;

inline std::vector<std::string> split_tabs(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, '\t');) cells.push_back(cell);
  return cells;
}

inline std::vector<TsvRow> read_tsv(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + ": cannot be opened");
  std::vector<TsvRow> rows;
  std::string line;
  std::getline(in, line);
  const auto header = split_tabs(line);
  while (std::getline(in, line)) {
    const auto cells = split_tabs(line);
    TsvRow row;
    for (std::size_t i = 0; i < header.size(); ++i)
      row[header[i]] = i < cells.size() ? cells[i] : "";
    rows.push_back(std::move(row));
  }
  return rows;
}

inline const std::string vectors = std::string(W4_FIXTURES) + "/vectors";
inline const std::string layers = std::string(W4_FIXTURES) + "/layers";

}  // namespace w4
