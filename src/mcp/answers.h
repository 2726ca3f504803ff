// SPDX-License-Identifier: Apache-2.0
// What Baton itself says to a client, as bytes: refusals, errors, results of its own tools, notices. In the shape of the
// client's era, and such that every client shows its model the text:
//
//   a refusal    {"content":[{"type":"text","text":"Denied by RULE: why; what to do instead"}],"isError":true,
//                 "_meta":{"dev.baton/decision":{...}}}, in the modern era with "resultType":"complete"
//
// It has never structuredContent: some clients show that and drop the text, others hold it to the tool's outputSchema.
// A tool that is kept from a client is answered exactly as one that does not exist: unknown_tool().
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"
#include "mcp/revision.h"

namespace baton::mcp {

// Why a call is refused.
struct Denial {
  std::string rule;                             // the code: wrong_phase, tool_definition_changed, ...
  std::string why;                              // one sentence without a full stop
  std::string instead;                          // what to do instead; empty: nothing is known
  json::Value details = json::Value::object();  // what else goes into dev.baton/decision: failures, way_out, approval
};
// "Denied by wrong_phase: `ship` may be called in done, and the session is in `intake`; call finish first"
std::string text_of(const Denial& denial);

// The result object of a refusal.
std::string denied_result(Era era, const Denial& denial);
// The refusal of anything but a tools/call: the code and the data of an error.
inline constexpr int kDenied = 4030;
std::string denied_data(const Denial& denial);
// The result object of one of Baton's own tools: text, and whether it is an error.
std::string text_result(Era era, std::string_view text, bool is_error);

// A whole message. `id` is the id as it stands in the request's text; empty is null.
std::string result_message(std::string_view id, std::string_view result);
std::string error_message(std::string_view id, int code, std::string_view message, std::string_view data = {});
std::string unknown_tool(std::string_view id, std::string_view name);
std::string notification(std::string_view method, std::string_view params = {});
std::string request(std::string_view id, std::string_view method, std::string_view params = {});

// {"requestId":ID,"reason":REASON} and its notification.
std::string cancelled(std::string_view request_id, std::string_view reason);
// `token` as it stands in the request's text. `step` counts 1, 2, 3, ...; what is sent grows with it and stays far below 1, because
// the server that gets the call afterwards counts from where it likes.
std::string waiting_progress(std::string_view token, std::int64_t step, std::string_view message);

// Baton's own tools, as they stand in a list of tools.
inline constexpr std::string_view kStatusTool = "baton_status";
inline constexpr std::string_view kHandoffTool = "baton_handoff";
bool is_own_tool(std::string_view name);
std::string_view own_definition(std::string_view name);

}  // namespace baton::mcp
