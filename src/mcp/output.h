// SPDX-License-Identifier: Apache-2.0
// What a tool's answer is to the rules: the output of a call, and the class of an error.
//
//   structuredContent                     it, whatever else there is
//   one block of text that is JSON        that JSON
//   anything else                         {"text": all blocks of text, a line feed between, "content": ["text", "image", ...]}
//
// A result with isError is an error of the class tool_error. A JSON-RPC error has its code as text; its class is client_error for
// what the caller did wrong (-32700, -32600 to -32602), server_error for -32603 and tool_error for every other.
#pragma once

#include <string>

#include "json/document.h"
#include "mcp/node.h"

namespace baton::mcp {

// Of a result object of tools/call. An output larger than `bytes_max` is not written: the outcome is Unknown then.
Outcome outcome_of_result(json::Node result, std::size_t bytes_max);
// Of the error object of a JSON-RPC error.
Outcome outcome_of_error(json::Node error);

}  // namespace baton::mcp
