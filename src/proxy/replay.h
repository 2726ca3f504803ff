// SPDX-License-Identifier: Apache-2.0
// The newest events of one stream of server-sent events, for a client that comes back to it. Pure.
//
// An event's id is `STREAM-NUMBER`: it names the stream, so that nobody is ever given another one's messages, and the place in it.
// What is kept is bounded by count and by bytes; the oldest goes first. A client that was away for so long gets what there still
// is: of notices it may miss some. An answer that was too large to be kept is told to be lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton::proxy {

struct EventId {
  std::uint64_t stream = 0;
  std::uint64_t number = 0;
};
std::optional<EventId> parse_event_id(std::string_view text);

class Replay {
 public:
  using Bytes = std::shared_ptr<const std::string>;

  Replay(std::uint64_t stream, std::size_t events_max, std::size_t bytes_max)
      : stream_(stream), events_max_(events_max), bytes_max_(bytes_max) {}

  // The event that a stream begins with: an id to come back with, and no message. `retry_ms`: when to come back.
  Bytes priming(std::int64_t retry_ms) const;
  // The next event, with its id; kept from here on. `last`: nothing comes after it.
  Bytes add(std::string_view message, bool last);

  // All that is kept of what came after that event.
  std::vector<Bytes> after(std::uint64_t number) const;
  std::uint64_t newest() const { return newest_; }  // 0: none yet
  std::size_t bytes() const { return bytes_; }
  // The last event was added, and was not kept.
  bool last_is_lost() const { return last_is_lost_; }

 private:
  struct Event {
    std::uint64_t number;
    Bytes bytes;
  };

  std::uint64_t stream_, newest_ = 0;
  std::size_t events_max_, bytes_max_, bytes_ = 0;
  bool last_is_lost_ = false;
  std::deque<Event> events_;
};

}  // namespace baton::proxy
