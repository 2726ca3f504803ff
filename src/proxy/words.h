// SPDX-License-Identifier: Apache-2.0
// What the node answers to Baton's own tools, in words for a model. Pure.
#pragma once

#include <string_view>

#include "mcp/conversation.h"

namespace baton::proxy {

// Of baton_status: the answer to GET /v1/sessions/{id}. A few sentences, and below them the same as JSON.
mcp::NodeAnswer status_answer(int status, std::string_view body);

// Of baton_handoff: the receipt, or what is wrong with the document.
mcp::NodeAnswer handoff_answer(int status, std::string_view body);

// Why the node does not let a session be opened or joined: what its diagnostics say, or that it could not be reached.
std::string refusal_text(int status, std::string_view body);

}  // namespace baton::proxy
