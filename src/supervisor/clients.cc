// SPDX-License-Identifier: Apache-2.0
#include "supervisor/clients.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "json/parse.h"

namespace baton::supervisor {
namespace {

using Words = std::vector<std::string>;

// What there is to know of a client's command line.
struct Shape {
  std::string_view name;
  std::string_view subcommand;                       // that takes a prompt; empty: none is needed
  std::span<const std::string_view> prompt_options;  // whose value is the prompt
  std::span<const std::string_view> value_options;   // that take one value
  std::span<const std::string_view> list_options;    // that take values up to the next option
};

constexpr std::string_view kNothing[] = {""};
constexpr std::string_view kClaudeValues[] = {"--output-format",
                                              "--input-format",
                                              "--model",
                                              "--fallback-model",
                                              "--permission-mode",
                                              "--max-turns",
                                              "--max-budget-usd",
                                              "--system-prompt",
                                              "--append-system-prompt",
                                              "--settings",
                                              "--setting-sources",
                                              "--session-id",
                                              "--agents",
                                              "--agent",
                                              "--json-schema",
                                              "--permission-prompt-tool",
                                              "--system-prompt-file",
                                              "--append-system-prompt-file",
                                              "--effort"};
constexpr std::string_view kClaudeLists[] = {"--allowedTools",     "--allowed-tools", "--disallowedTools",
                                             "--disallowed-tools", "--tools",         "--mcp-config",
                                             "--add-dir",          "--betas",         "--plugin-dir"};
constexpr std::string_view kCodexValues[] = {"-c",
                                             "--config",
                                             "-m",
                                             "--model",
                                             "-p",
                                             "--profile",
                                             "-s",
                                             "--sandbox",
                                             "-C",
                                             "--cd",
                                             "--color",
                                             "-o",
                                             "--output-last-message",
                                             "--output-schema",
                                             "--local-provider",
                                             "--add-dir",
                                             "-a",
                                             "--ask-for-approval",
                                             "--enable",
                                             "--disable"};
constexpr std::string_view kCodexLists[] = {"-i", "--image"};
constexpr std::string_view kPrompts[] = {"-p", "--prompt"};
constexpr std::string_view kGeminiValues[] = {
    "-m", "--model", "-o", "--output-format", "--approval-mode", "-i", "--prompt-interactive", "-r", "--resume"};
constexpr std::string_view kGeminiLists[] = {"--allowed-tools", "--allowed-mcp-server-names", "-e", "--extensions",
                                             "--include-directories"};
constexpr std::string_view kCopilotValues[] = {
    "--model",   "--agent",  "--log-level", "--log-dir", "--additional-mcp-config",
    "--add-dir", "--stream", "--resume",    "--banner"};
constexpr std::string_view kCopilotLists[] = {"--allow-tool", "--deny-tool", "--disable-mcp-server"};
constexpr std::string_view kOpenCodeValues[] = {"-m",        "--model",   "--agent",   "-s",
                                                "--session", "--format",  "--title",   "--port",
                                                "--attach",  "--variant", "--command", "--log-level"};
constexpr std::string_view kOpenCodeLists[] = {"-f", "--file"};

constexpr std::array<Shape, 6> kShapes = {{{"claude", "", kNothing, kClaudeValues, kClaudeLists},
                                           {"codex", "exec", kNothing, kCodexValues, kCodexLists},
                                           {"gemini", "", kPrompts, kGeminiValues, kGeminiLists},
                                           {"copilot", "", kPrompts, kCopilotValues, kCopilotLists},
                                           {"opencode", "run", kNothing, kOpenCodeValues, kOpenCodeLists},
                                           {"other", "", kNothing, kNothing, kNothing}}};

const Shape& shape_of(Client client) { return kShapes[static_cast<std::size_t>(client)]; }

bool among(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// The last part of a path or of a package, without what says which kind of file it is: `gemini.js`, `@google/gemini-cli`.
std::string_view base_name(std::string_view program) {
  if (const std::size_t slash = program.rfind('/'); slash != std::string_view::npos) program.remove_prefix(slash + 1);
  if (const std::size_t version = program.find('@', 1); version != std::string_view::npos)
    program = program.substr(0, version);
  for (const std::string_view end : {".js", ".mjs", ".cjs", ".exe", ".cmd"})
    if (program.ends_with(end)) program.remove_suffix(end.size());
  return program;
}

// The words up to and with the one that names the program.
std::size_t runner_words(const Words& argv) {
  if (argv.empty()) return 0;
  const std::string_view first = base_name(argv[0]);
  if (first != "node" && first != "npx" && first != "bunx" && first != "bun") return 1;
  for (std::size_t at = 1; at < argv.size(); ++at)
    if (!argv[at].starts_with('-')) return at + 1;
  return 1;
}

std::optional<std::size_t> find_subcommand(const Shape& shape, const Words& argv) {
  for (std::size_t at = runner_words(argv); at < argv.size(); ++at) {
    if (argv[at] == shape.subcommand || (shape.subcommand == "exec" && argv[at] == "e")) return at;
    if (argv[at].starts_with('-') && among(shape.value_options, argv[at])) ++at;
  }
  return std::nullopt;
}

// Takes out an option and its value; the value, if it was there.
std::optional<std::string> take_option(Words& argv, std::string_view name, bool has_value) {
  for (std::size_t at = 1; at < argv.size(); ++at) {
    if (argv[at] == "--") break;
    if (argv[at] == name) {
      std::string value = has_value && at + 1 < argv.size() ? argv[at + 1] : std::string();
      const auto from = argv.begin() + static_cast<std::ptrdiff_t>(at);
      argv.erase(from, from + (has_value && at + 1 < argv.size() ? 2 : 1));
      return value;
    }
    if (has_value && argv[at].size() > name.size() && argv[at].starts_with(name) && argv[at][name.size()] == '=') {
      std::string value = argv[at].substr(name.size() + 1);
      argv.erase(argv.begin() + static_cast<std::ptrdiff_t>(at));
      return value;
    }
  }
  return std::nullopt;
}

bool has_option(const Words& argv, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(argv, [&](const std::string& word) {
    return std::ranges::any_of(names, [&](std::string_view name) {
      return word == name || (word.starts_with(name) && word.size() > name.size() && word[name.size()] == '=');
    });
  });
}

void insert(Words& argv, std::size_t at, const Words& words) {
  argv.insert(argv.begin() + static_cast<std::ptrdiff_t>(std::min(at, argv.size())), words.begin(), words.end());
}

}  // namespace

std::string_view client_name(Client client) { return shape_of(client).name; }

std::optional<Client> find_client(std::string_view name) {
  for (std::size_t at = 0; at < kShapes.size(); ++at)
    if (kShapes[at].name == name) return static_cast<Client>(at);
  return std::nullopt;
}

const std::vector<std::string>& client_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Shape& shape : kShapes) out.emplace_back(shape.name);
    return out;
  }();
  return names;
}

Client guess_client(const Words& argv) {
  const std::size_t words = runner_words(argv);
  if (words == 0) return Client::Other;
  const std::string_view name = base_name(argv[words - 1]);
  static constexpr std::pair<std::string_view, Client> kOthers[] = {
      {"claude-code", Client::Claude}, {"gemini-cli", Client::Gemini}, {"opencode-ai", Client::OpenCode}};
  for (const auto& [known, client] : kOthers)
    if (name == known) return client;
  return find_client(name).value_or(Client::Other);
}

std::size_t program_words(Client client, const Words& argv) {
  const Shape& shape = shape_of(client);
  if (shape.subcommand.empty()) return runner_words(argv);
  const auto at = find_subcommand(shape, argv);
  return at ? *at + 1 : runner_words(argv);
}

std::optional<std::size_t> find_prompt(Client client, const Words& argv) {
  if (client == Client::Other) return std::nullopt;
  const Shape& shape = shape_of(client);
  if (!shape.subcommand.empty() && !find_subcommand(shape, argv)) return std::nullopt;
  const std::size_t first = program_words(client, argv);
  if (!shape.prompt_options[0].empty())
    for (std::size_t at = first; at + 1 < argv.size(); ++at)
      if (among(shape.prompt_options, argv[at])) return at + 1;
  bool in_list = false;
  for (std::size_t at = first; at < argv.size(); ++at) {
    const std::string& word = argv[at];
    if (word == "--") return at + 1 < argv.size() ? std::optional(at + 1) : std::nullopt;
    if (word.starts_with('-') && word.size() > 1) {
      in_list = among(shape.list_options, word);
      if (among(shape.value_options, word)) ++at;
      continue;
    }
    if (!in_list) return at;
  }
  return std::nullopt;
}

Started begin(Client client, Words argv, std::string_view brief, std::string_view uuid) {
  Started out;
  if (client == Client::Claude) {
    std::string prompt(brief);
    if (const auto own = take_option(argv, "--append-system-prompt", true)) prompt = *own + "\n\n" + prompt;
    Words added = {"--append-system-prompt", std::move(prompt)};
    if (!has_option(argv, {"--session-id", "--resume", "-r", "--continue", "-c"})) {
      out.conversation = uuid;
      added.insert(added.end(), {"--session-id", out.conversation});
    } else if (auto own = take_option(argv, "--session-id", true)) {
      out.conversation = *own;
      added.insert(added.end(), {"--session-id", out.conversation});
    }
    insert(argv, program_words(client, argv), added);
  } else if (const auto at = find_prompt(client, argv)) {
    argv[*at] = std::string(brief) + "\n\n" + argv[*at];
  }
  out.argv = std::move(argv);
  return out;
}

Started again(Client client, Words argv, std::string_view conversation, std::string_view text) {
  Started out;
  out.conversation = conversation;
  const auto at = find_prompt(client, argv);
  if (at) argv[*at] = text;
  else out.input = text;
  Words added;
  switch (client) {
    case Client::Claude:
      take_option(argv, "--session-id", true);
      take_option(argv, "--continue", false);
      take_option(argv, "-c", false);
      take_option(argv, "--resume", true);
      take_option(argv, "-r", true);
      if (conversation.empty()) added = {"--continue"};
      else added = {"--resume", std::string(conversation)};
      break;
    case Client::Codex:
      // The prompt moves behind `resume` and the name of the conversation.
      if (at) {
        argv.erase(argv.begin() + static_cast<std::ptrdiff_t>(*at));
        argv.insert(argv.end(),
                    {"resume", conversation.empty() ? "--last" : std::string(conversation), std::string(text)});
      }
      break;
    case Client::Gemini:
      if (!has_option(argv, {"-r", "--resume"})) added = {"--resume", "latest"};
      break;
    case Client::Copilot:
      if (!has_option(argv, {"--continue", "--resume"})) added = {"--continue"};
      break;
    case Client::OpenCode:
      if (!conversation.empty() && !has_option(argv, {"-s", "--session"}))
        added = {"--session", std::string(conversation)};
      else if (!has_option(argv, {"-c", "--continue", "-s", "--session"})) added = {"--continue"};
      break;
    case Client::Other: break;
  }
  insert(argv, program_words(client, argv), added);
  out.argv = std::move(argv);
  return out;
}

std::string conversation_in(Client client, std::string_view line) {
  if (client != Client::Codex && client != Client::OpenCode) return {};
  const std::string_view member = client == Client::Codex ? "thread_id" : "sessionID";
  if (line.find(member) == std::string_view::npos) return {};
  const auto document = json::parse(line);
  if (!document) return {};
  if (client == Client::Codex && !document->root()["type"].is_text("thread.started")) return {};
  const json::Node id = document->root()[member];
  return id.is_string() ? std::string(id.string()) : std::string();
}

}  // namespace baton::supervisor
