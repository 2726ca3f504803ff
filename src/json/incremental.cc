// SPDX-License-Identifier: Apache-2.0
#include "json/incremental.h"

#include "base/limits.h"
#include "base/text.h"
#include "json/scan.h"

namespace baton::json {
namespace {

bool is_white_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// What numbers and literals are made of; json/parse.h judges them.
bool is_scalar_byte(char c) { return is_alphanumeric(c) || c == '-' || c == '+' || c == '.'; }

}  // namespace

void Tracker::reset() {
  open_.clear();
  expect_ = Expect::Value;
  state_ = State::Open;
  event_ = Event::None;
  string_is_key_ = false;
}

std::size_t Tracker::plain_prefix(std::string_view bytes) const {
  return expect_ == Expect::String ? find_string_special(bytes, 0) : 0;
}

void Tracker::take(char c) {
  event_ = Event::None;
  switch (expect_) {
    case Expect::String:
      if (c == '"') {
        event_ = Event::EndedString;
        if (string_is_key_) expect_ = Expect::Colon;
        else value_ended();
      } else if (c == '\\') {
        expect_ = Expect::Escape;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        broken();
      }
      return;
    case Expect::Escape:
      if (c == 'u') {
        expect_ = Expect::Hex;
        hex_left_ = 4;
      } else if (std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos) {
        expect_ = Expect::String;
      } else {
        broken();
      }
      return;
    case Expect::Hex:
      if (hex_value(c) < 0) broken();
      else if (--hex_left_ == 0) expect_ = Expect::String;
      return;
    case Expect::Scalar:
      if (is_scalar_byte(c)) return;
      value_ended();
      if (state_ == State::Open) take(c);
      return;
    default: break;
  }
  if (is_white_space(c)) return;
  switch (expect_) {
    case Expect::Value: begin_value(c); return;
    case Expect::ValueOrEnd:
      if (c == ']') close('[');
      else begin_value(c);
      return;
    case Expect::KeyOrEnd:
      if (c == '}') {
        close('{');
        return;
      }
      [[fallthrough]];
    case Expect::Key:
      if (c != '"') {
        broken();
        return;
      }
      string_is_key_ = true;
      expect_ = Expect::String;
      event_ = Event::BeganString;
      return;
    case Expect::Colon:
      if (c == ':') expect_ = Expect::Value;
      else broken();
      return;
    case Expect::CommaOrEnd: after_value(c); return;
    default: return;
  }
}

void Tracker::begin_value(char c) {
  if ((c == '{' || c == '[') && open_.size() >= limits::kJsonTrackedDepthMax) {
    broken();
  } else if (c == '{') {
    open_.push_back('{');
    expect_ = Expect::KeyOrEnd;
    event_ = Event::OpenedObject;
  } else if (c == '[') {
    open_.push_back('[');
    expect_ = Expect::ValueOrEnd;
  } else if (c == '"') {
    string_is_key_ = false;
    expect_ = Expect::String;
    event_ = Event::BeganString;
  } else if (c == '-' || is_digit(c) || c == 't' || c == 'f' || c == 'n') {
    expect_ = Expect::Scalar;
    event_ = Event::BeganScalar;
  } else {
    broken();
  }
}

void Tracker::after_value(char c) {
  if (c == ',') expect_ = open_.back() == '{' ? Expect::Key : Expect::Value;
  else if (c == '}') close('{');
  else if (c == ']') close('[');
  else broken();
}

void Tracker::value_ended() {
  if (open_.empty()) state_ = State::Complete;
  else expect_ = Expect::CommaOrEnd;
}

void Tracker::close(char open) {
  if (open_.empty() || open_.back() != open) {
    broken();
    return;
  }
  open_.pop_back();
  event_ = Event::Closed;
  value_ended();
}

void Unescaper::reset() { *this = Unescaper(); }

void Unescaper::take(char c, std::string& out) {
  switch (in_) {
    case In::Plain:
      if (c == '\\') {
        in_ = In::Escape;
        return;
      }
      if (high_ != 0) unit(0xfffd, out);
      out.push_back(c);
      return;
    case In::Escape: {
      if (c == 'u') {
        in_ = In::Hex;
        hex_left_ = 4;
        value_ = 0;
        return;
      }
      in_ = In::Plain;
      if (high_ != 0) unit(0xfffd, out);
      static constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
      const std::size_t at = kEscapes.find(c);
      if (at != std::string_view::npos) out.push_back(kMeanings[at]);
      else append_utf8(out, 0xfffd);
      return;
    }
    case In::Hex: {
      const int digit = hex_value(c);
      value_ = value_ << 4 | static_cast<char32_t>(digit < 0 ? 0 : digit);
      if (--hex_left_ != 0) return;
      in_ = In::Plain;
      unit(value_, out);
      return;
    }
  }
}

// One UTF-16 unit of an escape.
void Unescaper::unit(char32_t value, std::string& out) {
  const bool low = value >= 0xdc00 && value <= 0xdfff;
  if (high_ != 0) {
    const char32_t high = high_;
    high_ = 0;
    if (low) {
      append_utf8(out, 0x10000 + ((high - 0xd800) << 10) + (value - 0xdc00));
      return;
    }
    append_utf8(out, 0xfffd);
    if (value == 0xfffd) return;
  }
  if (value >= 0xd800 && value <= 0xdbff) high_ = value;
  else append_utf8(out, low ? 0xfffd : value);
}

}  // namespace baton::json
