// SPDX-License-Identifier: Apache-2.0
#include "translate/draft.h"

#include <algorithm>

#include "base/check.h"

namespace baton::translate {

void Draft::put(std::string_view pointer, json::Value value) { CHECK(target_.set_at(pointer, std::move(value))); }

void Draft::carried(Field field) {
  if (const auto* member = source_.find(field)) carried_.insert(member->pointer);
}

void Draft::carry(Field field, std::string_view pointer) {
  const json::Value* value = source_.value(field);
  if (value == nullptr) return;
  put(pointer, *value);
  carried(field);
}

void Draft::carry_strings(Field field, std::string_view pointer) {
  const json::Value* value = source_.value(field);
  if (value == nullptr) return;
  json::Value list = json::Value::array();
  for (std::string& item : as_strings(value)) list.push(std::move(item));
  put(pointer, std::move(list));
  carried(field);
}

void Draft::report_losses(std::string_view target_name, const std::vector<std::string>& implied) {
  const auto lose = [&](const Handoff::Member& member) {
    if (member.value.is_null() || carried_.contains(member.pointer)) return;
    if (std::find(implied.begin(), implied.end(), member.pointer) != implied.end()) return;
    diagnostics_.push_back(with_pointer(Code::TRANSLATE_LOST, member.pointer, target_name));
  };
  for (std::size_t i = 0; i < kFieldCount; ++i)
    if (const auto* member = source_.find(static_cast<Field>(i))) lose(*member);
  for (const Handoff::Member& member : source_.other) lose(member);
}

std::vector<std::string> as_strings(const json::Value* value) {
  if (value == nullptr) return {};
  if (value->is_string()) return {value->string()};
  std::vector<std::string> out;
  if (value->is_array())
    for (const json::Value& item : value->elements())
      out.push_back(item.is_string() ? item.string() : json::write(item));
  return out;
}

std::string cut(std::string text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  return text;
}

Diagnostic with_pointer(Code code, const std::string& pointer, std::string_view target_name) {
  Diagnostic diagnostic = report(code, place_named(pointer), {{"member", pointer}, {"target", target_name}});
  diagnostic.argument = pointer;
  diagnostic.has_argument = true;
  return diagnostic;
}

}  // namespace baton::translate
