// SPDX-License-Identifier: Apache-2.0
#include "protection/baton_commands.h"

#include <algorithm>
#include <array>

#include "protection/programs.h"

namespace baton::protection {
namespace {

using shell::Word;

constexpr std::string_view kAll = "*";

// Subcommands are separated by blanks.
struct BatonCommand {
  std::string_view name;
  std::string_view agents = {};     // "*": the command with whatever follows it
  std::string_view operators = {};  // "*": likewise
};

constexpr std::array kCommands = {
    BatonCommand{"adopt", {}, kAll},
    BatonCommand{"approvals", {}, kAll},
    BatonCommand{"check", kAll},
    BatonCommand{"completion", kAll},
    BatonCommand{"context", kAll},
    BatonCommand{"contract", "check diff graph new prove schema show simulate test", "activate"},
    BatonCommand{"doctor", kAll},
    BatonCommand{"events", kAll},
    BatonCommand{"explain", kAll},
    BatonCommand{"find", kAll},
    BatonCommand{"handoff", kAll},
    BatonCommand{"init", {}, kAll},
    BatonCommand{"json", kAll},
    BatonCommand{"ledger", "export prove show stats tail verify", "accept-restore append erase keys seal"},
    BatonCommand{"lock", {}, kAll},
    BatonCommand{"mcp", kAll, "approve-changes lock"},
    BatonCommand{"operator", {}, kAll},
    BatonCommand{"receipt", kAll},
    BatonCommand{"replay", kAll},
    BatonCommand{"run", kAll},
    BatonCommand{"serve", {}, kAll},
    BatonCommand{"session", "call close list open settle show tail", "kill resolve resume"},
    BatonCommand{"status", kAll},
    BatonCommand{"stop", {}, kAll},
    BatonCommand{"token", {}, kAll},
    BatonCommand{"translate", kAll},
    BatonCommand{"uaix", kAll},
    BatonCommand{"unlock", {}, kAll},
    BatonCommand{"work", "board claim create exit list release renew show wait", "abort answer ci unblock"},
    BatonCommand{"workflow", "list show start tree watch", "kill"},
};

const BatonCommand* find_command(std::string_view name) {
  const auto found = std::ranges::find(kCommands, name, &BatonCommand::name);
  return found == kCommands.end() ? nullptr : &*found;
}

bool is_plain_option(const Word& word) { return is_one_of(word.text, "--help -h --version --no-color"); }

}  // namespace

bool is_for_agents(std::span<const Word> words) {
  while (!words.empty() && words.front().is_literal() && is_plain_option(words.front())) words = words.subspan(1);
  if (words.empty()) return true;  // it prints its help
  const BatonCommand* command = words.front().is_literal() ? find_command(words.front().text) : nullptr;
  if (command == nullptr) return false;
  words = words.subspan(1);
  // The proxy takes options before its subcommands; behind `--` is the server's command.
  if (command->name == "mcp")
    return std::ranges::none_of(
        words.begin(), std::ranges::find_if(words, [](const Word& word) { return word.is("--"); }),
        [&](const Word& word) { return !word.is_literal() || is_one_of(word.text, command->operators); });
  if (command->agents == kAll) return true;
  if (command->agents.empty()) return false;
  while (!words.empty() && words.front().is_literal() && is_plain_option(words.front())) words = words.subspan(1);
  return words.empty() || (words.front().is_literal() && is_one_of(words.front().text, command->agents));
}

bool is_for_operators(std::string_view name) {
  const BatonCommand* command = find_command(name);
  return command != nullptr && command->operators == kAll;
}

bool is_for_operators(std::string_view name, std::string_view subcommand) {
  const BatonCommand* command = find_command(name);
  return command != nullptr && is_one_of(subcommand, command->operators);
}

bool has_subcommands(std::string_view name) {
  const BatonCommand* command = find_command(name);
  return command != nullptr && !command->operators.empty() && command->operators != kAll;
}

}  // namespace baton::protection
