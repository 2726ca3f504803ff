// SPDX-License-Identifier: Apache-2.0
#include "contract/describe.h"

#include <algorithm>

#include "base/check.h"
#include "base/sha256.h"
#include "contract/tools_lock.h"
#include "json/canonical.h"

namespace baton::contract {
namespace {

using json::Value;

Value number(const json::Decimal& decimal) { return Value::number(decimal.text()); }

Value list_of(const auto& items, const auto& make) {
  Value out = Value::array();
  for (const auto& item : items) out.push(make(item));
  return out;
}
Value texts(const std::vector<std::string>& items) {
  return list_of(items, [](const std::string& item) { return Value(item); });
}
Value sorted_texts(std::vector<std::string> items) {
  std::ranges::sort(items);
  return texts(items);
}

// A set of phases by their names.
Value phase_names(const PhaseSet& set, const Plan& plan) {
  std::vector<std::string> names;
  set.each([&](PhaseId phase) { names.push_back(plan.phases[phase].name); });
  return sorted_texts(std::move(names));
}
Value tool_names(const std::vector<ToolId>& tools, const Plan& plan) {
  std::vector<std::string> names;
  for (const ToolId tool : tools) names.push_back(plan.tools[tool].name);
  return sorted_texts(std::move(names));
}
// `*`, or a list.
Value tool_names(bool all, const std::vector<ToolId>& tools, const Plan& plan) {
  return all ? Value("*") : tool_names(tools, plan);
}

void put(Value& object, std::string_view name, const std::optional<std::int64_t>& number) {
  if (number) object.set(name, *number);
}
void put(Value& object, std::string_view name, const std::optional<json::Decimal>& decimal) {
  if (decimal) object.set(name, number(*decimal));
}
void put_tests(Value& object, const std::vector<Test>& tests) {
  for (const Test& test : tests) object.set(name_of(test.op), test.value);
}

Value described(const Invariant& invariant, const Plan& plan) {
  Value out = Value::object();
  out.set("path", invariant.at.path.text());
  put_tests(out, invariant.tests);
  if (invariant.ref) out.set("ref", plan.slots[*invariant.ref]);
  put(out, "tolerance", invariant.tolerance);
  if (invariant.scope == Scope::Boundary) out.set("scope", "boundary");
  if (invariant.origin == Origin::Schema) out.set("origin", "schema");
  return out;
}
Value described(const std::vector<Invariant>& invariants, const Plan& plan) {
  return list_of(invariants, [&](const Invariant& one) { return described(one, plan); });
}

Value described(const Checkpoint& checkpoint, const Plan& plan) {
  Value out = Value::object();
  if (!checkpoint.name.empty()) out.set("name", checkpoint.name);
  if (checkpoint.tool) out.set("tool", plan.tools[*checkpoint.tool].name);
  out.set("when", checkpoint.conditions.empty() ? Value("always") : described(checkpoint.conditions, plan));
  out.set("match", checkpoint.match_all ? "all" : "any");
  if (checkpoint.side_effect) out.set("when_side_effect", name_of(*checkpoint.side_effect));
  out.set("timeout_seconds", number(checkpoint.timeout_seconds));
  out.set("on_timeout", checkpoint.allow_on_timeout ? "allow" : "deny");
  out.set("context", list_of(checkpoint.context, [](const Checkpoint::Shown& shown) {
            Value one = Value::object();
            one.set("label", shown.label);
            one.set("path", shown.at.path.text());
            return one;
          }));
  return out;
}

Value described(const Precondition& precondition, const Plan& plan) {
  Value out = Value::object();
  if (!precondition.prior) {
    out.set("requires_step_count", precondition.steps);
    return out;
  }
  out.set("requires_prior_tool", plan.tools[*precondition.prior].name);
  out.set("with_output", described(precondition.with_output, plan));
  if (precondition.resource) out.set("path", precondition.resource->path.text());
  if (precondition.prior_resource) out.set("prior_path", precondition.prior_resource->path.text());
  return out;
}

Value described(const AllowedError& error) {
  Value out = Value::object();
  if (error.code) out.set("code", *error.code);
  if (error.error_class) out.set("class", *error.error_class);
  put(out, "http_status", error.http_status);
  if (error.message) out.set("message_regex", error.message->pattern());
  return out;
}

Value described(const ResponseFormat& format) {
  Value out = Value::object();
  if (format.finish_reason) out.set("finish_reason", *format.finish_reason);
  out.set("content_when_tool_calls", format.content_empty ? "empty" : "allowed");
  if (format.tool_calls_present) out.set("tool_calls_present", *format.tool_calls_present);
  return out;
}

Value described(const Limits& limits, const Plan& plan) {
  Value out = Value::object();
  put(out, "max_steps", limits.max_steps);
  put(out, "max_tool_calls", limits.max_tool_calls);
  out.set("max_tool_calls_mode", limits.narrow ? "narrow" : "block");
  put(out, "max_cost_per_session", limits.max_cost);
  Value per_tool = Value::object();
  for (const auto& [tool, count] : limits.max_calls) per_tool.set(plan.tools[tool].name, count);
  out.set("max_calls_per_tool", std::move(per_tool));
  put(out, "loop_window", limits.loop_window);
  put(out, "loop_threshold", limits.loop_threshold);
  put(out, "consecutive_blocks", limits.consecutive_blocks);
  put(out, "consecutive_errors", limits.consecutive_errors);
  return out;
}

Value described(const Aggregate& aggregate, const Plan& plan) {
  Value out = Value::object();
  out.set("name", aggregate.name);
  out.set("reason", aggregate.reason);
  out.set("metric", name_of(aggregate.metric));
  out.set("tools", tool_names(aggregate.all_tools, aggregate.tools, plan));
  if (aggregate.at) out.set("path", aggregate.at->path.text());
  put(out, "gte", aggregate.bounds.gte);
  put(out, "lte", aggregate.bounds.lte);
  out.set("when", list_of(aggregate.when, [&](const Aggregate::When& when) {
            Value one = Value::object();
            one.set("binding", plan.slots[when.slot]);
            put_tests(one, when.tests);
            put(one, "then_gte", when.then.gte);
            put(one, "then_lte", when.then.lte);
            return one;
          }));
  return out;
}

Value described(const Envelope& envelope, const Plan& plan) {
  Value out = Value::object();
  out.set("name", envelope.name);
  out.set("reason", envelope.reason);
  out.set("constraint", name_of(envelope.constraint));
  put(out, "band", envelope.band);
  out.set("stages", list_of(envelope.stages, [&](const Stage& stage) {
            Value one = Value::object();
            one.set("tool", plan.tools[stage.tool].name);
            one.set("path", stage.at.path.text());
            one.set("role", name_of(stage.role));
            one.set("source", stage.source == Source::Output ? "output" : "arguments");
            return one;
          }));
  return out;
}

Value described(const Provider& provider) {
  const auto patterns = [](const std::vector<Provider::Named>& list) {
    std::vector<std::string> out;
    for (const Provider::Named& one : list) out.push_back(one.text);
    return sorted_texts(std::move(out));
  };
  Value out = Value::object();
  out.set("block_incompatible", patterns(provider.block));
  out.set("warn_incompatible", patterns(provider.warn));
  out.set("warn_floating_alias", provider.warn_floating_alias);
  return out;
}

std::string digest(std::string_view domain, const Value& value) {
  std::string text(domain);
  const auto written = json::append_canonical(text, value, json::Numbers::Exact);
  CHECK(written.has_value());
  return "sha256:" + sha256_hex(text);
}

}  // namespace

Value described(const Tool& tool, const Plan& plan) {
  Value out = Value::object();
  out.set("tool", tool.name);
  out.set("side_effect", name_of(tool.side_effect));
  out.set("evidence_class", name_of(tool.evidence));
  out.set("commit_requirement", name_of(tool.commit));
  out.set("total_ms", tool.total_ms);
  out.set("max_attempts", tool.retries.max_attempts);
  out.set("retry_on", sorted_texts(tool.retries.retry_on));
  out.set("respect_retry_after", tool.retries.respect_retry_after);
  out.set("max_sleep_seconds", number(tool.retries.max_sleep_seconds));
  out.set("allowed_errors", list_of(tool.allowed_errors, [](const AllowedError& one) { return described(one); }));
  if (tool.gate) out.set("gate", name_of(*tool.gate));
  if (tool.names_phases) out.set("valid_in_phases", phase_names(tool.valid_in, plan));
  if (tool.advances_to) out.set("advances_to", plan.phases[*tool.advances_to].name);
  out.set("preconditions", list_of(tool.preconditions, [&](const Precondition& one) { return described(one, plan); }));
  Value forbids = tool_names(tool.forbids, plan);
  for (const EntityForbid& one : tool.forbids_per) {
    Value entry = Value::object();
    entry.set("tool", plan.tools[one.tool].name);
    entry.set("per", one.per.path.text());
    if (one.target_per.path != one.per.path) entry.set("target_per", one.target_per.path.text());
    forbids.push(std::move(entry));
  }
  out.set("forbids_after", std::move(forbids));
  out.set("arguments", described(tool.arguments, plan));
  out.set("input_invariants", described(tool.input_assertions, plan));
  out.set("output_invariants", described(tool.output_assertions, plan));
  out.set("execution_constraints", described(tool.execution_constraints, plan));
  if (tool.response_format) out.set("response_format", described(*tool.response_format));
  out.set("allow", described(tool.allow, plan));
  out.set("deny", described(tool.deny, plan));
  out.set("binds", list_of(tool.binds, [&](const Bind& bind) {
            Value one = Value::object();
            one.set("name", plan.slots[bind.slot]);
            one.set("source", bind.source == Source::Output ? "output" : "arguments");
            one.set("path", bind.at.path.text());
            return one;
          }));
  if (tool.checkpoint) out.set("checkpoint", described(*tool.checkpoint, plan));
  if (tool.command_path) out.set("command_path", tool.command_path->path.text());
  return out;
}

Value described(const Plan& plan) {
  Value out = Value::object();
  out.set("agent", plan.agent);
  out.set("tools", list_of(plan.tools, [&](const Tool& tool) { return described(tool, plan); }));
  Value phases = Value::object();
  for (const Phase& phase : plan.phases) {
    Value one = Value::object();
    one.set("initial", phase.initial);
    one.set("terminal", phase.terminal);
    one.set("next", phase_names(phase.next, plan));
    phases.set(phase.name, std::move(one));
  }
  out.set("phases", std::move(phases));
  out.set("limits", described(plan.limits, plan));
  Value risk = Value::object();
  for (const SideEffect effect :
       {SideEffect::Read, SideEffect::Write, SideEffect::Destructive, SideEffect::Admin, SideEffect::Financial})
    risk.set(name_of(effect), plan.risk_allows[static_cast<std::size_t>(effect)] ? "allow" : "block");
  out.set("risk_defaults", std::move(risk));
  out.set("default_deny", plan.default_deny);
  out.set("rules", list_of(plan.rules, [&](const Rule& rule) {
            Value one = Value::object();
            one.set(rule.allows ? "allow" : "deny", described(rule.principal, plan));
            one.set("tools", tool_names(rule.all_tools, rule.tools, plan));
            return one;
          }));
  out.set("label_gates", list_of(plan.label_gates, [&](const LabelGate& gate) {
            Value one = Value::object();
            one.set("label", gate.label);
            one.set("reason", gate.reason);
            one.set("tools", tool_names(gate.all_tools, gate.tools, plan));
            return one;
          }));
  Value providers = Value::object();
  for (const Provider& provider : plan.providers) providers.set(provider.name, described(provider));
  out.set("provider_constraints", std::move(providers));
  Value resources = Value::object();
  for (const Resource& resource : plan.resources) {
    Value one = Value::object();
    one.set("type", resource.type);
    one.set("path", resource.at.path.text());
    resources.set(resource.name, std::move(one));
  }
  out.set("resources", std::move(resources));
  out.set("aggregates", list_of(plan.aggregates, [&](const Aggregate& one) { return described(one, plan); }));
  out.set("envelopes", list_of(plan.envelopes, [&](const Envelope& one) { return described(one, plan); }));
  out.set("checkpoints", list_of(plan.checkpoints, [&](const Checkpoint& one) { return described(one, plan); }));
  // Only where it is so: what a pack without it is called must not change.
  if (plan.client_user_is_operator) {
    Value approvals = Value::object();
    approvals.set("client_user_is_operator", true);
    out.set("approvals", std::move(approvals));
  }
  if (plan.claims != Claims::Off) out.set("claims", name_of(plan.claims));
  if (plan.owed != Owed::Any || plan.owed_by_subagents != Owed::None) {
    Value handoff = Value::object();
    handoff.set("dialect", name_of(plan.owed));
    handoff.set("subagents", name_of(plan.owed_by_subagents));
    out.set("handoff", std::move(handoff));
  }
  Value mcp = Value::object();
  if (plan.unlisted != Unlisted::Refuse) mcp.set("unlisted", name_of(plan.unlisted));
  if (plan.unknown_content != UnknownContent::Refuse) mcp.set("unknown_content", name_of(plan.unknown_content));
  if (plan.wording_may_change) mcp.set("wording_changes", "allow");
  if (plan.suspicious_text_is_withheld) mcp.set("suspicious_text", "withhold");
  if (!mcp.members().empty()) out.set("mcp", std::move(mcp));
  if (plan.tools_lock) out.set("tools_lock", digest_of(*plan.tools_lock));
  return out;
}

Value described(const WorkflowPlan& plan) {
  Value out = Value::object();
  out.set("workflow", plan.name);
  Value roles = Value::object();
  for (const WorkflowRole& role : plan.roles) roles.set(role.name, role.plan ? Value(role.plan->hash) : Value());
  out.set("roles", std::move(roles));
  out.set("handoffs", list_of(plan.handoffs, [&](const WorkflowHandoff& handoff) {
            Value one = Value::object();
            one.set("from", plan.roles[handoff.from].name);
            one.set("to", plan.roles[handoff.to].name);
            one.set("requires_artifacts", sorted_texts(handoff.artifacts));
            one.set("parent_close_policy", name_of(handoff.close_policy.value_or(plan.close_policy)));
            return one;
          }));
  put(out, "max_sessions", plan.max_sessions);
  put(out, "max_active_sessions", plan.max_active_sessions);
  put(out, "max_total_steps", plan.max_total_steps);
  put(out, "max_open_handoffs", plan.max_open_handoffs);
  put(out, "max_total_cost", plan.max_total_cost);
  Value shared = Value::object();
  for (const SharedResource& resource : plan.shared) shared.set(resource.alias, name_of(resource.mode));
  out.set("shared_resources", std::move(shared));
  out.set("subtree_kill", plan.subtree_kill);
  out.set("workflow_kill", plan.operator_only_kill ? "operator_only" : "any");
  out.set("parent_close_policy", name_of(plan.close_policy));
  return out;
}

std::string hash_of(const Plan& plan) { return digest("baton contract 1\n", described(plan)); }
std::string hash_of(const WorkflowPlan& plan) { return digest("baton workflow 1\n", described(plan)); }

}  // namespace baton::contract
