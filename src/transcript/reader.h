// SPDX-License-Identifier: Apache-2.0
// What an agent printed, read as it comes: plain text, or JSON lines of a coding agent.
//
// In a structured stream only what the model itself wrote counts, and of that the last message; tool results, user and
// system lines never do. Known events:
//   Claude Code  {"type":"result","result":TEXT}
//                {"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":TEXT}]}}  (no subagent's)
//   Codex        {"type":"item.completed","item":{"type":"agent_message","text":TEXT}}
//                {"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"text":TEXT}]}}
//                {"type":"event_msg","payload":{"type":"agent_message","message":TEXT}}
//
// Nothing is kept: a message's text is handed on while its line is still arriving, and only at the end of the line is it
// known whether it was one. Memory is bounded, time linear.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "json/incremental.h"

namespace baton::transcript {

class Listener {
 public:
  virtual ~Listener() = default;
  // Every byte, as it came.
  virtual void raw(std::string_view bytes) = 0;
  // A message may have begun: forget what an earlier one that did not end handed on.
  virtual void message_begin() = 0;
  virtual void message_text(std::string_view text) = 0;
  // It was one, and it is the newest. `position` is that of its line's end among all bytes.
  virtual void message_end(std::size_t position) = 0;
};

class Reader {
 public:
  explicit Reader(Listener& listener) : listener_(listener) {}

  void feed(std::string_view bytes);
  void end();

 private:
  // The places of an event that matter.
  enum class Slot : std::uint8_t { None, Type, ItemType, PayloadType, Role, PayloadRole, ParentToolUseId, IsSidechain };
  enum class Channel : std::uint8_t { None, Result, ItemText, MessageText, PayloadText, PayloadMessage };

  void feed_events(std::string_view bytes);
  void begin_event();
  void take(char c);
  void take_text(std::string_view plain);
  void string_began();
  void string_ended();
  void event_ended();
  bool is_message() const;
  std::string path() const;

  Listener& listener_;
  enum class In { LineStart, Plain, Event, Tail } in_ = In::LineStart;
  std::size_t position_ = 0;  // bytes read so far
  bool ambiguous_ = false;    // a member that matters came twice: nobody's event
  json::Tracker tracker_;
  json::Unescaper unescaper_;
  std::string unescaped_;
  std::vector<std::string> keys_;  // the key each open object is at, for the outer few
  std::string key_;                // being read
  std::string scalar_;             // being read, for slots
  bool reads_key_ = false;
  Slot slot_ = Slot::None;
  Channel channel_ = Channel::None;  // the string being read
  Channel event_channel_ = Channel::None;
  std::array<std::string, 8> slots_;
};

}  // namespace baton::transcript
