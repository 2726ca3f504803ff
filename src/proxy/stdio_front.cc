// SPDX-License-Identifier: Apache-2.0
#include "proxy/stdio_front.h"

#include <boost/asio/post.hpp>

namespace baton::proxy {

StdioFront::StdioFront(Shared& shared, Descriptor in, Descriptor out, std::function<void(const std::string&)> ended)
    : shared_(shared), ended_(std::move(ended)) {
  writer_ = std::make_unique<net::LineWriter>(
      shared.context, std::move(out), net::LineWriterOptions{},
      net::LineWriterEvents{.on_drained = [this] { driver_->front_drained(); },
                            // Nobody reads: there is nobody to answer.
                            .on_failed = [this](const Failure&) { driver_->client_gone(); }});
  driver_ = Driver::make(shared, *this);
  reader_ = std::make_unique<net::LineReader>(
      shared.context, std::move(in), shared.options.client_bytes_max,
      net::LineReaderEvents{.on_line = [this](std::string bytes) { line(std::move(bytes)); },
                            .on_long_line =
                                [this](const net::LongLine& one) {
                                  driver_->oversized_from_client(kStream, one.head, one.tail);
                                  look_at_driver();
                                },
                            .on_end = [this](const std::optional<Failure>&) { driver_->client_done(); }});
}

void StdioFront::line(std::string bytes) {
  if (!bytes.empty() && bytes.back() == '\r') bytes.pop_back();
  if (bytes.empty()) return;
  driver_->from_client(kStream, std::move(bytes));
  look_at_driver();
}

void StdioFront::look_at_driver() {
  if (driver_->is_full()) reader_->pause();
}

void StdioFront::server_drained() {
  if (reader_ && reader_->is_paused()) reader_->resume();
}

void StdioFront::to_client(mcp::ToClient message) {
  // What does not fit behind all that waits belongs to a client that does not read.
  if (!writer_->write(std::move(message.bytes))) shared_.report("the client does not read what it is sent");
}

void StdioFront::ended(const std::string& why) {
  why_ = why;
  reader_->close();
  // What waits for a client that does not read waits for ever: it had until now.
  boost::asio::post(shared_.context, [this] { ended_(why_); });
}

}  // namespace baton::proxy
