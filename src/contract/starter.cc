// SPDX-License-Identifier: Apache-2.0
#include "contract/starter.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "contract/compiler.h"
#include "contract/shapes.h"
#include "hooks/names.h"
#include "json/value.h"

namespace baton::contract {
namespace {

using std::string;

// --- the example --------------------------------------------------------------------------------------------------------------

constexpr std::string_view kSession =
    R"(# What a whole session of the agent may do. `baton contract check` says whether it makes sense,
# `baton contract show` what it means in sentences.
schema_version: "1.0"
agent: @AGENT@

# Decide: which stages does the work go through? One is the beginning; in a terminal one the agent may stop.
phases:
  - name: intake
    initial: true
  - name: decided
  - name: closed
    terminal: true

# Decide: which way leads on from each? What is not listed cannot happen.
transitions:
  intake: [decided]
  decided: [closed]

# Decide: how much may one session do, before somebody should look?
session_limits:
  max_steps: 20              # answers of the model
  max_tool_calls: 30
  max_tool_calls_mode: block # or `narrow`: the model may still answer in text
  max_cost_per_session: 5.00 # in the unit that your host reports
  max_calls_per_tool:
    issue_refund: 1
  loop_detection:            # the same call with the same arguments, so often within so many steps
    window: 5
    threshold: 3
  circuit_breaker:           # so many in a row end the session
    consecutive_blocks: 5
    consecutive_errors: 3

# Decide: what goes through without a word in the tool's own file? A tool's `gate` overrides it.
risk_defaults:
  read: allow
  write: allow
  destructive: block
  admin: block
  financial: block

# Decide: what if a handoff claims a command, a file or a check that no call of the session shows? `require` refuses it.
claims: warn
)";

constexpr std::string_view kLookUp =
    R"(# Reads an order. Nothing depends on when it is called, so it has no phases and no preconditions.
tool: look_up_order
side_effect: read                    # Decide: read, write, destructive, admin or financial?
evidence_class: local_transaction    # Decide: what shows that it worked? Here: an object in its answer.
commit_requirement: acknowledged     # Decide: when does it count? Here: when it has answered.
timeouts:
  total_ms: 10000                    # Decide: how long may it take, all attempts together?
retries:
  max_attempts: 3                    # the first included; reading twice does no harm
  retry_on: [timeout, network, server_error]
rate_limits:
  on_429:
    respect_retry_after: true
    max_sleep_seconds: 5
assertions:
  input_invariants: []
  output_invariants:                 # Decide: what must its answer look like, to be believed?
    - path: $.order_id
      type: string
golden_cases: []
allowed_errors:                      # Decide: which errors are part of normal work?
  - code: order_not_found
argument_value_invariants:           # Decide: which arguments make sense?
  - path: $.order_id
    regex: "^[A-Za-z0-9-]{1,40}$"
)";

constexpr std::string_view kApprove =
    R"(# Asks the refund service whether an order may be refunded, and how much. What it answers binds the refund.
tool: approve_refund
side_effect: write
evidence_class: local_transaction
commit_requirement: acknowledged
timeouts:
  total_ms: 15000
retries:
  max_attempts: 1                    # Decide: is it safe to do twice? If not, one attempt.
  retry_on: []
rate_limits:
  on_429:
    respect_retry_after: true
    max_sleep_seconds: 0
assertions:
  input_invariants: []
  output_invariants: []
golden_cases: []
allowed_errors: []
transitions:                         # Decide: in which stage is it called, and which comes after it?
  valid_in_phases: [intake]
  advances_to: decided
binds:                               # what is remembered for later calls
  - name: approved_amount
    source: output
    path: $.approved_amount
)";

constexpr std::string_view kRefund = R"(# Pays money back. Everything that could go wrong with it is guarded here.
tool: issue_refund
side_effect: financial
gate: allow                          # risk_defaults block financial tools; this one is guarded below
evidence_class: local_transaction
commit_requirement: acknowledged
timeouts:
  total_ms: 20000
retries:
  max_attempts: 1                    # paying twice would be worse than not paying
  retry_on: []
rate_limits:
  on_429:
    respect_retry_after: true
    max_sleep_seconds: 0
assertions:
  input_invariants: []
  output_invariants: []
allowed_errors: []
transitions:
  valid_in_phases: [decided]
  advances_to: closed
preconditions:                       # Decide: what must have happened before, and to the same thing?
  - requires_prior_tool: approve_refund
    resource:
      bind_from: arguments
      path: $.order_id
    with_output:
      - path: $.approved
        equals: true
forbids_after: [issue_refund]        # Decide: what must not happen any more, once it ran? Here: a second refund.
argument_value_invariants:           # Decide: which values are right, whatever the model says?
  - path: $.amount
    gte: 0.01
    lte: 500
    ref: approved_amount             # what was approved, to the cent; `tolerance: 0.01` would allow 1 % around it
checkpoint:                          # Decide: from where on should a person look at it first?
  when:
    - path: $.amount
      gte: 100
  timeout_seconds: 300
  on_timeout: deny
  context:                           # what that person is shown
    - path: $.order_id
      label: Order
    - path: $.amount
      label: Amount
golden_cases:                        # calls whose outcome must never change by accident
  - id: refund_without_an_approval
    phase: decided
    arguments: { order_id: o-1, amount: 20 }
    expect: { verdict: block, reason: precondition_not_met }
)";

// --- from definitions ---------------------------------------------------------------------------------------------------------

constexpr std::string_view kSessionForTools =
    R"(# Written from a list of tools. What is not known to read is blocked until you decide: see REVIEW in each file.
schema_version: "1.0"
agent: @AGENT@

# Decide: does the work go through stages? Then name them, and in each tool's file say in which it may be called:
# phases:
#   - { name: start, initial: true }
#   - { name: done, terminal: true }
# transitions:
#   start: [done]

# Decide: how much may one session do, before somebody should look?
session_limits:
  max_steps: 20
  max_tool_calls: 30
  loop_detection:   # the same call with the same arguments, so often within so many steps
    window: 5
    threshold: 3
  circuit_breaker:  # so many in a row end the session
    consecutive_blocks: 5
    consecutive_errors: 3

# Decide: what goes through without a word in the tool's own file? `gate: allow` there lets one tool through.
risk_defaults:
  read: allow
  write: block
  destructive: block
  admin: block
  financial: block

# Decide: what if a handoff claims a command, a file or a check that no call of the session shows? `require` refuses it.
claims: warn
)";

struct Hint {
  SideEffect effect;
  std::initializer_list<std::string_view> words;
};

// Words in names. A name that begins with a word for reading reads, whatever it reads; otherwise the gravest word counts.
const std::initializer_list<std::string_view> kReadWords = {
    "check", "count",  "describe",  "download", "export", "fetch",    "find",     "get",    "head",   "inspect",
    "list",  "lookup", "look",      "peek",     "query",  "read",     "retrieve", "scan",   "search", "select",
    "show",  "status", "summarize", "view",     "whoami", "validate", "verify",   "preview"};
const Hint kHints[] = {
    {SideEffect::Financial,
     {"bill", "buy", "charge", "invoice", "pay", "payment", "payout", "purchase", "refund", "sell", "trade", "transfer",
      "wire", "withdraw"}},
    {SideEffect::Admin,
     {"admin",      "configure",   "deploy", "disable", "enable", "exec",  "execute", "grant", "install", "invite",
      "permission", "permissions", "policy", "revoke",  "role",   "roles", "run",     "shell", "sudo",    "uninstall"}},
    {SideEffect::Destructive,
     {"archive", "cancel", "clear", "delete", "destroy", "drop", "erase", "kill", "overwrite", "purge", "remove",
      "reset", "revert", "terminate", "truncate", "unlink", "wipe"}},
    {SideEffect::Write, {"add",   "append",  "assign", "book",  "close",  "comment", "commit", "create",   "edit",
                         "email", "insert",  "mark",   "merge", "modify", "move",    "notify", "open",     "patch",
                         "post",  "publish", "push",   "put",   "rename", "reply",   "save",   "schedule", "send",
                         "set",   "store",   "submit", "sync",  "update", "upload",  "upsert", "write"}}};

// issueRefund, issue-refund and github.issue_refund are the words issue and refund.
std::vector<string> words_in(std::string_view name) {
  std::vector<string> out(1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool begins = is_upper(c) && i > 0 && !is_upper(name[i - 1]);
    if ((begins || !is_alphanumeric(c)) && !out.back().empty()) out.emplace_back();
    if (is_alphanumeric(c)) out.back() += to_lower(c);
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

std::optional<Guess> guess_by_name(std::string_view name) {
  const std::vector<string> words = words_in(name);
  const auto among = [](const string& word, std::initializer_list<std::string_view> list) {
    return std::ranges::find(list, word) != list.end();
  };
  // The first word that is known decides whether it reads: `get_refund` does, `create_query` does not.
  for (const string& word : words) {
    if (among(word, kReadWords)) return Guess{SideEffect::Read, "the word `" + word + "` in its name"};
    if (std::ranges::any_of(kHints, [&](const Hint& hint) { return among(word, hint.words); })) break;
  }
  for (const Hint& hint : kHints)
    for (const string& word : words)
      if (among(word, hint.words)) return Guess{hint.effect, "the word `" + word + "` in its name"};
  return std::nullopt;
}

std::optional<Guess> guess_by_hints(json::Node annotations) {
  if (!annotations.is_object()) return std::nullopt;
  const json::Node reads = annotations["readOnlyHint"], destroys = annotations["destructiveHint"];
  if (destroys.is_true() && !reads.is_true()) return Guess{SideEffect::Destructive, "`destructiveHint: true`"};
  if (destroys.is_true())
    return Guess{SideEffect::Destructive, "`destructiveHint: true`, against `readOnlyHint: true`"};
  if (reads.is_true()) return Guess{SideEffect::Read, "`readOnlyHint: true`"};
  if (destroys.is_boolean()) return Guess{SideEffect::Write, "`destructiveHint: false`"};
  // In MCP a tool that does not only read may destroy, unless it says otherwise.
  if (reads.is_boolean()) return Guess{SideEffect::Destructive, "`readOnlyHint: false`, without `destructiveHint`"};
  return std::nullopt;
}

// Somebody else's text as a comment: one line, nothing hidden, not long.
string as_comment(std::string_view text) {
  string line(text);
  std::ranges::replace_if(line, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  line = printable(line, 400);
  string out;
  for (const std::string_view word : split(line, ' ')) {
    if (word.empty()) continue;
    if (count_characters(out) + count_characters(word) > 110) return out + " ...";
    out.append(out.empty() ? "" : " ").append(word);
  }
  return out;
}

string with_agent(std::string_view text, std::string_view agent) {
  string out(text);
  constexpr std::string_view kMark = "@AGENT@";
  return out.replace(out.find(kMark), kMark.size(), yaml_quoted(agent));
}

string contract_for(const string& name, const ToolSchema& definition) {
  const Guess guess = guess_side_effect(name, definition.annotations);
  const json::Node hints = definition.annotations;
  const bool high = is_high_risk(guess.side_effect), reads = guess.side_effect == SideEffect::Read;
  const bool has_output = definition.output["type"].is_text("object");
  const bool open = hints["openWorldHint"].is_true();
  // Twice does no harm when it reads, or when it says so and is not of the kind where being wrong costs most.
  const bool again = reads || (!high && hints["idempotentHint"].is_true());
  const auto row = [](string text, const string& remark) {
    if (text.size() < 40) text.resize(40, ' ');
    return text + " # " + remark + "\n";
  };
  string out;
  if (const string about = as_comment(definition.description); !about.empty()) out += "# " + about + "\n";
  out += "tool: " + yaml_quoted(name) + "\n";
  out += row("side_effect: " + string(name_of(guess.side_effect)), "REVIEW: guessed from " + guess.because);
  if (!reads) out += "# gate: allow                            # Decide: risk_defaults block it; let it through?\n";
  if (has_output)
    out += row("evidence_class: local_transaction",
               "REVIEW: guessed from its output schema: an object shows that it worked");
  else if (high)
    out += row("evidence_class: unverifiable",
               "REVIEW: guessed from the lack of an output schema: nothing shows that it worked");
  else
    out += row("evidence_class: ack_only",
               "REVIEW: guessed from the lack of an output schema: only that it answered is known");
  out += "commit_requirement: acknowledged\n";
  out += "timeouts:\n";
  out += row(open ? "  total_ms: 60000" : "  total_ms: 15000",
             hints["openWorldHint"].is_boolean()
                 ? string("REVIEW: guessed from `openWorldHint: ") + (open ? "true" : "false") + "`"
                 : string("Decide: how long may it take, all attempts together?"));
  out += "retries:\n";
  out += row(again ? "  max_attempts: 3" : "  max_attempts: 1", again && !reads
                                                                    ? "REVIEW: guessed from `idempotentHint: true`"
                                                                : again ? "reading again does no harm"
                                                                        : "Decide: is it safe to do twice?");
  out += again ? "  retry_on: [timeout, network, server_error]\n" : "  retry_on: []\n";
  out += "rate_limits:\n  on_429:\n    respect_retry_after: true\n    max_sleep_seconds: " + string(again ? "5" : "0") +
         "\n";
  out += "assertions:\n  input_invariants: []\n  output_invariants: []\n";
  out += "golden_cases: []\nallowed_errors: []\n";
  out +=
      "# Decide: preconditions, forbids_after, argument_value_invariants, policy, checkpoint. Bounds in tools.json "
      "hold already.\n";
  return out;
}

constexpr hooks::Client kClients[] = {hooks::Client::Claude,  hooks::Client::Codex,    hooks::Client::Gemini,
                                      hooks::Client::Copilot, hooks::Client::OpenCode, hooks::Client::Cursor};

// Would a contract of this bare name permit a tool of a coding agent's own? Names that no server is expected to use always count. Of the
// others, a contract that reads counts where the agent's own tool does more than read files, or where Baton does not know what it does.
bool permits_tool_of_agent(const string& name, SideEffect effect) {
  if (hooks::is_reserved(name, std::nullopt)) return true;
  if (effect != SideEffect::Read) return false;
  return std::ranges::any_of(kClients, [&](hooks::Client client) {
    const hooks::ToolShape shape = hooks::shape_of(client, name);
    return hooks::is_reserved(name, client) && (shape.shape != hooks::Shape::Files || shape.writes);
  });
}

// Whoever writes a list of tools chooses their names. Why a tool gets no contract of its name; empty: it gets one.
string why_skipped(const string& name, const ToolSchema& definition) {
  if (!is_tool_name(name)) return "a tool's name has 1 to 128 of A-Z a-z 0-9 _ . : -";
  if (name[0] == '.') return "its file would be a hidden one";
  if (to_lower_ascii(name) == "session" || to_lower_ascii(name) == "workflow") return "a pack's own file has that name";
  const string how = "; for the tool of a server, write the contract `SERVER:" + name +
                     "` yourself, SERVER being its name in the configuration";
  if (name.find(':') != string::npos)
    return "a contract of this name would be one for the server, or the operation of a server, before the `:`" + how;
  if (permits_tool_of_agent(name, guess_side_effect(name, definition.annotations).side_effect))
    return "a contract of this name would permit a coding agent's own tool, too" + how;
  return {};
}

// The definitions that were taken over, in MCP's form: nothing is left in it that the compiler would stumble over.
string tools_json(const std::vector<std::pair<string, ToolSchema>>& tools) {
  json::Value list = json::Value::array();
  for (const auto& [name, definition] : tools) {
    json::Value one = json::Value::object();
    one.set("name", name);
    if (!definition.description.empty()) one.set("description", definition.description);
    if (definition.schema.is_object()) one.set("inputSchema", json::Value::copy(definition.schema));
    if (definition.output.is_object()) one.set("outputSchema", json::Value::copy(definition.output));
    if (definition.annotations.is_object()) one.set("annotations", json::Value::copy(definition.annotations));
    list.push(std::move(one));
  }
  json::Value out = json::Value::object();
  out.set("tools", std::move(list));
  return json::write_pretty(out) + "\n";
}

}  // namespace

string yaml_quoted(std::string_view text) {
  string out = "\"";
  const string valid = find_invalid_utf8(text) == text.size() ? string(text) : printable(text);
  for (std::size_t at = 0; at < valid.size();) {
    const std::size_t begin = at;
    const char32_t c = next_character(valid, at);
    if (c == U'"' || c == U'\\') (out += '\\') += static_cast<char>(c);
    else if (is_control(c) || c == 0x2028 || c == 0x2029 || c == 0xFEFF || (c >= 0xFFFE && c <= 0xFFFF)) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      out += "\\u";
      for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[(c >> shift) & 15];
    } else {
      out.append(valid, begin, at - begin);
    }
  }
  return out + "\"";
}

Guess guess_side_effect(std::string_view name, json::Node annotations) {
  const auto by_hints = guess_by_hints(annotations);
  const auto by_name = guess_by_name(name);
  if (!by_hints && !by_name) return {SideEffect::Write, "nothing: neither its name nor a hint tells"};
  if (!by_hints) return *by_name;
  if (!by_name) return *by_hints;
  if (by_name->side_effect == by_hints->side_effect)
    return {by_hints->side_effect, by_hints->because + " and " + by_name->because};
  const bool name_is_graver = by_name->side_effect > by_hints->side_effect;
  const Guess &graver = name_is_graver ? *by_name : *by_hints, &milder = name_is_graver ? *by_hints : *by_name;
  return {graver.side_effect,
          graver.because + ", although " + milder.because + " says " + string(name_of(milder.side_effect))};
}

Starter starter_pack(std::string_view agent) {
  return {{{"session.yaml", with_agent(kSession, agent)},
           {"look_up_order.yaml", string(kLookUp)},
           {"approve_refund.yaml", string(kApprove)},
           {"issue_refund.yaml", string(kRefund)}},
          {}};
}

Starter starter_from_tools(Findings& findings, std::string_view agent, json::Node definitions) {
  Starter out;
  out.files.push_back({"session.yaml", with_agent(kSessionForTools, agent)});
  std::vector<std::pair<string, ToolSchema>> kept;
  std::set<string> files = {"session", "workflow"};  // on disks that do not tell cases apart, too
  for (auto& [name, definition] : read_tool_definitions(findings, definitions)) {
    if (const string why = why_skipped(name, definition); !why.empty()) out.skipped.push_back("`" + name + "`: " + why);
    else if (!files.insert(to_lower_ascii(name)).second)
      out.skipped.push_back("`" + name + "`: another tool's file has that name, apart from upper and lower case");
    else kept.emplace_back(name, definition);
  }
  for (const auto& [name, definition] : kept) out.files.push_back({name + ".yaml", contract_for(name, definition)});
  out.files.push_back({"tools.json", tools_json(kept)});
  return out;
}

}  // namespace baton::contract
