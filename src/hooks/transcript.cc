// SPDX-License-Identifier: Apache-2.0
#include "hooks/transcript.h"

#include "base/limits.h"
#include "json/parse.h"

namespace baton::hooks {

std::optional<std::string> last_message_in(Client client, std::string_view tail) {
  if (client != Client::Copilot) return std::nullopt;
  while (!tail.empty()) {
    const std::size_t end = tail.find_last_not_of('\n');
    if (end == std::string_view::npos) return std::nullopt;
    tail = tail.substr(0, end + 1);
    const std::size_t before = tail.rfind('\n');
    const std::string_view line = before == std::string_view::npos ? tail : tail.substr(before + 1);
    tail = before == std::string_view::npos ? std::string_view() : tail.substr(0, before);
    // Most lines are about something else, and long.
    if (line.find("assistant.message") == std::string_view::npos) continue;
    const auto document =
        json::parse(line, {.bytes_max = limits::kHookEventBytesMax, .depth_max = limits::kHookEventDepthMax});
    if (!document || !document->root()["type"].is_text("assistant.message")) continue;
    const json::Node data = document->root()["data"];
    if (!data["content"].is_string() || data["parentToolCallId"].is_string() || data["agentId"].is_string() ||
        document->root()["agentId"].is_string())
      continue;
    return std::string(data["content"].string());
  }
  return std::nullopt;
}

}  // namespace baton::hooks
