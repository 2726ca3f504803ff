// SPDX-License-Identifier: Apache-2.0
// The plain values of scenario files: what both of their readers (contract/scenario.h, session/scenario.h) make their tables of.
// A pack's own files have stricter ones (contract/shapes.h).
#pragma once

#include "contract/shape.h"

namespace baton::contract::scenario_shapes {

inline constexpr Shape kAny;
inline constexpr Shape kText{.form = Form::Text, .expected = "a string"};
inline constexpr Shape kTexts{.form = Form::List, .expected = "a list of strings", .element = &kText};
inline constexpr Shape kBoolean{.form = Form::Boolean, .expected = "true or false"};
inline constexpr Shape kObject{.form = Form::Map, .expected = "an object", .element = &kAny};
inline constexpr Shape kObjects{.form = Form::List, .expected = "a list of objects", .element = &kObject};

}  // namespace baton::contract::scenario_shapes
