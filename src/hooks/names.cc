// SPDX-License-Identifier: Apache-2.0
#include "hooks/names.h"

#include <algorithm>
#include <vector>

#include "base/limits.h"
#include "base/text.h"

namespace baton::hooks {
namespace {

// --- the table of tools -----------------------------------------------------------------------------------------------

struct Row {
  Client client;
  std::string_view name;
  ToolShape shape;
};

constexpr ToolShape shell(std::string_view command, std::string_view cwd = {}) { return {Shape::Shell, command, cwd}; }
constexpr ToolShape reads(std::string_view paths) { return {Shape::Files, paths}; }
constexpr ToolShape writes(std::string_view paths) { return {Shape::Files, paths, {}, true}; }
constexpr ToolShape searches(std::string_view paths) { return {Shape::Files, paths, {}, false, true}; }
constexpr ToolShape patch(std::string_view texts) { return {Shape::Patch, texts, {}, true}; }

constexpr Row kTools[] = {
    {Client::Claude, "Bash", shell("command")},
    {Client::Claude, "Monitor", shell("command")},  // a command whose lines come back as they are printed
    {Client::Claude, "Read", reads("file_path")},
    {Client::Claude, "Write", writes("file_path")},
    {Client::Claude, "Edit", writes("file_path")},
    {Client::Claude, "MultiEdit", writes("file_path")},
    {Client::Claude, "NotebookEdit", writes("notebook_path")},
    {Client::Claude, "Glob", searches("path")},
    {Client::Claude, "Grep", searches("path")},
    {Client::Claude, "LS", searches("path")},

    // Its hooks say Bash whichever shell tool it was; the others are what the tools themselves are called.
    {Client::Codex, "Bash", shell("command")},
    {Client::Codex, "shell", shell("command", "workdir")},
    {Client::Codex, "local_shell", shell("command", "workdir")},
    {Client::Codex, "shell_command", shell("command", "workdir")},
    {Client::Codex, "exec_command", shell("cmd", "workdir")},
    {Client::Codex, "apply_patch", patch("command input patch")},
    {Client::Codex, "view_image", reads("path")},

    {Client::Gemini, "run_shell_command", shell("command", "dir_path")},
    {Client::Gemini, "read_file", reads("file_path absolute_path")},
    {Client::Gemini, "read_many_files", reads("include paths")},
    {Client::Gemini, "write_file", writes("file_path")},
    {Client::Gemini, "replace", writes("file_path")},
    {Client::Gemini, "list_directory", searches("dir_path path")},
    {Client::Gemini, "glob", searches("dir_path path")},
    {Client::Gemini, "grep_search", searches("dir_path path")},
    {Client::Gemini, "search_file_content", searches("dir_path path")},

    {Client::Copilot, "bash", shell("command")},
    {Client::Copilot, "view", reads("path")},
    {Client::Copilot, "create", writes("path")},
    {Client::Copilot, "edit", writes("path file_path")},
    {Client::Copilot, "str_replace", writes("path")},
    {Client::Copilot, "insert", writes("path")},
    {Client::Copilot, "str_replace_editor", writes("path")},
    {Client::Copilot, "apply_patch", patch("input patch command")},
    {Client::Copilot, "grep", searches("path paths")},
    {Client::Copilot, "glob", searches("path paths")},

    {Client::OpenCode, "bash", shell("command", "workdir")},
    {Client::OpenCode, "read", reads("filePath")},
    {Client::OpenCode, "write", writes("filePath")},
    {Client::OpenCode, "edit", writes("filePath")},
    {Client::OpenCode, "multiedit", writes("filePath")},
    {Client::OpenCode, "apply_patch", patch("patchText")},
    {Client::OpenCode, "patch", patch("patchText")},
    {Client::OpenCode, "glob", searches("path")},
    {Client::OpenCode, "grep", searches("path")},
    {Client::OpenCode, "list", searches("path")},

    {Client::Cursor, "Shell", shell("command", "working_directory")},
    {Client::Cursor, "Read", reads("file_path path")},
    {Client::Cursor, "Write", writes("file_path path")},
    {Client::Cursor, "Edit", writes("file_path path")},
    {Client::Cursor, "StrReplace", writes("file_path path")},
    {Client::Cursor, "Delete", writes("file_path path")},
    {Client::Cursor, "Grep", searches("path")},
    {Client::Cursor, "Glob", searches("path target_directory")},
    {Client::Cursor, "LS", searches("path target_directory")},
};

// Tools that clients have beside these, whose input Baton does not read.
struct Others {
  Client client;
  std::string_view names;  // with blanks between
};
constexpr Others kOthers[] = {
    {Client::Claude,
     "Agent AskUserQuestion BashOutput Config EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree KillBash KillShell "
     "LSP "
     "ListMcpResourcesTool NotebookRead PowerShell ReadMcpResourceTool SendMessage Skill SlashCommand Task TaskCreate "
     "TaskGet "
     "TaskList TaskOutput TaskStop TaskUpdate TodoRead TodoWrite ToolSearch WebFetch WebSearch"},
    {Client::Codex,
     "js_repl list_mcp_resource_templates list_mcp_resources read_mcp_resource request_user_input spawn_agent "
     "update_plan "
     "web_search write_stdin"},
    {Client::Gemini,
     "activate_skill ask_user codebase_investigator delegate_to_agent enter_plan_mode exit_plan_mode google_web_search "
     "save_memory web_fetch write_todos"},
    {Client::Copilot,
     "ask_user list_bash read_bash report_intent skill stop_bash store_memory task update_todo web_fetch web_search "
     "write_bash"},
    {Client::OpenCode, "batch codesearch lsp question skill task todoread todowrite webfetch websearch"},
    {Client::Cursor, "AskQuestion EditNotebook ReadLints SemanticSearch SwitchMode Task TodoWrite WebFetch WebSearch"},
};

bool is_among(std::string_view names, std::string_view name) {
  for (const std::string_view one : split(names, ' '))
    if (one == name) return true;
  return false;
}

const Row* row_of(Client client, std::string_view name) {
  for (const Row& row : kTools)
    if (row.client == client && row.name == name) return &row;
  return nullptr;
}

// --- names ------------------------------------------------------------------------------------------------------------

constexpr std::string_view kShell = "Bash";

// What a contract can name; of a server's own names, a slash too.
bool is_tool_character(char c) { return is_alphanumeric(c) || c == '_' || c == '.' || c == ':' || c == '-'; }
// A contract with a colon is for a server's tool, so that no tool of a client's own has one.
bool is_own(std::string_view name) {
  return !name.empty() && name.size() <= limits::kHookNameBytesMax && name.find(':') == std::string_view::npos &&
         std::all_of(name.begin(), name.end(), is_tool_character);
}
bool is_tool(std::string_view name) {
  return !name.empty() && name.size() <= limits::kHookNameBytesMax &&
         std::all_of(name.begin(), name.end(), is_tool_character);
}
bool is_server_tool(std::string_view name) {
  return !name.empty() && name.size() <= limits::kHookNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_tool_character(c) || c == '/'; });
}
bool is_server(std::string_view name) {
  return !name.empty() && name.size() <= limits::kHookNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~' && c != '/'; });
}

std::string shown(std::string_view name) { return "`" + printable(name, 80) + "`"; }

tl::unexpected<std::string> no(std::string why) { return tl::make_unexpected(std::move(why)); }

tl::expected<ToolName, std::string> of_server(std::string_view server, std::string_view tool) {
  if (!is_server(server)) return no("the MCP server of the tool is called " + shown(server) + ", which is no name");
  if (!is_server_tool(tool)) return no("the MCP tool is called " + shown(tool) + ", which is no name");
  return ToolName{std::string(server) + "/" + std::string(tool), std::string(server), true};
}

tl::expected<ToolName, std::string> of_client(Client client, std::string_view name) {
  if (!is_own(name)) return no("the tool is called " + shown(name) + ", which is no name");
  const Row* row = row_of(client, name);
  if (row && row->shape.shape == Shape::Shell) return ToolName{std::string(kShell), {}, false};
  if (name == kShell) return no("a tool that is not the client's shell is called " + shown(name));
  return ToolName{std::string(name), {}, false};
}

// As clients spell a server inside a tool's name.
std::string spelled(std::string_view server) {
  std::string out(server);
  for (char& c : out)
    if (!is_alphanumeric(c) && c != '_' && c != '-') c = '_';
  return out;
}

// The tool that is left of `name` after the spelling of `server` and `between`; empty: it is not one of that server.
std::string_view after_server(std::string_view name, std::string_view server, std::string_view between) {
  const std::string front = spelled(server) + std::string(between);
  return name.size() > front.size() && name.starts_with(front) ? name.substr(front.size()) : std::string_view();
}

// Of `server<between>tool`. `name` is without a prefix; `whole` is what is shown.
tl::expected<ToolName, std::string> parted(std::string_view name, std::string_view between, std::string_view whole,
                                           const Beside& beside) {
  if (beside.server) {
    const std::string_view tool = after_server(name, *beside.server, between);
    if (tool.empty())
      return no("the tool " + shown(whole) + " is said to be of the MCP server " + shown(*beside.server));
    return of_server(*beside.server, tool);
  }
  std::vector<std::pair<std::string_view, std::string_view>> readings;
  for (const std::string& server : beside.servers)
    if (const std::string_view tool = after_server(name, server, between); !tool.empty())
      readings.emplace_back(server, tool);
  if (readings.size() == 1) return of_server(readings[0].first, readings[0].second);
  // A contract names server and tool: where exactly one is spelled so, and is of a server that it could be, it is that.
  std::vector<std::pair<std::string_view, std::string_view>> known;
  for (const std::string_view one : beside.tools) {
    const std::size_t colon = one.find(':');
    if (colon == std::string_view::npos || after_server(name, one.substr(0, colon), between) != one.substr(colon + 1))
      continue;
    const std::pair<std::string_view, std::string_view> reading(one.substr(0, colon), one.substr(colon + 1));
    if (readings.empty() || std::find(readings.begin(), readings.end(), reading) != readings.end())
      known.push_back(reading);
  }
  if (known.size() == 1) return of_server(known[0].first, known[0].second);
  const std::size_t at = name.find(between);
  const bool parts = at != std::string_view::npos && at != 0 && at + between.size() < name.size();
  // Found again from the next character on: `a___b` could be parted in two places too.
  if (readings.empty() && parts && name.find(between, at + 1) == std::string_view::npos)
    return of_server(name.substr(0, at), name.substr(at + between.size()));
  if (readings.empty() && !parts) return no("the tool " + shown(whole) + " names no MCP server");
  return no("the tool " + shown(whole) + " could be of more than one MCP server");
}

bool is_of_listed(std::string_view name, std::string_view between, const Beside& beside) {
  return std::any_of(beside.servers.begin(), beside.servers.end(),
                     [&](const std::string& server) { return !after_server(name, server, between).empty(); });
}

tl::expected<ToolName, std::string> of_gemini(std::string_view name, const Beside& beside) {
  if (beside.server && beside.tool) return of_server(*beside.server, *beside.tool);
  if (name.starts_with("mcp_")) return parted(name.substr(4), "_", name, beside);
  return of_client(Client::Gemini, name);
}

tl::expected<ToolName, std::string> of_copilot(std::string_view name, const Beside& beside) {
  if (const std::size_t slash = name.find('/'); slash != std::string_view::npos)
    return of_server(name.substr(0, slash), name.substr(slash + 1));
  // None of its own tools has a dash.
  if (name.find('-') != std::string_view::npos) return parted(name, "-", name, beside);
  return of_client(Client::Copilot, name);
}

tl::expected<ToolName, std::string> of_opencode(std::string_view name, const Beside& beside) {
  const bool own = row_of(Client::OpenCode, name) != nullptr, listed = is_of_listed(name, "_", beside);
  if (own && listed) return no("the tool " + shown(name) + " is the client's own, and an MCP server's");
  if (listed) return parted(name, "_", name, beside);
  if (own || beside.servers_are_all || name.find('_') == std::string_view::npos)
    return of_client(Client::OpenCode, name);
  return no("the tool " + shown(name) + " could be of an MCP server, and the client does not say which there are");
}

tl::expected<ToolName, std::string> of_cursor(std::string_view name, const Beside& beside) {
  const bool prefixed = name.starts_with("MCP:");
  if (!prefixed && !beside.is_mcp) return of_client(Client::Cursor, name);
  const std::string_view rest = prefixed ? name.substr(4) : name;
  if (beside.server) return of_server(*beside.server, rest);
  const std::size_t colon = prefixed ? rest.find(':') : std::string_view::npos;
  if (colon == std::string_view::npos) {
    if (!is_tool(rest)) return no("the MCP tool is called " + shown(rest) + ", which is no name");
    return ToolName{"/" + std::string(rest), {}, true};  // of a server that is not named
  }
  if (rest.find(':', colon + 1) != std::string_view::npos)
    return no("the tool " + shown(name) + " could be of more than one MCP server");
  return of_server(rest.substr(0, colon), rest.substr(colon + 1));
}

}  // namespace

tl::expected<ToolName, std::string> canonical_name(Client client, std::string_view as_named, const Beside& beside) {
  switch (client) {
    case Client::Claude:
    case Client::Codex:
      if (as_named.starts_with("mcp__")) return parted(as_named.substr(5), "__", as_named, beside);
      if (beside.server)
        return no("the tool " + shown(as_named) + " is said to be of the MCP server " + shown(*beside.server));
      return of_client(client, as_named);
    case Client::Gemini: return of_gemini(as_named, beside);
    case Client::Copilot: return of_copilot(as_named, beside);
    case Client::OpenCode: return of_opencode(as_named, beside);
    case Client::Cursor: return of_cursor(as_named, beside);
  }
  return no("unknown client");
}

bool is_reserved(std::string_view name, std::optional<Client> client) {
  if (name.empty()) return false;
  const auto counts = [&](Client of) { return of == client || is_upper(name.front()); };
  return std::any_of(std::begin(kTools), std::end(kTools),
                     [&](const Row& row) { return counts(row.client) && row.name == name; }) ||
         std::any_of(std::begin(kOthers), std::end(kOthers),
                     [&](const Others& one) { return counts(one.client) && is_among(one.names, name); });
}

ToolShape shape_of(Client client, std::string_view as_named) {
  const Row* row = row_of(client, as_named);
  return row ? row->shape : ToolShape{};
}

}  // namespace baton::hooks
