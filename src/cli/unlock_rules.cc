// SPDX-License-Identifier: Apache-2.0
#include "cli/unlock_rules.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace baton::cli {
namespace {

using net::RunningProcess;

const RunningProcess* find_process(std::span<const RunningProcess> all, std::int64_t pid) {
  const auto found = std::ranges::find(all, pid, [](const RunningProcess& one) { return one.stat.id.pid; });
  return found == all.end() ? nullptr : &*found;
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// The name of the agent that a process is by its command line; empty: none that is known. Agents run as scripts have an
// interpreter before their name: `node --x /usr/bin/claude`.
std::string_view agent_of(const RunningProcess& process) {
  constexpr std::array<std::string_view, 13> kAgents = {
      "claude", "codex", "gemini",     "copilot",    "opencode",    "cursor",     "cursor-agent",
      "aider",  "goose", "baton-hook", "gemini-cli", "claude-code", "opencode-ai"};
  constexpr std::size_t kLooked = 4;
  for (std::size_t at = 0; at < std::min(process.words.size(), kLooked); ++at) {
    std::string_view name = base_name(process.words[at]);
    for (const std::string_view ending : {".js", ".mjs", ".cjs", ".py"})
      if (name.ends_with(ending)) name.remove_suffix(ending.size());
    if (const auto found = std::ranges::find(kAgents, name); found != kAgents.end()) return *found;
    // `node /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js`
    for (const std::string_view folder : {"/claude-code/", "/codex/", "/gemini-cli/", "/copilot/", "/opencode-ai/"})
      if (process.words[at].find(folder) != std::string::npos) return folder.substr(1, folder.size() - 2);
  }
  const auto& words = process.words;
  if (words.size() > 1 && base_name(words[0]) == "baton" && (words[1] == "run" || words[1] == "mcp")) return "baton";
  return {};
}

}  // namespace

std::string why_not_answered(std::span<const RunningProcess> all, std::int64_t caller, const UnlockedTerminal& at) {
  const RunningProcess* const shell = find_process(all, at.shell.pid);
  if (shell == nullptr || shell->stat.id != at.shell) return "the shell that it was unlocked in has ended";
  const RunningProcess* const asking = find_process(all, caller);
  if (asking == nullptr) return "the process that asks has ended";
  const net::ProcessStat& stat = asking->stat;
  if (stat.session != at.shell.pid || stat.terminal != at.terminal || at.terminal == 0)
    return "it is unlocked in another terminal";
  if (stat.group != stat.foreground) return "the command does not run in the foreground of the terminal";
  if (stat.parent != at.shell.pid) return "the command was not typed at the shell: another program started it";
  // Everything below the shell, in whatever session it is now; and everything in this session.
  std::set<std::int64_t> near = {at.shell.pid};
  for (bool grew = true; grew;) {
    grew = false;
    for (const RunningProcess& one : all)
      if (near.contains(one.stat.parent) || one.stat.session == at.shell.pid)
        grew = near.insert(one.stat.id.pid).second || grew;
  }
  // And what the shell itself runs in.
  const RunningProcess* above = shell;
  for (std::size_t steps = 0; above != nullptr && steps < all.size(); ++steps) {
    near.insert(above->stat.id.pid);
    if (above->stat.parent == 0) break;
    above = find_process(all, above->stat.parent);
  }
  for (const RunningProcess& one : all)
    if (near.contains(one.stat.id.pid))
      if (const std::string_view agent = agent_of(one); !agent.empty())
        return "an agent runs in this terminal: " + std::string(agent) + ", process " + std::to_string(one.stat.id.pid);
  return {};
}

}  // namespace baton::cli
