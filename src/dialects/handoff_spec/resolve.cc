// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "base/check.h"
#include "dialects/handoff_spec/steps.h"

namespace baton::handoff_spec {
namespace {

std::string text_or(json::Node root, std::string_view name, const std::optional<std::string_view>& fallback) {
  const json::Node node = root[name];
  return std::string(node ? node.string() : fallback.value());
}

// allowed = baseline + (asked for and addable). Exclusion wins because the profile's lists share no name.
void resolve_tools(json::Node root, const Profile& profile, Resolved& resolved) {
  std::set<std::string_view> requested;
  for (const json::Node node : root["mcp_tools"].elements()) requested.insert(node.string());

  std::set<std::string_view> allowed(profile.baseline.begin(), profile.baseline.end());
  std::map<std::string_view, std::string_view> excluded;
  for (const std::string_view tool : profile.excluded) excluded[tool] = "always_excluded";
  for (const AddableTool& tool : profile.addable) {
    if (requested.contains(tool.name)) allowed.insert(tool.name);
    else excluded[tool.name] = "not_requested";
  }
  for (const std::string_view tool : requested)
    if (!allowed.contains(tool)) excluded.try_emplace(tool, "unknown");

  resolved.mcp_tools_allowed.assign(allowed.begin(), allowed.end());
  for (const auto& [tool, reason] : excluded) resolved.mcp_tools_excluded.push_back({std::string(tool), reason});
}

}  // namespace

Resolved resolve(json::Node root, const Profile& profile, Time now) {
  const auto expires_at = expiry(root, now, profile);
  const auto runtime = runtime_seconds(root, profile);
  CHECK(expires_at && runtime);

  Resolved resolved;
  resolved.expires_at = format_time(*expires_at);
  resolved.secret_path = std::string(profile.secret_path_prefix) + std::string(root["task_slug"].string()) + "/";
  resolved.repo = text_or(root, "repo", profile.default_repo);
  resolved.owner = text_or(root, "owner", profile.default_owner);
  resolved.velvet_enrolled = needs_velvet(*runtime);
  resolve_tools(root, profile, resolved);
  return resolved;
}

json::Value Resolved::to_json() const {
  json::Value out = json::Value::object();
  out.set("expires_at", expires_at);
  out.set("velvet_enrolled", velvet_enrolled);
  out.set("repo", repo);
  out.set("owner", owner);
  out.set("secret_path", secret_path);
  json::Value& allowed = out.set("mcp_tools_allowed", json::Value::array());
  for (const std::string& tool : mcp_tools_allowed) allowed.push(tool);
  json::Value& excluded = out.set("mcp_tools_excluded", json::Value::array());
  for (const Excluded& one : mcp_tools_excluded)
    excluded.push(json::Value::Object{{"tool", one.tool}, {"reason", one.reason}});
  return out;
}

}  // namespace baton::handoff_spec
