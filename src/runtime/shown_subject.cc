// SPDX-License-Identifier: Apache-2.0
#include "runtime/shown_subject.h"

#include <algorithm>
#include <array>
#include <functional>

#include "base/look_alikes.h"
#include "base/text.h"
#include "json/pointer.h"
#include "secrets/mark.h"

namespace baton::runtime {
namespace {

using json::Kind;
using json::Value;

// The digests and ids of a subject, which look random and are Baton's own.
constexpr std::array<std::string_view, 3> kOwn = {"session", "arguments_sha256", "contract"};

void mark_in(Value& value, std::string_view name, std::size_t& hidden) {
  switch (value.kind()) {
    case Kind::String: {
      std::size_t found = 0;
      std::string text = secrets::marked(name, value.string(), found);
      if (found > 0) value = Value(std::move(text));
      hidden += found;
      return;
    }
    case Kind::Array:
      for (Value& element : value.elements()) mark_in(element, name, hidden);
      return;
    case Kind::Object:
      for (auto& [member, inner] : value.members()) mark_in(inner, member, hidden);
      return;
    default: return;
  }
}

bool is_executed(std::string_view name, std::string_view executed) {
  return (!executed.empty() && name == executed) || is_executed_name(name);
}

// The whole value is one mark, or one behind the name of a scheme (`Bearer`).
bool is_one_mark(std::string_view text) {
  for (const std::string_view scheme : {"Bearer ", "Basic ", "Token ", "ApiKey ", "bearer ", "basic ", "token "})
    if (text.starts_with(scheme)) {
      text.remove_prefix(scheme.size());
      break;
    }
  return text.starts_with(secrets::kMark) && text.ends_with(']') && text.find(']') == text.size() - 1 &&
         !text.ends_with("with structure]");
}

bool is_blob(const Value& value) {
  const Value* blob = value.is_object() && value.members().size() == 1 ? value.find("blob") : nullptr;
  return blob != nullptr && blob->is_object() && blob->find("sha256") != nullptr && blob->find("bytes") != nullptr;
}

class Look {
 public:
  explicit Look(std::string_view executed) : executed_(executed) {}

  void at(const Value& value, std::string_view name, bool is_run, bool in_list) {
    switch (value.kind()) {
      case Kind::String: return look(value.string(), is_run, in_list);
      case Kind::Array:
        for (std::size_t i = 0; i < value.elements().size(); ++i)
          within(std::to_string(i), [&] { at(value.elements()[i], name, is_run, true); });
        return;
      case Kind::Object:
        if (is_blob(value)) return add("is too long to be shown whole");
        for (const auto& [member, inner] : value.members()) {
          if (member.find(secrets::kMark) != std::string::npos)
            add("has a member with the mark of a hidden part in its name");
          within(member, [&, &member = member, &inner = inner] {
            at(inner, member, is_run || is_executed(member, executed_), in_list);
          });
        }
        return;
      default: return;
    }
  }

  std::vector<NotShown> problems;

 private:
  void look(std::string_view text, bool is_run, bool in_list) {
    if (find_invalid_utf8(text) != text.size()) return add("is not valid UTF-8");
    if (text.find(secrets::kMark) == std::string_view::npos) return;
    if (is_run) add("is executed, and a part of it is hidden");
    else if (in_list) add("is in a list, and a part of it is hidden");
    else if (text.find(secrets::kStructureMark) != std::string_view::npos)
      add("is hidden, and has characters that a shell takes for structure");
    else if (!is_one_mark(text)) add("has a hidden part inside it");
  }

  void add(std::string_view problem) { problems.push_back({pointer_, std::string(problem)}); }

  template <class Body>
  void within(std::string_view token, Body body) {
    const std::size_t size = pointer_.size();
    json::append_pointer_token(pointer_, token);
    body();
    pointer_.resize(size);
  }

  std::string_view executed_;
  std::string pointer_;
};

}  // namespace

std::size_t mark_secrets(Value& value) {
  std::size_t hidden = 0;
  if (!value.is_object()) return mark_in(value, {}, hidden), hidden;
  for (auto& [member, inner] : value.members())
    if (std::ranges::find(kOwn, std::string_view(member)) == kOwn.end()) mark_in(inner, member, hidden);
  return hidden;
}

std::vector<NotShown> not_shown(const Value& subject, std::string_view executed) {
  Look look(executed);
  look.at(subject, {}, false, false);
  return std::move(look.problems);
}

Value to_json(const std::vector<NotShown>& problems) {
  Value out = Value::array();
  for (const NotShown& one : problems) {
    Value told = Value::object();
    told.set("pointer", one.pointer);
    told.set("problem", one.problem);
    out.push(std::move(told));
  }
  return out;
}

Value look_alikes(const Value& subject) {
  Value out = Value::array();
  std::string pointer;
  const std::function<void(const Value&, std::string_view)> walk = [&](const Value& value, std::string_view name) {
    const auto within = [&](std::string_view token, const Value& inner, std::string_view inner_name) {
      const std::size_t size = pointer.size();
      json::append_pointer_token(pointer, token);
      walk(inner, inner_name);
      pointer.resize(size);
    };
    if (value.is_string()) {
      const Where where = where_read(name, value.string());
      if (!has_look_alikes(value.string(), where)) return;
      Value told = Value::object();
      told.set("pointer", pointer);
      told.set("text", with_look_alikes_marked(value.string(), where));
      out.push(std::move(told));
    } else if (value.kind() == Kind::Array) {
      for (std::size_t i = 0; i < value.elements().size(); ++i) within(std::to_string(i), value.elements()[i], name);
    } else if (value.is_object()) {
      for (const auto& [member, inner] : value.members()) within(member, inner, member);
    }
  };
  walk(subject, {});
  return out;
}

}  // namespace baton::runtime
