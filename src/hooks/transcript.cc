// SPDX-License-Identifier: Apache-2.0
#include "hooks/transcript.h"

#include "base/limits.h"
#include "json/parse.h"

namespace baton::hooks {
namespace {

// The text of a line that is a message of the agent.
std::optional<std::string> message_in(Client client, json::Node line) {
  const bool is_gemini = client == Client::Gemini;
  if (!line["type"].is_text(is_gemini ? "gemini" : "assistant.message")) return std::nullopt;
  const json::Node data = is_gemini ? line : line["data"];
  if (!data["content"].is_string() || data["parentToolCallId"].is_string() || data["agentId"].is_string() ||
      line["agentId"].is_string())
    return std::nullopt;
  return std::string(data["content"].string());
}

}  // namespace

std::optional<std::string> last_message_in(Client client, std::string_view tail) {
  if (client != Client::Copilot && client != Client::Gemini) return std::nullopt;
  while (!tail.empty()) {
    const std::size_t end = tail.find_last_not_of('\n');
    if (end == std::string_view::npos) return std::nullopt;
    tail = tail.substr(0, end + 1);
    const std::size_t before = tail.rfind('\n');
    const std::string_view line = before == std::string_view::npos ? tail : tail.substr(before + 1);
    tail = before == std::string_view::npos ? std::string_view() : tail.substr(0, before);
    // Most lines are about something else, and long.
    if (line.find(client == Client::Gemini ? "\"gemini\"" : "assistant.message") == std::string_view::npos) continue;
    const auto document =
        json::parse(line, {.bytes_max = limits::kHookEventBytesMax, .depth_max = limits::kHookEventDepthMax});
    if (!document) continue;
    if (auto message = message_in(client, document->root())) return message;
  }
  return std::nullopt;
}

}  // namespace baton::hooks
