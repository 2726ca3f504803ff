// SPDX-License-Identifier: Apache-2.0
#include "mcp/output.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "base/sha256.h"
#include "base/text.h"
#include "json/canonical.h"
#include "json/decimal.h"
#include "json/parse.h"
#include "mcp/header_value.h"
#include "mcp/revision.h"

namespace baton::mcp {
namespace {

constexpr std::size_t kErrorTextMax = 2000;  // what the node keeps of one
constexpr std::size_t kTypeTextMax = 40;     // what is said of a block's type
constexpr json::ParseLimits kJudged = {.depth_max = kJudgedDepthMax};

template <std::size_t size>
bool is_among(const std::array<std::string_view, size>& known, std::string_view name) {
  return std::ranges::find(known, name) != known.end();
}

template <class List, class Is>
bool any_of(const List& list, const Is& is) {
  for (const auto& one : list)
    if (is(one)) return true;
  return false;
}

template <class List, class Is>
bool all_of(const List& list, const Is& is) {
  return !any_of(list, [&](const auto& one) { return !is(one); });
}

// --- parts of a result ----------------------------------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 5> kToolBlocks = {"text", "image", "audio", "resource", "resource_link"};
constexpr std::array<std::string_view, 5> kSamplingBlocks = {"text", "image", "audio", "tool_use", "tool_result"};
// Members of a result's _meta that belong to the protocol. Clients show them to nobody's model.
constexpr std::array<std::string_view, 3> kProtocolMeta = {"io.modelcontextprotocol/serverInfo", kMetaSubscriptionId,
                                                           "io.modelcontextprotocol/related-task"};
constexpr std::array<std::string_view, 6> kResultMembers = {
    "content", "structuredContent", "isError", "resultType", "_meta", "ttlMs"};
// Members of other results of the protocol. One that is null says nothing here either.
constexpr std::array<std::string_view, 3> kOtherMembers = {"cacheScope", "inputRequests", "requestState"};

// FastMCP says with it that it put an output that is no object into {"result": ...}.
constexpr std::string_view kFastMcp = "fastmcp";
constexpr std::string_view kServerInfo = "io.modelcontextprotocol/serverInfo";
constexpr std::size_t kShortTextMax = 256;  // bytes of a text that nobody judges: a name, a version, an id

bool is_short_text(json::Node node) { return node.is_string() && node.string().size() <= kShortTextMax; }
bool is_short_id(json::Node node) {
  return is_short_text(node) || (node.is_number() && node.number_text().size() <= kShortTextMax);
}
// Of serverInfo. Any other member is left out.
bool is_of_server_info(const json::Member& member) {
  constexpr std::array<std::string_view, 3> kKnown = {"name", "version", "title"};
  return is_among(kKnown, member.name()) && is_short_text(member.value);
}

// A member of a result's _meta that is known, and that has nothing but what it is for. Null is as good as nothing.
bool is_protocol_meta(const json::Member& member) {
  if (member.name() == kFastMcp)
    return member.value.is_null() || (member.value.size() == 1 && member.value["wrap_result"].is_boolean());
  if (!is_among(kProtocolMeta, member.name())) return false;
  if (member.value.is_null()) return true;
  if (member.name() == kServerInfo)
    return member.value.is_object() && all_of(member.value.members(), is_of_server_info);
  if (member.name() == kMetaSubscriptionId) return is_short_id(member.value);
  return member.value.is_object() && member.value.size() == 1 && is_short_text(member.value["taskId"]);
}

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

bool is_time(json::Node node) {
  constexpr std::string_view kTime = "0123456789-:.TZ+";
  return node.is_string() && node.string().size() <= 40 &&
         node.string().find_first_not_of(kTime) == std::string_view::npos;
}

// Annotations that can say nothing but what they are for: who a block is for, how important it is, when it changed.
bool are_plain_annotations(json::Node annotations) {
  if (!annotations.is_object()) return annotations.is_null();
  for (const json::Member one : annotations.members()) {
    if (one.name() == "priority") {
      if (!one.value.is_number() && !one.value.is_null()) return false;
    } else if (one.name() == "audience") {
      if (one.value.is_null()) continue;
      if (!one.value.is_array() || one.value.size() > 2) return false;
      for (const json::Node who : one.value.elements())
        if (!who.is_text("user") && !who.is_text("assistant")) return false;
    } else if (one.name() == "lastModified") {
      if (!is_time(one.value) && !one.value.is_null()) return false;
    } else {
      return false;
    }
  }
  return true;
}

bool is_without_content(json::Node node) { return node.is_null() || (node.is_object() && node.size() == 0); }

// A block that is its text and nothing else.
bool is_only_text(json::Node block) {
  if (!block["type"].is_text("text") || !block["text"].is_string()) return false;
  for (const json::Member one : block.members()) {
    if (one.name() == "type" || one.name() == "text") continue;
    if (one.name() == "annotations" && are_plain_annotations(one.value)) continue;
    if (one.name() == "_meta" && is_without_content(one.value)) continue;
    return false;
  }
  return true;
}

// Members of a result that say something beside its content.
bool is_more(const json::Member& member) {
  if (member.value.is_null())
    return !is_among(kResultMembers, member.name()) && !is_among(kOtherMembers, member.name());
  if (member.name() == "_meta") {
    if (!member.value.is_object()) return true;
    return any_of(member.value.members(), [](const json::Member& one) { return !is_protocol_meta(one); });
  }
  if (member.name() == "isError") return !member.value.is_boolean();
  if (member.name() == "resultType") return !member.value.is_text("complete");
  if (member.name() == "ttlMs") return !member.value.is_number();
  return !is_among(kResultMembers, member.name());
}

bool has_more(json::Node result) { return any_of(result.members(), is_more); }

// --- what is judged -------------------------------------------------------------------------------------------------------------------

void append_base64(std::string& out, std::string_view base64) {
  const std::size_t padding = base64.ends_with("==") ? 2 : base64.ends_with('=') ? 1 : 0;
  const std::size_t bytes = base64.size() / 4 * 3;
  out += R"({"bytes":)" + std::to_string(bytes > padding ? bytes - padding : 0) + R"(,"sha256":)" +
         quoted(sha256_hex(base64)) + "}";
}

using IsSkipped = bool (*)(const json::Member&);

bool nothing(const json::Member&) { return false; }

// The value as rules see it. `skips`: members of this object that are left out.
void append_judged(std::string& out, json::Node node, IsSkipped skips) {
  if (node.is_array()) {
    out += '[';
    bool is_first = true;
    for (const json::Node one : node.elements()) {
      if (!is_first) out += ',';
      is_first = false;
      append_judged(out, one, nothing);
    }
    out += ']';
    return;
  }
  if (!node.is_object()) {
    out += text_of(node);
    return;
  }
  const bool is_media = (node["type"].is_text("image") || node["type"].is_text("audio")) && node["data"].is_string();
  const json::Node blob = node["blob"].is_string() ? node["blob"] : json::Node();
  out += '{';
  bool is_first = true;
  const auto begin_member = [&](std::string_view name) {
    if (!is_first) out += ',';
    is_first = false;
    out += quoted(name) + ':';
  };
  for (const json::Member member : node.members()) {
    if (skips(member)) continue;
    begin_member(member.name());
    if ((is_media && member.name() == "data") || (blob && member.name() == "blob"))
      append_base64(out, member.value.string());
    else append_judged(out, member.value, nothing);
  }
  if (blob && !node["text"]) {
    const auto text = from_base64(blob.string());
    if (text && find_invalid_utf8(*text) == text->size()) {
      begin_member("text");
      out += quoted(*text);
    }
  }
  out += '}';
}

}  // namespace

bool is_of_protocol(const json::Member& member) {
  if (member.name() == "cacheScope") return member.value.is_text("public") || member.value.is_text("private");
  return (member.name() == "resultType" || member.name() == "ttlMs" || member.name() == "_meta") && !is_more(member);
}

namespace {

// Others read values in what rules do not take for JSON.
bool others_read(json::Fault fault) {
  return fault == json::Fault::TooDeep || fault == json::Fault::DuplicateKey || fault == json::Fault::TooManyMembers ||
         fault == json::Fault::LoneSurrogate;
}

// The code unit of the `\\uXXXX` that the text begins with; nothing: it begins with something else.
std::optional<unsigned> escaped_unit(std::string_view text) {
  unsigned unit = 0;
  if (text.size() < 6 || !text.starts_with("\\u")) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, unit, 16);
  return error == std::errc() && end == text.data() + 6 ? std::optional(unit) : std::nullopt;
}

// The JSON with U+FFFD for each escape that is half of a surrogate pair.
std::string with_halves_replaced(std::string_view json) {
  const auto is_high = [](std::optional<unsigned> unit) { return unit && *unit >= 0xd800 && *unit < 0xdc00; };
  const auto is_low = [](std::optional<unsigned> unit) { return unit && *unit >= 0xdc00 && *unit < 0xe000; };
  std::string out(json);
  for (std::size_t at = out.find('\\'); at != std::string::npos; at = out.find('\\', at)) {
    const std::string_view rest = std::string_view(out).substr(at);
    const auto unit = escaped_unit(rest);
    if (is_high(unit) && is_low(escaped_unit(rest.substr(6)))) {
      at += 12;
      continue;
    }
    if (is_high(unit) || is_low(unit)) out.replace(at, 6, "\\ufffd");
    at += unit ? 6 : 2;
  }
  return out;
}

// The JSON that rules see in a text; or why they see none. Programs that cut a text in the middle of a character write half of a surrogate
// pair: rules see U+FFFD for it, as most readers do. One that nests too deep is JSON to others: bounded() refuses it.
tl::expected<std::string, json::Fault> judged_json(std::string_view text) {
  std::string out(text);
  auto parsed = json::parse(out, kJudged);
  if (!parsed && parsed.error().fault == json::Fault::LoneSurrogate) {
    out = with_halves_replaced(text);
    parsed = json::parse(out, kJudged);
  }
  if (parsed || parsed.error().fault == json::Fault::TooDeep) return out;
  return tl::make_unexpected(parsed.error().fault);
}

// The text that is the whole result; no node: the result is more than one text.
json::Node only_text(json::Node result) {
  const json::Node content = result["content"];
  const bool is_one =
      content.is_array() && content.size() == 1 && is_only_text(content.element(0)) && !has_more(result);
  return is_one ? content.element(0)["text"] : json::Node();
}

// Why programs read values in the only text that no rule sees; empty: they do not.
std::string unclear_json(json::Node result) {
  const json::Node text = only_text(result);
  const std::size_t begin = text ? text.string().find_first_not_of(" \t\r\n") : std::string_view::npos;
  if (begin == std::string_view::npos || (text.string()[begin] != '{' && text.string()[begin] != '[')) return {};
  const auto judged = judged_json(text.string());
  if (judged || !others_read(judged.error())) return {};
  const std::string out = "its text is JSON that programs read in different ways: ";  // and no word of the server's
  return out + (judged.error() == json::Fault::DuplicateKey ? "a member is there twice"
                                                            : "an object or a list in it is too long");
}

// The reading of everything but structuredContent.
JudgedOutput reading_of(json::Node result) {
  const json::Node content = result["content"];
  const bool is_text = all_of(content.elements(), is_only_text) && !has_more(result);
  if (is_text && content.is_array() && content.size() == 1) {
    const std::string_view text = content.element(0)["text"].string();
    if (may_be_json(text)) {
      if (auto judged = judged_json(text)) return {std::move(*judged), false};
    }
  }
  std::string out = R"({"text":)" + quoted(text_of_blocks(content)) + R"(,"content":[)";
  bool is_first = true;
  for (const json::Node block : content.elements()) {
    if (!is_first) out += ',';
    is_first = false;
    out += block["type"].is_string() ? quoted(block["type"].string()) : "null";
  }
  out += ']';
  if (is_text) return {out + "}", true};
  out += R"(,"blocks":[)";
  is_first = true;
  for (const json::Node block : content.elements()) {
    if (is_only_text(block)) continue;
    if (!is_first) out += ',';
    is_first = false;
    append_judged(out, block, nothing);
  }
  out += ']';
  std::string more;
  for (const json::Member member : result.members()) {
    if (member.name() == "_meta" && is_more(member)) {
      out += R"(,"_meta":)";
      append_judged(out, member.value, is_protocol_meta);
    } else if (is_more(member)) {
      more += (more.empty() ? "" : ",") + quoted(member.name()) + ':';
      append_judged(more, member.value, nothing);
    }
  }
  if (!more.empty()) out += R"(,"more":{)" + more + "}";
  return {out + "}", false};
}

bool is_same(json::Node left, json::Node right) {
  const auto first = json::canonical(left, json::Numbers::Exact);
  const auto second = json::canonical(right, json::Numbers::Exact);
  return first && second && *first == *second;
}

// structuredContent is always an object, so servers put a list or a text into one that has nothing else: {"result": [1, 2]}. What is in it;
// no node: it is no such wrapper.
json::Node wrapped_in(json::Node structured) {
  return structured.is_object() && structured.size() == 1 ? (*structured.members().begin()).value : json::Node();
}

// What a structure says, to compare many blocks with: each block costs a parse and a lookup.
class Said {
 public:
  explicit Said(json::Node structured) {
    const json::Node wrapped = wrapped_in(structured);
    add_value(structured);
    if (wrapped.is_string()) wrapped_text_ = wrapped.string();
    // An object that is wrapped is no repetition: a path means another value in it.
    if (wrapped && !wrapped.is_object()) add_value(wrapped);
    for (const json::Node one : wrapped.elements())
      if (!one.is_object()) add_value(one);
    add_texts(structured);
  }

  // Is the text the JSON of the whole structure, of what a wrapper wraps, or of one element of a wrapped list? Or one of the
  // structure's texts: it says nothing more, unless a path finds values in it.
  bool repeats(std::string_view text) const {
    if (text.empty() || (wrapped_text_ && *wrapped_text_ == text)) return true;
    bool has_values = false;
    if (may_be_json(text)) {
      if (const auto document = json::parse(text, kJudged)) {
        const json::Node root = document->root();
        has_values = root.is_object() || root.is_array();
        const auto canonical = json::canonical(root, json::Numbers::Exact);
        if (canonical && values_.contains(*canonical)) return true;
      } else {
        has_values = others_read(document.error().fault);
      }
    }
    return !has_values && texts_.contains(text);
  }

 private:
  void add_value(json::Node value) {
    if (auto canonical = json::canonical(value, json::Numbers::Exact)) values_.insert(std::move(*canonical));
  }
  void add_texts(json::Node value) {
    if (value.is_string()) texts_.insert(value.string());
    for (const json::Node one : value.elements()) add_texts(one);
    for (const json::Member one : value.members()) add_texts(one.value);
  }

  std::set<std::string, std::less<>> values_;  // canonical
  std::set<std::string_view> texts_;
  std::optional<std::string_view> wrapped_text_;
};

// The Python SDK wraps a list and says each element in a block of its own. An object is one of these as long as the wrapper's name means
// nothing in it: a path finds the list, or nothing.
bool says_elements(json::Node content, json::Node structured) {
  const json::Node wrapped = wrapped_in(structured);
  if (!wrapped.is_array() || !content.is_array() || wrapped.size() != content.size()) return false;
  const std::string_view name = (*structured.members().begin()).name();
  const json::Node::Elements elements = wrapped.elements(), blocks = content.elements();
  auto at = blocks.begin();
  for (const json::Node element : elements) {
    const json::Node block = *at;
    ++at;
    if (!is_only_text(block) || element[name]) return false;
    const std::string_view text = block["text"].string();
    if (element.is_string() && element.string() == text) continue;
    const auto said = json::parse(text, kJudged);
    if (!said || !is_same(said->root(), element)) return false;
  }
  return true;
}

// Does the rest of the result say nothing that is not in structuredContent?
bool repeats(json::Node result, json::Node structured) {
  if (has_more(result)) return false;
  if (says_elements(result["content"], structured)) return true;
  const Said said(structured);
  return all_of(result["content"].elements(),
                [&](json::Node block) { return is_only_text(block) && said.repeats(block["text"].string()); });
}

Outcome unjudged(std::string problem, std::size_t bytes = 0) {
  Outcome out;
  out.unjudged = std::move(problem);
  out.bytes = bytes;
  return out;
}

Outcome too_large(std::size_t bytes) { return unjudged("it is too large", bytes); }

// The outcome, if the node accepts what is judged of it. A text that nests too deep to be parsed is JSON here.
Outcome bounded(Outcome outcome) {
  std::size_t depth = depth_of(outcome.output.json);
  for (const JudgedOutput& one : outcome.also) depth = std::max(depth, depth_of(one.json));
  return depth <= kJudgedDepthMax ? std::move(outcome) : unjudged("it is " + too_deep(depth));
}

// --- types that are not known ---------------------------------------------------------------------------------------------------------

bool is_tool_block(json::Node block) {
  return block["type"].is_string() && is_among(kToolBlocks, block["type"].string());
}
bool is_sampling_block(json::Node block) {
  return block["type"].is_string() && is_among(kSamplingBlocks, block["type"].string());
}

std::string unknown_type(json::Node block) {
  if (!block["type"].is_string()) return "it has a content block without a type";
  return "it has a content block of the type `" + printable(block["type"].string(), kTypeTextMax) +
         "`, which Baton does not know (`mcp: {unknown_content: drop}` in the pack's session.yaml leaves such blocks "
         "out)";
}

// The problem with the first block of a list, or with the only one; empty: all are known.
template <class IsKnown>
std::string unknown_in(json::Node content, const IsKnown& is_known) {
  if (content.is_array()) {
    for (const json::Node block : content.elements())
      if (!is_known(block)) return unknown_type(block);
    return {};
  }
  return !content || is_known(content) ? std::string() : unknown_type(content);
}

std::string in_another_case(std::string_view whose, std::string_view member) {
  return std::string(whose) + " has a member `" + printable(member, kTypeTextMax) +
         "`, which differs from one of the protocol only in case";
}

// Why somebody may read another text in this part than the one that rules look at; empty: nobody does.
std::string unclear(json::Node part) {
  if (const std::string_view respelled = respelled_in_block(part); !respelled.empty())
    return in_another_case("a part of it", respelled);
  if (part["text"].is_string() && part["blob"].is_string()) return "a resource in it has both `text` and `blob`";
  return part["resource"] ? unclear(part["resource"]) : std::string();
}

// The same of a list of parts, or of the only one.
std::string unclear_in(json::Node parts) {
  if (!parts.is_array()) return unclear(parts);
  for (const json::Node one : parts.elements())
    if (std::string problem = unclear(one); !problem.empty()) return problem;
  return {};
}

std::string problem_in_other(std::string_view method, json::Node result) {
  if (method == "resources/read") return unclear_in(result["contents"]);
  if (method == "sampling/createMessage") {
    std::string problem = unknown_in(result["content"], is_sampling_block);
    return problem.empty() ? unclear_in(result["content"]) : problem;
  }
  if (method != "prompts/get") return {};
  for (const json::Node message : result["messages"].elements()) {
    std::string problem = unknown_in(message["content"], is_tool_block);
    for (const json::Node part : {message, message["content"]})
      if (problem.empty()) problem = unclear_in(part);
    if (!problem.empty()) return problem;
  }
  return {};
}

}  // namespace

Outcome outcome_of_result(json::Node result, std::size_t bytes_max) {
  if (const std::size_t bytes = text_of(result).size(); bytes > bytes_max) return too_large(bytes);
  if (!result.is_object()) return unjudged("it is not an object");
  const json::Node content = result["content"];
  if (content && !content.is_array()) return unjudged("its `content` is not a list");
  if (std::string problem = unknown_in(content, is_tool_block); !problem.empty()) return unjudged(std::move(problem));
  if (std::string problem = unclear_in(content); !problem.empty()) return unjudged(std::move(problem));
  if (std::string problem = unclear_json(result); !problem.empty()) return unjudged(std::move(problem));
  Outcome out;
  if (const json::Node structured = result["structuredContent"]; structured && !structured.is_null()) {
    out.output.json = text_of(structured);
    if (!repeats(result, structured)) out.also.push_back(reading_of(result));
  } else {
    out.output = reading_of(result);
  }
  if (result["isError"].is_true()) {
    out.kind = Outcome::Kind::Error;
    out.error_code = out.error_class = "tool_error";
    out.error_message = shortened(text_of_blocks(content));
  } else {
    out.kind = Outcome::Kind::Ok;
  }
  return bounded(std::move(out));
}

Outcome outcome_of_other(std::string_view method, json::Node result, std::size_t bytes_max) {
  if (const std::size_t bytes = text_of(result).size(); bytes > bytes_max) return too_large(bytes);
  if (std::string problem = problem_in_other(method, result); !problem.empty()) return unjudged(std::move(problem));
  Outcome out;
  out.kind = Outcome::Kind::Ok;
  append_judged(out.output.json, result, is_of_protocol);
  return bounded(std::move(out));
}

Outcome outcome_of_error(json::Node error, std::size_t bytes_max) {
  if (const std::size_t bytes = text_of(error).size(); bytes > bytes_max) return too_large(bytes);
  if (!error.is_object()) return unjudged("its error is not an object");
  Outcome out;
  out.kind = Outcome::Kind::Error;
  const json::Node code = error["code"];
  const auto whole = code.is_number() ? json::to_int64(code.number_text()) : std::nullopt;
  const std::int64_t number = whole.value_or(0);
  out.error_code = code.is_number() ? std::string(code.number_text()) : "0";
  if (out.error_code.size() > 64) out.error_code.resize(64);
  if (number == kInternalError) out.error_class = "server_error";
  else if (number == kParseError || (number <= kInvalidRequest && number >= kInvalidParams))
    out.error_class = "client_error";
  else out.error_class = "tool_error";
  const std::string message(error["message"].is_string() ? error["message"].string() : std::string_view());
  out.error_message = shortened(message);
  std::string& judged = out.output.json;
  judged = R"({"text":)" + quoted(message) + R"(,"content":[])";
  out.output.is_text = true;
  std::string more;
  for (const json::Member member : error.members()) {
    if ((member.name() == "code" && whole) || (member.name() == "message" && member.value.is_string())) continue;
    out.output.is_text = false;
    more += (more.empty() ? "" : ",") + quoted(member.name()) + ':';
    append_judged(more, member.value, nothing);
  }
  if (!more.empty()) judged += R"(,"more":{)" + more + "}";
  judged += '}';
  return bounded(std::move(out));
}

std::string unclear_ask(json::Node request) {
  if (const std::string_view respelled = respelled_in_ask(request); !respelled.empty())
    return in_another_case("the request", respelled);
  for (const json::Node message : request["params"]["messages"].elements())
    for (const json::Node part : {message, message["content"]})
      if (std::string problem = unclear_in(part); !problem.empty()) return problem;
  return {};
}

bool has_more_than(json::Node result, std::span<const std::string_view> known) {
  return any_of(result.members(), [&](const json::Member& one) {
    if (one.name() == "_meta" || std::ranges::find(known, one.name()) != known.end()) return false;
    return one.name() == "isError" ? is_more(one) : !is_of_protocol(one);
  });
}

std::optional<Splice> removing_meta(json::Node result) {
  for (const json::Member one : result.members())
    if (one.name() == "_meta" && is_more(one)) return removing(result, "_meta");
  return std::nullopt;
}

bool has_input_requests(json::Node result) {
  const json::Node inputs = result["inputRequests"];
  return inputs && !is_without_content(inputs);
}

// --- taken out ------------------------------------------------------------------------------------------------------------------------

namespace {

bool is_own(std::string_view name) {
  constexpr std::string_view kOwn = "dev.baton";
  return name.starts_with(kOwn) && (name.size() == kOwn.size() || name[kOwn.size()] == '/' || name[kOwn.size()] == '.');
}

bool has_own(json::Node meta) {
  return meta.is_object() && any_of(meta.members(), [](const json::Member& one) { return is_own(one.name()); });
}

// A place where only Baton says what it decided: `_meta`, and the `data` of an error, which has the decision of what is no tool's call.
bool is_place(std::string_view above, std::string_view name) {
  return name == "_meta" || (above == "error" && name == "data");
}

bool contains_own(json::Node node, std::string_view name) {
  if (node.is_array()) return any_of(node.elements(), [](json::Node one) { return contains_own(one, {}); });
  return node.is_object() && any_of(node.members(), [&](const json::Member& one) {
           return (is_place(name, one.name()) && has_own(one.value)) || contains_own(one.value, one.name());
         });
}

// `name`: of the member that has it; `is_meta`: nothing of Baton's stays in it.
void append_without_own(std::string& out, json::Node node, std::string_view name, bool is_meta) {
  if (!node.is_array() && !node.is_object()) {
    out += text_of(node);
    return;
  }
  out += node.is_array() ? '[' : '{';
  bool is_first = true;
  const auto separate = [&] {
    if (!is_first) out += ',';
    is_first = false;
  };
  for (const json::Node one : node.elements()) {
    separate();
    append_without_own(out, one, {}, false);
  }
  for (const json::Member one : node.members()) {
    if (is_meta && is_own(one.name())) continue;
    separate();
    out += text_of(one.key);
    out += ':';
    append_without_own(out, one.value, one.name(), is_place(name, one.name()));
  }
  out += node.is_array() ? ']' : '}';
}

}  // namespace

std::optional<std::string> without_own_meta(const Message& message) {
  // Without the word and without an escape that could hide it there is nothing to look for.
  const std::string& bytes = message.bytes();
  if (bytes.find("dev.baton") == std::string::npos && bytes.find("\\u") == std::string::npos) return std::nullopt;
  if (!message.root() || !contains_own(message.root(), {})) return std::nullopt;
  std::string out;
  append_without_own(out, message.root(), {}, false);
  return out;
}

namespace {

bool is_of_answer(const json::Member& member) {
  constexpr std::array<std::string_view, 4> kKnown = {"jsonrpc", "id", "result", "error"};
  return is_among(kKnown, member.name());
}
bool is_of_request(const json::Member& member) {
  constexpr std::array<std::string_view, 4> kKnown = {"jsonrpc", "id", "method", "params"};
  return is_among(kKnown, member.name());
}

template <class IsKept>
std::string with_only(json::Node object, const IsKept& is_kept) {
  std::string out = "{";
  for (const json::Member one : object.members()) {
    if (!is_kept(one)) continue;
    if (out.size() > 1) out += ',';
    out += text_of(one.key);
    out += ':';
    out += text_of(one.value);
  }
  return out + "}";
}

// A `_meta` whose members of the protocol have only what nobody needs to judge; nothing: it is one.
std::optional<Splice> bounded_meta(json::Node meta) {
  const auto is_unbounded = [](const json::Member& one) {
    return is_among(kProtocolMeta, one.name()) && !is_protocol_meta(one);
  };
  if (!meta.is_object() || !any_of(meta.members(), is_unbounded)) return std::nullopt;
  std::string out = "{";
  for (const json::Member one : meta.members()) {
    const bool is_info = one.name() == kServerInfo && one.value.is_object();
    if (is_unbounded(one) && !is_info) continue;
    out += (out.size() > 1 ? "," : "") + quoted(one.name()) + ':';
    out += is_info ? with_only(one.value, is_of_server_info) : std::string(text_of(one.value));
  }
  return replacing(meta, out + "}");
}

}  // namespace

std::optional<std::string> without_unjudged_members(const Message& message) {
  const json::Node root = message.root();
  if (message.kind() == Message::Kind::Broken || !root.is_object()) return std::nullopt;
  std::vector<Splice> splices;
  for (const json::Node result : {message.result(), message.result()["result"], message.params()["result"]})
    if (auto bounded = bounded_meta(result["_meta"])) splices.push_back(std::move(*bounded));
  if (!splices.empty()) return splice(message.bytes(), std::move(splices));
  const auto is_kept = message.is_answer() ? is_of_answer : is_of_request;
  if (all_of(root.members(), is_kept)) return std::nullopt;
  return with_only(root, is_kept);
}

bool is_of_task(const json::Member& member) {
  constexpr std::array<std::string_view, 4> kNumbers = {"ttl", "ttlMs", "pollInterval", "pollIntervalMs"};
  const std::string_view name = member.name();
  if (name == "createdAt" || name == "lastUpdatedAt") return is_time(member.value);
  if (is_among(kNumbers, name)) return is_short_id(member.value) ? member.value.is_number() : member.value.is_null();
  if (name == "resultType") return member.value.is_text("task") || member.value.is_text("complete");
  if (name == "taskId") return is_short_text(member.value);
  if (name == "status")
    return is_short_text(member.value) && member.value.string().size() <= 40 &&
           member.value.string().find_first_not_of("abcdefghijklmnopqrstuvwxyz_-") == std::string_view::npos;
  if (name == "cacheScope") return is_of_protocol(member);
  return (name == "statusMessage" || name == "requestState") && member.value.is_string();
}

bool is_only_task(json::Node task) {
  return all_of(task.members(), [](const json::Member& one) {
    return one.name() == "_meta" || is_of_task(one) || (one.name() == "isError" && !is_more(one));
  });
}

namespace {

// A list without the elements that are not kept; nothing: all are.
template <class IsKept>
void keep_only(json::Node list, const IsKept& is_kept, std::vector<Splice>& splices) {
  if (!list.is_array() || all_of(list.elements(), is_kept)) return;
  std::string out = "[";
  for (const json::Node one : list.elements()) {
    if (!is_kept(one)) continue;
    if (out.size() > 1) out += ',';
    out += text_of(one);
  }
  splices.push_back(replacing(list, out + "]"));
}

}  // namespace

std::optional<std::string> without_unknown_content(const Message& message) {
  std::vector<Splice> splices;
  for (const json::Node result : {message.result(), message.result()["result"], message.params()["result"]})
    keep_only(result["content"], is_tool_block, splices);
  keep_only(
      message.result()["messages"], [](json::Node one) { return unknown_in(one["content"], is_tool_block).empty(); },
      splices);
  if (splices.empty()) return std::nullopt;
  return splice(message.bytes(), std::move(splices));
}

}  // namespace baton::mcp
