// SPDX-License-Identifier: Apache-2.0
// Coding agents as commands: which one it is, where its prompt stands, and how the same conversation is gone on with. Pure.
//
// What is not known of a command line is left as it is: the agent then gets its brief by the environment alone, and is asked again by its
// standard input.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton::supervisor {

enum class Client { Claude, Codex, Gemini, Copilot, OpenCode, Other };
std::string_view client_name(Client client);  // "claude", "codex", "gemini", "copilot", "opencode", "other"
std::optional<Client> find_client(std::string_view name);
const std::vector<std::string>& client_names();

// By the name of its program; what `node` and `npx` run is looked through. Other: none of those known.
Client guess_client(const std::vector<std::string>& argv);

// How many words at the beginning are the program itself: 1, or with what `node` or `npx` runs, or with the subcommand that takes a
// prompt (`codex exec`, `opencode run`). Options of ours go behind them.
std::size_t program_words(Client client, const std::vector<std::string>& argv);

// Which argument is the prompt; nothing: it has none that could be told from its options.
std::optional<std::size_t> find_prompt(Client client, const std::vector<std::string>& argv);

struct Started {
  std::vector<std::string> argv;
  std::string input = {};  // for its standard input, beyond which there is nothing
  // By which name the client can be told to go on with this conversation; empty: with its latest, or by what its output says.
  std::string conversation = {};
};

// The first start: `brief` says what its work is and how it is to end. `uuid` is for clients that let it be chosen.
Started begin(Client client, std::vector<std::string> argv, std::string_view brief, std::string_view uuid);

// Goes on: with the same options, in the same conversation, with `text` for its prompt. `conversation`: as begin() gave it, or as its output
// said.
Started again(Client client, std::vector<std::string> argv, std::string_view conversation, std::string_view text);

// What a line of its output says of the conversation's name (Codex); empty: nothing.
std::string conversation_in(Client client, std::string_view line);

}  // namespace baton::supervisor
