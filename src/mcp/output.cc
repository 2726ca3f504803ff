// SPDX-License-Identifier: Apache-2.0
#include "mcp/output.h"

#include "json/canonical.h"
#include "json/decimal.h"
#include "json/parse.h"
#include "mcp/message.h"

namespace baton::mcp {
namespace {

constexpr std::size_t kErrorTextMax = 2000;  // what the node keeps of one

bool may_be_json(std::string_view text) {
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at != std::string_view::npos &&
         std::string_view("{[\"-0123456789tfn").find(text[at]) != std::string_view::npos;
}

std::string text_of_blocks(json::Node content) {
  std::string out;
  bool is_first = true;
  for (const json::Node block : content.elements()) {
    if (!block["type"].is_text("text") || !block["text"].is_string()) continue;
    if (!is_first) out += '\n';
    is_first = false;
    out += block["text"].string();
  }
  return out;
}

// Text may be cut in the middle of a character: what is left of that is dropped.
std::string shortened(std::string text) {
  if (text.size() <= kErrorTextMax) return text;
  text.resize(kErrorTextMax);
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
  if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xc0) text.pop_back();
  return text;
}

Outcome ok(std::string output, std::size_t bytes_max) {
  Outcome out;
  if (output.size() > bytes_max) return out;
  out.kind = Outcome::Kind::Ok;
  out.output = std::move(output);
  return out;
}

}  // namespace

Outcome outcome_of_result(json::Node result, std::size_t bytes_max) {
  const json::Node content = result["content"];
  if (result["isError"].is_true()) {
    Outcome out;
    out.kind = Outcome::Kind::Error;
    out.error_code = out.error_class = "tool_error";
    out.error_message = shortened(text_of_blocks(content));
    return out;
  }
  if (const json::Node structured = result["structuredContent"]) {
    const std::string_view text = text_of(structured);
    if (text.size() > bytes_max) return {};
    return ok(std::string(text), bytes_max);
  }
  if (content.is_array() && content.size() == 1 && content.element(0)["text"].is_string() &&
      content.element(0)["type"].is_text("text")) {
    const std::string_view text = content.element(0)["text"].string();
    if (text.size() > bytes_max) return {};
    if (may_be_json(text) && json::parse(text)) return ok(std::string(text), bytes_max);
  }
  std::size_t size = 0;
  for (const json::Node block : content.elements())
    if (block["text"].is_string()) size += block["text"].string().size();
  if (size > bytes_max) return {};
  std::string out = R"({"text":)" + quoted(text_of_blocks(content)) + R"(,"content":[)";
  bool is_first = true;
  for (const json::Node block : content.elements()) {
    if (!is_first) out += ',';
    is_first = false;
    out += block["type"].is_string() ? quoted(block["type"].string()) : "null";
  }
  return ok(out + "]}", bytes_max);
}

Outcome outcome_of_error(json::Node error) {
  Outcome out;
  out.kind = Outcome::Kind::Error;
  const json::Node code = error["code"];
  const std::int64_t number = code.is_number() ? json::to_int64(code.number_text()).value_or(0) : 0;
  out.error_code = code.is_number() ? std::string(code.number_text()) : "0";
  if (out.error_code.size() > 64) out.error_code.resize(64);
  if (number == kInternalError) out.error_class = "server_error";
  else if (number == kParseError || (number <= kInvalidRequest && number >= kInvalidParams))
    out.error_class = "client_error";
  else out.error_class = "tool_error";
  if (error["message"].is_string()) out.error_message = shortened(std::string(error["message"].string()));
  return out;
}

}  // namespace baton::mcp
