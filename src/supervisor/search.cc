// SPDX-License-Identifier: Apache-2.0
#include "supervisor/search.h"

#include "base/limits.h"
#include "base/text.h"
#include "dialects/agent_contract/contract.h"
#include "json/parse.h"

namespace baton::supervisor {
namespace {

// A line of a stream that is longer is no message: its text alone could not be one.
constexpr std::size_t kLineBytesMax = 4u << 20;
// What a message may hold before its handoff; of a longer one the beginning is forgotten.
constexpr std::size_t kMessageBytesMax = 2u << 20;

bool is_message(json::Node root) {
  return (root["type"].is_text("result") && root["result"].is_string()) || root["type"].is_text("assistant") ||
         (root["type"].is_text("item.completed") && root["item"].is_object()) ||
         root["type"].is_text("thread.started") || (root["type"].is_text("system") && root["subtype"].is_string());
}

}  // namespace

Search::Search(Client client, bool scan_output) : client_(client), counts_(client != Client::Other || scan_output) {}

void Search::feed(std::string_view bytes) {
  locator_.feed(bytes);
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (line_.size() + piece.size() > kLineBytesMax) line_cut_ = true;
    if (!line_cut_) line_ += piece;
    if (end == std::string_view::npos) return;
    take_line();
    bytes.remove_prefix(end + 1);
  }
}

void Search::take_line() {
  const std::string_view line = trim(line_);
  if (!line_cut_ && line.starts_with('{') && line.ends_with('}')) take_event(line);
  line_.clear();
  line_cut_ = false;
}

void Search::take_event(std::string_view line) {
  if (conversation_.empty()) conversation_ = conversation_in(client_, line);
  const auto parsed = json::parse(line);
  if (!parsed) return;
  const json::Node root = parsed->root();
  const json::Node type = root["type"];
  if (client_ == Client::Claude || client_ == Client::Codex) {
    structured_ = structured_ || is_message(root);
    return;
  }
  const auto begin_message = [&] {
    structured_ = true;
    message_.clear();
  };
  const auto add = [&](json::Node text) {
    if (!text.is_string()) return;
    message_ += text.string();
    if (message_.size() > kMessageBytesMax) message_.erase(0, message_.size() - kMessageBytesMax);
  };
  if (client_ == Client::Gemini) {
    if (type.is_text("init") || type.is_text("tool_use") || type.is_text("tool_result") || type.is_text("error"))
      begin_message();
    else if (type.is_text("message") && root["role"].is_text("user")) begin_message();
    else if (type.is_text("message") && root["role"].is_text("assistant")) {
      structured_ = true;
      add(root["content"]);
    }
  } else if (client_ == Client::OpenCode) {
    if (type.is_text("text") && root["part"].is_object()) {
      begin_message();
      add(root["part"]["text"]);
    } else if (type.is_text("tool_use") || type.is_text("step_start")) {
      begin_message();
    }
  }
}

std::optional<Search::Result> Search::end() {
  if (!line_.empty()) take_line();
  auto located = locator_.end();
  if (structured_ && (client_ == Client::Gemini || client_ == Client::OpenCode)) {
    checker::Locator in_message(std::nullopt);
    in_message.feed(message_);
    located = in_message.end();
  } else if (structured_ && located && located->first_line != 0) {
    // Beside the model's own words: nobody knows whose it is.
    located.reset();
  }
  if (!located) return std::nullopt;
  if (!counts_) {
    uncounted_ = true;
    return std::nullopt;
  }
  Result out{located->dialect, located->document, located->document, std::move(located->warnings)};
  if (out.dialect == Dialect::AgentContract) out.document = agent_contract::in_fence(out.body);
  return out;
}

}  // namespace baton::supervisor
