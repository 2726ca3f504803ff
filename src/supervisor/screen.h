// SPDX-License-Identifier: Apache-2.0
// What `baton run` shows: the agent's output as it comes, and on a terminal one line at the bottom that says how it stands.
//
// Nothing here waits for whoever reads: what they do not take is kept, and is_full() says that the agent is to be read no further, so that
// a reader who stops does not stop the supervision. Everything on the context's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <string>
#include <string_view>

namespace baton::supervisor {

class Screen {
 public:
  // `terminal`: `err` is one, and the status line is shown. `drained` is called when is_full() was true and is no longer.
  Screen(boost::asio::io_context& context, int out, int err, bool terminal);
  ~Screen();

  void output(std::string_view bytes);  // as it is, to `out`
  void error(std::string_view bytes);   // to `err`
  void status(std::string line);        // replaces the one that is shown; empty: none
  bool is_full() const { return out_.waiting.size() + err_.waiting.size() > kFullBytes; }
  void on_drained(std::function<void()> drained) { drained_ = std::move(drained); }
  // Waits, at last, for what is left; as long as somebody reads, and at most some seconds.
  void flush();

 private:
  static constexpr std::size_t kFullBytes = 1u << 20;
  struct Pipe {
    int descriptor;
    std::string waiting = {};
    bool broken = false, at_line_start = true;
  };
  void put(Pipe& pipe, std::string_view bytes);
  void pump(Pipe& pipe);
  void pump_later();
  void hide();
  void show();

  Pipe out_, err_;
  const bool terminal_;
  std::string status_;
  bool shown_ = false, waits_ = false, was_full_ = false;
  std::function<void()> drained_;
  boost::asio::steady_timer timer_;
};

}  // namespace baton::supervisor
