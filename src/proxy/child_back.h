// SPDX-License-Identifier: Apache-2.0
// A server that is a command: started, spoken to line by line on its stdin and stdout, started again when it ends by itself.
//
// It is started again at most kRestartsMax times within kRestartWindow, each time after a longer pause; then it stays away, which is
// reported. Its stderr is no part of the protocol: lines of it go to ours with the server's name in front, at most kStderrLinesMax a
// second; what is left out is counted.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>

#include "net/child.h"
#include "net/line_pipe.h"
#include "proxy/back.h"
#include "proxy/driver.h"

namespace baton::proxy {

class ChildBack final : public Back {
 public:
  static constexpr std::size_t kRestartsMax = 3;
  static constexpr std::chrono::milliseconds kRestartWindow{60'000};
  static constexpr std::chrono::milliseconds kFirstPause{200};
  static constexpr std::size_t kStderrLinesMax = 200;
  // Between the end of its stdin and SIGTERM, and then SIGKILL: clients give a server, which we are to them, two seconds in all.
  static constexpr std::chrono::milliseconds kBeforeTerm{800}, kBeforeKill{700};

  ChildBack(Shared& shared, const ServerOptions& options, std::size_t server, BackListener& listener);
  ~ChildBack() override;

  void start() override;
  void send(mcp::ToServer message) override;
  void withdraw(mcp::Withdraw request) override;
  void end() override;
  void pause() override;
  void resume() override;
  bool is_full() const override;

 private:
  void run();
  void write(std::string bytes);
  void line(std::string bytes);
  void exited(const net::ChildExit& exit);
  void lost(std::string why);
  void complain(std::string_view line);
  void later(std::function<void()> what);

  Shared& shared_;
  const ServerOptions& options_;
  const std::size_t server_;
  BackListener& listener_;
  std::unique_ptr<net::Child> child_;
  std::unique_ptr<net::LineReader> reader_;
  std::unique_ptr<net::LineWriter> writer_;
  boost::asio::steady_timer pause_;
  std::deque<std::int64_t> restarts_;  // when, in milliseconds
  bool ending_ = false, paused_ = false, was_full_ = false;
  std::string broken_;  // why it is being killed
  std::int64_t stderr_second_ = 0;
  std::size_t stderr_lines_ = 0, stderr_dropped_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace baton::proxy
