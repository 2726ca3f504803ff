// SPDX-License-Identifier: Apache-2.0
#include "json/value.h"

#include <optional>

#include "base/check.h"
#include "base/text.h"
#include "json/canonical.h"
#include "json/decimal.h"
#include "json/pointer.h"

namespace baton::json {
namespace {

// Where a token points in an array: at an element, or just past the last one.
std::optional<std::size_t> position_in(const Value::Array& array, const std::string& token) {
  return token == "-" ? array.size() : array_position(token);
}

// Layout: compact when indent is negative, else the depth the value stands at.
void append(std::string& out, const Value& value, int indent) {
  const auto new_line = [&](int depth) {
    if (indent < 0) return;
    out.push_back('\n');
    out.append(static_cast<std::size_t>(depth) * 2, ' ');
  };
  const int inner = indent < 0 ? -1 : indent + 1;
  switch (value.kind()) {
    case Kind::Null: out += "null"; return;
    case Kind::Boolean: out += value.boolean() ? "true" : "false"; return;
    case Kind::Number: out += value.number_text(); return;
    case Kind::String: append_canonical_string(out, value.string()); return;
    case Kind::Array: {
      out.push_back('[');
      bool first = true;
      for (const Value& element : value.elements()) {
        if (!first) out.push_back(',');
        first = false;
        new_line(inner);
        append(out, element, inner);
      }
      if (!first) new_line(indent);
      out.push_back(']');
      return;
    }
    case Kind::Object: {
      out.push_back('{');
      bool first = true;
      for (const auto& [name, member] : value.members()) {
        if (!first) out.push_back(',');
        first = false;
        new_line(inner);
        append_canonical_string(out, name);
        out += indent < 0 ? ":" : ": ";
        append(out, member, inner);
      }
      if (!first) new_line(indent);
      out.push_back('}');
      return;
    }
  }
  CHECK(false);
}

}  // namespace

Value Value::copy(Node node) {
  switch (node.kind()) {
    case Kind::Null: return nullptr;
    case Kind::Boolean: return node.boolean();
    case Kind::Number: return number(std::string(node.number_text()));
    case Kind::String: return node.string();
    case Kind::Array: {
      Array array;
      array.reserve(node.size());
      for (const Node element : node.elements()) array.push_back(copy(element));
      return array;
    }
    case Kind::Object: {
      Object object;
      object.reserve(node.size());
      for (const Member member : node.members()) object.emplace_back(member.name(), copy(member.value));
      return object;
    }
  }
  CHECK(false);
}

const Value* Value::find(std::string_view name) const {
  if (!is_object()) return nullptr;
  for (const auto& [key, value] : members())
    if (key == name) return &value;
  return nullptr;
}

Value* Value::find(std::string_view name) { return const_cast<Value*>(std::as_const(*this).find(name)); }

Value& Value::set(std::string_view name, Value value) {
  if (Value* present = find(name)) return *present = std::move(value);
  return members().emplace_back(std::string(name), std::move(value)).second;
}

void Value::erase(std::string_view name) {
  std::erase_if(members(), [&](const auto& member) { return member.first == name; });
}

const Value* Value::find_at(std::string_view pointer) const {
  const auto tokens = split_pointer(pointer);
  if (!tokens) return nullptr;
  const Value* at = this;
  for (const std::string& token : *tokens) {
    if (at->is_object()) {
      at = at->find(token);
    } else if (at->is_array()) {
      const auto position = position_in(at->elements(), token);
      at = position && *position < at->elements().size() ? &at->elements()[*position] : nullptr;
    } else {
      return nullptr;
    }
    if (at == nullptr) return nullptr;
  }
  return at;
}

bool Value::set_at(std::string_view pointer, Value value) {
  const auto tokens = split_pointer(pointer);
  if (!tokens) return false;
  Value* at = this;
  for (const std::string& token : *tokens) {
    if (at->is_array()) {
      const auto position = position_in(at->elements(), token);
      if (!position || *position > at->elements().size()) return false;
      if (*position == at->elements().size()) at->push(Value::object());
      at = &at->elements()[*position];
    } else if (at->is_object()) {
      Value* member = at->find(token);
      at = member != nullptr ? member : &at->set(token, Value::object());
    } else {
      return false;
    }
  }
  *at = std::move(value);
  return true;
}

bool equal(const Value& left, const Value& right) {
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case Kind::Null: return true;
    case Kind::Boolean: return left.boolean() == right.boolean();
    case Kind::Number: return same_number(left.number_text(), right.number_text());
    case Kind::String: return left.string() == right.string();
    case Kind::Array: {
      const auto &a = left.elements(), &b = right.elements();
      if (a.size() != b.size()) return false;
      for (std::size_t i = 0; i < a.size(); ++i)
        if (!equal(a[i], b[i])) return false;
      return true;
    }
    case Kind::Object: {
      if (left.members().size() != right.members().size()) return false;
      for (const auto& [name, value] : left.members()) {
        const Value* other = right.find(name);
        if (other == nullptr || !equal(value, *other)) return false;
      }
      return true;
    }
  }
  CHECK(false);
}

std::string write(const Value& value) {
  std::string out;
  append(out, value, -1);
  return out;
}

std::string write_pretty(const Value& value) {
  std::string out;
  append(out, value, 0);
  return out;
}

std::string write(Node node) { return write(Value::copy(node)); }

}  // namespace baton::json
