// SPDX-License-Identifier: Apache-2.0
#include "contract/bounds.h"

#include <algorithm>

namespace baton::contract {
namespace {

std::optional<json::Decimal> number_of(const json::Value& value) {
  if (value.kind() != json::Kind::Number) return std::nullopt;
  return json::Decimal::from_number(value.number_text());
}

// Does a value pass a test? True as well where that is not worked out here.
bool may_pass(const json::Value& value, const Test& test) {
  const auto number = number_of(value);
  switch (test.op) {
    case Op::Gte: return number && *number >= test.number;
    case Op::Lte: return number && *number <= test.number;
    case Op::Equals:
    case Op::ExactMatch: return equal(value, test.value);
    case Op::OneOf:
      return std::ranges::any_of(test.value.elements(), [&](const json::Value& one) { return equal(value, one); });
    case Op::Exists: return test.value.boolean() != value.is_null();
    case Op::Type: {
      const std::string& type = test.value.string();
      if (type == "integer") return number && json::is_integer(value.number_text());
      return json::kind_name(value.kind()) == type;
    }
    case Op::Regex: return !value.is_string() ? false : re2::RE2::PartialMatch(value.string(), *test.regex);
    case Op::Contains:
    case Op::LengthGte:
    case Op::LengthLte:
    case Op::EqualsEnv: return true;
  }
  return true;
}

// Does a test fail where there is nothing, or null?
bool needs_value(const Test& test) {
  const auto is_null = [](const json::Value& one) { return one.is_null(); };
  switch (test.op) {
    case Op::Exists: return test.value.boolean();
    case Op::Equals: return !is_null(test.value);
    case Op::OneOf: return std::ranges::none_of(test.value.elements(), is_null);
    default: return true;
  }
}

// Every invariant of a call's arguments at the path.
template <class Found>
bool any_at(const Tool& tool, const json::Path& path, const Found& found) {
  for (const auto* list : {&tool.arguments, &tool.execution_constraints})
    for (const Invariant& invariant : *list)
      if (invariant.at.path == path && found(invariant)) return true;
  return false;
}

}  // namespace

bool must_be_there(const Tool& tool, const json::Path& path) {
  return any_at(tool, path, [](const Invariant& one) {
    return one.origin == Origin::Written && (one.ref || std::ranges::any_of(one.tests, needs_value));
  });
}

bool must_be_number(const Tool& tool, const json::Path& path) {
  return any_at(tool, path, [](const Invariant& one) {
    return std::ranges::any_of(one.tests, [](const Test& test) {
      switch (test.op) {
        case Op::Gte:
        case Op::Lte: return true;
        case Op::Equals: return number_of(test.value).has_value();
        case Op::Type: return test.value.string() == "number" || test.value.string() == "integer";
        case Op::OneOf:
          return std::ranges::all_of(test.value.elements(),
                                     [](const json::Value& each) { return number_of(each).has_value(); });
        default: return false;
      }
    });
  });
}

void Possible::narrow(std::span<const Test> tests) {
  for (const Test& test : tests) {
    switch (test.op) {
      case Op::Gte:
        if (!least || test.number > *least) least = test.number;
        break;
      case Op::Lte:
        if (!most || test.number < *most) most = test.number;
        break;
      case Op::Equals:
      case Op::ExactMatch:
        if (!among) among = std::vector<json::Value>{test.value};
        else std::erase_if(*among, [&](const json::Value& one) { return !equal(one, test.value); });
        break;
      case Op::OneOf:
        if (!among) among = test.value.elements();
        else std::erase_if(*among, [&](const json::Value& one) { return !may_pass(one, test); });
        break;
      case Op::Exists:
        if (!test.value.boolean()) must_be_absent = true;
        break;
      default: break;
    }
    if (among) std::erase_if(*among, [&](const json::Value& one) { return !may_pass(one, test); });
  }
  // Any test but `exists: false` needs a value that is there.
  const bool needs_value =
      std::ranges::any_of(tests, [](const Test& test) { return test.op != Op::Exists || test.value.boolean(); });
  never = never || (must_be_absent && needs_value) || (among && among->empty()) || (least && most && *least > *most);
  if (among && (least || most)) {
    std::erase_if(*among, [&](const json::Value& one) {
      const auto number = number_of(one);
      return !number || (least && *number < *least) || (most && *number > *most);
    });
    never = never || among->empty();
  }
}

bool Possible::can_pass(std::span<const Test> tests) const {
  Possible both = *this;
  both.narrow(tests);
  return !both.never;
}

Possible possible_at(const Tool& tool, const json::Path& path) {
  Possible out;
  for (const auto* list : {&tool.arguments, &tool.execution_constraints})
    for (const Invariant& invariant : *list)
      if (invariant.at.path == path) out.narrow(invariant.tests);
  return out;
}

Possible possible_in_schema(const json::Value& schema, const json::Path& path) {
  const json::Value* at = &schema;
  for (const json::Path::Step& step : path.steps()) {
    const auto* name = std::get_if<std::string>(&step);
    const json::Value* properties = name == nullptr ? nullptr : at->find("properties");
    at = properties == nullptr ? nullptr : properties->find(*name);
    if (at == nullptr) return {};
  }
  std::vector<Test> tests;
  const auto bound = [&](std::string_view keyword, Op op) {
    const json::Value* value = at->find(keyword);
    if (value == nullptr || value->kind() != json::Kind::Number) return;
    tests.push_back({op, *value, json::Decimal::from_number(value->number_text())});
  };
  bound("minimum", Op::Gte);
  bound("maximum", Op::Lte);
  if (const json::Value* one = at->find("const")) tests.push_back({Op::Equals, *one});
  if (const json::Value* list = at->find("enum"); list != nullptr && list->is_array())
    tests.push_back({Op::OneOf, *list});
  Possible out;
  out.narrow(tests);
  return out;
}

bool implies(std::span<const Test> narrow, std::span<const Test> wide) {
  Possible possible;
  possible.narrow(narrow);
  if (possible.never) return true;
  return std::ranges::all_of(wide, [&](const Test& test) {
    if (possible.among)
      return std::ranges::all_of(*possible.among, [&](const json::Value& one) { return may_pass(one, test); }) &&
             test.op != Op::Contains && test.op != Op::LengthGte && test.op != Op::LengthLte &&
             test.op != Op::EqualsEnv;
    if (test.op == Op::Gte) return possible.least && *possible.least >= test.number;
    if (test.op == Op::Lte) return possible.most && *possible.most <= test.number;
    return false;
  });
}

bool same_tests(std::span<const Test> left, std::span<const Test> right) {
  return left.size() == right.size() && std::ranges::all_of(left, [&](const Test& one) {
           return std::ranges::any_of(
               right, [&](const Test& other) { return one.op == other.op && equal(one.value, other.value); });
         });
}

}  // namespace baton::contract
