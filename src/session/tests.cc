// SPDX-License-Identifier: Apache-2.0
#include "session/tests.h"

#include <algorithm>

#include "base/text.h"
#include "json/canonical.h"
#include "json/value.h"

namespace baton::session {

using contract::Invariant;
using contract::Op;
using contract::Test;

bool equal(json::Node node, const json::Value& value) {
  if (!node || node.kind() != value.kind()) return false;
  switch (value.kind()) {
    case json::Kind::Null: return true;
    case json::Kind::Boolean: return node.boolean() == value.boolean();
    case json::Kind::Number:
      return node.number_text() == value.number_text() || json::same_number(node.number_text(), value.number_text());
    case json::Kind::String: return node.string() == value.string();
    case json::Kind::Array: {
      if (node.size() != value.elements().size()) return false;
      auto other = value.elements().begin();
      for (const json::Node element : node.elements())
        if (!equal(element, *other++)) return false;
      return true;
    }
    case json::Kind::Object: {
      if (node.size() != value.members().size()) return false;
      return std::ranges::all_of(value.members(),
                                 [&](const auto& member) { return equal(node[member.first], member.second); });
    }
  }
  return false;
}

namespace {

bool has_type(json::Node value, std::string_view type) {
  if (!value) return false;
  if (type == "integer") return value.is_number() && json::is_integer(value.number_text());
  return !value.is_null() && json::kind_name(value.kind()) == type;
}

bool contains(json::Node value, const json::Value& wanted) {
  if (value.is_string()) return wanted.is_string() && value.string().find(wanted.string()) != std::string_view::npos;
  if (!value.is_array()) return false;
  for (const json::Node element : value.elements())
    if (equal(element, wanted)) return true;
  return false;
}

bool is_bounded(const Test& test, const json::Decimal& number) {
  return test.op == Op::Gte || test.op == Op::LengthGte ? number >= test.number : number <= test.number;
}

bool equals_variable(const Test& test, json::Node value, const Environment& environment) {
  const auto at = std::ranges::lower_bound(environment.names, test.value.string());
  if (at == environment.names.end() || *at != test.value.string()) return false;
  const auto index = static_cast<std::size_t>(at - environment.names.begin());
  if (index >= environment.values.size() || environment.values[index].empty() || !value.is_string()) return false;
  std::string text;
  json::append_canonical_string(text, value.string());
  return (environment.hiding != nullptr ? environment.hiding->keyed(text) : text) == environment.values[index];
}

}  // namespace

bool passes(const Test& test, json::Node value, const Environment& environment) {
  switch (test.op) {
    case Op::Exists: return (value && !value.is_null()) == test.value.boolean();
    case Op::Equals: return value && equal(value, test.value);
    case Op::ExactMatch: return value.is_string() && test.value.is_string() && value.string() == test.value.string();
    case Op::Type: return has_type(value, test.value.string());
    case Op::Contains: return value && contains(value, test.value);
    case Op::OneOf:
      return value &&
             std::ranges::any_of(test.value.elements(), [&](const json::Value& one) { return equal(value, one); });
    case Op::Regex:
      return value.is_string() &&
             re2::RE2::PartialMatch(re2::StringPiece(value.string().data(), value.string().size()), *test.regex);
    case Op::Gte:
    case Op::Lte: return value.is_number() && is_bounded(test, json::Decimal::from_number(value.number_text()));
    case Op::LengthGte:
    case Op::LengthLte: {
      if (!value.is_string() && !value.is_array()) return false;
      const std::size_t length = value.is_string() ? count_characters(value.string()) : value.size();
      return is_bounded(test, json::Decimal(static_cast<std::int64_t>(length)));
    }
    case Op::EqualsEnv: return equals_variable(test, value, environment);
  }
  return false;
}

const Test* failing(const Invariant& invariant, json::Node value, const Environment& environment) {
  if (!value && invariant.origin == contract::Origin::Schema) return nullptr;
  for (const Test& test : invariant.tests)
    if (!passes(test, value, environment)) return &test;
  return nullptr;
}

bool passes(const Invariant& invariant, json::Node value, const Environment& environment) {
  return failing(invariant, value, environment) == nullptr;
}

std::optional<bool> passes(const Test& test, const Fact& fact) {
  if (!is_there(fact) || is_null(fact) || is_hidden(fact)) return std::nullopt;
  if (test.op == Op::Equals) {
    std::string wanted;
    if (!json::append_canonical(wanted, test.value, json::Numbers::Exact)) return std::nullopt;
    return fact == wanted;
  }
  if (!is_number(fact)) return std::nullopt;
  return is_bounded(test, json::Decimal::from_number(fact));  // of however many digits: nothing is added up
}

// --- words ----------------------------------------------------------------------------------------------------------------------

namespace {

std::string with_article(std::string_view noun) {
  constexpr std::string_view kVowels = "aeio";
  return (kVowels.find(noun.front()) != std::string_view::npos ? "an " : "a ") + std::string(noun);
}

std::string shown(json::Node value) {
  if (!value) return "is missing";
  if (value.is_number()) return "is " + std::string(value.number_text().substr(0, 40));
  if (value.is_boolean()) return value.boolean() ? "is true" : "is false";
  if (value.is_null()) return "is null";
  return "is " + with_article(json::kind_name(value.kind()));
}

std::string literal(const json::Value& value) {
  std::string text = json::write(value);
  return text.size() <= 80 ? text : text.substr(0, 77) + "...";
}

std::string listed(const json::Value& list) {
  std::string out;
  std::size_t count = 0;
  for (const json::Value& one : list.elements()) {
    if (count++ == 8) return out + ", ...";
    out.append(out.empty() ? "" : ", ").append(literal(one));
  }
  return out;
}

}  // namespace

Wording wording_of(const Test& test, json::Node value) {
  const std::string is = shown(value);
  switch (test.op) {
    case Op::Exists:
      return test.value.boolean() ? Wording{"is missing, and must be there", "give it a value"}
                                  : Wording{"is there, and must not be", "leave it out"};
    case Op::Equals:
      return {value.is_string() ? "must be " + literal(test.value) : is + ", and must be " + literal(test.value),
              "use " + literal(test.value)};
    case Op::ExactMatch: return {"is not exactly " + literal(test.value), "use " + literal(test.value)};
    case Op::Type:
      return {is + ", and must be " + with_article(test.value.string()), "give " + with_article(test.value.string())};
    case Op::Contains:
      return {"does not contain " + literal(test.value), "use a value that contains " + literal(test.value)};
    case Op::OneOf: return {"is none of " + listed(test.value), "use one of " + listed(test.value)};
    case Op::Regex:
      return {"does not match " + literal(test.value), "use a string that matches " + literal(test.value)};
    case Op::Gte:
      return {is + ", and must be at least " + test.number.text(), "use a number of at least " + test.number.text()};
    case Op::Lte:
      return {is + ", and must be at most " + test.number.text(), "use a number of at most " + test.number.text()};
    case Op::LengthGte:
      return {"is shorter than " + test.number.text(),
              "use a value of at least " + test.number.text() + " characters or elements"};
    case Op::LengthLte:
      return {"is longer than " + test.number.text(),
              "use a value of at most " + test.number.text() + " characters or elements"};
    case Op::EqualsEnv:
      return {"is not what the variable " + test.value.string() + " has", "use the value of " + test.value.string()};
  }
  return {};
}

}  // namespace baton::session
