// SPDX-License-Identifier: Apache-2.0
#include "transcript/reader.h"

#include <algorithm>

namespace baton::transcript {
namespace {

// Deeper than any place that matters; a key longer than this is none that matters.
constexpr std::size_t kDepthWatched = 5;
constexpr std::size_t kKeyBytesKept = 32;
constexpr std::size_t kSlotBytesKept = 64;

bool is_blank_byte(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace

void Reader::feed(std::string_view bytes) {
  listener_.raw(bytes);
  feed_events(bytes);
}

void Reader::feed_events(std::string_view bytes) {
  while (!bytes.empty()) {
    std::size_t taken = 1;
    const char c = bytes.front();
    if (in_ == In::LineStart) {
      if (c == '{') begin_event();
      else if (!is_blank_byte(c) && c != '\n') in_ = In::Plain;
    } else if (in_ == In::Plain) {
      const std::size_t end = bytes.find('\n');
      taken = end == std::string_view::npos ? bytes.size() : end + 1;
      if (end != std::string_view::npos) in_ = In::LineStart;
    } else if (in_ == In::Tail) {
      if (c == '\n') event_ended();
      else if (!is_blank_byte(c)) in_ = In::Plain;
    } else if (const std::size_t plain = tracker_.plain_prefix(bytes); plain > 0) {
      take_text(bytes.substr(0, plain));
      taken = plain;
    } else {
      take(c);
    }
    position_ += taken;
    bytes.remove_prefix(taken);
  }
}

void Reader::begin_event() {
  in_ = In::Event;
  tracker_.reset();
  keys_.clear();
  slots_.fill({});
  slot_ = Slot::None;
  channel_ = event_channel_ = Channel::None;
  reads_key_ = ambiguous_ = false;
  take('{');
}

void Reader::take(char c) {
  const bool was_string = tracker_.in_string();
  tracker_.take(c);
  if (tracker_.state() == json::Tracker::State::Broken) {
    in_ = c == '\n' ? In::LineStart : In::Plain;
    return;
  }
  if (tracker_.depth() <= kDepthWatched) keys_.resize(tracker_.depth());
  if (tracker_.began_string()) {
    string_began();
  } else if (tracker_.ended_string()) {
    string_ended();
  } else if (was_string) {
    take_text(std::string_view(&c, 1));
  } else if (tracker_.began_scalar() && tracker_.depth() <= kDepthWatched) {
    // Of numbers and literals only "not null" and "true" matter, and their first letter tells.
    const std::string at = path();
    if (at == "/parent_tool_use_id") slots_[static_cast<std::size_t>(Slot::ParentToolUseId)] = c == 'n' ? "" : "set";
    if (at == "/isSidechain") slots_[static_cast<std::size_t>(Slot::IsSidechain)] = c == 't' ? "set" : "";
  }
  if (tracker_.state() == json::Tracker::State::Complete) in_ = In::Tail;
}

// A stretch of the string being read, as it stands: escapes are resolved before it goes anywhere.
void Reader::take_text(std::string_view raw) {
  if (!reads_key_ && slot_ == Slot::None && channel_ == Channel::None) return;
  unescaped_.clear();
  for (const char c : raw) unescaper_.take(c, unescaped_);
  if (reads_key_) {
    if (key_.size() <= kKeyBytesKept) key_.append(unescaped_, 0, kKeyBytesKept + 1);
  } else if (slot_ != Slot::None) {
    if (scalar_.size() <= kSlotBytesKept) scalar_.append(unescaped_, 0, kSlotBytesKept + 1);
  } else if (!unescaped_.empty()) {
    listener_.message_text(unescaped_);
  }
}

// The place of the value that begins now: keys of the open objects, `*` for an array.
std::string Reader::path() const {
  std::string out;
  for (const std::string& key : keys_) out += "/" + (key.empty() ? "*" : key);
  return out;
}

void Reader::string_began() {
  slot_ = Slot::None;
  channel_ = Channel::None;
  unescaper_.reset();
  reads_key_ = tracker_.is_key() && tracker_.depth() <= kDepthWatched;
  if (tracker_.is_key()) {
    key_.clear();
    return;
  }
  if (tracker_.depth() > kDepthWatched) return;
  const std::string at = path();
  static constexpr std::array<std::pair<std::string_view, Slot>, 6> kSlots = {{
      {"/type", Slot::Type},
      {"/item/type", Slot::ItemType},
      {"/payload/type", Slot::PayloadType},
      {"/message/role", Slot::Role},
      {"/payload/role", Slot::PayloadRole},
      {"/parent_tool_use_id", Slot::ParentToolUseId},
  }};
  static constexpr std::array<std::pair<std::string_view, Channel>, 5> kChannels = {{
      {"/result", Channel::Result},
      {"/item/text", Channel::ItemText},
      {"/message/content/*/text", Channel::MessageText},
      {"/payload/content/*/text", Channel::PayloadText},
      {"/payload/message", Channel::PayloadMessage},
  }};
  for (const auto& [place, slot] : kSlots)
    if (at == place) slot_ = slot;
  for (const auto& [place, channel] : kChannels)
    if (at == place) channel_ = channel;
  scalar_.clear();
  if (slot_ != Slot::None) ambiguous_ |= !slots_[static_cast<std::size_t>(slot_)].empty();
  if (channel_ == Channel::None) return;
  const bool in_list = channel_ == Channel::MessageText || channel_ == Channel::PayloadText;
  ambiguous_ |= channel_ == event_channel_ && !in_list;
  if (channel_ != event_channel_) listener_.message_begin();
  else listener_.message_text("\n");  // the next block of the same message begins on a line of its own
  event_channel_ = channel_;
}

void Reader::string_ended() {
  reads_key_ = false;
  if (tracker_.is_key()) {
    if (tracker_.depth() <= kDepthWatched && !keys_.empty()) keys_.back() = key_.size() <= kKeyBytesKept ? key_ : "?";
    return;
  }
  if (slot_ == Slot::ParentToolUseId) scalar_ = "set";
  if (slot_ != Slot::None) slots_[static_cast<std::size_t>(slot_)] = scalar_;
  slot_ = Slot::None;
  channel_ = Channel::None;
}

bool Reader::is_message() const {
  const auto slot = [&](Slot which) -> const std::string& { return slots_[static_cast<std::size_t>(which)]; };
  if (ambiguous_) return false;
  switch (event_channel_) {
    case Channel::None: return false;
    case Channel::Result: return slot(Slot::Type) == "result";
    case Channel::ItemText: return slot(Slot::Type) == "item.completed" && slot(Slot::ItemType) == "agent_message";
    case Channel::MessageText:
      return slot(Slot::Type) == "assistant" && (slot(Slot::Role).empty() || slot(Slot::Role) == "assistant") &&
             slot(Slot::ParentToolUseId).empty() && slot(Slot::IsSidechain).empty();
    case Channel::PayloadText:
      return slot(Slot::Type) == "response_item" && slot(Slot::PayloadType) == "message" &&
             slot(Slot::PayloadRole) == "assistant";
    case Channel::PayloadMessage: return slot(Slot::Type) == "event_msg" && slot(Slot::PayloadType) == "agent_message";
  }
  return false;
}

void Reader::event_ended() {
  if (is_message()) listener_.message_end(position_);
  in_ = In::LineStart;
}

void Reader::end() {
  if (in_ == In::Tail) event_ended();
  in_ = In::LineStart;
}

}  // namespace baton::transcript
