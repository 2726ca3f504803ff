// SPDX-License-Identifier: Apache-2.0
// Server-sent events: the text format of an event stream, read and written. Pure.
// Format: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"

namespace baton::net {

struct SseEvent {
  std::string id;     // of this event, or the newest before it: where to go on after a break
  std::string event;  // "message" when the stream names none
  std::string data;

  bool operator==(const SseEvent&) const = default;
};

// Takes the bytes in any pieces. Comments (heartbeats) and events without data give nothing; an event that the end of the
// stream cut off gives nothing either.
class SseParser {
 public:
  SseParser() = default;  // up to limits::kSseEventBytesMax
  explicit SseParser(std::size_t event_bytes_max) : event_bytes_max_(event_bytes_max) {}

  // The events that these bytes complete, in their order.
  std::vector<SseEvent> put(std::string_view bytes);
  // Of the newest event; for the Last-Event-ID header of the next request.
  const std::string& last_id() const { return last_id_; }
  // How long the server asks to wait before the next request, in milliseconds.
  std::optional<std::int64_t> retry_ms() const { return retry_ms_; }
  // A line or an event was larger than `event_bytes_max`: the rest is ignored, and the stream is to be left.
  bool too_large() const { return too_large_; }

 private:
  void take_line(std::vector<SseEvent>& events);
  void take_field(std::string_view name, std::string_view value);

  std::size_t event_bytes_max_ = limits::kSseEventBytesMax;
  std::string line_, data_, event_, last_id_;
  std::optional<std::int64_t> retry_ms_;
  bool after_cr_ = false;   // a line feed now belongs to the line before
  bool first_line_ = true;  // may begin with a byte order mark
  bool has_data_ = false;
  bool too_large_ = false;
};

// The bytes of one event. An empty id or event is left out; line ends in either are dropped. Data of several lines stays
// that.
std::string sse_event(std::string_view id, std::string_view event, std::string_view data);

}  // namespace baton::net
