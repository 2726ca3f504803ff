// SPDX-License-Identifier: Apache-2.0
// Following JSON that arrives in pieces, without keeping it.
//
// A Tracker is fed the bytes of one value and says, byte by byte, whether the value is still open, complete or broken.
// It knows the grammar (a key where a key belongs, a comma between members, brackets that match), but leaves the fine
// print (numbers, literals, UTF-8, duplicate keys) to json/parse.h: what it calls broken is broken, what it calls complete
// still has to be parsed. Memory is one byte per open bracket, time one step per byte, and plain stretches of strings are
// skipped at memory speed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace baton::json {

class Tracker {
 public:
  enum class State : std::uint8_t { Open, Complete, Broken };

  void reset();

  // Takes one byte. Only while state() is Open.
  void take(char c);

  // How many bytes at the front of `bytes` are plain text of the string being read (or its white space outside strings
  // is not counted): they can be passed over without calling take. 0 outside a string.
  std::size_t plain_prefix(std::string_view bytes) const;

  State state() const { return state_; }
  std::size_t depth() const { return open_.size(); }
  bool in_string() const { return expect_ == Expect::String || expect_ == Expect::Escape || expect_ == Expect::Hex; }

  // Just after take(): what the byte did.
  bool opened_object() const { return event_ == Event::OpenedObject; }
  bool closed() const { return event_ == Event::Closed; }
  bool began_string() const { return event_ == Event::BeganString; }
  bool ended_string() const { return event_ == Event::EndedString; }
  // Is the string just begun, ended or being read a key?
  bool is_key() const { return string_is_key_; }
  // Is this byte the start of a number or literal?
  bool began_scalar() const { return event_ == Event::BeganScalar; }

 private:
  enum class Expect : std::uint8_t {
    Value,       // a value
    ValueOrEnd,  // just after `[`
    KeyOrEnd,    // just after `{`
    Key,         // after a comma in an object
    Colon,
    CommaOrEnd,
    Scalar,  // inside a number or literal
    String,
    Escape,
    Hex,
  };
  enum class Event : std::uint8_t { None, OpenedObject, Closed, BeganString, EndedString, BeganScalar };

  void begin_value(char c);
  void after_value(char c);
  void value_ended();
  void close(char open);
  void broken() { state_ = State::Broken; }

  std::string open_;  // the open brackets, outermost first
  Expect expect_ = Expect::Value;
  State state_ = State::Open;
  Event event_ = Event::None;
  bool string_is_key_ = false;
  std::uint8_t hex_left_ = 0;
};

// Unescapes the inside of a JSON string that arrives byte by byte. Escapes that make no sense, and half surrogate pairs,
// become U+FFFD: whoever needs exactness parses.
class Unescaper {
 public:
  void reset();
  // Appends to `out` what this byte completes; nothing while an escape is open.
  void take(char c, std::string& out);

 private:
  enum class In : std::uint8_t { Plain, Escape, Hex };
  void unit(char32_t value, std::string& out);

  In in_ = In::Plain;
  std::uint8_t hex_left_ = 0;
  char32_t value_ = 0;
  char32_t high_ = 0;  // a high surrogate waiting for its other half
};

}  // namespace baton::json
