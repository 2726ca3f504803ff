// SPDX-License-Identifier: Apache-2.0
// Characters that a reader does not see. printable() in base/text.h writes them as escapes.
#pragma once

#include <string>

namespace baton {

// Characters without a glyph that change what is seen around them, or nothing: zero width, bidirectional, tags, fillers. Not variation
// selectors, which emoji have.
bool is_hidden(char32_t character);

// Adds `\u{200b}`.
void append_escape(std::string& out, char32_t character);

}  // namespace baton
