// SPDX-License-Identifier: Apache-2.0
#include "mcp/methods.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "base/text.h"

namespace baton::mcp {
namespace {

using contract::ServerOperation;

constexpr std::array<std::string_view, 14> kPassing = {"initialize",
                                                       "ping",
                                                       "server/discover",
                                                       "tools/list",
                                                       "prompts/list",
                                                       "resources/list",
                                                       "resources/templates/list",
                                                       "resources/unsubscribe",
                                                       "logging/setLevel",
                                                       "subscriptions/listen",
                                                       "tasks/get",
                                                       "tasks/result",
                                                       "tasks/cancel",
                                                       "tasks/list"};

struct Judged {
  std::string_view method;
  ServerOperation operation;
};
constexpr std::array<Judged, 4> kJudged = {{{"resources/read", ServerOperation::ResourcesRead},
                                            {"resources/subscribe", ServerOperation::ResourcesSubscribe},
                                            {"prompts/get", ServerOperation::PromptsGet},
                                            {"completion/complete", ServerOperation::Completion}}};

constexpr std::array<Judged, 3> kOfServer = {{{"sampling/createMessage", ServerOperation::Sampling},
                                              {"elicitation/create", ServerOperation::Elicitation},
                                              {"roots/list", ServerOperation::Roots}}};

struct Notification {
  std::string_view method;
  bool legacy, modern;
};
constexpr std::array<Notification, 4> kFromClient = {{{"notifications/initialized", true, false},
                                                      {"notifications/cancelled", true, true},
                                                      {"notifications/progress", true, false},
                                                      {"notifications/roots/list_changed", true, false}}};
constexpr std::array<Notification, 11> kFromServer = {{{"notifications/cancelled", true, true},
                                                       {"notifications/progress", true, true},
                                                       {"notifications/message", true, true},
                                                       {"notifications/tools/list_changed", true, true},
                                                       {"notifications/prompts/list_changed", true, true},
                                                       {"notifications/resources/list_changed", true, true},
                                                       {"notifications/resources/updated", true, true},
                                                       {"notifications/elicitation/complete", true, true},
                                                       {"notifications/tasks/status", true, false},
                                                       {"notifications/tasks", true, true},
                                                       {"notifications/subscriptions/acknowledged", false, true}}};

bool is_among(std::span<const Notification> known, std::string_view method, const Revision* revision) {
  return std::ranges::any_of(known, [&](const Notification& one) {
    if (one.method != method) return false;
    if (revision == nullptr) return true;
    return revision->era == Era::Legacy ? one.legacy : one.modern;
  });
}

// What a server that is not strict may see of it.
std::string folded(std::string_view method) {
  std::string out;
  for (const char c : method) {
    if (is_upper(c)) out += static_cast<char>(c - 'A' + 'a');
    else if (is_lower(c) || is_digit(c)) out += c;
  }
  return out;
}

}  // namespace

bool needs_no_verdict(std::string_view method) { return std::ranges::find(kPassing, method) != kPassing.end(); }

ServerOperation operation_of_client(std::string_view method) {
  const auto found = std::ranges::find(kJudged, method, &Judged::method);
  return found == kJudged.end() ? ServerOperation::Request : found->operation;
}

std::optional<ServerOperation> operation_of_server(std::string_view method) {
  const auto found = std::ranges::find(kOfServer, method, &Judged::method);
  if (found == kOfServer.end()) return std::nullopt;
  return found->operation;
}

ClientAbilities abilities_in(json::Node capabilities) {
  const json::Node elicitation = capabilities["elicitation"], sampling = capabilities["sampling"];
  ClientAbilities out;
  out.links = elicitation["url"].is_object();
  out.forms = elicitation.is_object() && (elicitation["form"].is_object() || !out.links);  // {} means forms
  out.sampling = sampling.is_object();
  out.sampling_tools = sampling["tools"].is_object();
  out.roots = capabilities["roots"].is_object();
  return out;
}

std::string_view undeclared(const ClientAbilities& client, ServerOperation operation, json::Node params) {
  if (operation == ServerOperation::Roots) return client.roots ? "" : "roots";
  if (operation == ServerOperation::Sampling) {
    if (!client.sampling) return "sampling";
    return (params["tools"] || params["toolChoice"]) && !client.sampling_tools ? "sampling.tools" : "";
  }
  const json::Node mode = params["mode"];
  if (!mode || mode.is_text("form")) return client.forms ? "" : "elicitation";
  return mode.is_text("url") && client.links ? "" : "elicitation.url";
}

bool is_client_notification(std::string_view method, const Revision* revision) {
  return is_among(kFromClient, method, revision);
}

bool is_server_notification(std::string_view method, const Revision* revision) {
  return is_among(kFromServer, method, revision);
}

std::string_view look_alike(std::string_view method) {
  const std::string given = folded(method);
  const auto resembles = [&](std::string_view known) { return known != method && folded(known) == given; };
  for (const std::string_view known : {"tools/call", "tasks/update"})
    if (resembles(known)) return known;
  for (const std::string_view known : kPassing)
    if (resembles(known)) return known;
  for (const Judged& known : kJudged)
    if (resembles(known.method)) return known.method;
  for (const Judged& known : kOfServer)
    if (resembles(known.method)) return known.method;
  for (const Notification& known : kFromClient)
    if (resembles(known.method)) return known.method;
  return {};
}

}  // namespace baton::mcp
