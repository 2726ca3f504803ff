// SPDX-License-Identifier: Apache-2.0
#include "protection/operator_commands.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/text.h"
#include "protection/programs.h"

namespace baton::protection {

namespace {

using shell::Command;
using shell::Word;

// What approves definitions of MCP servers. The proxy itself is for agents, too; the words behind `--` are the server's.
std::optional<std::string> mcp_operator_command(std::span<const Word> words) {
  for (const Word& word : words) {
    if (!word.is_literal()) return "a command of Baton's that is not known";
    if (word.text == "--") break;
    if (is_one_of(word.text, "lock approve-changes")) return "`baton mcp " + word.text + "`";
  }
  return std::nullopt;
}

// Some have another name as a package: `npx @anthropic-ai/claude-code mcp add`.
constexpr std::string_view kClients =
    "claude codex gemini copilot opencode cursor cursor-agent claude-code gemini-cli opencode-ai";

constexpr std::string_view kKills = "kill pkill killall skill systemctl service rc-service initctl launchctl";

// Is a process of Baton's ended? `pkill baton`, `kill $(pgrep -f 'baton serve')`.
bool kills_baton(const shell::Parsed& parsed) {
  if (!runs_one_of(parsed, kKills)) return false;
  std::string_view finds;  // what looks for processes that `kill` is given
  if (runs_one_of(parsed, "kill skill"))
    finds = runs_one_of(parsed, "ps") ? "pgrep pidof grep egrep awk" : "pgrep pidof";
  for (const Command& command : parsed.commands) {
    const std::string_view program = program_of(command);
    if (!is_one_of(program, finds) && !is_one_of(program, kKills)) continue;
    if (std::ranges::any_of(command.words, [](const Word& word) {
          return is_one_of(word.text, "status show cat is-active is-enabled list print");
        }))
      continue;
    for (const Word& word : std::span(command.words).subspan(1)) {
      std::string_view text = word.text;
      while (!text.empty() && std::string_view("^/[").find(text.front()) != text.npos) text.remove_prefix(1);
      if (text.starts_with("b]")) return text.starts_with("b]aton");
      if (!text.starts_with("baton")) continue;
      const std::string_view behind = text.substr(5);
      if (behind.empty() || std::string_view(" $/*").find(behind.front()) != behind.npos ||
          behind.starts_with("-hook") || behind.starts_with(".service"))
        return true;
    }
  }
  return false;
}

// A client's own command that writes the settings with its hooks and servers: `claude mcp add`.
std::optional<std::string> client_settings_command(std::string_view client, std::span<const Word> words) {
  std::string what;
  bool may_be_value = false;
  for (const Word& word : words) {
    const bool may_be_value_here = may_be_value;
    if (may_be_value = word.text.starts_with('-'); may_be_value) continue;
    if (what.empty()) {
      if (is_one_of(word.text, "mcp plugin plugins extension extensions hooks")) what = word.text;
      else if (!may_be_value_here) return std::nullopt;
    } else if (is_one_of(word.text, "list ls get show status serve server mcp-server")) {
      return std::nullopt;
    } else {
      return "`" + std::string(client) + " " + what + " " + word.text + "`";
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> operator_command(const shell::Parsed& parsed) {
  if (kills_baton(parsed)) return "what ends a process of Baton's";
  for (const Command& command : parsed.commands) {
    const std::string_view program = program_of(command);
    if (is_one_of(program, kClients))
      if (auto found = client_settings_command(program, std::span(command.words).subspan(1))) return found;
    if (program == "baton-hook") return "the hook itself, which is for the client";
    if (program != "baton") continue;
    // The subcommand. A word behind an option may be the option's value or the subcommand.
    bool may_be_value = false;
    for (std::size_t at = 1; at < command.words.size(); ++at) {
      const Word& word = command.words[at];
      if (!word.is_literal()) return "a command of Baton's that is not known";
      if (is_one_of(word.text, "adopt serve stop")) return "`baton " + word.text + "`";
      if (word.is("mcp")) return mcp_operator_command(std::span(command.words).subspan(at + 1));
      const bool is_option = word.text.starts_with('-');
      if (!is_option && !may_be_value) break;
      may_be_value = is_option;
    }
  }
  return std::nullopt;
}

std::optional<std::string> operator_command_in_text(std::string text) {
  for (char& c : text)
    if (std::string_view("\"'()[]{},;|&`<>=\n\t").find(c) != std::string_view::npos) c = ' ';
  std::string_view program;
  bool is_mcp = false;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty() || (!program.empty() && word.starts_with('-'))) continue;
    if (program == "baton-hook" && is_one_of(word, kClients)) return "the hook itself, which is for the client";
    if (program == "baton" && is_one_of(word, is_mcp ? "lock approve-changes" : "adopt serve stop"))
      return std::string(is_mcp ? "`baton mcp " : "`baton ") + std::string(word) + "`";
    if (is_mcp = program == "baton" && word == "mcp"; is_mcp) continue;
    program = shell::base_name(word);
    if (program != "baton" && program != "baton-hook") program = {};
  }
  return std::nullopt;
}

}  // namespace baton::protection
