// SPDX-License-Identifier: Apache-2.0
#include "adopt/merge.h"

#include <algorithm>
#include <vector>

namespace baton::adopt {
namespace {

// What differs beyond is not looked for: the memory grows with the square.
constexpr std::ptrdiff_t kDifferencesMax = 2000;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

// Lines [from, to) of the first text are lines [other_from, other_to) of the second.
struct Hunk {
  std::ptrdiff_t from, to, other_from, other_to;
};

// Myers' greedy way, which finds the fewest differences. Nothing: too many.
std::optional<std::vector<Hunk>> differences(const std::vector<std::string_view>& a,
                                             const std::vector<std::string_view>& b) {
  const auto n = static_cast<std::ptrdiff_t>(a.size()), m = static_cast<std::ptrdiff_t>(b.size());
  std::vector<std::vector<std::ptrdiff_t>> steps;  // how far each diagonal had come before each step
  std::vector<std::ptrdiff_t> reach(2, 0);
  std::ptrdiff_t d = 0;
  const auto at = [](const std::vector<std::ptrdiff_t>& of, std::ptrdiff_t middle, std::ptrdiff_t k) {
    return of[static_cast<std::size_t>(middle + k)];
  };
  for (bool done = n == 0 && m == 0; !done; ++d) {
    if (d > kDifferencesMax) return std::nullopt;
    const std::ptrdiff_t middle = d;  // of `reach`: diagonals -d-1 .. d+1 of the step before
    std::vector<std::ptrdiff_t> next(static_cast<std::size_t>(2 * d + 3), 0);
    for (std::ptrdiff_t k = -d; k <= d; k += 2) {
      std::ptrdiff_t x = 0;
      if (d != 0) {
        const bool down = k == -d || (k != d && at(reach, middle, k - 1) < at(reach, middle, k + 1));
        x = down ? at(reach, middle, k + 1) : at(reach, middle, k - 1) + 1;
      }
      std::ptrdiff_t y = x - k;
      while (x < n && y < m && a[static_cast<std::size_t>(x)] == b[static_cast<std::size_t>(y)]) ++x, ++y;
      next[static_cast<std::size_t>(d + 1 + k)] = x;
      if (x >= n && y >= m) done = true;
    }
    steps.push_back(std::move(reach));
    reach = std::move(next);
  }
  // Back along the way.
  std::vector<Hunk> out;
  std::ptrdiff_t x = n, y = m;
  for (std::ptrdiff_t step = d - 1; step > 0; --step) {
    const std::vector<std::ptrdiff_t>& before = steps[static_cast<std::size_t>(step)];
    const std::ptrdiff_t k = x - y, middle = step;
    const bool down = k == -step || (k != step && at(before, middle, k - 1) < at(before, middle, k + 1));
    const std::ptrdiff_t from_k = down ? k + 1 : k - 1, from_x = at(before, middle, from_k), from_y = from_x - from_k;
    const Hunk one{from_x, down ? from_x : from_x + 1, from_y, down ? from_y + 1 : from_y};
    if (!out.empty() && out.back().from == one.to && out.back().other_from == one.other_to)
      out.back().from = one.from, out.back().other_from = one.other_from;
    else out.push_back(one);
    x = from_x, y = from_y;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

std::optional<std::string> without_change(std::string_view before, std::string_view after, std::string_view now) {
  const auto base = lines_of(after), ours = lines_of(before), theirs = lines_of(now);
  const auto back = differences(base, ours), since = differences(base, theirs);
  if (!back || !since) return std::nullopt;
  struct Change {
    Hunk hunk;
    const std::vector<std::string_view>* lines;
  };
  std::vector<Change> all;
  for (const Hunk& one : *back) all.push_back({one, &ours});
  for (const Hunk& one : *since) all.push_back({one, &theirs});
  std::sort(all.begin(), all.end(), [](const Change& left, const Change& right) {
    return std::pair(left.hunk.from, left.hunk.to) < std::pair(right.hunk.from, right.hunk.to);
  });
  std::string out;
  std::ptrdiff_t at = 0;
  const Change* last = nullptr;
  for (const Change& change : all) {
    // Two that put something into the same place could stand in either order.
    const bool both_insert = last != nullptr && last->hunk.from == last->hunk.to && change.hunk.from == change.hunk.to;
    if (last != nullptr && last->lines != change.lines &&
        (change.hunk.from < last->hunk.to || (both_insert && change.hunk.from == last->hunk.from)))
      return std::nullopt;
    for (; at < change.hunk.from; ++at) out += base[static_cast<std::size_t>(at)];
    for (std::ptrdiff_t one = change.hunk.other_from; one < change.hunk.other_to; ++one)
      out += (*change.lines)[static_cast<std::size_t>(one)];
    at = std::max(at, change.hunk.to);
    last = &change;
  }
  for (; at < static_cast<std::ptrdiff_t>(base.size()); ++at) out += base[static_cast<std::size_t>(at)];
  return out;
}

std::string shown_change(std::string_view before, std::string_view after, std::size_t lines_max) {
  const auto old_lines = lines_of(before), new_lines = lines_of(after);
  const auto hunks = differences(old_lines, new_lines);
  if (!hunks) return "  (too much to be shown)\n";
  std::string out;
  std::size_t shown = 0;
  const auto put = [&](std::string_view mark, std::string_view line) {
    if (++shown > lines_max) return;
    while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
    out.append(mark).append(line).append("\n");
  };
  for (const Hunk& hunk : *hunks) {
    put("  @ ", std::to_string(hunk.from + 1));
    for (auto one = hunk.from; one < hunk.to; ++one) put("  - ", old_lines[static_cast<std::size_t>(one)]);
    for (auto one = hunk.other_from; one < hunk.other_to; ++one) put("  + ", new_lines[static_cast<std::size_t>(one)]);
  }
  if (shown > lines_max) out += "  (" + std::to_string(shown - lines_max) + " lines more)\n";
  return out;
}

}  // namespace baton::adopt
