// SPDX-License-Identifier: Apache-2.0
// The agent's process (net/child.h): started behind a gate, its output read as it comes, its group ended with it. Linux only.
//
// The gate: the process is there, with its id, but the agent does not run in it yet. So the node knows whose process it is before it can do
// anything, and open() lets it begin. If we go before, it never does.
//
// Everything on the context's thread; on_end may destroy the Agent.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/child.h"

namespace baton::supervisor {

struct AgentEvents {
  std::function<void(std::string_view bytes)> on_output;   // of its stdout
  std::function<void(std::string_view line)> on_error;     // of its stderr, without the line feed
  std::function<void(const net::ChildExit& exit)> on_end;  // once, after all its output
};

class Agent {
 public:
  static Result<std::unique_ptr<Agent>> start(boost::asio::io_context& context, std::vector<std::string> argv,
                                              std::vector<std::string> environment, const std::string& folder,
                                              AgentEvents events);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  pid_t pid() const;
  // It begins, with `input` on its stdin and nothing behind it.
  void open(std::string input);
  // SIGTERM to its group at once, SIGKILL after the grace.
  void end(std::chrono::milliseconds grace);
  void kill();
  // Its output is not read until resume(): whoever shows it is behind.
  void pause();
  void resume();

 private:
  class State;
  explicit Agent(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace baton::supervisor
