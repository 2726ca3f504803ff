// SPDX-License-Identifier: Apache-2.0
// What a text that cannot be parsed tells of the JSON-RPC messages in it: enough to say which request it was the answer to.
//
// Only strings and brackets are read, so that a number such as NaN, bytes that are not UTF-8, a member that is there twice or a text that
// ends too early hide nothing. A member counts only where it is one of the message itself, not of something inside. A byte order mark,
// blanks and other text in front are skipped, and so are the brackets of a batch. One pass over the text.
//
// A line that begins with a member (`"id": 7,`) is a piece of a message that its server wrote over several lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mcp/message.h"

namespace baton::mcp {

struct Outline {
  bool has_version = false;        // `jsonrpc`
  bool has_method = false;         // `method`
  bool is_answer = false;          // `result` or `error`
  bool has_answer_object = false;  // one of these is an object, or is still to come
  bool is_piece = false;           // of a message over several lines
  bool is_after_text = false;      // something that is no JSON is in front of it, as in a line of a log
  std::vector<std::string> ids;    // each `id` that is a string or a number, as it is spelled in the text
};

std::vector<Outline> outlines_of(std::string_view text);

// Of a message that is Broken: read from the tree where there is one.
std::vector<Outline> outlines_in(const Message& broken);

// Which id a text stands for (as of Message::id_text) when it is an answer's: some programs read every number as a double, and write 6 as
// 6.0 or 6e0. Empty: none.
std::string id_as_read(std::string_view text);

// The id of the answer to a client's message that is broken, as JSON in one spelling: its client waits for an answer with that id, also
// when the message nests too deep to be parsed. Empty: the text does not say which request it is, and the answer has the id null.
std::string id_to_answer(const Message& broken);

}  // namespace baton::mcp
