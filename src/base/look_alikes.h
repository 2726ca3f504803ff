// SPDX-License-Identifier: Apache-2.0
// Characters that look like ASCII and are not (Cyrillic `а`, fullwidth `ａ`, a mathematical `𝖺`, a no-break space), and those that look
// like nothing, for texts that a person decides on: `p<U+0430>y`.
//
// The table holds the look-alikes of letters, digits, blanks and of the signs that shells, paths and URLs are made of; it is no complete
// list of what could deceive somebody.
#pragma once

#include <string>
#include <string_view>

namespace baton {

// In a text that machines read (a command, a path, a URL, the name of a tool) every look-alike is marked. In prose only letters in a word
// that also has ASCII letters, so that a text in one other script stays as it is; mathematical letters always.
enum class Where { Machine, Prose };

// Has this member a name that programs usually execute the value of (`command`, `script`, `args`)?
bool is_executed_name(std::string_view name);
// What reads a text under this name: a machine when it is executed, or is a path, a URL or a tool, or looks like a path or a URL.
Where where_read(std::string_view name, std::string_view text);

bool is_look_alike(char32_t character);

bool has_look_alikes(std::string_view text, Where where);

// Look-alikes, control characters (line feeds too) and hidden characters become `<U+0430>`, bytes that are no UTF-8 `<0xff>`.
std::string with_look_alikes_marked(std::string_view text, Where where);

}  // namespace baton
