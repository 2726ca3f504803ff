// SPDX-License-Identifier: Apache-2.0
// Which way every field of a plan goes. A change one way allows; the same change back blocks: each case is tried both ways.
#include "contract/changes.h"

#include <algorithm>

#include "contract/describe.h"
#include "contract_pack.h"

namespace baton::contract {
namespace {

const Files kBase = {
    {"session.yaml", R"(schema_version: "1.0"
agent: clerk
phases:
  - {name: first, initial: true}
  - {name: second}
  - {name: last, terminal: true}
transitions: {first: [second], second: [last]}
session_limits: {max_steps: 20}
risk_defaults: {write: allow}
)"},
    {"act.yaml", contract_text("act", "write", "transitions: {valid_in_phases: [second], advances_to: last}\n")},
    {"go.yaml", contract_text("go", "write",
                              "transitions: {valid_in_phases: [first], advances_to: second}\n"
                              "binds: [{name: sum, path: $.sum}]\n")},
    {"look.yaml", contract_text("look", "read")}};

// `looser` allows what `base` blocks. An edit of a file's end: {file, "", text}.
struct Case {
  std::string claim;
  std::string field;
  std::string tool;  // empty: of the session
  std::vector<Edit> tighter, looser;
};

Files with(const std::vector<Edit>& edits) {
  Files files = kBase;
  for (const Edit& edit : edits) {
    if (edit.from.empty()) files[edit.file] += edit.to;
    else files = edited(std::move(files), {edit});
  }
  return files;
}

Edit session(std::string to) { return {"session.yaml", "", std::move(to)}; }
Edit act(std::string to) { return {"act.yaml", "", std::move(to)}; }
Edit limits(std::string to) { return {"session.yaml", "{max_steps: 20}", std::move(to)}; }

const std::string kPrior = "preconditions: [{requires_prior_tool: go}]\n";
const std::string kTotal = "aggregates: [{name: t, metric: sum, tool: act, path: $.n, lte: 5, reason: r}]\n";
const std::string kBand =
    "envelopes: [{name: e, constraint: within_band, band: 0.1, reason: r, stages: [{tool: go, path: $.n, role: "
    "anchor}, {tool: "
    "act, path: $.n, role: constrained}]}]\n";
const std::string kApproval = "checkpoint: {when: [{path: $.n, gte: 5}], timeout_seconds: 60}\n";
const std::string kSessionApproval =
    "checkpoints: [{name: c, tool: act, when: [{path: $.n, gte: 5}], timeout_seconds: 60}]\n";

const std::vector<Case> kCases = {
    // The session.
    {"a limit is raised", "session_limits", "", {}, {limits("{max_steps: 30}")}},
    {"a limit goes", "session_limits", "", {}, {limits("{max_tool_calls_mode: block}")}},
    {"more calls",
     "session_limits",
     "",
     {limits("{max_steps: 20, max_tool_calls: 5}")},
     {limits("{max_steps: 20, max_tool_calls: 6}")}},
    {"more cost",
     "session_limits",
     "",
     {limits("{max_steps: 20, max_cost_per_session: 0.5}")},
     {limits("{max_steps: 20, max_cost_per_session: 5}")}},
    {"text at the limit",
     "session_limits",
     "",
     {limits("{max_tool_calls: 5}")},
     {limits("{max_tool_calls: 5, max_tool_calls_mode: narrow}")}},
    {"more calls of a tool",
     "session_limits",
     "act",
     {limits("{max_steps: 20, max_calls_per_tool: {act: 1}}")},
     {limits("{max_steps: 20, max_calls_per_tool: {act: 2}}")}},
    {"no loops are looked for",
     "session_limits",
     "",
     {limits("{max_steps: 20, loop_detection: {window: 5, threshold: 3}}")},
     {}},
    {"more repetitions",
     "session_limits",
     "",
     {limits("{loop_detection: {window: 5, threshold: 3}}")},
     {limits("{loop_detection: {window: 5, threshold: 4}}")}},
    {"a shorter look back",
     "session_limits",
     "",
     {limits("{loop_detection: {window: 6, threshold: 3}}")},
     {limits("{loop_detection: {window: 5, threshold: 3}}")}},
    {"more blocks in a row",
     "session_limits",
     "",
     {limits("{circuit_breaker: {consecutive_blocks: 3, consecutive_errors: 3}}")},
     {limits("{circuit_breaker: {consecutive_blocks: 4, consecutive_errors: 3}}")}},
    {"more errors in a row",
     "session_limits",
     "",
     {limits("{circuit_breaker: {consecutive_blocks: 3, consecutive_errors: 3}}")},
     {limits("{circuit_breaker: {consecutive_blocks: 3, consecutive_errors: 4}}")}},
    {"risk_defaults let through",
     "risk_defaults",
     "",
     {{"session.yaml", "{write: allow}", "{write: allow, read: block}"}},
     {}},
    {"a way between phases", "transitions", "", {}, {{"session.yaml", "{first: [second]", "{first: [second, last]"}}},
    {"an end", "phases", "", {}, {{"session.yaml", "{name: second}", "{name: second, terminal: true}"}}},
    {"a deny rule goes",
     "policy",
     "",
     {session("policy: {rules: [{deny: {principal: {path: $.a, equals: 1}}}]}\n")},
     {}},
    {"a deny rule denies fewer",
     "policy",
     "",
     {session("policy: {rules: [{deny: {principal: {path: $.a, one_of: [1, 2]}}}]}\n")},
     {session("policy: {rules: [{deny: {principal: {path: $.a, one_of: [1]}}}]}\n")}},
    {"an allow rule restricts the tools it names",
     "policy",
     "act",
     {session("policy: {rules: [{allow: {principal: {path: $.a, equals: 1}, tools: [act]}}]}\n")},
     {}},
    {"a second allow rule",
     "policy",
     "act",
     {session("policy: {rules: [{allow: {principal: {path: $.a, equals: 1}, tools: [act]}}]}\n")},
     {session("policy: {rules: [{allow: {principal: {path: $.a, equals: 1}, tools: [act]}}, {allow: {principal: {path: "
              "$.b, equals: 1}, tools: [act]}}]}\n")}},
    {"an allow rule where all is denied",
     "policy",
     "act",
     {session("policy: {default_deny: true}\n")},
     {session("policy: {default_deny: true, rules: [{allow: {principal: {path: $.a, equals: 1}, tools: [act]}}]}\n")}},
    {"nothing is denied by default", "policy", "", {session("policy: {default_deny: true}\n")}, {}},
    {"no principal is needed", "policy", "", {act("policy: {deny: [{principal: {path: $.a, equals: 1}}]}\n")}, {}},
    {"a label gate goes",
     "label_gates",
     "",
     {session("policy: {label_gates: [{when_label: l, deny_tools: [act], reason: r}]}\n")},
     {}},
    {"a label gate names fewer tools",
     "label_gates",
     "",
     {session("policy: {label_gates: [{when_label: l, deny_tools: ['*'], reason: r}]}\n")},
     {session("policy: {label_gates: [{when_label: l, deny_tools: [act], reason: r}]}\n")}},
    {"a model's pattern is not blocked",
     "provider_constraints",
     "",
     {session("provider_constraints: {openai: {block_incompatible: [\"a=b + c\"]}}\n")},
     {}},
    {"a total goes", "aggregates", "", {session(kTotal)}, {}},
    {"a total may be more",
     "aggregates",
     "",
     {session(kTotal)},
     {session("aggregates: [{name: t, metric: sum, tool: act, path: $.n, lte: 6, reason: r}]\n")}},
    {"a total may be less",
     "aggregates",
     "",
     {session("aggregates: [{name: t, metric: sum, tool: act, path: $.n, gte: 1, lte: 6, reason: r}]\n")},
     {session("aggregates: [{name: t, metric: sum, tool: act, path: $.n, gte: 0, lte: 6, reason: r}]\n")}},
    {"a total counts fewer tools",
     "aggregates",
     "",
     {session("aggregates: [{name: t, metric: sum, tool: [act, look], path: $.n, lte: 5, reason: r}]\n")},
     {session(kTotal)}},
    {"a total may be more at times",
     "aggregates",
     "",
     {session(kTotal)},
     {session("aggregates: [{name: t, metric: sum, tool: act, path: $.n, lte: 5, reason: r, when: [{binding: sum, gte: "
              "1, then_lte: 9}]}]\n")}},
    {"a total may be more at these times",
     "aggregates",
     "",
     {session("aggregates: [{name: t, metric: sum, tool: act, path: $.n, lte: 5, reason: r, when: [{binding: sum, gte: "
              "1, then_lte: 8}]}]\n")},
     {session("aggregates: [{name: t, metric: sum, tool: act, path: $.n, lte: 5, reason: r, when: [{binding: sum, gte: "
              "1, then_lte: 9}]}]\n")}},
    {"an envelope goes", "envelopes", "", {session(kBand)}, {}},
    {"a wider band", "envelopes", "", {session(kBand)}, {session(edited({{"f", kBand}}, {{"f", "0.1", "0.2"}})["f"])}},
    {"an envelope holds less",
     "envelopes",
     "",
     {session(edited({{"f", kBand}},
                     {{"f", "constrained}]", "constrained}, {tool: look, path: $.n, role: constrained}]"}})["f"])},
     {session(kBand)}},
    {"only one side of an envelope",
     "envelopes",
     "",
     {session("envelopes: [{name: e, constraint: bounded, reason: r, stages: [{tool: go, path: $.n, role: ceiling}, "
              "{tool: go, path: $.m, role: floor}, {tool: act, path: $.n, role: constrained}]}]\n")},
     {session("envelopes: [{name: e, constraint: lte_ceiling, reason: r, stages: [{tool: go, path: $.n, role: "
              "ceiling}, {tool: act, path: $.n, role: constrained}]}]\n")}},
    {"an approval of the session goes", "checkpoints", "act", {session(kSessionApproval)}, {}},
    {"an approval is for one tool only",
     "checkpoints",
     "",
     {session(edited({{"f", kSessionApproval}}, {{"f", "tool: act", "tool: '*'"}})["f"])},
     {session(kSessionApproval)}},
    {"an approval is for one kind of tool",
     "checkpoints",
     "",
     {session(kSessionApproval)},
     {session(edited({{"f", kSessionApproval}}, {{"f", "timeout", "when_side_effect: write, timeout"}})["f"])}},
    {"the client's user decides approvals",
     "approvals",
     "",
     {},
     {session("approvals: {client_user_is_operator: true}\n")}},
    {"what has no contract goes ahead", "mcp", "", {}, {session("mcp: {unlisted: record}\n")}},
    {"blocks that are not known are dropped", "mcp", "", {}, {session("mcp: {unknown_content: drop}\n")}},
    {"no handoff is asked for", "handoff", "", {}, {session("handoff: {dialect: none}\n")}},
    {"any handoff will do", "handoff", "", {session("handoff: {dialect: agent-exit}\n")}, {}},
    {"subagents owe nothing", "handoff", "", {session("handoff: {subagents: agent-contract}\n")}, {}},
    {"claims are not looked at", "claims", "", {session("claims: warn\n")}, {}},
    {"a claim that nothing shows is a warning",
     "claims",
     "",
     {session("claims: require\n")},
     {session("claims: warn\n")}},
    // A tool.
    {"a tool comes", "tool", "more", {}, {{"more.yaml", "", contract_text("more", "read")}}},
    {"a gate lets through", "gate", "look", {{"look.yaml", "", "gate: block\n"}}, {}},
    {"a gate against risk_defaults",
     "gate",
     "pay",
     {{"pay.yaml", "", contract_text("pay", "financial")}},
     {{"pay.yaml", "", contract_text("pay", "financial", "gate: allow\n")}}},
    {"reading only", "side_effect", "look", {{"look.yaml", "side_effect: read", "side_effect: write"}}, {}},
    {"a kind of tool that needs no approval",
     "side_effect",
     "act",
     {session("checkpoints: [{name: c, tool: '*', when: always, when_side_effect: write, timeout_seconds: 60}]\n")},
     {session("checkpoints: [{name: c, tool: '*', when: always, when_side_effect: write, timeout_seconds: 60}]\n"),
      {"act.yaml", "side_effect: write", "side_effect: financial\ngate: allow"}}},
    {"one more phase", "transitions", "act", {}, {{"act.yaml", "[second]", "[second, last]"}}},
    {"every phase", "transitions", "look", {{"look.yaml", "", "transitions: {valid_in_phases: [first]}\n"}}, {}},
    {"a precondition goes", "preconditions", "act", {act(kPrior)}, {}},
    {"a precondition for any entity",
     "preconditions",
     "act",
     {act("preconditions: [{requires_prior_tool: go, resource: {bind_from: arguments, path: $.id}}]\n")},
     {act(kPrior)}},
    {"a precondition whatever the output",
     "preconditions",
     "act",
     {act("preconditions: [{requires_prior_tool: go, with_output: [{path: $.ok, equals: true}]}]\n")},
     {act(kPrior)}},
    {"a precondition with a lower bound",
     "preconditions",
     "act",
     {act("preconditions: [{requires_prior_tool: go, with_output: [{path: $.n, gte: 2}]}]\n")},
     {act("preconditions: [{requires_prior_tool: go, with_output: [{path: $.n, gte: 1}]}]\n")}},
    {"fewer steps",
     "preconditions",
     "act",
     {act("preconditions: [{requires_step_count: {gte: 3}}]\n")},
     {act("preconditions: [{requires_step_count: {gte: 2}}]\n")}},
    {"nothing is forbidden after it", "forbids_after", "act", {act("forbids_after: [look]\n")}, {}},
    {"more than once", "forbids_after", "act", {act("forbids_after: [act]\n")}, {}},
    {"an argument may be more",
     "argument_value_invariants",
     "act",
     {act("argument_value_invariants: [{path: $.n, lte: 5}]\n")},
     {act("argument_value_invariants: [{path: $.n, lte: 6}]\n")}},
    {"an argument may be less",
     "argument_value_invariants",
     "act",
     {act("argument_value_invariants: [{path: $.n, gte: 5}]\n")},
     {act("argument_value_invariants: [{path: $.n, gte: 4.5}]\n")}},
    {"an argument is not checked",
     "argument_value_invariants",
     "act",
     {act("argument_value_invariants: [{path: $.n, regex: x}]\n")},
     {}},
    {"one of more",
     "argument_value_invariants",
     "act",
     {act("argument_value_invariants: [{path: $.n, one_of: [a]}]\n")},
     {act("argument_value_invariants: [{path: $.n, one_of: [b, a]}]\n")}},
    {"one of, instead of exactly",
     "argument_value_invariants",
     "act",
     {act("argument_value_invariants: [{path: $.n, exact_match: a}]\n")},
     {act("argument_value_invariants: [{path: $.n, one_of: [b, a]}]\n")}},
    {"any number",
     "argument_value_invariants",
     "act",
     {act("argument_value_invariants: [{path: $.n, type: integer}]\n")},
     {act("argument_value_invariants: [{path: $.n, type: number}]\n")}},
    {"one test fewer, in an entry of its own",
     "argument_value_invariants",
     "act",
     {act("argument_value_invariants: [{path: $.n, gte: 1}, {path: $.n, lte: 9}]\n")},
     {act("argument_value_invariants: [{path: \"$['n']\", lte: 9}]\n")}},
    {"no remembered value",
     "argument_value_invariants",
     "act",
     {act("argument_value_invariants: [{path: $.n, gte: 1, ref: sum}]\n")},
     {act("argument_value_invariants: [{path: $.n, gte: 1}]\n")}},
    {"more tolerance",
     "argument_value_invariants",
     "act",
     {act("argument_value_invariants: [{path: $.n, ref: sum}]\n")},
     {act("argument_value_invariants: [{path: $.n, ref: sum, tolerance: 0.1}]\n")}},
    {"a schema's bound goes",
     "argument_value_invariants",
     "look",
     {{"tools.json", "", R"([{"name":"look","inputSchema":{"properties":{"n":{"minimum":1}}}}])"}},
     {}},
    {"a schema's bound lets absent values pass",
     "argument_value_invariants",
     "look",
     {{"tools.json", "", R"([{"name":"look","inputSchema":{"properties":{"n":{"minimum":1}}}}])"},
      {"look.yaml", "", "argument_value_invariants: [{path: $.n, gte: 1}]\n"}},
     {{"tools.json", "", R"([{"name":"look","inputSchema":{"properties":{"n":{"minimum":1}}}}])"}}},
    {"an execution constraint goes",
     "execution_constraints",
     "act",
     {act("execution_constraints: {arguments: [{path: $.n, length_lte: 3}]}\n")},
     {}},
    {"an assertion on the way in goes",
     "assertions.input_invariants",
     "act",
     {{"act.yaml", "input_invariants: []", "input_invariants: [{path: $.model, contains: x}]"}},
     {}},
    {"an assertion on the way out is shorter",
     "assertions.output_invariants",
     "act",
     {{"act.yaml", "output_invariants: []", "output_invariants: [{path: $.n, length_gte: 3}]"}},
     {{"act.yaml", "output_invariants: []", "output_invariants: [{path: $.n, length_gte: 2}]"}}},
    {"any response",
     "response_format_invariants",
     "act",
     {act("response_format_invariants: {finish_reason: tool_calls}\n")},
     {}},
    {"any finish reason",
     "response_format_invariants",
     "act",
     {act("response_format_invariants: {finish_reason: tool_calls, tool_calls_present: true}\n")},
     {act("response_format_invariants: {tool_calls_present: true}\n")}},
    {"text beside calls",
     "response_format_invariants",
     "act",
     {act("response_format_invariants: {content_when_tool_calls: empty}\n")},
     {act("response_format_invariants: {content_when_tool_calls: allowed}\n")}},
    {"a call need not be there",
     "response_format_invariants",
     "act",
     {act("response_format_invariants: {finish_reason: stop, tool_calls_present: true}\n")},
     {act("response_format_invariants: {finish_reason: stop}\n")}},
    {"more may call it",
     "policy",
     "act",
     {act("policy: {allow: [{principal: {path: $.a, equals: 1}}]}\n")},
     {act("policy: {allow: [{principal: {path: $.a, one_of: [1, 2]}}]}\n")}},
    {"fewer are denied",
     "policy",
     "act",
     {act("policy: {deny: [{principal: {path: $.a, gte: 1}}]}\n")},
     {act("policy: {deny: [{principal: {path: $.a, gte: 2}}]}\n")}},
    {"an approval goes", "checkpoint", "act", {act(kApproval)}, {}},
    {"an approval from a higher value on",
     "checkpoint",
     "act",
     {act(kApproval)},
     {act("checkpoint: {when: [{path: $.n, gte: 6}], timeout_seconds: 60}\n")}},
    {"an approval not always",
     "checkpoint",
     "act",
     {act("checkpoint: {when: always, timeout_seconds: 60}\n")},
     {act(kApproval)}},
    {"one reason fewer to ask",
     "checkpoint",
     "act",
     {act("checkpoint: {when: [{path: $.n, gte: 5}, {path: $.n, lte: 1}], timeout_seconds: 60}\n")},
     {act(kApproval)}},
    {"one more that must hold as well",
     "checkpoint",
     "act",
     {act("checkpoint: {when: [{path: $.n, gte: 5}, {path: $.m, gte: 1}], match: all, timeout_seconds: 60}\n")},
     {act("checkpoint: {when: [{path: $.n, gte: 5}, {path: $.m, gte: 1}, {path: $.o, gte: 1}], match: all, "
          "timeout_seconds: 60}\n")}},
    {"all reasons instead of any",
     "checkpoint",
     "act",
     {act("checkpoint: {when: [{path: $.n, gte: 5}, {path: $.m, gte: 1}], timeout_seconds: 60}\n")},
     {act("checkpoint: {when: [{path: $.n, gte: 5}, {path: $.m, gte: 1}], match: all, timeout_seconds: 60}\n")}},
    {"silence is consent",
     "checkpoint",
     "act",
     {act(kApproval)},
     {act("checkpoint: {when: [{path: $.n, gte: 5}], timeout_seconds: 60, on_timeout: allow}\n")}},
    {"more time to consent",
     "checkpoint",
     "act",
     {act(kApproval)},
     {act("checkpoint: {when: [{path: $.n, gte: 5}], timeout_seconds: 90}\n")}},
    {"content that was approved permits a call", "command_path", "act", {}, {act("command_path: $.n\n")}},
    {"less proof", "evidence_class", "act", {}, {{"act.yaml", "local_transaction", "unverifiable"}}},
    {"acknowledged is less than shown", "evidence_class", "act", {}, {{"act.yaml", "local_transaction", "ack_only"}}},
    {"done when allowed", "commit_requirement", "act", {}, {{"act.yaml", "acknowledged", "none"}}},
    {"more time", "timeouts", "act", {}, {{"act.yaml", "2000", "2001"}}},
    {"more attempts", "retries", "act", {}, {{"act.yaml", "max_attempts: 1", "max_attempts: 2"}}},
    {"tried again after more", "retries", "act", {}, {{"act.yaml", "retry_on: []", "retry_on: [timeout]"}}},
    {"a longer pause", "rate_limits", "act", {}, {{"act.yaml", "max_sleep_seconds: 5", "max_sleep_seconds: 6"}}},
    {"an error is expected",
     "allowed_errors",
     "act",
     {},
     {{"act.yaml", "allowed_errors: []", "allowed_errors: [{http_status: 404}]"}}},
};

std::string shown(const std::vector<Change>& changes) {
  std::string out;
  for (const Change& change : changes)
    out += std::string(name_of(change.effect)) + " " + change.tool + " [" + change.field + "] " + change.text + "\n";
  return out;
}

bool has(const std::vector<Change>& changes, Effect effect, const std::string& field, const std::string& tool) {
  return std::ranges::any_of(changes, [&](const Change& change) {
    return change.effect == effect && change.field == field && change.tool == tool;
  });
}

TEST(ContractChanges, EveryFieldGoesItsWayAndBack) {
  for (const Case& one : kCases) {
    const auto tighter = plan_of(with(one.tighter)), looser = plan_of(with(one.looser));
    ASSERT_NE(tighter->hash, looser->hash) << one.claim;
    const auto there = changes_between(*tighter, *looser), back = changes_between(*looser, *tighter);
    EXPECT_TRUE(has(there, Effect::Allows, one.field, one.tool)) << one.claim << "\n" << shown(there);
    EXPECT_TRUE(has(back, Effect::Blocks, one.field, one.tool)) << one.claim << ", back\n" << shown(back);
    // Of the field itself nothing goes the other way.
    EXPECT_FALSE(has(there, Effect::Blocks, one.field, one.tool)) << one.claim << "\n" << shown(there);
    EXPECT_FALSE(has(back, Effect::Allows, one.field, one.tool)) << one.claim << ", back\n" << shown(back);
  }
}

// Neither allowed nor blocked as such, and still told.
const std::vector<Case> kOthers = {
    {"the agent's name", "agent", "", {}, {{"session.yaml", "clerk", "other"}}},
    {"where it begins",
     "phases",
     "",
     {{"session.yaml", "{first: [second], second: [last]}", "{first: [second], second: [last, first]}"}},
     {{"session.yaml", "{first: [second], second: [last]}", "{first: [second], second: [last, first]}"},
      {"session.yaml", "first, initial: true", "first"},
      {"session.yaml", "{name: second}", "{name: second, initial: true}"}}},
    {"where a call leads",
     "transitions",
     "act",
     {{"session.yaml", "second: [last]", "second: [last, first]"}},
     {{"session.yaml", "second: [last]", "second: [last, first]"},
      {"act.yaml", "advances_to: last", "advances_to: first"}}},
    {"what is remembered",
     "binds",
     "look",
     {},
     {{"look.yaml", "", "binds: [{name: slot, source: output, path: $.x}]\n"}}},
    {"from where", "binds", "go", {}, {{"go.yaml", "path: $.sum", "path: $.other"}}},
    {"a resource", "resources", "", {}, {session("resources: {order: {type: order, extract_from: {path: $.id}}}\n")}},
    {"a warning for a model",
     "provider_constraints",
     "",
     {},
     {session("provider_constraints: {openai: {warn_floating_alias: true}}\n")}},
    {"a pattern that warns",
     "provider_constraints",
     "",
     {},
     {session("provider_constraints: {openai: {warn_incompatible: [x]}}\n")}},
    {"another reason",
     "label_gates",
     "",
     {session("policy: {label_gates: [{when_label: l, deny_tools: [act], reason: r}]}\n")},
     {session("policy: {label_gates: [{when_label: l, deny_tools: [act], reason: s}]}\n")}},
    {"another reason of a total",
     "aggregates",
     "",
     {session(kTotal)},
     {session(edited({{"f", kTotal}}, {{"f", "reason: r", "reason: s"}})["f"])}},
    {"another metric",
     "aggregates",
     "",
     {session(kTotal)},
     {session(edited({{"f", kTotal}}, {{"f", "sum", "max"}})["f"])}},
    {"another path of a total",
     "aggregates",
     "",
     {session(kTotal)},
     {session(edited({{"f", kTotal}}, {{"f", "$.n", "$.m"}})["f"])}},
    {"another anchor",
     "envelopes",
     "",
     {session(kBand)},
     {session(edited({{"f", kBand}}, {{"f", "$.n", "$.m"}})["f"])}},
    {"another expression",
     "argument_value_invariants",
     "act",
     {act("argument_value_invariants: [{path: $.n, regex: x}]\n")},
     {act("argument_value_invariants: [{path: $.n, regex: y}]\n")}},
    {"one bound up, one down",
     "argument_value_invariants",
     "act",
     {act("argument_value_invariants: [{path: $.n, gte: 2, lte: 5}]\n")},
     {act("argument_value_invariants: [{path: $.n, gte: 1, lte: 4}]\n")}},
    {"a gate that changes nothing", "gate", "look", {}, {{"look.yaml", "", "gate: allow\n"}}},
    {"risk_defaults without such a tool",
     "risk_defaults",
     "",
     {},
     {{"session.yaml", "{write: allow}", "{write: allow, admin: allow}"}}},
    {"what the approver sees",
     "checkpoint",
     "act",
     {act(kApproval)},
     {act("checkpoint: {when: [{path: $.n, gte: 5}], timeout_seconds: 60, context: [{path: $.n}]}\n")}},
    {"a tool that cannot be called", "tool", "pay", {}, {{"pay.yaml", "", contract_text("pay", "financial")}}},
    {"a new phase",
     "phases",
     "",
     {},
     {{"session.yaml", "- {name: second}", "- {name: second}\n  - {name: side}"},
      {"session.yaml", "{first: [second]", "{side: [last], first: [second, side]"}}},
    {"whose word counts",
     "rate_limits",
     "act",
     {},
     {{"act.yaml", "respect_retry_after: true", "respect_retry_after: false"}}},
    {"nothing but the order",
     "plan",
     "act",
     {act("argument_value_invariants: [{path: $.n, gte: 2}, {path: $.m, gte: 2}]\n")},
     {act("argument_value_invariants: [{path: $.m, gte: 2}, {path: $.n, gte: 2}]\n")}},
};

TEST(ContractChanges, WhatIsNeitherIsToldAsWell) {
  for (const Case& one : kOthers) {
    const auto before = plan_of(with(one.tighter)), after = plan_of(with(one.looser));
    ASSERT_NE(before->hash, after->hash) << one.claim;
    for (const auto& changes : {changes_between(*before, *after), changes_between(*after, *before)})
      EXPECT_TRUE(has(changes, Effect::Other, one.field, one.tool)) << one.claim << "\n" << shown(changes);
  }
}

TEST(ContractChanges, WhatADifferentChangeWouldHideIsNamed) {
  // Another order of rules decides nothing, and is told beside the agent's new name; so is a limit on a tool that is new.
  const std::string deny = "{deny: {principal: {path: $.a, equals: 1}}}",
                    other = "{deny: {principal: {path: $.b, equals: 1}}}";
  const auto before = plan_of(with({session("policy: {rules: [" + deny + ", " + other + "]}\n")}));
  const auto after = plan_of(with({session("policy: {rules: [" + other + ", " + deny + "]}\n"),
                                   {"session.yaml", "clerk", "someone"},
                                   limits("{max_steps: 20, max_calls_per_tool: {more: 1}}"),
                                   {"more.yaml", "", contract_text("more", "read")}}));
  std::vector<std::string> plan;
  for (const Change& change : changes_between(*before, *after))
    if (change.field == "plan") plan.push_back(change.text);
  EXPECT_EQ(plan, (std::vector<std::string>{"`/limits/max_calls_per_tool/more` is new",
                                            "`/rules` says the same in another order"}));
}

TEST(ContractChanges, TheSamePlanHasNone) {
  // Layout, order of the files' members and a spelling of a path are no changes.
  const auto one = plan_of(with({act("argument_value_invariants: [{path: $.n, gte: 1}]\n")}));
  const auto other =
      plan_of(with({act("# a remark\nargument_value_invariants:\n  - gte: 1.0\n    path: \"$['n']\"\n")}));
  EXPECT_EQ(one->hash, other->hash);
  EXPECT_TRUE(changes_between(*one, *other).empty());
}

TEST(ContractChanges, AToolThatGoesBlocksItsCallsAndOneThatNobodyCouldCallDoesNot) {
  const auto before = plan_of(with({{"pay.yaml", "", contract_text("pay", "financial")}}));
  Files files = kBase;
  files.erase("look.yaml");
  const auto changes = changes_between(*before, *plan_of(files));
  EXPECT_TRUE(has(changes, Effect::Blocks, "tool", "look")) << shown(changes);
  EXPECT_TRUE(has(changes, Effect::Other, "tool", "pay")) << shown(changes);
}

TEST(ContractChanges, WhatFollowsForOtherToolsIsTold) {
  // `act` needs `go` to be called before; blocking `go` ends `act`, too.
  const auto changes = changes_between(*plan_of(kBase), *plan_of(with({{"go.yaml", "", "gate: block\n"}})));
  EXPECT_TRUE(has(changes, Effect::Blocks, "gate", "go")) << shown(changes);
  EXPECT_TRUE(has(changes, Effect::Blocks, "reach", "act")) << shown(changes);
  EXPECT_FALSE(has(changes, Effect::Blocks, "reach", "look")) << shown(changes);
}

TEST(ContractChanges, ANewToolBringsItsSentences) {
  const auto changes =
      changes_between(*plan_of(kBase), *plan_of(with({{"more.yaml", "", contract_text("more", "read")}})));
  ASSERT_EQ(changes.size(), 1u) << shown(changes);
  EXPECT_EQ(changes[0].details.front(), "The session lets read tools through.");
}

TEST(ContractChanges, PhasesThatComeRestrictTheToolsThatNameThem) {
  const Files none = {{"look.yaml", contract_text("look", "read")}};
  const Files some = {
      {"session.yaml", R"(schema_version: "1.0"
agent: a
phases: [{name: one, initial: true}, {name: two, terminal: true}]
transitions: {one: [two]}
)"},
      {"look.yaml", contract_text("look", "read", "transitions: {valid_in_phases: [one], advances_to: two}\n")}};
  const auto there = changes_between(*plan_of(none), *plan_of(some)),
             back = changes_between(*plan_of(some), *plan_of(none));
  EXPECT_TRUE(has(there, Effect::Blocks, "transitions", "look")) << shown(there);
  EXPECT_TRUE(has(back, Effect::Allows, "transitions", "look")) << shown(back);
}

TEST(ContractChanges, OfAWorkflow) {
  const auto workflow = [](const std::string& text) {
    WorkflowSource source{{"workflow.yaml", "schema_version: \"1.0\"\nworkflow: w\n" + text}, {}};
    source.packs["a"] = source.packs["b"] = source_of(kBase);
    source.packs["a"].session->name = source.packs["b"].session->name = "session.yaml";
    CompiledWorkflow compiled = compile_workflow(source);
    for (const Finding& finding : compiled.findings)
      EXPECT_NE(finding.diagnostic.severity, Severity::Error) << finding.diagnostic.message;
    return compiled.plan ? compiled.plan : std::make_shared<const WorkflowPlan>();
  };
  const std::string roles =
      "roles: [{name: a, session_contract: a/session.yaml}, {name: b, session_contract: b/session.yaml}]\n";
  const auto tight = workflow(
      roles + "handoffs: [{from: a, to: b, requires_artifacts: [plan]}]\nworkflow_limits: {max_sessions: 2}\n");
  const auto loose = workflow(
      roles +
      "handoffs: [{from: a, to: b, requires_artifacts: []}, {from: b, to: a}]\nworkflow_limits: {max_sessions: 3}\n");
  const auto there = changes_between(*tight, *loose), back = changes_between(*loose, *tight);
  EXPECT_EQ(std::ranges::count(there, Effect::Allows, &Change::effect), 3) << shown(there);
  EXPECT_EQ(std::ranges::count(back, Effect::Blocks, &Change::effect), 3) << shown(back);
  EXPECT_EQ(there.size(), 3u) << shown(there);
  EXPECT_TRUE(changes_between(*tight, *tight).empty());
}

}  // namespace
}  // namespace baton::contract
