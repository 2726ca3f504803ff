// SPDX-License-Identifier: Apache-2.0
// What a YAML file of a pack may hold, written once as a table: the strict reading, the JSON Schemas for editors, the
// annotated pack of `baton contract new` and docs/reference/contracts.md all come from it.
//
// A Shape says what one value may be; a Field is a named member of an object, with what it is for. Tables of them are in
// contract/shapes.h. What the shapes cannot say (that a name is known, that two members go together) is contract/check.h's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "contract/findings.h"
#include "diagnostics/diagnostic.h"
#include "json/document.h"
#include "json/value.h"

namespace baton::contract {

struct Shape;

struct Field {
  std::string_view name;
  const Shape& shape;
  std::string_view about;  // one sentence for whoever writes the file
  bool required = false;
  Code missing = Code::FIELD_REQUIRED;  // what it is when a required one is absent
};

enum class Form { Any, Text, Boolean, Integer, Number, List, Map, Object, Either };

struct Shape {
  Form form = Form::Any;
  std::string_view expected = "any value";  // "a whole number of at least 1"

  // Text
  std::span<const std::string_view> values = {};  // the words it may be; none: any text
  bool (*fits)(std::string_view) = nullptr;       // a further rule for the text ...
  std::string_view pattern = {};                  // ... and the same as a regular expression, for the schema

  // Integer and Number
  bool has_minimum = false, has_maximum = false, above_minimum = false;  // above: the minimum itself is not allowed
  std::int64_t minimum = 0, maximum = 0;

  // List, and the values of a Map
  const Shape* element = nullptr;
  bool not_empty = false;  // of a List or a Text

  // Object
  std::span<const Field> fields = {};
  // What a member is that is none of the fields; null: UNKNOWN_FIELD.
  Code (*unknown)(std::string_view name) = nullptr;
  // Needs one of these members at least; said by the rules, shown in the schema.
  std::span<const std::string_view> any_of = {};

  // Either: the first whose kind of JSON value it is
  std::span<const Shape* const> alternatives = {};

  // What it is when the value has the right kind but is none of those allowed. The wrong kind is always FIELD_TYPE.
  Code wrong = Code::FIELD_TYPE;
  Code empty = Code::FIELD_TYPE;  // when it is empty and must not be
};

// Reports everything in which the value is not of the shape. `name` is the member it belongs to.
void check_shape(Findings& findings, json::Node value, const Shape& shape, std::string_view name);

// A JSON Schema (draft 2020-12) of the shape, descriptions and all.
json::Value schema_of(const Shape& shape, std::string_view title);

// Members of people's own, which nobody reads. Only of objects whose members are fields: in a map each is a name.
inline bool is_own(std::string_view name) { return name.starts_with("x-"); }

}  // namespace baton::contract
