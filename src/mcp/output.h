// SPDX-License-Identifier: Apache-2.0
// What an answer is to the output rules of a contract, and what is taken out of a message before anybody gets it. Pure.
//
// The result of a tools/call has up to two readings; every output invariant must be true of each
// (docs/decisions/0054-what-an-output-rule-judges.md):
//
//   structuredContent            it
//   everything else              one block of text that is JSON, and nothing else: that JSON
//                                blocks of text, and nothing else: {"text": all texts, a line feed between, "content": ["text", ...]},
//                                and `$` is the text
//                                anything more: {"text", "content", "blocks": [...], "_meta", "more"}; `$` is that object
//
// With structuredContent the second reading is left out when it says nothing that structuredContent does not say: each block is
// text, and is either the JSON of structuredContent or one of the texts in it. Without structuredContent it is the only one.
//
// In `blocks` and in results of other operations the base64 of an image, a sound or a blob is {"bytes", "sha256"}; a blob that is
// text has that text as `text`.
//
// A result with isError, and a JSON-RPC error, is an outcome of kind Error, with the same readings: what an error says reaches the
// client as an output does. The class of a result with isError is tool_error. A JSON-RPC error has its code as text; its class is
// client_error for what the caller did wrong (-32700, -32600 to -32602), server_error for -32603 and tool_error for every other.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "json/document.h"
#include "mcp/message.h"
#include "mcp/node.h"

namespace baton::mcp {

// Of a result object of tools/call. The outcome is Unknown, and says why, when the whole result is larger than `bytes_max`, has a content
// block of a type that is not known, or has a part that readers read differently.
Outcome outcome_of_result(json::Node result, std::size_t bytes_max);
// Of the result of another method, of either side: the result without what belongs to the protocol.
Outcome outcome_of_other(std::string_view method, json::Node result, std::size_t bytes_max);
// Of the error object of a JSON-RPC error.
Outcome outcome_of_error(json::Node error, std::size_t bytes_max);

// Why a client may read what a server asks it for differently; empty: it does not.
std::string unclear_ask(json::Node request);

// Is it a member that the protocol has for every result, with nothing in it but what the protocol says?
bool is_of_protocol(const json::Member& member);
// Has a result members beside `known` and those that the protocol has for all results?
bool has_more_than(json::Node result, std::span<const std::string_view> known);
// Takes `_meta` out of a result that is handed on unjudged; nothing: it has none, or one that the protocol defines.
std::optional<Splice> removing_meta(json::Node result);
// Does a result ask the client for input?
bool has_input_requests(json::Node result);

// --- taken out ------------------------------------------------------------------------------------------------------------------------

// The text of a message of a server without what only Baton may say: members of a `_meta`, or of the data of an error, that begin with
// `dev.baton`, wherever it is. Nothing: there are none.
std::optional<std::string> without_own_meta(const Message& message);
// The text of a message with the members that JSON-RPC has for a request or for an answer and no other, and without what nobody judges in
// those members of a result's `_meta` that the protocol defines: of `serverInfo` a short name, version and title stay, of the others ids.
// Nothing: there is nothing to take out.
std::optional<std::string> without_unjudged_members(const Message& message);
// Is a member of what is said of a task what the protocol says? Its `statusMessage` may be any text.
bool is_of_task(const json::Member& member);
// Is it the handle of a task, and nothing more?
bool is_only_task(json::Node task);
// The text of a message of a server without content blocks of types that are not known. Nothing: there are none.
std::optional<std::string> without_unknown_content(const Message& message);

}  // namespace baton::mcp
