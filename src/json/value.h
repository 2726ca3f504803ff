// SPDX-License-Identifier: Apache-2.0
// A JSON value that is being built: for what Baton writes. What Baton reads is a Document (json/document.h).
//
// Members keep the order they were added in; a number keeps its text.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "json/document.h"

namespace baton::json {

class Value {
 public:
  struct Number {
    std::string text;
    bool operator==(const Number&) const = default;
  };
  using Array = std::vector<Value>;
  using Object = std::vector<std::pair<std::string, Value>>;

  Value() : data_(nullptr) {}
  Value(std::nullptr_t) : data_(nullptr) {}
  Value(bool value) : data_(value) {}
  Value(std::string value) : data_(std::move(value)) {}
  Value(std::string_view value) : data_(std::string(value)) {}
  Value(const char* value) : data_(std::string(value)) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Value(T value) : data_(Number{std::to_string(value)}) {}
  Value(Array value) : data_(std::move(value)) {}
  Value(Object value) : data_(std::move(value)) {}

  static Value array() { return Value(Array{}); }
  static Value object() { return Value(Object{}); }
  static Value number(std::string text) { return Value(Data(Number{std::move(text)})); }
  // A copy of a node and everything in it.
  static Value copy(Node node);

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is_null() const { return kind() == Kind::Null; }
  bool is_string() const { return kind() == Kind::String; }
  bool is_array() const { return kind() == Kind::Array; }
  bool is_object() const { return kind() == Kind::Object; }

  const std::string& string() const { return std::get<std::string>(data_); }
  const std::string& number_text() const { return std::get<Number>(data_).text; }
  bool boolean() const { return std::get<bool>(data_); }
  Array& elements() { return std::get<Array>(data_); }
  const Array& elements() const { return std::get<Array>(data_); }
  Object& members() { return std::get<Object>(data_); }
  const Object& members() const { return std::get<Object>(data_); }

  // The member called `name`, or null when there is none or this is not an object.
  Value* find(std::string_view name);
  const Value* find(std::string_view name) const;
  // Sets a member of this object: replaces the one of that name, or adds it last.
  Value& set(std::string_view name, Value value);
  void erase(std::string_view name);
  void push(Value value) { elements().push_back(std::move(value)); }

  // By JSON Pointer. `set_at` makes the objects on the way; false when something that is no container stands in it, or
  // an array position is not one of the array's (its end, or `-`, appends).
  const Value* find_at(std::string_view pointer) const;
  bool set_at(std::string_view pointer, Value value);

  // Deep equality as in json::equal: member order does not count, 1 equals 1.0.
  friend bool equal(const Value& left, const Value& right);

 private:
  using Data = std::variant<std::nullptr_t, bool, Number, std::string, Array, Object>;
  explicit Value(Data data) : data_(std::move(data)) {}

  Data data_;
};

bool equal(const Value& left, const Value& right);

// Compact: no white space. Pretty: two blanks a level. Members in their own order.
std::string write(const Value& value);
std::string write_pretty(const Value& value);
std::string write(Node node);

}  // namespace baton::json
