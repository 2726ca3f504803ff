// SPDX-License-Identifier: Apache-2.0
// The picture of `baton work board`: a column for each phase. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cli/work.h"

namespace baton::cli {

struct BoardLook {
  std::size_t columns = 100;  // of the screen
  std::size_t rows = 0;       // 0: as many as it takes
  bool colour = false;
  std::string heading, footing;  // one line each; empty: none
};

// Phases that hold something, and empty ones as far as there is room; below each other when the screen is too narrow
// for columns. In a phase the most urgent first, then the oldest; what is finished the newest first. What does not
// fit is counted.
std::string draw_board(const std::vector<ShownWork>& items, const BoardLook& look, Time now);

}  // namespace baton::cli
