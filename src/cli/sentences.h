// SPDX-License-Identifier: Apache-2.0
// Headings and sentences on standard output. Everything passes the secret detector and is shown as escaped plain text. On a
// terminal lines are broken at its width; elsewhere a sentence stays one line, so that it can be searched for.
#pragma once

#include <cstddef>
#include <string_view>

#include "cli/world.h"

namespace baton::cli {

class SentencePrinter {
 public:
  explicit SentencePrinter(World& world);

  void heading(std::string_view text, std::string_view colour = "1");  // an SGR code
  void sentence(std::string_view text, std::size_t depth = 0);

 private:
  World& world_;
  std::size_t columns_;  // SIZE_MAX: no terminal
  bool is_first_ = true;
};

}  // namespace baton::cli
