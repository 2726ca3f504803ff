// SPDX-License-Identifier: Apache-2.0
#include "http_api/members.h"

#include <algorithm>
#include <charconv>

#include "base/limits.h"
#include "base/text.h"
#include "json/parse.h"
#include "json/pointer.h"

namespace baton::http_api {
namespace {

const Member* find_member(const Members& members, std::string_view name) {
  const auto found = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.name == name; });
  return found == members.end() ? nullptr : &*found;
}

std::string known(const Members& members) {
  std::string out;
  for (const Member& member : members) out += (out.empty() ? "`" : ", `") + std::string(member.name) + "`";
  return out.empty() ? "none" : out;
}

std::string range(const Member& member) { return std::to_string(member.least) + " to " + std::to_string(member.most); }

std::string listed(const std::vector<std::string_view>& choices) {
  std::string out;
  for (const std::string_view choice : choices) out += (out.empty() ? "" : ", ") + std::string(choice);
  return out;
}

// What a member is expected to be, for people: "a string of 1 to 200 characters".
std::string expected(const Member& member) {
  switch (member.kind) {
    case MemberKind::Text: return "a string of " + range(member) + " characters";
    case MemberKind::Integer: return "a whole number from " + range(member);
    case MemberKind::Choice: return "one of " + listed(member.choices);
    case MemberKind::Texts: return "a list of " + range(member) + " strings";
    case MemberKind::Choices: return "a list of " + listed(member.choices);
    case MemberKind::Object: return "an object of at most " + std::to_string(member.most) + " bytes";
  }
  return {};
}

bool is_choice(const Member& member, std::string_view text) {
  return std::find(member.choices.begin(), member.choices.end(), text) != member.choices.end();
}

bool has_size(const Member& member, std::size_t size) {
  return size >= static_cast<std::uint64_t>(member.least) && size <= static_cast<std::uint64_t>(member.most);
}

bool is_in_range(const Member& member, std::string_view number) {
  const auto value = parse_integer(number);
  return value && *value >= member.least && *value <= member.most;
}

// Is the value what the member is to be? The element that is not, when it is one of a list.
bool suits(const Member& member, json::Node node, json::Node& wrong) {
  wrong = node;
  switch (member.kind) {
    case MemberKind::Text: return node.is_string() && has_size(member, count_characters(node.string()));
    case MemberKind::Integer: return node.is_number() && is_in_range(member, node.number_text());
    case MemberKind::Choice: return node.is_string() && is_choice(member, node.string());
    case MemberKind::Object:
      return node.is_object() && json::write(json::Value::copy(node)).size() <= static_cast<std::size_t>(member.most);
    case MemberKind::Texts:
    case MemberKind::Choices: break;
  }
  if (!node.is_array() || !has_size(member, node.size())) return false;
  for (const json::Node element : node.elements()) {
    wrong = element;
    if (!element.is_string()) return false;
    const bool fits = member.kind == MemberKind::Choices
                          ? is_choice(member, element.string())
                          : count_characters(element.string()) <= limits::kRequestListedCharactersMax;
    if (!fits) return false;
  }
  return true;
}

std::string name_at(const Member& member, json::Node node) {
  return node.pointer() == "/" + std::string(member.name) ? std::string(member.name) : node.pointer().substr(1);
}

}  // namespace

// --- numbers and escapes ------------------------------------------------------------------------------------------------

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || std::to_string(value) != text) return std::nullopt;
  return value;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out += text[at];
      continue;
    }
    if (text.size() - at < 3) return std::nullopt;
    const int high = hex_value(text[at + 1]), low = hex_value(text[at + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    at += 2;
  }
  if (find_invalid_utf8(out) != out.size()) return std::nullopt;
  return out;
}

// --- Body ---------------------------------------------------------------------------------------------------------------

std::vector<Diagnostic> Body::read(std::string_view text, const Members& members) {
  auto parsed = json::parse(text.empty() ? "{}" : text, {.depth_max = limits::kRequestDepthMax});
  if (!parsed)
    return {report(Code::REQUEST_JSON, place_at(text, parsed.error().offset), {{"what", parsed.error().what}})};
  document_.emplace(std::move(*parsed));
  const json::Node root = document_->root();
  if (!root.is_object())
    return {report(Code::REQUEST_JSON, place_of(root),
                   {{"what", "expected an object, not " + std::string(json::kind_name(root.kind()))}})};
  std::vector<Diagnostic> faults;
  for (const json::Member given : root.members()) {
    if (faults.size() == limits::kDiagnosticsMax) return faults;
    const Member* member = find_member(members, given.name());
    json::Node wrong;
    if (member == nullptr) {
      faults.push_back(report(Code::REQUEST_FIELD, place_of(given.value),
                              {{"field", given.name()}, {"problem", "is not known here; known: " + known(members)}}));
    } else if (!suits(*member, given.value, wrong)) {
      faults.push_back(report(Code::REQUEST_FIELD, place_of(wrong),
                              {{"field", name_at(*member, wrong)}, {"problem", "is not " + expected(*member)}}));
    }
  }
  for (const Member& member : members)
    if (member.required && !root[member.name])
      faults.push_back(report(Code::REQUEST_FIELD, place_of_absent(root, member.name),
                              {{"field", member.name}, {"problem", "is missing: " + expected(member)}}));
  return faults;
}

json::Node Body::find(std::string_view name) const { return document_ ? document_->root()[name] : json::Node(); }

std::string Body::text(std::string_view name) const {
  const json::Node node = find(name);
  return node ? std::string(node.string()) : std::string();
}

std::optional<std::int64_t> Body::integer(std::string_view name) const {
  const json::Node node = find(name);
  return node ? parse_integer(node.number_text()) : std::nullopt;
}

std::vector<std::string> Body::texts(std::string_view name) const {
  std::vector<std::string> out;
  for (const json::Node element : find(name).elements()) out.emplace_back(element.string());
  return out;
}

// --- Query --------------------------------------------------------------------------------------------------------------

std::vector<Diagnostic> Query::read(std::string_view text, const Members& members) {
  const auto fault = [](std::string_view name, const std::string& problem) {
    return report(Code::REQUEST_QUERY, {}, {{"name", name}, {"problem", problem}});
  };
  std::vector<Diagnostic> faults;
  for (const std::string_view part : split(text, '&')) {
    if (part.empty()) continue;
    if (given_.size() == limits::kRequestParametersMax) {
      faults.push_back(fault(part.substr(0, part.find('=')), "is one too many"));
      break;
    }
    const std::size_t equals = part.find('=');
    const auto name = percent_decoded(part.substr(0, equals));
    const auto value =
        equals == std::string_view::npos ? std::optional<std::string>("") : percent_decoded(part.substr(equals + 1));
    const Member* member = name ? find_member(members, *name) : nullptr;
    if (member == nullptr) {
      faults.push_back(fault(part.substr(0, equals), "is not known here; known: " + known(members)));
    } else if (!value) {
      faults.push_back(fault(*name, "is not percent-encoded UTF-8"));
    } else if (!member->repeated &&
               std::any_of(given_.begin(), given_.end(), [&](auto& g) { return g.first == *name; })) {
      faults.push_back(fault(*name, "is given twice"));
    } else if (member->kind == MemberKind::Integer  ? !is_in_range(*member, *value)
               : member->kind == MemberKind::Choice ? !is_choice(*member, *value)
                                                    : !has_size(*member, count_characters(*value))) {
      faults.push_back(fault(*name, "is not " + expected(*member)));
    } else {
      given_.emplace_back(*name, *value);
    }
  }
  return faults;
}

std::string Query::text(std::string_view name) const {
  for (const auto& [given, value] : given_)
    if (given == name) return value;
  return {};
}

std::optional<std::int64_t> Query::integer(std::string_view name) const { return parse_integer(text(name)); }

std::vector<std::string> Query::texts(std::string_view name) const {
  std::vector<std::string> out;
  for (const auto& [given, value] : given_)
    if (given == name) out.push_back(value);
  return out;
}

// --- JSON Schema --------------------------------------------------------------------------------------------------------

json::Value schema_of(const Member& member) {
  json::Value schema = json::Value::object();
  const auto choices = [&] {
    json::Value out = json::Value::array();
    for (const std::string_view choice : member.choices) out.push(choice);
    return out;
  };
  switch (member.kind) {
    case MemberKind::Text:
      schema.set("type", "string");
      if (member.least > 0) schema.set("minLength", member.least);
      schema.set("maxLength", member.most);
      break;
    case MemberKind::Integer:
      schema.set("type", "integer");
      schema.set("minimum", member.least);
      schema.set("maximum", member.most);
      break;
    case MemberKind::Choice:
      schema.set("type", "string");
      schema.set("enum", choices());
      break;
    case MemberKind::Object: schema.set("type", "object"); break;
    case MemberKind::Texts:
    case MemberKind::Choices: {
      schema.set("type", "array");
      json::Value items = json::Value::object();
      items.set("type", "string");
      if (member.kind == MemberKind::Choices) items.set("enum", choices());
      else items.set("maxLength", limits::kRequestListedCharactersMax);
      schema.set("items", std::move(items));
      if (member.least > 0) schema.set("minItems", member.least);
      schema.set("maxItems", member.most);
      break;
    }
  }
  if (!member.says.empty()) schema.set("description", member.says);
  return schema;
}

json::Value schema_of(const Members& members) {
  json::Value schema = json::Value::object(), properties = json::Value::object(), required = json::Value::array();
  for (const Member& member : members) {
    properties.set(member.name, schema_of(member));
    if (member.required) required.push(member.name);
  }
  schema.set("type", "object");
  schema.set("properties", std::move(properties));
  if (!required.elements().empty()) schema.set("required", std::move(required));
  schema.set("additionalProperties", false);
  return schema;
}

}  // namespace baton::http_api
