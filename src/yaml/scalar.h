// SPDX-License-Identifier: Apache-2.0
// What a plain (unquoted) scalar means: the core schema of YAML 1.2, as JSON.
//
//   null Null NULL ~ and nothing at all      null
//   true True TRUE, false False FALSE        booleans
//   12, -3, +4, 010 (ten), 0o17, 0xff        whole numbers, in decimal digits, however many
//   1.5, .5, 5., 1e3                         numbers; the digits stay as they are
//   .inf, -.inf, .nan                        numbers that JSON does not have
//   anything else, yes and no among it       a string
#pragma once

#include <string>
#include <string_view>

#include "json/document.h"

namespace baton::yaml {

// Does YAML 1.1 read the scalar otherwise?
enum class Ambiguity { None, Word, LeadingZero };

struct Scalar {
  json::Kind kind = json::Kind::String;
  std::string json = {};          // its text in JSON; of a string it is not made here
  std::string_view problem = {};  // why a number cannot be one in JSON; empty: it can
  Ambiguity ambiguity = Ambiguity::None;
};

Scalar resolve(std::string_view plain);

}  // namespace baton::yaml
