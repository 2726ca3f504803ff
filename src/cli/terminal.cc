// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/limits.h"
#include "cli/sealed_token.h"

namespace baton::cli {
namespace {

// The terminal without echo, and as it was before when this goes.
class Hidden {
 public:
  explicit Hidden(int descriptor) : descriptor_(descriptor) {
    if (::tcgetattr(descriptor_, &before_) != 0) return;
    termios hidden = before_;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHONL);
    hidden.c_lflag |= ICANON;  // a Screen takes keys one by one
    changed_ = ::tcsetattr(descriptor_, TCSAFLUSH, &hidden) == 0;
  }
  ~Hidden() {
    if (changed_) ::tcsetattr(descriptor_, TCSAFLUSH, &before_);
  }
  Hidden(const Hidden&) = delete;
  Hidden& operator=(const Hidden&) = delete;
  bool works() const { return changed_; }

 private:
  int descriptor_;
  termios before_ = {};
  bool changed_ = false;
};

bool say(int descriptor, std::string_view text) {
  return ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// A line, without its end; nothing when the input ended before there was one, or it is too long.
std::optional<std::string> read_line(int descriptor) {
  std::string line;
  line.reserve(limits::kPassphraseBytesMax);  // growing would leave copies behind
  for (;;) {
    char c = 0;
    const ssize_t got = ::read(descriptor, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || line.size() == limits::kPassphraseBytesMax) {
      wipe(line);
      return std::nullopt;
    }
    if (c == '\n') return line;
    line.push_back(c);
  }
}

}  // namespace

bool can_ask(World& world) { return world.errors_to_a_terminal || ::isatty(world.in()) == 1; }

Result<bool> ask_yes(World& world, std::string_view prompt) {
  constexpr const char* kDoing = "asking at the terminal";
  if (!can_ask(world)) return failure(kDoing, "no terminal");
  world.flush();
  const int terminal = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (terminal < 0) return failure(kDoing, std::strerror(errno));
  std::optional<std::string> line;
  if (say(terminal, prompt)) line = read_line(terminal);
  ::close(terminal);
  if (!line) return failure(kDoing, "no line was typed");
  return *line == "y" || *line == "yes";
}

Result<std::string> ask_secret(World& world, std::string_view prompt) {
  constexpr const char* kDoing = "asking at the terminal";
  if (!can_ask(world)) return failure(kDoing, "no terminal");
  world.flush();
  const int terminal = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (terminal < 0) return failure(kDoing, std::strerror(errno));
  std::optional<std::string> line;
  {
    const Hidden hidden(terminal);
    if (hidden.works() && say(terminal, prompt)) {
      line = read_line(terminal);
      say(terminal, "\n");
    }
  }
  ::close(terminal);
  if (!line) return failure(kDoing, "no line was typed");
  return std::move(*line);
}

std::optional<WindowSize> window_size(World& world) {
  winsize size = {};
  if (::isatty(world.out()) != 1 || ::ioctl(world.out(), TIOCGWINSZ, &size) != 0) return std::nullopt;
  WindowSize out;
  if (size.ws_col > 0) out.columns = size.ws_col;
  if (size.ws_row > 0) out.rows = size.ws_row;
  return out;
}

Screen::Screen(World& world) : world_(world) {
  if (::tcgetattr(world_.in(), &before_) == 0) {
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keys.c_cc[VMIN] = 0;
    keys.c_cc[VTIME] = 0;
    keys_changed_ = ::tcsetattr(world_.in(), TCSAFLUSH, &keys) == 0;
  }
  world_.print("\x1b[?1049h\x1b[?25l");
  world_.flush();
}

Screen::~Screen() {
  world_.print("\x1b[?25h\x1b[?1049l");
  world_.flush();
  if (keys_changed_) ::tcsetattr(world_.in(), TCSAFLUSH, &before_);
}

void Screen::show(std::string_view text) {
  std::string out = "\x1b[H";
  for (const char c : text) {
    if (c == '\n') out += "\x1b[K\r\n";  // what stood behind a shorter line goes
    else out.push_back(c);
  }
  world_.print(out + "\x1b[K\x1b[J");
  world_.flush();
}

}  // namespace baton::cli
