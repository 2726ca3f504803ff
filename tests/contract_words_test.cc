// SPDX-License-Identifier: Apache-2.0
// A plan in sentences: each says what the rule of the specification is, and none is left out.
#include "contract/words.h"

#include <algorithm>

#include "base/text.h"
#include "contract_pack.h"

namespace baton::contract {
namespace {

const Files kDesk = {
    {"session.yaml", R"(schema_version: "1.0"
agent: desk
phases:
  - {name: research, initial: true}
  - {name: approved}
  - {name: done, terminal: true}
transitions: {research: [approved], approved: [done]}
session_limits:
  max_steps: 20
  max_tool_calls: 50
  max_tool_calls_mode: narrow
  max_calls_per_tool: {submit: 1}
  loop_detection: {window: 5, threshold: 3}
  circuit_breaker: {consecutive_blocks: 4, consecutive_errors: 2}
risk_defaults: {write: allow}
policy:
  rules:
    - deny: {principal: {path: $.type, equals: readonly}}
    - allow: {principal: {path: $.tier, one_of: [L2, L3]}, tools: [submit]}
  label_gates:
    - {when_label: mnpi, deny_tools: [submit], reason: inside information}
aggregates:
  - {name: total, metric: sum, tool: submit, path: $.shares, gte: 0, lte: 100, reason: risk limit,
     when: [{binding: approved_shares, gte: 50, then_lte: 60}]}
envelopes:
  - {name: ceiling, constraint: lte_ceiling, reason: as approved,
     stages: [{tool: approve, path: $.shares, role: ceiling}, {tool: submit, path: $.shares, role: constrained}]}
checkpoints:
  - {name: big, tool: submit, when: [{path: $.value, gte: 1000}], timeout_seconds: 300}
approvals: {client_user_is_operator: true}
)"},
    {"approve.yaml", contract_text("approve", "write",
                                   "transitions: {valid_in_phases: [research], advances_to: approved}\n"
                                   "binds: [{name: approved_shares, path: $.shares}]\n")},
    {"look.yaml", contract_text("look", "read")},
    {"submit.yaml", contract_text("submit", "financial", R"(gate: allow
transitions: {valid_in_phases: [approved], advances_to: done}
preconditions:
  - requires_prior_tool: approve
    resource: {bind_from: arguments, path: $.order_id}
    with_output: [{path: $.approved, equals: true}]
  - requires_step_count: {gte: 2}
forbids_after: [approve]
argument_value_invariants:
  - {path: $.shares, gte: 1, ref: approved_shares, tolerance: 0.05}
  - {path: "$['order type']", one_of: [buy, sell]}
execution_constraints: {arguments: [{path: $.dry_run, equals: false}]}
policy: {allow: [{principal: {path: $.department, equals: finance}}]}
checkpoint: {when: always, timeout_seconds: 60, on_timeout: deny, context: [{path: $.shares, label: Shares}]}
)")}};

bool says(const Paragraph& paragraph, std::string_view sentence) {
  return std::ranges::find(paragraph.sentences, sentence) != paragraph.sentences.end();
}

TEST(ContractWords, EveryRuleOfAToolIsASentence) {
  const auto plan = plan_of(kDesk);
  const Paragraph submit = words_of(plan->tools[*plan->find_tool("submit")], *plan);
  EXPECT_EQ(submit.title, "`submit` is a financial tool");
  for (const std::string_view sentence : {
           "Its own gate lets it through.",
           "It is blocked once the session has the label `mnpi`: inside information.",
           "It is denied to a principal whose `$.type` equals \"readonly\".",
           "Only a principal whose `$.department` equals \"finance\" may call it.",
           "The session's rules let only a principal whose `$.tier` is one of \"L2\" or \"L3\" call it, as well.",
           "It may be called only in the phase `approved`.",
           "After a successful call the session is in the phase `done`.",
           "It may be called only after `approve` has succeeded in an earlier step for the same `$.order_id`, and only "
           "while in "
           "its latest output `$.approved` equals true.",
           "It may be called only after 2 steps.",
           "While a call of it is open, and for the rest of the session once it has run, `approve` is blocked.",
           "It may be called only once in a session.",
           "`$.shares` must be at least 1 and be within 5 % of the remembered `approved_shares`.",
           "`$[\"order type\"]` must be one of \"buy\" or \"sell\".",
           "When the call is made, `$.dry_run` must equal false in the arguments that are really handed over.",
           "Over the session, the sum of `$.shares` in calls of `submit` must be at least 0 and at most 100; while the "
           "remembered `approved_shares` is at least 50, it must be at most 60 instead (`total`: risk limit).",
           "`$.shares` of the arguments of `submit` must not be above `$.shares` of the arguments of `approve`, which "
           "must have "
           "happened first (`ceiling`: as approved).",
           "A person must approve every call, within 60 seconds; without an answer it is denied. The approver is shown "
           "Shares "
           "(`$.shares`).",
           "A person must approve the call when `$.value` is at least 1000, or when that cannot be told, within 300 "
           "seconds; "
           "without an answer it is denied (`big`).",
           "It counts as done when it succeeds and answers with an object.",
           "A call may take 2 seconds in all, and is tried once.",
       })
    EXPECT_TRUE(says(submit, sentence)) << sentence << "\nnot among:\n" << join(submit.sentences, "\n");
}

TEST(ContractWords, WhatAnotherToolForbidsIsSaidOfBoth) {
  const auto plan = plan_of(kDesk);
  const Paragraph approve = words_of(plan->tools[*plan->find_tool("approve")], *plan);
  EXPECT_TRUE(says(
      approve, "It is blocked while a call of `submit` is open, and for the rest of the session once that has run."));
  EXPECT_TRUE(
      says(approve, "After a successful call, `$.shares` of its arguments is remembered as `approved_shares`."));
  EXPECT_TRUE(says(approve, "The session lets write tools through."));
}

TEST(ContractWords, WhoMayDecideIsSaidWithTheApprovals) {
  const auto says_so = [](const contract::Plan& plan) {
    return std::ranges::any_of(words_of_session(plan), [](const Paragraph& one) {
      return one.title == "Approvals" && says(one,
                                              "What the user of the agent's MCP client answers is the operator's "
                                              "decision, where the proxy has an operator's token.");
    });
  };
  EXPECT_TRUE(says_so(*plan_of(kDesk)));
  EXPECT_FALSE(says_so(*plan_of(edited(kDesk, {{"session.yaml", "operator: true", "operator: false"}}))));
}

TEST(ContractWords, WhatTheProxyLetsThroughIsSaid) {
  const auto paragraph = [](const std::string& more) {
    for (const Paragraph& one :
         words_of_session(*plan_of(edited(kDesk, {{"session.yaml", "approvals:", more + "approvals:"}}))))
      if (one.title == "MCP servers") return join(one.sentences, " ");
    return std::string();
  };
  EXPECT_EQ(paragraph(""), "");
  EXPECT_EQ(paragraph("mcp: {unlisted: refuse}\n"), "");
  EXPECT_EQ(paragraph("mcp: {unlisted: record, unknown_content: drop}\n"),
            std::string(words_of_unlisted()) + " " + std::string(words_of_unknown_content()));
}

TEST(ContractWords, WhatTheAgentOwesAtItsEndIsSaid) {
  const auto paragraph = [](const std::string& more) {
    const auto plan = plan_of(edited(kDesk, {{"session.yaml", "approvals:", more + "approvals:"}}));
    for (const Paragraph& one : words_of_session(*plan))
      if (one.title == "The handoff") return join(one.sentences, " ");
    return std::string();
  };
  EXPECT_EQ(paragraph(""), "");
  EXPECT_EQ(
      paragraph("handoff: {dialect: agent-contract, subagents: agent-contract}\nclaims: require\n"),
      "The agent ends with an `agent-contract` block, whether it has work or not. Each of its subagents ends with an "
      "`agent-contract` block. A handoff is refused when it claims what no seen call shows.");
  EXPECT_EQ(
      paragraph("handoff: {dialect: none}\nclaims: warn\n"),
      "The agent is asked for no handoff when it ends. What a handoff claims and no seen call shows is a warning.");
}

TEST(ContractWords, AToolThatTheGateBlocksSaysSoFirst) {
  const auto plan = plan_of(edited(kDesk, {{"session.yaml", "{write: allow}", "{read: block}"}}));
  EXPECT_EQ(words_of(plan->tools[*plan->find_tool("look")], *plan).sentences[0],
            "Every call is blocked: the session blocks read tools, and it has no gate of its own.");
}

TEST(ContractWords, DenyingByDefaultLeavesNobodyWithoutARule) {
  const auto plan = plan_of(edited(kDesk, {{"session.yaml", "policy:\n", "policy:\n  default_deny: true\n"}}));
  EXPECT_TRUE(says(words_of(plan->tools[*plan->find_tool("look")], *plan),
                   "Nobody may call it: the policy denies by default, and no rule allows it."));
  EXPECT_FALSE(says(words_of(plan->tools[*plan->find_tool("submit")], *plan),
                    "Nobody may call it: the policy denies by default, and no rule allows it."));
}

TEST(ContractWords, ASchemasBoundIsForValuesThatAreThere) {
  Files files = kDesk;
  files["tools.json"] =
      R"([{"name":"look","inputSchema":{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maxLength":3}}}}])";
  const auto plan = plan_of(files);
  EXPECT_TRUE(
      says(words_of(plan->tools[*plan->find_tool("look")], *plan),
           "`$.n`, where it is given, must be at least 1 and have a length of at most 3 (by the tool's schema)."));
}

TEST(ContractWords, TheSessionInParagraphs) {
  const auto plan = plan_of(kDesk);
  const std::vector<Paragraph> session = words_of_session(*plan);
  ASSERT_EQ(session.size(), 5u);
  EXPECT_EQ(session[0].title, "Phases");
  EXPECT_EQ(session[0].sentences,
            (std::vector<std::string>{"A session begins in `research`.", "From `research` it can go to `approved`.",
                                      "From `approved` it can go to `done`.",
                                      "From `done` it can go nowhere; it may end there."}));
  EXPECT_EQ(session[1].sentences,
            (std::vector<std::string>{
                "A session has at most 20 steps.",
                "It makes at most 50 calls; after that the model gets no tools and can only answer in text.",
                "`submit` is called only once.",
                "The same call with the same arguments is blocked when it is proposed 3 times within 5 steps.",
                "The session is ended after 4 steps in a row with a blocked call.",
                "The session is ended after 2 unexpected errors in a row."}));
  EXPECT_TRUE(
      says(session[2], "The risk gate lets read and write tools through, unless a tool's own gate says otherwise."));
  EXPECT_TRUE(says(session[2], "A session must say on whose behalf it runs."));
}

TEST(ContractWords, APackWithNothingButAToolSaysThatThereIsNothing) {
  const auto plan = plan_of({{"look.yaml", contract_text("look", "read")}});
  const std::vector<Paragraph> session = words_of_session(*plan);
  EXPECT_EQ(
      session[0].sentences,
      (std::vector<std::string>{"There are no phases: every tool may be called at any time, as far as phases go."}));
  EXPECT_EQ(session[1].sentences, (std::vector<std::string>{"There are no limits."}));
}

}  // namespace
}  // namespace baton::contract
