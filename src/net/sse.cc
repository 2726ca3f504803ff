// SPDX-License-Identifier: Apache-2.0
#include "net/sse.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace baton::net {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string without_line_ends(std::string_view text) {
  std::string out(text);
  std::erase_if(out, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
  return out;
}

}  // namespace

std::vector<SseEvent> SseParser::put(std::string_view bytes) {
  std::vector<SseEvent> events;
  // Where the next line feed is, kept over lines that end in a carriage return; an event may have a single line of 64
  // MiB.
  const char* feed = bytes.data();
  const auto next_feed = [&feed](std::string_view rest) {
    const bool known = feed >= rest.data() && (feed == rest.data() + rest.size() || *feed == '\n');
    if (!known) feed = rest.data() + std::min(rest.find('\n'), rest.size());
    return static_cast<std::size_t>(feed - rest.data());
  };
  while (!bytes.empty() && !too_large_) {
    if (std::exchange(after_cr_, false) && bytes[0] == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const std::string_view until_feed = bytes.substr(0, next_feed(bytes));
    const std::string_view part = until_feed.substr(0, until_feed.find('\r'));
    const std::size_t end = part.size();
    if (line_.size() + part.size() > event_bytes_max_) {
      too_large_ = true;
      break;
    }
    line_ += part;
    if (end == bytes.size()) break;
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    take_line(events);
    line_.clear();
  }
  return events;
}

void SseParser::take_line(std::vector<SseEvent>& events) {
  std::string_view line = line_;
  if (std::exchange(first_line_, false) && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  if (line.empty()) {
    if (has_data_) events.push_back({last_id_, event_.empty() ? "message" : event_, std::move(data_)});
    data_.clear();
    event_.clear();
    has_data_ = false;
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == 0) return;  // a comment
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  take_field(line.substr(0, colon), value);
}

void SseParser::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    if (data_.size() + value.size() + 1 > event_bytes_max_) {
      too_large_ = true;
      return;
    }
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
  } else if (name == "event") {
    event_ = value;
  } else if (name == "id" && value.find('\0') == std::string_view::npos) {
    last_id_ = value;
  } else if (name == "retry" && !value.empty() && value.size() <= 9 && std::ranges::all_of(value, is_digit)) {
    std::int64_t number = 0;
    std::from_chars(value.data(), value.data() + value.size(), number);
    retry_ms_ = number;
  }
}

std::string sse_event(std::string_view id, std::string_view event, std::string_view data) {
  std::string out;
  out.reserve(id.size() + event.size() + data.size() + 32);
  if (!id.empty()) out += "id: " + without_line_ends(id) + "\n";
  if (!event.empty()) out += "event: " + without_line_ends(event) + "\n";
  // A carriage return ends a line as well, alone or before a line feed.
  for (;;) {
    const std::size_t end = data.find_first_of("\r\n");
    out += "data: ";
    out += data.substr(0, end);
    out += '\n';
    if (end == std::string_view::npos) break;
    data.remove_prefix(end + (data.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  out += '\n';
  return out;
}

}  // namespace baton::net
