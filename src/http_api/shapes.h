// SPDX-License-Identifier: Apache-2.0
// The forms of what a node answers, for the OpenAPI document: one table of named objects. Answers are made by the use cases
// (runtime/use_cases.h); a test holds both against each other.
#pragma once

#include <string_view>
#include <vector>

#include "json/value.h"

namespace baton::http_api {

struct ShapeMember {
  std::string_view name;
  // `string`, `time`, `integer`, `boolean`, `any`, `object`, `integers` (an object of them), or a shape's name; `[]` before
  // it is a list of such, `?` after it means that it may also be null.
  std::string_view type;
  bool always = true;
  std::string_view says = {};
};

struct Shape {
  std::string_view name;
  std::string_view says;
  std::vector<ShapeMember> members;
};

const std::vector<Shape>& shapes();

// The JSON Schema of each, by name.
json::Value shape_schemas();

}  // namespace baton::http_api
