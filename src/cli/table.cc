// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <utf8proc.h>

#include <algorithm>

#include "base/text.h"

namespace baton::cli {

std::size_t cells_of(std::string_view text) {
  std::size_t cells = 0;
  for (std::size_t at = 0; at < text.size();)
    cells += static_cast<std::size_t>(
        std::max(0, utf8proc_charwidth(static_cast<utf8proc_int32_t>(next_character(text, at)))));
  return cells;
}

std::string fitted(std::string_view text, std::size_t cells) {
  const std::size_t width = cells_of(text);
  if (width <= cells) return std::string(text) + std::string(cells - width, ' ');
  if (cells == 0) return {};
  std::size_t end = 0, used = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t before = at;
    const int wide = utf8proc_charwidth(static_cast<utf8proc_int32_t>(next_character(text, at)));
    if (used + static_cast<std::size_t>(std::max(0, wide)) > cells - 1) {
      end = before;
      break;
    }
    used += static_cast<std::size_t>(std::max(0, wide));
    end = at;
  }
  return std::string(text.substr(0, end)) + "…" + std::string(cells - 1 - used, ' ');
}

std::string painted(std::string_view text, std::string_view code, bool colour) {
  if (!colour || code.empty()) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

void Table::heading(const std::vector<std::string>& names) {
  std::vector<Cell> cells;
  for (const std::string& name : names) cells.push_back({name, "2"});
  rows_.insert(rows_.begin(), std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    if (widths.size() < row.size()) widths.resize(row.size());
    for (std::size_t at = 0; at < row.size(); ++at) widths[at] = std::max(widths[at], cells_of(row[at].text));
  }
  std::string out;
  for (const auto& row : rows_) {
    for (std::size_t at = 0; at < row.size(); ++at) {
      const bool last = at + 1 == row.size();
      out += painted(last ? row[at].text : fitted(row[at].text, widths[at]), row[at].code, colour_);
      out += last ? "\n" : "  ";
    }
  }
  return out;
}

std::string age_text(Time from, Time now) {
  const std::int64_t seconds = (now.nanoseconds - from.nanoseconds) / kNanosecondsPerSecond;
  if (seconds < 1) return "now";
  if (seconds < 60) return std::to_string(seconds) + "s";
  if (seconds < 3600) return std::to_string(seconds / 60) + "m";
  if (seconds < 86'400) return std::to_string(seconds / 3600) + "h";
  return std::to_string(seconds / 86'400) + "d";
}

}  // namespace baton::cli
