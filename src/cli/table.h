// SPDX-License-Identifier: Apache-2.0
// Text in columns, for a screen: counted in the cells a terminal takes, not in bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace baton::cli {

// How many cells a terminal takes for it. The text holds no control characters (printable()).
std::size_t cells_of(std::string_view text);

// Exactly `cells` wide: blanks at the end, or cut with an ellipsis.
std::string fitted(std::string_view text, std::size_t cells);

// SGR codes such as "1" or "1;31"; an empty code or no colour leaves the text as it is.
std::string painted(std::string_view text, std::string_view code, bool colour);

// Rows of cells, each column as wide as its widest cell but the last, which is not padded. The first row is the
// heading.
class Table {
 public:
  struct Cell {
    std::string text;
    std::string_view code = {};  // SGR
  };
  explicit Table(bool colour) : colour_(colour) {}
  void heading(const std::vector<std::string>& names);
  void row(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }
  std::string text() const;

 private:
  bool colour_;
  std::vector<std::vector<Cell>> rows_;
};

// "12s", "5m", "3h", "2d"; "now" below a second, also for what lies ahead.
std::string age_text(Time from, Time now);

}  // namespace baton::cli
