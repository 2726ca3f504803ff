// SPDX-License-Identifier: Apache-2.0
#include "contract/shape.h"

#include <algorithm>
#include <limits>

#include "json/decimal.h"

namespace baton::contract {
namespace {

std::string quoted_list(const auto& names) {
  std::string out;
  for (const auto& name : names) ((out += out.empty() ? "`" : ", `") += name) += "`";
  return out;
}

json::Kind kind_of(Form form) {
  switch (form) {
    case Form::Text: return json::Kind::String;
    case Form::Boolean: return json::Kind::Boolean;
    case Form::Integer:
    case Form::Number: return json::Kind::Number;
    case Form::List: return json::Kind::Array;
    case Form::Map:
    case Form::Object: return json::Kind::Object;
    case Form::Any:
    case Form::Either: break;
  }
  return json::Kind::Null;
}

class Checker {
 public:
  explicit Checker(Findings& findings) : findings_(findings) {}

  void check(json::Node value, const Shape& shape, std::string_view name) {
    switch (shape.form) {
      case Form::Any: return;
      case Form::Either: return either(value, shape, name);
      default: break;
    }
    if (!value.is(kind_of(shape.form))) return wrong_kind(value, shape, name);
    switch (shape.form) {
      case Form::Text: return text(value, shape, name);
      case Form::Integer:
      case Form::Number: return number(value, shape, name);
      case Form::List: return list(value, shape, name);
      case Form::Map: return map(value, shape);
      case Form::Object: return object(value, shape);
      default: return;
    }
  }

 private:
  void wrong_kind(json::Node value, const Shape& shape, std::string_view name) {
    // The one slip that everybody makes once: YAML 1.2 reads `yes` and `on` as words.
    const bool word = shape.form == Form::Boolean && value.is_string();
    findings_.add(
        Code::FIELD_TYPE, value,
        {{"field", name},
         {"kind", json::kind_name(value.kind())},
         {"expected", word ? "true or false (`yes`, `no`, `on` and `off` are strings in YAML 1.2)" : shape.expected}});
  }

  void wrong(Code code, json::Node value, const Shape& shape, std::string_view name) {
    const std::string problem = "has `" + std::string(name) + "` that is not " + std::string(shape.expected);
    findings_.add(
        code, value,
        {{"field", name}, {"kind", json::kind_name(value.kind())}, {"expected", shape.expected}, {"problem", problem}});
  }

  void text(json::Node value, const Shape& shape, std::string_view name) {
    if (!shape.values.empty()) {
      if (std::ranges::find(shape.values, value.string()) == shape.values.end())
        findings_.add(shape.wrong == Code::FIELD_TYPE ? Code::FIELD_ENUM : shape.wrong, value,
                      {{"field", name}, {"value", value.string()}, {"expected", quoted_list(shape.values)}});
    } else if (shape.not_empty && value.string().empty()) {
      wrong(shape.empty, value, shape, name);
    } else if (shape.fits != nullptr && !shape.fits(value.string())) {
      wrong(shape.wrong, value, shape, name);
    }
  }

  void number(json::Node value, const Shape& shape, std::string_view name) {
    const std::string_view digits = value.number_text();
    const json::Decimal number = json::Decimal::from_number(digits);
    const bool whole = shape.form != Form::Integer || json::to_int64(digits).has_value();
    const json::Decimal minimum(shape.minimum);
    const bool low = shape.has_minimum && (number < minimum || (shape.above_minimum && number == minimum));
    const bool high = shape.has_maximum && number > json::Decimal(shape.maximum);
    if (!whole || low || high) wrong(shape.wrong, value, shape, name);
  }

  void list(json::Node value, const Shape& shape, std::string_view name) {
    if (shape.not_empty && value.size() == 0) wrong(shape.empty, value, shape, name);
    for (const json::Node element : value.elements()) check(element, *shape.element, name);
  }

  void map(json::Node value, const Shape& shape) {
    // In a map every member is a name of the pack's: a tool may be called `x-ray`.
    for (const json::Member member : value.members()) check(member.value, *shape.element, member.name());
  }

  void object(json::Node value, const Shape& shape) {
    for (const json::Member member : value.members()) {
      const auto field = std::ranges::find(shape.fields, member.name(), &Field::name);
      if (field != shape.fields.end()) {
        check(member.value, field->shape, field->name);
      } else if (!is_own(member.name())) {
        std::vector<std::string_view> known;
        for (const Field& one : shape.fields) known.push_back(one.name);
        const Code code = shape.unknown == nullptr ? Code::UNKNOWN_FIELD : shape.unknown(member.name());
        findings_.add(code, member.key, {{"field", member.name()}, {"known", quoted_list(known)}});
      }
    }
    for (const Field& field : shape.fields)
      if (field.required && !value[field.name])
        findings_.add_absent(field.missing, value, field.name,
                             {{"field", field.name}, {"expected", field.shape.expected}});
  }

  void either(json::Node value, const Shape& shape, std::string_view name) {
    for (const Shape* one : shape.alternatives)
      if (value.is(kind_of(one->form))) return check(value, *one, name);
    wrong_kind(value, shape, name);
  }

  Findings& findings_;
};

// --- the schema ---------------------------------------------------------------------------------------------------------

json::Value texts(std::span<const std::string_view> words) {
  json::Value out = json::Value::array();
  for (const std::string_view word : words) out.push(word);
  return out;
}

// Members that begin with `x-` are people's own.
json::Value own_members() {
  json::Value out = json::Value::object();
  out.set("^x-", true);
  return out;
}

json::Value schema(const Shape& shape) {
  json::Value out = json::Value::object();
  switch (shape.form) {
    case Form::Any: break;
    case Form::Text:
      out.set("type", "string");
      if (!shape.values.empty()) out.set("enum", texts(shape.values));
      if (!shape.pattern.empty()) out.set("pattern", shape.pattern);
      if (shape.not_empty) out.set("minLength", 1);
      break;
    case Form::Boolean: out.set("type", "boolean"); break;
    case Form::Integer:
    case Form::Number:
      out.set("type", shape.form == Form::Integer ? "integer" : "number");
      if (shape.has_minimum) out.set(shape.above_minimum ? "exclusiveMinimum" : "minimum", shape.minimum);
      if (shape.has_maximum) out.set("maximum", shape.maximum);
      else if (shape.form == Form::Integer) out.set("maximum", std::numeric_limits<std::int64_t>::max());
      break;
    case Form::List:
      out.set("type", "array");
      out.set("items", schema(*shape.element));
      if (shape.not_empty) out.set("minItems", 1);
      break;
    case Form::Map:
      out.set("type", "object");
      out.set("additionalProperties", schema(*shape.element));
      break;
    case Form::Object: {
      out.set("type", "object");
      json::Value properties = json::Value::object(), required = json::Value::array();
      for (const Field& field : shape.fields) {
        json::Value property = schema(field.shape);
        property.set("description", field.about);
        properties.set(field.name, std::move(property));
        if (field.required) required.push(field.name);
      }
      out.set("properties", std::move(properties));
      out.set("patternProperties", own_members());
      out.set("additionalProperties", false);
      if (!required.elements().empty()) out.set("required", std::move(required));
      if (!shape.any_of.empty()) {
        json::Value any = json::Value::array();
        for (const std::string_view name : shape.any_of) {
          json::Value one = json::Value::object();
          json::Value names = json::Value::array();
          names.push(name);
          one.set("required", std::move(names));
          any.push(std::move(one));
        }
        out.set("anyOf", std::move(any));
      }
      break;
    }
    case Form::Either: {
      json::Value any = json::Value::array();
      for (const Shape* one : shape.alternatives) any.push(schema(*one));
      out.set("anyOf", std::move(any));
      break;
    }
  }
  return out;
}

}  // namespace

void check_shape(Findings& findings, json::Node value, const Shape& shape, std::string_view name) {
  Checker(findings).check(value, shape, name);
}

json::Value schema_of(const Shape& shape, std::string_view title) {
  json::Value out = json::Value::object();
  out.set("$schema", "https://json-schema.org/draft/2020-12/schema");
  out.set("title", title);
  json::Value rest = schema(shape);
  for (auto& [name, value] : rest.members()) out.set(name, std::move(value));
  return out;
}

}  // namespace baton::contract
