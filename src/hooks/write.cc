// SPDX-License-Identifier: Apache-2.0
#include "hooks/write.h"

#include "base/limits.h"
#include "base/text.h"
#include "json/value.h"

namespace baton::hooks {
namespace {

using json::Value;

constexpr int kDenied = 2;  // what every client takes for "no"
constexpr std::string_view kSettingsStay =
    "this session is held to a contract by Baton: settings that were changed count when the client is started again";

constexpr std::string_view kNoReason = "denied by Baton, which gave no reason";

// A reason that any client can show: UTF-8, not blank, not too long. Lines stay lines.
std::string reason_of(std::string_view text) {
  std::string out(text);
  if (find_invalid_utf8(out) != out.size()) out = printable(out);
  if (is_blank_text(out)) return std::string(kNoReason);
  if (count_characters(out) <= limits::kHookReasonCharactersMax) return out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < limits::kHookReasonCharactersMax; ++i) next_character(out, at);
  out.resize(at);
  return out + " [cut]";
}

// The same for a terminal: nothing in it moves the cursor or hides.
std::string lines_of(std::string_view text) {
  std::string out;
  for (const std::string_view line : split(text, '\n')) out.append(printable(line)).append("\n");
  return out;
}

Value object(std::initializer_list<std::pair<std::string_view, Value>> members) {
  Value out = Value::object();
  for (const auto& [name, value] : members) out.set(name, value);
  return out;
}

Written says(const Value& value) { return {json::write(value), {}, 0}; }
Written denies(const Value& value, const std::string& reason) {
  return {json::write(value), lines_of(reason), kDenied};
}
// Where the client reads no JSON of a hook, but its exit status.
Written denies_plainly(const std::string& reason) { return {{}, lines_of(reason), kDenied}; }

// {"hookSpecificOutput": {"hookEventName": ..., ...}}: Claude Code, Codex and Gemini CLI.
Value specific(std::string_view event, std::initializer_list<std::pair<std::string_view, Value>> members) {
  Value inner = object({{"hookEventName", event}});
  for (const auto& [name, value] : members) inner.set(name, value);
  return object({{"hookSpecificOutput", std::move(inner)}});
}

// --- Claude Code and Codex: one dialect, of which Codex knows a part --------------------------------------------------

Written claude(Client client, Kind kind, std::string_view event, bool is_mcp, const Reply& reply,
               const std::string& reason) {
  const bool codex = client == Client::Codex;
  const bool has_context = kind == Kind::BeforeTool || kind == Kind::AfterTool || kind == Kind::SessionStart ||
                           kind == Kind::Prompt || kind == Kind::SubagentStart || event == "PostToolUseFailure";
  switch (reply.kind) {
    case Reply::Kind::Pass: return {};
    case Reply::Kind::Context: return has_context ? says(specific(event, {{"additionalContext", reason}})) : Written{};
    case Reply::Kind::Allow:
      if (kind == Kind::BeforeTool && !codex) {
        Value out = specific(event, {{"permissionDecision", "allow"}});
        if (reason != kNoReason) out.find("hookSpecificOutput")->set("permissionDecisionReason", reason);
        return says(out);
      }
      if (kind == Kind::PermissionAsked) return says(specific(event, {{"decision", object({{"behavior", "allow"}})}}));
      return {};
    case Reply::Kind::Deny:
      if (kind == Kind::BeforeTool)
        return denies(specific(event, {{"permissionDecision", "deny"}, {"permissionDecisionReason", reason}}), reason);
      if (kind == Kind::PermissionAsked)
        return denies(specific(event, {{"decision", object({{"behavior", "deny"}, {"message", reason}})}}), reason);
      if (kind == Kind::AfterTool && is_mcp && !codex) {
        // Of an MCP tool Claude Code takes another output in place of the one it got; of its own tools each has its own form.
        Value out =
            specific(event, {{"updatedToolOutput", Value(Value::Array{object({{"type", "text"}, {"text", reason}})})}});
        out.set("decision", "block");
        out.set("reason", reason);
        return denies(out, reason);
      }
      if (kind == Kind::AfterTool || kind == Kind::Prompt)
        return denies(object({{"decision", "block"}, {"reason", reason}}), reason);
      return {};
    case Reply::Kind::AskAgain: return denies(object({{"decision", "block"}, {"reason", reason}}), reason);
  }
  return {};
}

// --- Gemini CLI -------------------------------------------------------------------------------------------------------

Written gemini(Kind kind, std::string_view event, const Reply& reply, const std::string& reason) {
  const bool has_context = kind == Kind::AfterTool || kind == Kind::SessionStart || kind == Kind::Prompt;
  switch (reply.kind) {
    case Reply::Kind::Pass: return {};
    case Reply::Kind::Context: return has_context ? says(specific(event, {{"additionalContext", reason}})) : Written{};
    case Reply::Kind::Allow: return kind == Kind::BeforeTool ? says(object({{"decision", "allow"}})) : Written{};
    case Reply::Kind::Deny:
    case Reply::Kind::AskAgain:
      if (kind == Kind::BeforeTool || kind == Kind::AfterTool || kind == Kind::Prompt || kind == Kind::Stop)
        return denies(object({{"decision", "deny"}, {"reason", reason}}), reason);
      return {};
  }
  return {};
}

// --- Copilot CLI ------------------------------------------------------------------------------------------------------

Written copilot(Kind kind, const Reply& reply, const std::string& reason) {
  const bool has_context = kind == Kind::BeforeTool || kind == Kind::AfterTool || kind == Kind::ToolFailed ||
                           kind == Kind::SessionStart || kind == Kind::SubagentStart;
  switch (reply.kind) {
    case Reply::Kind::Pass: return {};
    case Reply::Kind::Context: return has_context ? says(object({{"additionalContext", reason}})) : Written{};
    case Reply::Kind::Allow:
      if (kind == Kind::BeforeTool) return says(object({{"permissionDecision", "allow"}}));
      if (kind == Kind::PermissionAsked) return says(object({{"behavior", "allow"}}));
      return {};
    case Reply::Kind::Deny:
      if (kind == Kind::BeforeTool)
        return denies(object({{"permissionDecision", "deny"}, {"permissionDecisionReason", reason}}), reason);
      if (kind == Kind::PermissionAsked) return denies(object({{"behavior", "deny"}, {"message", reason}}), reason);
      // The call was made: only what the model gets of it can still be changed, by a hook that ends well.
      if (kind == Kind::AfterTool)
        return says(object({{"modifiedResult", object({{"textResultForLlm", reason}, {"resultType", "failure"}})}}));
      return {};
    case Reply::Kind::AskAgain: return denies(object({{"decision", "block"}, {"reason", reason}}), reason);
  }
  return {};
}

// --- OpenCode: what Baton's own plugin reads --------------------------------------------------------------------------

// The plugin lets a call go only for a `pass` or an `allow` that it reads itself.
Written opencode(const Reply& reply, const std::string& reason) {
  switch (reply.kind) {
    case Reply::Kind::Pass: return says(object({{"decision", "pass"}}));
    case Reply::Kind::Allow: return says(object({{"decision", "allow"}}));
    case Reply::Kind::Context: return says(object({{"decision", "pass"}, {"context", reason}}));
    case Reply::Kind::Deny: return denies(object({{"decision", "deny"}, {"reason", reason}}), reason);
    case Reply::Kind::AskAgain: return denies(object({{"decision", "ask_again"}, {"reason", reason}}), reason);
  }
  return {};
}

// --- Cursor, by its documents -----------------------------------------------------------------------------------------

Written cursor(Kind kind, std::string_view event, const Reply& reply, const std::string& reason) {
  // Its first versions had `decision` and `reason` for these two where the others have `permission`.
  const bool both = event == "preToolUse" || event == "subagentStart";
  switch (reply.kind) {
    case Reply::Kind::Pass: return {};
    case Reply::Kind::Context:
      if (kind == Kind::SessionStart || event == "postToolUse") return says(object({{"additional_context", reason}}));
      return {};
    case Reply::Kind::Allow:
      if (kind != Kind::BeforeTool) return {};
      return says(both ? object({{"permission", "allow"}, {"decision", "allow"}}) : object({{"permission", "allow"}}));
    case Reply::Kind::Deny:
      if (kind == Kind::BeforeTool || kind == Kind::SubagentStart) {
        Value out = object({{"permission", "deny"}, {"user_message", reason}, {"agent_message", reason}});
        if (both) out.set("decision", "deny"), out.set("reason", reason);
        return denies(out, reason);
      }
      if (kind == Kind::Prompt) return denies(object({{"continue", false}, {"user_message", reason}}), reason);
      return {};
    case Reply::Kind::AskAgain:
      return says(object({{"followup_message", reason}}));  // only a hook that ends well is read
  }
  return {};
}

Written write_as(Client client, std::string_view event_name, bool is_mcp, const Reply& given) {
  const Kind kind = kind_of(client, event_name);
  const std::string reason = reason_of(given.text);
  // Whoever edits the settings could take the hooks out of them. They stay as they were when the client began, whatever is replied; what
  // was edited counts when it begins anew.
  if (kind == Kind::SettingsChange) {
    const std::string why = given.kind == Reply::Kind::Deny ? reason : std::string(kSettingsStay);
    return denies(object({{"decision", "block"}, {"reason", why}}), why);
  }
  Reply reply = given;
  // To be asked again is to be refused for now, and the other way round.
  const bool stops = kind == Kind::Stop || kind == Kind::SubagentStop;
  if (reply.kind == Reply::Kind::AskAgain && !stops) reply.kind = Reply::Kind::Deny;
  if (reply.kind == Reply::Kind::Deny && stops) reply.kind = Reply::Kind::AskAgain;
  switch (client) {
    case Client::Claude:
    case Client::Codex: return claude(client, kind, event_name, is_mcp, reply, reason);
    case Client::Gemini: return gemini(kind, event_name, reply, reason);
    case Client::Copilot: return copilot(kind, reply, reason);
    case Client::OpenCode: return opencode(reply, reason);
    case Client::Cursor: return cursor(kind, event_name, reply, reason);
  }
  return denies_plainly(reason);
}

}  // namespace

Written write(Client client, std::string_view event_name, const Reply& reply) {
  return write_as(client, event_name, false, reply);
}

Written write(const Event& event, const Reply& reply) {
  return write_as(event.client, event.name, event.is_mcp, reply);
}

bool can_block(Client client, std::string_view event_name) {
  const Kind kind = kind_of(client, event_name);
  switch (kind) {
    case Kind::BeforeTool:
    case Kind::SettingsChange: return true;
    case Kind::PermissionAsked: return client == Client::Claude || client == Client::Codex || client == Client::Copilot;
    case Kind::Stop: return true;
    case Kind::SubagentStop: return client != Client::Gemini && client != Client::OpenCode;
    case Kind::SubagentStart: return client == Client::Cursor;
    case Kind::Prompt: return client != Client::Copilot && client != Client::OpenCode;
    default: return false;
  }
}

Written write_failure(Client client, std::string_view event_name, std::string_view why) {
  const Kind kind = kind_of(client, event_name);
  const bool denied = kind == Kind::BeforeTool || kind == Kind::PermissionAsked ||
                      (kind == Kind::SubagentStart && can_block(client, event_name)) || kind == Kind::SettingsChange ||
                      kind == Kind::Other;  // a name nobody knows could be that of a call
  if (!denied) {
    Written out = write(client, event_name, {});
    out.err = lines_of(reason_of(why));
    return out;
  }
  Written out = write(client, event_name, {Reply::Kind::Deny, std::string(why)});
  return out.exit == kDenied ? out : denies_plainly(reason_of(why));
}

}  // namespace baton::hooks
