// SPDX-License-Identifier: Apache-2.0
#include "proxy/replay.h"

#include <charconv>

#include "net/sse.h"

namespace baton::proxy {
namespace {

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

std::string id_text(std::uint64_t stream, std::uint64_t number) {
  return std::to_string(stream) + "-" + std::to_string(number);
}

}  // namespace

std::optional<EventId> parse_event_id(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto stream = number_of(text.substr(0, dash)), number = number_of(text.substr(dash + 1));
  if (!stream || !number) return std::nullopt;
  return EventId{*stream, *number};
}

Replay::Bytes Replay::priming(std::int64_t retry_ms) const {
  return std::make_shared<const std::string>("id: " + id_text(stream_, newest_) +
                                             "\nretry: " + std::to_string(retry_ms) + "\ndata: \n\n");
}

Replay::Bytes Replay::add(std::string_view message, bool last) {
  auto bytes = std::make_shared<const std::string>(net::sse_event(id_text(stream_, ++newest_), "message", message));
  if (bytes->size() > bytes_max_) {
    last_is_lost_ = last;
    return bytes;
  }
  events_.push_back({newest_, bytes});
  bytes_ += bytes->size();
  while (events_.size() > events_max_ || bytes_ > bytes_max_) {
    bytes_ -= events_.front().bytes->size();
    events_.pop_front();
  }
  return bytes;
}

std::vector<Replay::Bytes> Replay::after(std::uint64_t number) const {
  std::vector<Bytes> found;
  for (const Event& event : events_)
    if (event.number > number) found.push_back(event.bytes);
  return found;
}

}  // namespace baton::proxy
