// SPDX-License-Identifier: Apache-2.0
// The person at the terminal: asking for a passphrase, and a picture that fills the screen.
#pragma once

#include <termios.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/world.h"

namespace baton::cli {

// Is there somebody to ask: is standard input or standard error a terminal?
bool can_ask(World& world);

// Asks on the terminal itself, whatever the streams are: was the answer `y` or `yes`? Failure when there is no terminal, or it was ended.
Result<bool> ask_yes(World& world, std::string_view prompt);

// Asks on the terminal itself, whatever the streams are, and reads a line that is not shown. Failure when there is no
// terminal, or it was ended.
Result<std::string> ask_secret(World& world, std::string_view prompt);

struct WindowSize {
  std::size_t columns = 80, rows = 24;
};
// Of the terminal that standard output is; nothing when it is none.
std::optional<WindowSize> window_size(World& world);

// The whole screen for as long as this lives: another page of the terminal, no cursor, keys at once and not shown.
// What was there comes back at the end.
class Screen {
 public:
  explicit Screen(World& world);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Fills the screen; lines are taken as they are, and must not be wider than the window.
  void show(std::string_view text);

 private:
  World& world_;
  termios before_ = {};
  bool keys_changed_ = false;
};

}  // namespace baton::cli
