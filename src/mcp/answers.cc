// SPDX-License-Identifier: Apache-2.0
#include "mcp/answers.h"

#include "json/canonical.h"
#include "mcp/message.h"

namespace baton::mcp {
namespace {

constexpr std::string_view kStatusDefinition =
    R"({"name":"baton_status","title":"Baton: where this session stands","description":"Says which phase this session is in, which tools can be called now, and what is left of its limits. Call it when a call was denied, or to plan what to do next. It changes nothing.","inputSchema":{"type":"object","properties":{},"additionalProperties":false},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}})";
constexpr std::string_view kHandoffDefinition =
    R"({"name":"baton_handoff","title":"Baton: hand the work over","description":"Hands the work over when this session is done, blocked or must stop: `document` is the handoff (an exit signal, a contract block or a packet) as an object or as text. The answer is its receipt, or what is wrong with it; correct it and call again.","inputSchema":{"type":"object","properties":{"document":{"description":"The handoff document: a JSON object, or its text.","anyOf":[{"type":"object"},{"type":"string"}]}},"required":["document"],"additionalProperties":false},"annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}})";

void begin(std::string& out, Era era) {
  out += '{';
  if (era == Era::Modern) out += R"("resultType":"complete",)";
}

void append_text_content(std::string& out, std::string_view text) {
  out += R"("content":[{"type":"text","text":)";
  json::append_canonical_string(out, text);
  out += "}]";
}

}  // namespace

std::string text_of(const Denial& denial) {
  std::string out = "Denied by " + denial.rule + ": " + denial.why;
  if (!denial.instead.empty()) out += "; " + denial.instead;
  return out;
}

std::string denied_data(const Denial& denial) {
  std::string out = "{";
  json::append_canonical_string(out, kMetaDecision);
  json::Value decision = json::Value::object();
  decision.set("decision", "deny");
  decision.set("rule", denial.rule);
  if (denial.details.is_object())
    for (const auto& [name, value] : denial.details.members()) decision.set(name, value);
  out += ':' + json::write(decision) + "}";
  return out;
}

std::string denied_result(Era era, const Denial& denial) {
  std::string out;
  begin(out, era);
  append_text_content(out, text_of(denial));
  return out + R"(,"isError":true,"_meta":)" + denied_data(denial) + "}";
}

std::string text_result(Era era, std::string_view text, bool is_error) {
  std::string out;
  begin(out, era);
  append_text_content(out, text);
  out += is_error ? R"(,"isError":true})" : "}";
  return out;
}

namespace {

std::string begin_message(std::string_view id) {
  std::string out = R"({"jsonrpc":"2.0","id":)";
  out += id.empty() ? "null" : id;
  return out;
}

}  // namespace

std::string result_message(std::string_view id, std::string_view result) {
  std::string out = begin_message(id);
  out += R"(,"result":)";
  out += result;
  out += '}';
  return out;
}

std::string error_message(std::string_view id, int code, std::string_view message, std::string_view data) {
  std::string out = begin_message(id);
  out += R"(,"error":{"code":)" + std::to_string(code) + R"(,"message":)";
  json::append_canonical_string(out, message);
  if (!data.empty()) {
    out += R"(,"data":)";
    out += data;
  }
  out += "}}";
  return out;
}

std::string unknown_tool(std::string_view id, std::string_view name) {
  return error_message(id, kInvalidParams, "Unknown tool: " + std::string(name));
}

namespace {

// Finishes a message that was begun: what is wanted, and with what.
std::string with_method(std::string out, std::string_view method, std::string_view params) {
  out += R"(,"method":)";
  json::append_canonical_string(out, method);
  if (!params.empty()) {
    out += R"(,"params":)";
    out += params;
  }
  out += '}';
  return out;
}

}  // namespace

std::string notification(std::string_view method, std::string_view params) {
  return with_method(R"({"jsonrpc":"2.0")", method, params);
}

std::string request(std::string_view id, std::string_view method, std::string_view params) {
  return with_method(begin_message(id), method, params);
}

std::string cancelled(std::string_view request_id, std::string_view reason) {
  std::string params = R"({"requestId":)";
  params += request_id;
  if (!reason.empty()) params += R"(,"reason":)" + quoted(reason);
  return notification("notifications/cancelled", params + "}");
}

std::string waiting_progress(std::string_view token, std::int64_t step, std::string_view message) {
  std::string digits = std::to_string(step);
  if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
  std::string params = R"({"progressToken":)";
  params += token;
  params += R"(,"progress":0.)" + digits + R"(,"message":)" + quoted(message) + "}";
  return notification("notifications/progress", params);
}

bool is_own_tool(std::string_view name) { return name == kStatusTool || name == kHandoffTool; }

std::string_view own_definition(std::string_view name) {
  return name == kStatusTool ? kStatusDefinition : kHandoffDefinition;
}

}  // namespace baton::mcp
