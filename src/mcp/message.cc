// SPDX-License-Identifier: Apache-2.0
#include "mcp/message.h"

#include <algorithm>
#include <set>
#include <span>

#include "base/text.h"
#include "json/canonical.h"
#include "json/scan.h"
#include "mcp/revision.h"

namespace baton::mcp {
namespace {

// Just past the string whose opening quote is at `at`. The text is known to be JSON.
std::size_t past_string(std::string_view text, std::size_t at) {
  ++at;
  while (true) {
    at = json::find_string_special(text, at);
    if (text[at] == '"') return at + 1;
    at += text[at] == '\\' ? 2 : 1;
  }
}

// Just past the array or object that begins at `at`.
std::size_t past_container(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (true) {
    const char c = text[at];
    if (c == '"') {
      at = past_string(text, at);
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
    if (depth == 0) return at;
  }
}

bool is_white(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// --- members ------------------------------------------------------------------------------------------------------------------------

constexpr std::string_view kOfMessage[] = {"jsonrpc", "id", "method", "params", "result", "error"};
// Of params and results. Words that a tool's server may well have for something of its own are left out.
constexpr std::string_view kOfPart[] = {"_meta",
                                        "argument",
                                        "arguments",
                                        "capabilities",
                                        "content",
                                        "contents",
                                        "cursor",
                                        "inputRequests",
                                        "inputResponses",
                                        "instructions",
                                        "isError",
                                        "messages",
                                        "method",
                                        "name",
                                        "nextCursor",
                                        "notifications",
                                        "params",
                                        "progressToken",
                                        "prompts",
                                        "protocolVersion",
                                        "ref",
                                        "requestId",
                                        "requestState",
                                        "requestedSchema",
                                        "resourceSubscriptions",
                                        "resourceTemplates",
                                        "resources",
                                        "resultType",
                                        "structuredContent",
                                        "supportedVersions",
                                        "task",
                                        "taskId",
                                        "tools",
                                        "uri"};
constexpr std::string_view kOfError[] = {"code", "data", "message"};
constexpr std::string_view kOfDefinition[] = {"annotations", "description",  "inputSchema",
                                              "name",        "outputSchema", "title"};
// Of what a server asks the client for, beside those of params.
constexpr std::string_view kOfAsk[] = {
    "elicitationId", "includeContext", "maxTokens",   "message",    "mode", "modelPreferences",
    "stopSequences", "systemPrompt",   "temperature", "toolChoice", "url"};
// Of content blocks, resources and messages of a prompt: what has their text.
constexpr std::string_view kOfBlock[] = {"blob", "content", "data", "resource", "text", "type", "uri"};

std::string_view respelled_in(json::Node object, std::span<const std::string_view> known) {
  for (const json::Member member : object.members()) {
    const std::string_view name = member.name();
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::string folded = without_case(name);
    if (std::ranges::any_of(known, [&](std::string_view one) { return std::ranges::equal(one, folded, {}, to_lower); }))
      return name;
  }
  return {};
}

}  // namespace

std::string_view text_of(json::Node node) {
  const std::string_view text = node.document()->text();
  const std::size_t at = node.offset();
  switch (node.kind()) {
    case json::Kind::Null: return text.substr(at, 4);
    case json::Kind::Boolean: return text.substr(at, node.boolean() ? 4 : 5);
    case json::Kind::Number: return node.number_text();
    case json::Kind::String: return text.substr(at, past_string(text, at) - at);
    default: return text.substr(at, past_container(text, at) - at);
  }
}

std::size_t depth_of(std::string_view json) {
  std::size_t depth = 0, most = 0;
  for (std::size_t at = 0; at < json.size();) {
    const char c = json[at];
    if (c == '"') {
      at = past_string(json, at);
      continue;
    }
    if (c == '{' || c == '[') most = std::max(most, ++depth);
    if (c == '}' || c == ']') --depth;
    ++at;
  }
  return most;
}

// --- splicing -----------------------------------------------------------------------------------------------------------------------

std::string splice(std::string_view text, std::vector<Splice> splices) {
  // Nearly in order: each is moved to its place, and those of one place stay in their order.
  for (std::size_t i = 1; i < splices.size(); ++i)
    for (std::size_t j = i; j > 0 && splices[j].at < splices[j - 1].at; --j) std::swap(splices[j], splices[j - 1]);
  std::size_t size = text.size();
  for (const Splice& one : splices) size += one.text.size() - one.size;
  std::string out;
  out.reserve(size);
  std::size_t at = 0;
  for (const Splice& one : splices) {
    out.append(text.substr(at, one.at - at));
    out.append(one.text);
    at = one.at + one.size;
  }
  out.append(text.substr(at));
  return out;
}

Splice replacing(json::Node node, std::string text) { return {node.offset(), text_of(node).size(), std::move(text)}; }

Splice setting(json::Node object, std::string_view name, std::string text) {
  if (const json::Node there = object[name]) return replacing(there, std::move(text));
  std::string member = quoted(name);
  member += ':';
  member += text;
  if (object.size() != 0) member += ',';
  return {object.offset() + 1, 0, std::move(member)};
}

Splice removing(json::Node object, std::string_view name) {
  const std::string_view text = object.document()->text();
  for (const json::Member member : object.members()) {
    if (member.name() != name) continue;
    std::size_t from = member.key.offset(), to = member.value.offset() + text_of(member.value).size();
    // One comma goes with it: the one behind, or that before the last member.
    std::size_t behind = to;
    while (is_white(text[behind])) ++behind;
    if (text[behind] == ',') return {from, behind + 1 - from, ""};
    std::size_t before = from;
    while (is_white(text[before - 1])) --before;
    if (text[before - 1] == ',') from = before - 1;
    return {from, to - from, ""};
  }
  return {object.offset(), 0, ""};
}

std::vector<Splice> removing(json::Node object, const std::vector<std::string_view>& names) {
  const std::set<std::string_view> removed(names.begin(), names.end());  // there may be as many as the object has
  std::vector<Splice> out;
  std::size_t from = object.offset() + 1, to = from;  // what is taken out behind the last member that stays
  bool is_open = false, has_kept = false;
  for (const json::Member member : object.members()) {
    const std::size_t behind = member.value.offset() + text_of(member.value).size();
    if (removed.contains(member.name())) {
      // With the comma before it, or with the blanks at the beginning.
      is_open = true;
      to = behind;
      continue;
    }
    // Before the first member that stays the comma goes that is behind.
    if (is_open) out.push_back({from, (has_kept ? to : member.key.offset()) - from, ""});
    is_open = false;
    has_kept = true;
    from = to = behind;
  }
  if (is_open) out.push_back({from, to - from, ""});
  return out;
}

std::string quoted(std::string_view text) {
  std::string out;
  json::append_canonical_string(out, text);
  return out;
}

// Case is what differs, and the two letters that Unicode folds to ASCII ones.
std::string without_case(std::string_view name) {
  std::string out;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name.substr(at).starts_with("\u017f")) out += 's', at += 1;       // the long s
    else if (name.substr(at).starts_with("\u212a")) out += 'k', at += 2;  // the sign of Kelvin
    else out += to_lower(name[at]);
  }
  return out;
}

std::string_view respelled_in_definition(json::Node definition) { return respelled_in(definition, kOfDefinition); }

std::string why_respelled(std::string_view member) {
  return "its definition has a member `" + printable(member, 60) +
         "`, which differs from one of the protocol only in case";
}

std::string_view respelled_in_ask(json::Node request) {
  std::string_view out = respelled_in(request, kOfMessage);
  const json::Node params = request["params"];
  if (out.empty()) out = respelled_in(params, kOfPart);
  return out.empty() ? respelled_in(params, kOfAsk) : out;
}

std::string_view respelled_in_block(json::Node block) { return respelled_in(block, kOfBlock); }

std::string id_key(json::Node node) {
  if (node.is_string()) return quoted(node.string());
  if (!node.is_number()) return {};
  const std::string_view text = node.number_text();
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.find_first_not_of("0123456789") != std::string_view::npos || text == "-0") return {};
  return std::string(text);
}

// --- a message ----------------------------------------------------------------------------------------------------------------------

Message::Message(std::string bytes, std::size_t bytes_max) : bytes_(std::move(bytes)) {
  auto document = json::parse(bytes_, {.bytes_max = bytes_max});
  if (!document) {
    broken(kParseError, "not JSON: " + document.error().what);
    return;
  }
  document_.emplace(std::move(*document));
  // A message goes on as one line. Outside strings these are blanks, and within strings JSON does not have them; left as they are,
  // whoever reads lines would take a part of a message for one.
  for (char& c : bytes_)
    if (c == '\n' || c == '\r') c = ' ';
  classify();
}

void Message::broken(int code, std::string why) {
  kind_ = Kind::Broken;
  fault_code_ = code;
  fault_ = std::move(why);
}

void Message::classify() {
  const json::Node root = document_->root();
  if (root.is_array()) {
    if (root.size() == 0) return broken(kInvalidRequest, "an empty batch");
    kind_ = Kind::Batch;
    return;
  }
  if (!root.is_object()) return broken(kInvalidRequest, "not an object");
  json::Node method;
  bool is_2_0 = false;
  for (const json::Member member : root.members()) {
    const std::string_view name = member.name();
    if (name == "jsonrpc") is_2_0 = member.value.is_text("2.0");
    else if (name == "id") id_ = member.value;
    else if (name == "method") method = member.value;
    else if (name == "params") params_ = member.value;
    else if (name == "result") result_ = member.value;
    else if (name == "error") error_ = member.value;
  }
  id_text_ = id_key(id_);
  if (!is_2_0) return broken(kInvalidRequest, "`jsonrpc` is not \"2.0\"");
  std::string_view respelled = respelled_in(root, kOfMessage);
  for (const json::Node part : {params_, params_["notifications"], result_})
    if (respelled.empty()) respelled = respelled_in(part, kOfPart);
  if (respelled.empty()) respelled = respelled_in(error_, kOfError);
  if (!respelled.empty())
    return broken(kInvalidRequest,
                  "the member `" + printable(respelled, 60) + "` differs from one of the protocol only in case");
  if (id_ && id_text_.empty() && !(id_.is_null() && error_))
    return broken(kInvalidRequest, "`id` is neither a string nor a whole number");
  // One that is two things at once would be one thing to us and another to whoever gets it.
  if ((method ? 1 : 0) + (result_ ? 1 : 0) + (error_ ? 1 : 0) != 1)
    return broken(kInvalidRequest, "not one of `method`, `result` and `error`");
  if (method) {
    if (!method.is_string()) return broken(kInvalidRequest, "`method` is not a string");
    if (params_ && !params_.is_object()) return broken(kInvalidRequest, "`params` is not an object");
    method_ = method.string();
    kind_ = id_ ? Kind::Request : Kind::Notification;
    if (const json::Node meta = params_["_meta"]; meta.is_object()) meta_ = meta;
    progress_token_node_ = kind_ == Kind::Notification && method_ == "notifications/progress" ? params_["progressToken"]
                                                                                              : meta_["progressToken"];
    progress_token_ = id_key(progress_token_node_);
    if (progress_token_.empty()) progress_token_node_ = {};
    return;
  }
  if (!id_) return broken(kInvalidRequest, "an answer without an id");
  if (result_) {
    if (!result_.is_object()) return broken(kInvalidRequest, "`result` is not an object");
    kind_ = Kind::Result;
    if (const json::Node meta = result_["_meta"]; meta.is_object()) meta_ = meta;
  } else {
    if (!error_.is_object()) return broken(kInvalidRequest, "`error` is not an object");
    kind_ = Kind::Error;
  }
}

std::string Message::take_bytes() {
  document_.reset();
  return std::move(bytes_);
}

std::vector<std::string> Message::elements() const {
  std::vector<std::string> out;
  for (const json::Node element : root().elements()) out.emplace_back(mcp::text_of(element));
  return out;
}

}  // namespace baton::mcp
