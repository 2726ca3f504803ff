// SPDX-License-Identifier: Apache-2.0
// The client on our stdin and stdout, one message a line. There is one conversation, and the process ends with it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/descriptor.h"
#include "net/line_pipe.h"
#include "proxy/driver.h"

namespace baton::proxy {

class StdioFront final : public Front {
 public:
  // `ended` is called once, from the loop: the conversation is over, and what was to be written has been, or cannot be.
  StdioFront(Shared& shared, Descriptor in, Descriptor out, std::function<void(const std::string& why)> ended);

  // The process is to end (a signal).
  void stop() { driver_->client_gone(); }

  void to_client(mcp::ToClient message) override;
  void accepted(mcp::Stream) override {}
  void ended(const std::string& why) override;
  bool is_full() const override { return writer_->is_full(); }
  void server_drained() override;

 private:
  static constexpr mcp::Stream kStream = 1;

  void line(std::string bytes);
  void look_at_driver();

  Shared& shared_;
  std::function<void(const std::string&)> ended_;
  std::unique_ptr<net::LineWriter> writer_;
  std::shared_ptr<Driver> driver_;
  std::unique_ptr<net::LineReader> reader_;
  std::string why_;
};

}  // namespace baton::proxy
