// SPDX-License-Identifier: Apache-2.0
#include "cli/board.h"

#include <algorithm>

namespace baton::cli {
namespace {

constexpr std::size_t kNarrowest = 16, kWidest = 34, kGap = 2;
// Of a picture that is not bounded: finished items are listed elsewhere.
constexpr std::size_t kFinishedShown = 10;

struct Column {
  std::string phase;
  std::vector<const ShownWork*> items;
};

bool is_finished(std::string_view phase) { return phase == "COMPLETED"; }

std::vector<Column> sorted_columns(const std::vector<ShownWork>& items) {
  std::vector<Column> out;
  for (const std::string& phase : phase_names()) {
    Column column{phase, {}};
    for (const ShownWork& item : items)
      if (item.phase == phase && item.state != "aborted") column.items.push_back(&item);
    std::sort(column.items.begin(), column.items.end(), [&](const ShownWork* left, const ShownWork* right) {
      if (is_finished(phase) && left->waiting_since != right->waiting_since)
        return left->waiting_since > right->waiting_since;
      if (left->priority != right->priority) return left->priority > right->priority;
      if (left->waiting_since != right->waiting_since) return left->waiting_since < right->waiting_since;
      return left->id < right->id;
    });
    out.push_back(std::move(column));
  }
  return out;
}

// The columns there is room for: those that hold something, then empty ones, each in its place.
std::vector<Column> chosen_columns(std::vector<Column> all, std::size_t columns) {
  const std::size_t room = std::max<std::size_t>(1, (columns + kGap) / (kNarrowest + kGap));
  std::size_t count = all.size();
  for (auto column = all.end(); column != all.begin() && count > room;) {
    --column;
    if (!column->items.empty()) continue;
    column = all.erase(column);
    --count;
  }
  return all;
}

// "agent-7, 9m left", "waits for input", "2h"
std::string what_of(const ShownWork& item, Time now) {
  if (item.state == "held" && item.held_until) {
    const std::string left = age_text(now, *item.held_until);
    return item.holder + (left == "now" ? ", is over" : ", " + left + " left");
  }
  if (!item.waits_for.empty()) return "waits for " + item.waits_for;
  const std::string age = item.waiting_since ? age_text(*item.waiting_since, now) : "";
  return item.state == "waiting" || item.state.empty() ? age : item.state + " " + age;
}

struct Line {
  std::string text;
  std::string_view code;
};

// A column's lines: a heading, two for each item, and how many more there are.
std::vector<Line> lines_of(const Column& column, std::size_t rows, Time now) {
  std::vector<Line> out = {
      {column.phase + (column.items.empty() ? "" : " " + std::to_string(column.items.size())), "1"}};
  std::size_t shown = column.items.size();
  if (rows == 0 && is_finished(column.phase)) shown = std::min(shown, kFinishedShown);
  if (rows != 0 && 1 + 2 * shown > rows) shown = rows > 2 ? (rows - 2) / 2 : 0;
  for (std::size_t at = 0; at < shown; ++at) {
    const ShownWork& item = *column.items[at];
    out.push_back({item.id + " " + item.title, is_finished(column.phase) ? "2" : ""});
    out.push_back({"  " + what_of(item, now), item.state == "waiting" ? "2" : state_colour(item.state)});
  }
  if (shown < column.items.size()) out.push_back({"and " + std::to_string(column.items.size() - shown) + " more", "2"});
  return out;
}

// How wide each column is: an empty one as its name, the others share what is left.
std::vector<std::size_t> widths_of(const std::vector<Column>& columns, std::size_t room) {
  std::vector<std::size_t> out;
  std::size_t full = 0, taken = (columns.size() - 1) * kGap;
  for (const Column& column : columns) {
    out.push_back(column.items.empty() ? cells_of(column.phase) : 0);
    taken += out.back();
    if (!column.items.empty()) ++full;
  }
  for (std::size_t& width : out)
    if (width == 0) width = std::clamp((room - std::min(room, taken)) / full, kNarrowest, kWidest);
  return out;
}

void append_beside(std::string& out, const std::vector<Column>& columns, const BoardLook& look, std::size_t rows,
                   Time now) {
  const std::vector<std::size_t> widths = widths_of(columns, look.columns);
  std::vector<std::vector<Line>> all;
  std::size_t height = 0;
  for (const Column& column : columns) {
    all.push_back(lines_of(column, rows, now));
    height = std::max(height, all.back().size());
  }
  for (std::size_t row = 0; row < height; ++row) {
    std::string line;
    std::size_t owed = 0;  // blanks that are only written when something follows
    for (std::size_t at = 0; at < all.size(); ++at) {
      if (row < all[at].size()) {
        const std::string text = fitted(all[at][row].text, widths[at]);
        const std::size_t kept = text.find_last_not_of(' ') + 1;
        line +=
            std::string(owed, ' ') + painted(std::string_view(text).substr(0, kept), all[at][row].code, look.colour);
        owed = text.size() - kept + kGap;
      } else {
        owed += widths[at] + kGap;
      }
    }
    out += line + "\n";
  }
}

void append_below(std::string& out, const std::vector<Column>& columns, const BoardLook& look, std::size_t rows,
                  Time now) {
  std::size_t used = 0;
  for (const Column& column : columns) {
    if (column.items.empty()) continue;
    for (const Line& line : lines_of(column, 0, now)) {
      if (rows != 0 && used == rows) return;
      const std::string text = fitted(line.text, look.columns);
      out += painted(std::string_view(text).substr(0, text.find_last_not_of(' ') + 1), line.code, look.colour) + "\n";
      ++used;
    }
  }
}

}  // namespace

std::string draw_board(const std::vector<ShownWork>& items, const BoardLook& look, Time now) {
  std::string out;
  if (!look.heading.empty()) out += painted(fitted(look.heading, look.columns), "2", look.colour) + "\n\n";
  const std::size_t taken = (look.heading.empty() ? 0 : 2) + (look.footing.empty() ? 0 : 2);
  const std::size_t rows = look.rows == 0 ? 0 : look.rows > taken + 3 ? look.rows - taken : 3;
  const std::vector<Column> columns = chosen_columns(sorted_columns(items), look.columns);
  const bool fits = columns.size() * (kNarrowest + kGap) <= look.columns + kGap;
  if (fits) append_beside(out, columns, look, rows, now);
  else append_below(out, columns, look, rows, now);
  if (!look.footing.empty()) out += "\n" + painted(fitted(look.footing, look.columns), "2", look.colour);
  return out;
}

}  // namespace baton::cli
