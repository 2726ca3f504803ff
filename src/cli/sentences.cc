// SPDX-License-Identifier: Apache-2.0
#include "cli/sentences.h"

#include <algorithm>

#include "base/text.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "secrets/detector.h"

namespace baton::cli {

SentencePrinter::SentencePrinter(World& world) : world_(world), columns_(SIZE_MAX) {
  if (const auto window = window_size(world)) columns_ = std::max<std::size_t>(window->columns, 40);
}

void SentencePrinter::heading(std::string_view text, std::string_view colour) {
  if (!is_first_) world_.print("\n");
  is_first_ = false;
  world_.print(painted(printable(secrets::redact(text)), colour, world_.colour) + "\n");
}

void SentencePrinter::sentence(std::string_view text, std::size_t depth) {
  const std::string indent((depth + 1) * 2, ' ');
  std::string line = indent + "- ";
  std::size_t cells = line.size();
  bool has_word = false;
  const std::string shown = printable(secrets::redact(text));
  for (const std::string_view word : split(shown, ' ')) {
    const std::size_t width = cells_of(word);
    if (has_word && cells + 1 + width > columns_) {
      world_.print(line + "\n");
      line = indent + "  ";
      cells = line.size();
      has_word = false;
    }
    if (has_word) line += " ";
    cells += width + (has_word ? 1 : 0);
    line += word;
    has_word = true;
  }
  world_.print(line + "\n");
}

}  // namespace baton::cli
