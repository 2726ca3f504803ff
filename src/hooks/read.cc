// SPDX-License-Identifier: Apache-2.0
#include "hooks/read.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/limits.h"
#include "base/text.h"
#include "hooks/facts.h"
#include "hooks/names.h"
#include "hooks/paths.h"
#include "json/parse.h"

namespace baton::hooks {
namespace {

using json::Node;
using json::Value;
using Done = tl::expected<void, std::string>;

tl::unexpected<std::string> no(std::string why) { return tl::make_unexpected(std::move(why)); }
std::string shown(std::string_view name) { return "`" + printable(name, 80) + "`"; }

// Where a client has what: the members of its events.
struct Members {
  std::string_view event, session, cwd, transcript, agent_id, agent_type;
  std::string_view tool, input, call_id, output, error, last_message;
};

Members members_of(Client client) {
  switch (client) {
    case Client::Claude:
    case Client::Codex:
      return {"hook_event_name", "session_id", "cwd",         "transcript_path", "agent_id", "agent_type",
              "tool_name",       "tool_input", "tool_use_id", "tool_response",   "error",    "last_assistant_message"};
    case Client::Gemini:
      return {"hook_event_name", "session_id", "cwd", "transcript_path", "agent_id", "agent_type",
              "tool_name",       "tool_input", "",    "tool_response",   "error",    "prompt_response"};
    case Client::Copilot:
      return {"hookName", "sessionId", "cwd",        "transcriptPath", "agentId", "agentName",
              "toolName", "toolArgs",  "toolCallId", "toolResult",     "error",   "lastAssistantMessage"};
    case Client::OpenCode:
      return {"event", "session_id", "cwd",     "",       "agent_id", "agent_type",
              "tool",  "arguments",  "call_id", "output", "error",    "last_message"};
    case Client::Cursor:
      return {"hook_event_name", "conversation_id", "cwd",         "transcript_path", "subagent_id",   "subagent_type",
              "tool_name",       "tool_input",      "tool_use_id", "tool_output",     "error_message", "result"};
  }
  return {};
}

// Text of a member: empty when it is absent or null, refused when it is something else.
Done take(std::string& out, Node event, std::string_view name) {
  if (name.empty()) return {};
  const Node node = event[name];
  if (!node || node.is_null()) return {};
  if (!node.is_string()) return no(shown(name) + " of the event is not a text");
  out = node.string();
  return {};
}

// An id: something to name a session, an agent or a call by.
Done take_id(std::string& out, Node event, std::string_view name) {
  if (auto done = take(out, event, name); !done) return done;
  if (out.size() > limits::kHookNameBytesMax) return no(shown(name) + " of the event is too long");
  for (std::size_t at = 0; at < out.size();)
    if (is_control(next_character(out, at))) return no(shown(name) + " of the event has control characters");
  return {};
}

class Reader {
 public:
  Reader(Client client, std::string_view event_name, Node root, const Reading& reading)
      : root_(root), reading_(reading), in_(members_of(client)) {
    event_.client = client;
    event_.name = event_name;
  }

  tl::expected<Event, std::string> run() {
    for (const auto step : {&Reader::name, &Reader::whose, &Reader::call, &Reader::outcome, &Reader::stop})
      if (auto done = (this->*step)(); !done) return no(std::move(done.error()));
    return std::move(event_);
  }

 private:
  bool is(std::string_view name) const { return event_.name == name; }

  Done name() {
    std::string said;
    if (auto done = take(said, root_, in_.event); !done) return done;
    if (event_.name.empty()) event_.name = said;
    if (event_.name.empty()) return no("the event does not say which one it is");
    if (!said.empty() && said != event_.name)
      return no("the hook of " + shown(event_.name) + " was given the event " + shown(said));
    event_.kind = kind_of(event_.client, event_.name);
    return {};
  }

  Done whose() {
    if (auto done = take_id(event_.client_session, root_, in_.session); !done) return done;
    if (event_.client_session.empty()) return no("the event has no " + shown(in_.session));
    if (auto done = take_id(event_.agent_id, root_, in_.agent_id); !done) return done;
    if (auto done = take_id(event_.agent_type, root_, in_.agent_type); !done) return done;
    if (event_.client == Client::Copilot)
      if (auto done = copilot_subagent(); !done) return done;
    if (auto done = take(event_.cwd, root_, in_.cwd); !done) return done;
    if (event_.client == Client::Cursor && event_.cwd.empty())
      if (const Node first = root_["workspace_roots"].element(0); first.is_string()) event_.cwd = first.string();
    event_.cwd = event_.cwd.starts_with('/') ? absolute_path(event_.cwd, "/") : std::string();
    if (event_.kind == Kind::SubagentStop)
      if (auto done = take(event_.transcript, root_, "agent_transcript_path"); !done) return done;
    if (event_.transcript.empty()) return take(event_.transcript, root_, in_.transcript);
    return {};
  }

  // Copilot CLI tells twice that a subagent would stop: as the stop of a session that has a parent, and then as its parent's. The second
  // has what it said, so that the first is nothing to Baton.
  Done copilot_subagent() {
    std::string parent;
    if (auto done = take_id(parent, root_, "parentAgentId"); !done) return done;
    if (event_.agent_type.empty())
      if (auto done = take_id(event_.agent_type, root_, "agentType"); !done) return done;
    if (parent.empty()) return {};
    event_.client_session = std::move(parent);
    if (event_.kind == Kind::Stop) event_.kind = Kind::Other;
    return {};
  }

  // --- the call

  bool has_call() const {
    switch (event_.kind) {
      case Kind::BeforeTool:
      case Kind::AfterTool:
      case Kind::ToolFailed:
      case Kind::PermissionAsked: return true;
      default: return false;
    }
  }

  Done call() {
    if (!has_call()) return {};
    if (auto done = take_id(event_.call_id, root_, in_.call_id); !done) return done;
    if (event_.client == Client::Cursor && is_of_cursor_alone()) return cursor_call();
    if (auto done = take(event_.tool_as_named, root_, in_.tool); !done) return done;
    if (event_.tool_as_named.empty()) return no("the event has no " + shown(in_.tool));
    const std::string_view member = is("permissionRequest") ? "toolInput" : in_.input;
    return input(root_[member], member);
  }

  // Events that are about one tool and have its input as their own members.
  bool is_of_cursor_alone() const {
    return is("beforeShellExecution") || is("afterShellExecution") || is("beforeReadFile") || is("afterFileEdit");
  }

  Done cursor_call() {
    const bool shell = root_["command"].is_string() && (is("beforeShellExecution") || is("afterShellExecution"));
    event_.tool_as_named = shell ? "Shell" : is("beforeReadFile") ? "Read" : is("afterFileEdit") ? "Edit" : "";
    if (event_.tool_as_named.empty()) return no("the event has no `command`");
    event_.input = Value::object();
    for (const std::string_view member : {"command", "file_path", "edits"})
      if (const Node value = root_[member]) event_.input.set(member, Value::copy(value));
    return named({});
  }

  // The input of a call: an object, or one in a string (older Copilot CLI, Cursor); of a patch, perhaps the patch itself.
  Done input(Node given, std::string_view member) {
    if (!given || given.is_null()) return no("the event has no " + shown(member));
    if (given.is_object()) {
      event_.input = Value::copy(given);
    } else if (given.is_string() && (event_.client == Client::Copilot || event_.client == Client::Cursor)) {
      const auto inner = json::parse(given.string(), limits());
      if (inner && inner->root().is_object()) {
        event_.input = Value::copy(inner->root());
      } else if (shape_of(event_.client, event_.tool_as_named).shape == Shape::Patch) {
        event_.input = Value::object();
        event_.input.set("input", given.string());
      } else {
        return no(shown(member) + " of the event is not an object");
      }
    } else {
      return no(shown(member) + " of the event is not an object");
    }
    return named(root_);
  }

  Done named(Node said) {
    Beside beside;
    beside.servers = reading_.servers;
    beside.tools = reading_.tools;
    std::vector<std::string> listed;
    if (event_.client == Client::OpenCode && said["mcp_servers"].is_array()) {
      for (const Node server : said["mcp_servers"].elements()) {
        if (!server.is_string()) return no("`mcp_servers` of the event has something that is not a text");
        listed.emplace_back(server.string());
      }
      beside.servers = listed;
      beside.servers_are_all = true;
    }
    if (event_.client == Client::Cursor) beside.is_mcp = is("beforeMCPExecution") || is("afterMCPExecution");
    if (const Node server = said["mcp_server"]["name"]; server.is_string()) beside.server = server.string();
    if (event_.client == Client::Gemini) {
      if (const Node server = said["mcp_context"]["server_name"]; server.is_string()) beside.server = server.string();
      if (const Node tool = said["mcp_context"]["tool_name"]; tool.is_string()) beside.tool = tool.string();
    }
    auto name = canonical_name(event_.client, event_.tool_as_named, beside);
    if (!name) return no(std::move(name.error()));
    event_.tool = std::move(name->tool);
    event_.is_mcp = name->is_mcp;
    return arguments();
  }

  // --- what a contract sees

  Done arguments() {
    event_.arguments = event_.input;
    if (event_.arguments.find(kFacts) != nullptr) {
      event_.arguments.erase(kFacts);
      event_.reserved = kFacts;
    }
    if (event_.is_mcp) return {};
    const ToolShape shape = shape_of(event_.client, event_.tool_as_named);
    find_reserved(shape);
    switch (shape.shape) {
      case Shape::Plain: return {};
      case Shape::Shell: return command(shape);
      case Shape::Files: return files(shape);
      case Shape::Patch: return patch(shape);
    }
    return {};
  }

  // The model writes the input. A member with the name of a fact is one of the tool's own only where the table says so.
  void find_reserved(const ToolShape& shape) {
    if (shape.shape == Shape::Plain || !event_.reserved.empty()) return;
    const FactsOf of = shape.shape == Shape::Shell ? FactsOf::Command : FactsOf::Files;
    const std::vector<std::string_view> own = split(shape.members, ' ');
    for (const auto& [name, value] : event_.input.members()) {
      const bool is_own = std::find(own.begin(), own.end(), name) != own.end() || name == shape.cwd_member;
      const bool is_taken = is_fact_name(of, name) || (of == FactsOf::Command && name == "command");
      if (is_taken && !is_own) {
        event_.reserved = name;
        return;
      }
    }
  }

  Done command(const ToolShape& shape) {
    const Value* given = event_.input.find(shape.members);
    if (!given) return no("the command of " + shown(event_.tool_as_named) + " is missing");
    std::string line;
    if (given->is_string()) {
      line = given->string();
    } else if (given->is_array() && !given->elements().empty()) {
      // A program and its arguments: as a line that a shell would make the same of.
      for (const Value& word : given->elements()) {
        if (!word.is_string()) return no("the command of " + shown(event_.tool_as_named) + " is not a text");
        if (!line.empty()) line.push_back(' ');
        line.push_back('\'');
        for (const char c : word.string()) c == '\'' ? line.append("'\\''") : line.append(1, c);
        line.push_back('\'');
      }
    } else {
      return no("the command of " + shown(event_.tool_as_named) + " is not a text");
    }
    std::string cwd = event_.cwd;
    if (const Value* elsewhere = shape.cwd_member.empty() ? nullptr : event_.input.find(shape.cwd_member);
        elsewhere && !elsewhere->is_null()) {
      if (!elsewhere->is_string()) return no(shown(shape.cwd_member) + " of the command is not a text");
      if (!elsewhere->string().empty()) cwd = absolute_path(elsewhere->string(), event_.cwd);
    }
    Value seen = Value::object();
    if (reading_.command) seen = reading_.command(line, cwd);
    if (!seen.is_object() || seen.members().empty()) {
      seen = Value::object();
      seen.set("command", line);
      seen.set("opaque", true);
    }
    seen.set("cwd", cwd);
    if (is_run_otherwise()) make_opaque(seen, "variable that changes what is run");
    if (is_run_elsewhere(shape)) make_opaque(seen, "written path that is not known");
    event_.arguments.set(kFacts, std::move(seen));
    return {};
  }

  // A folder in another member than the one that this version of the client is known to have.
  bool is_run_elsewhere(const ToolShape& shape) const {
    for (const std::string_view name : {"directory", "dir_path", "workdir", "working_directory"})
      if (const Value* given = name == shape.cwd_member ? nullptr : event_.input.find(name);
          given && !given->is_null() && (!given->is_string() || !given->string().empty()))
        return true;
    return false;
  }

  // Some shell tools take variables, or the program that reads the line, beside the line.
  bool is_run_otherwise() const {
    for (const std::string_view name : {"env", "environment", "environment_variables"})
      if (const Value* given = event_.input.find(name);
          given && !given->is_null() && (given->is_string() || holds_any(*given)))
        return true;
    const Value* shell = event_.input.find("shell");
    if (!shell || !shell->is_string() || shell->string().empty()) return false;
    std::string_view program = shell->string();
    for (const std::string_view folder : {"/bin/", "/usr/bin/", "/usr/local/bin/"})
      if (program.starts_with(folder)) program.remove_prefix(folder.size());
    return program != "sh" && program != "bash" && program != "dash" && program != "zsh";
  }
  static bool holds_any(const Value& value) {
    return (value.is_array() && !value.elements().empty()) || (value.is_object() && !value.members().empty());
  }
  static void make_opaque(Value& facts, std::string_view why) {
    facts.set("opaque", true);
    Value because = Value::array();
    if (const Value* before = facts.find("opaque_because"))
      for (const Value& one : before->elements()) because.push(one);
    because.push(why);
    facts.set("opaque_because", std::move(because));
    if (facts.find("paths_known")) facts.set("paths_known", false);
    if (facts.find("writes_known")) facts.set("writes_known", false);
    if (facts.find("writes_outside_cwd")) facts.set("writes_outside_cwd", true);
    if (const Value* may = facts.find("may")) {
      Value all = Value::object();
      for (const auto& [kind, is] : may->members()) all.set(kind, true);
      facts.set("may", std::move(all));
    }
  }

  Done files(const ToolShape& shape) {
    Value paths = Value::array();
    for (const std::string_view member : split(shape.members, ' ')) {
      Value* given = event_.arguments.find(member);
      if (!given || given->is_null()) continue;
      if (given->is_string()) {
        *given = absolute_path(given->string(), event_.cwd);
        paths.push(*given);
      } else if (given->is_array()) {
        for (Value& one : given->elements()) {
          if (!one.is_string()) return no(shown(member) + " of " + shown(event_.tool_as_named) + " is no path");
          one = absolute_path(one.string(), event_.cwd);
          paths.push(one);
        }
      } else {
        return no(shown(member) + " of " + shown(event_.tool_as_named) + " is no path");
      }
    }
    // `/etc/*` as the pattern of a search for names is a place of its own.
    if (const Value* pattern = to_lower_ascii(event_.tool) == "glob" ? event_.input.find("pattern") : nullptr;
        pattern && pattern->is_string() &&
        (pattern->string().starts_with('/') || pattern->string().starts_with('~') ||
         pattern->string().find("..") != std::string::npos)) {
      const std::string& base = paths.elements().empty() ? event_.cwd : paths.elements().front().string();
      paths.push(absolute_path(pattern->string(), base));
    }
    if (paths.elements().empty()) {
      if (!shape.may_lack_paths) return no("the path of " + shown(event_.tool_as_named) + " is missing");
      paths.push(event_.cwd);
    }
    set_facts(std::move(paths), shape.writes);
    return {};
  }

  void set_facts(Value paths, bool writes, std::optional<bool> opaque = std::nullopt) {
    Value facts = Value::object();
    if (opaque) facts.set("opaque", *opaque);
    facts.set("writes", writes ? paths : Value::array());
    facts.set("paths", std::move(paths));
    facts.set("cwd", event_.cwd);
    event_.arguments.set(kFacts, std::move(facts));
  }

  Done patch(const ToolShape& shape) {
    // Which of them the client takes is its own affair: all count.
    std::string text;
    const auto add = [&](const Value& one) {
      if (one.is_string()) text += one.string() + "\n";
    };
    for (const std::string_view member : split(shape.members, ' '))
      if (const Value* given = event_.input.find(member)) {
        add(*given);
        if (given->is_array())
          for (const Value& one : given->elements()) add(one);
      }
    Value paths = Value::array();
    for (std::string_view line : split(text, '\n')) {
      if (line.ends_with('\r')) line.remove_suffix(1);
      for (const std::string_view header :
           {"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "})
        if (trim(line).starts_with(trim(header)))
          paths.push(absolute_path(trim(trim(line).substr(trim(header).size())), event_.cwd));
    }
    const bool opaque = paths.elements().empty();
    set_facts(std::move(paths), true, opaque);
    return {};
  }

  // --- afterwards

  Done outcome() {
    if (event_.kind == Kind::ToolFailed) {
      event_.failed = true;
      const std::string_view member = is("PermissionDenied") ? std::string_view("reason") : in_.error;
      const Node error = root_[member];
      if (error.is_string()) event_.error = error.string();
      else if (error && !error.is_null()) event_.error = json::write(error);
      if (event_.tool == "Bash") event_.exit_code = number_after(event_.error, "Exit code ");
      return {};
    }
    if (event_.kind != Kind::AfterTool) return {};
    std::string_view member = in_.output;
    if (is("afterShellExecution")) member = "output";
    if (is("afterMCPExecution")) member = "result_json";
    if (is("afterFileEdit")) member = "edits";
    if (const Node output = root_[member]) event_.output = Value::copy(output);
    read_failure(root_[member]);
    if (event_.exit_code.value_or(0) != 0) event_.failed = true;
    return {};
  }

  // Where a client tells that a call failed, or with what a command ended, beside the ways above.
  void read_failure(Node output) {
    const bool shell = event_.tool == "Bash";
    switch (event_.client) {
      case Client::Claude:
        // Another status comes as PostToolUseFailure; a command in the background has none yet.
        if (shell && output.is_object() && !output["backgroundTaskId"].is_string() && !output["interrupted"].is_true())
          event_.exit_code = 0;
        event_.failed = output["interrupted"].is_true() || output["isError"].is_true() || output["is_error"].is_true();
        return;
      case Client::Codex: event_.failed = output["isError"].is_true() || output["is_error"].is_true(); return;
      case Client::Gemini:
        if (const Node error = output["error"]; error && !error.is_null()) {
          event_.failed = true;
          event_.error = error["message"].is_string() ? std::string(error["message"].string()) : json::write(error);
        }
        if (shell && output["llmContent"].is_string()) event_.exit_code = gemini_exit(output["llmContent"].string());
        return;
      case Client::Copilot:
        event_.failed = !output["resultType"].is_text("success");
        if (shell && output["textResultForLlm"].is_string())
          event_.exit_code = copilot_exit(output["textResultForLlm"].string());
        return;
      case Client::OpenCode:
        if (shell && output["metadata"]["exit"].is_number()) {
          const std::string_view text = output["metadata"]["exit"].number_text();
          event_.exit_code = number_after(text, "");
        }
        event_.failed = output["isError"].is_true();
        return;
      case Client::Cursor: return;
    }
  }

  static std::optional<int> number_after(std::string_view text, std::string_view before) {
    if (!text.starts_with(before)) return std::nullopt;
    text.remove_prefix(before.size());
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return std::nullopt;
    return value;
  }

  // `Exit Code: 3` on a line of its own, only when it is not 0. What the command printed stands in the same text, so a command
  // can pretend to have failed, not to have succeeded.
  static std::optional<int> gemini_exit(std::string_view text) {
    for (const std::string_view line : split(text, '\n'))
      if (const auto status = number_after(line, "Exit Code: "); status && *status != 0) return status;
    return 0;
  }

  // The client's own last line: `<shellId: 1 completed with exit code 3>`.
  static std::optional<int> copilot_exit(std::string_view text) {
    text = trim(text);
    const std::size_t line = text.rfind('\n');
    const std::string_view last = line == std::string_view::npos ? text : text.substr(line + 1);
    static constexpr std::string_view kBefore = "completed with exit code ";
    const std::size_t at = last.rfind(kBefore);
    if (!last.starts_with("<shellId: ") || !last.ends_with('>') || at == std::string_view::npos) return std::nullopt;
    return number_after(last.substr(at), kBefore);
  }

  Done stop() {
    if (event_.kind != Kind::Stop && event_.kind != Kind::SubagentStop) return {};
    if (auto done = take(event_.last_message, root_, in_.last_message); !done) return done;
    if (event_.client == Client::Copilot && event_.last_message.empty())
      if (auto done = take(event_.last_message, root_, "response"); !done) return done;
    if (event_.last_message.empty()) event_.last_message = reading_.last_message;
    // Gemini CLI tells all that was said since its user spoke. The last of it counts; what was refused before stands in front.
    if (event_.client == Client::Gemini && !reading_.last_message.empty() &&
        event_.last_message.ends_with(reading_.last_message))
      event_.last_message = reading_.last_message;
    event_.stop_was_blocked = root_["stop_hook_active"].is_true() || root_["stop_was_blocked"].is_true();
    if (const Node loops = root_["loop_count"]; loops.is_number()) event_.stop_was_blocked = loops.number_text() != "0";
    return {};
  }

  static json::ParseLimits limits() {
    json::ParseLimits out;
    out.bytes_max = limits::kHookEventBytesMax;
    out.depth_max = limits::kHookEventDepthMax;
    return out;
  }

  Event event_;
  Node root_;
  const Reading& reading_;
  Members in_;
};

}  // namespace

tl::expected<Event, std::string> read(Client client, std::string_view event_name, std::string_view bytes,
                                      const Reading& reading) {
  json::ParseLimits limits;
  limits.bytes_max = limits::kHookEventBytesMax;
  limits.depth_max = limits::kHookEventDepthMax;
  const auto document = json::parse(bytes, limits);
  if (!document) {
    const auto [line, column] = json::position_at(bytes, document.error().offset);
    return no("the event is not JSON: " + document.error().what + " at line " + std::to_string(line) + ", column " +
              std::to_string(column));
  }
  if (!document->root().is_object()) return no("the event is not an object");
  return Reader(client, event_name, document->root(), reading).run();
}

}  // namespace baton::hooks
