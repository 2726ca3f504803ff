// SPDX-License-Identifier: Apache-2.0
#include "dialects/agent_contract/turn.h"

#include "base/text.h"
#include "dialects/agent_contract/contract.h"
#include "wording/data.h"

namespace baton::agent_contract {
namespace {

using json::Value;

std::string text_of(json::Node node) { return node.is_string() ? std::string(node.string()) : std::string(); }

Value list_of(const std::vector<std::string>& texts) {
  Value out = Value::array();
  for (const std::string& text : texts) out.push(text);
  return out;
}

void set_text(Value& object, std::string_view name, json::Node node) {
  if (node.is_string() && !node.string().empty()) object.set(name, node.string());
}

bool is_heading(std::string_view line) {
  while (line.starts_with('#')) line.remove_prefix(1);
  line = trim(line);
  while (!line.empty() && (line.back() == ':' || line.back() == '*')) line.remove_suffix(1);
  while (line.starts_with('*')) line.remove_prefix(1);
  return to_lower_ascii(line) == "acceptance criteria";
}

// What stands behind `-`, `*`, `+`, `1.` or `1)`, and a box if there is one; empty when the line is no point.
std::string_view point_in(std::string_view line) {
  line = trim(line);
  std::size_t mark = 0;
  while (mark < line.size() && is_digit(line[mark])) ++mark;
  const bool numbered = mark > 0 && mark < line.size() && (line[mark] == '.' || line[mark] == ')');
  const bool marked = mark == 0 && !line.empty() && (line[0] == '-' || line[0] == '*' || line[0] == '+');
  if (!numbered && !marked) return {};
  line.remove_prefix(numbered ? mark + 1 : 1);
  if (!line.starts_with(' ') && !line.starts_with('\t')) return {};
  line = trim(line);
  for (const std::string_view box : {"[ ]", "[x]", "[X]"})
    if (line.starts_with(box)) return trim(line.substr(box.size()));
  return line;
}

}  // namespace

std::vector<std::string> acceptance_criteria(std::string_view text) {
  std::vector<std::string> out;
  bool inside = false;
  for (const std::string_view line : split(text, '\n')) {
    if (is_heading(trim(line))) {
      inside = true;
      continue;
    }
    if (!inside || is_blank_text(line)) continue;
    const std::string_view point = point_in(line);
    if (point.empty()) inside = false;
    else out.emplace_back(point);
  }
  return out;
}

Value input_envelope(const InputFacts& facts) {
  Value routing = Value::object();
  routing.set("surfaces", list_of(facts.surfaces));
  routing.set("multi_surface", facts.surfaces.size() > 1);

  const json::Node work = facts.work;
  Value brief = Value::object();
  brief.set("goal", text_of(work["title"]));
  brief.set("acceptance_criteria", list_of(acceptance_criteria(text_of(work["text"]))));
  brief.set("scope", text_of(work["text"]));
  brief.set("consolidation_required", facts.consolidation_required);
  brief.set("cross_check_required", facts.cross_check_required);
  set_text(brief, "work_id", work["id"]);
  set_text(brief, "phase", work["phase"]);
  set_text(brief, "pr_url", work["pr_url"]);
  set_text(brief, "evidence_bundle_ref", work["evidence_bundle_ref"]);
  set_text(brief, "question", work["question"]);
  set_text(brief, "answer", work["answer"]);
  if (work["labels"].is_array()) brief.set("labels", Value::copy(work["labels"]));
  set_text(brief, "created_by", work["created_by"]);
  if (work["suspicious"].is_array()) brief.set("suspicious", Value::copy(work["suspicious"]));

  Value permissions = Value::object();
  permissions.set("readable_sections", list_of(facts.readable));
  permissions.set("writable_sections", list_of(facts.writable));

  Value metadata = Value::object();
  metadata.set("session_id", facts.session_id);
  metadata.set("agent_id", facts.agent_id);
  metadata.set("role", facts.role);
  metadata.set("provider", facts.provider);
  metadata.set("contract_version", kContractVersion);

  Value out = Value::object();
  out.set("data_notice", wording::kDataNotice);
  out.set("project_knowledge_sources", facts.sources.is_object() ? Value::copy(facts.sources) : Value::object());
  out.set("project_knowledge", facts.context.is_object() ? Value::copy(facts.context) : Value::object());
  out.set("surface_routing", std::move(routing));
  out.set("agent_contract_handoff", std::move(brief));
  out.set("write_permissions", std::move(permissions));
  out.set("metadata", std::move(metadata));
  return out;
}

// --- repair ------------------------------------------------------------------------------------------------------------------------------

std::string skeleton(std::string_view agent_id) {
  Value status = Value::object();
  status.set("plan_status", "COMPLETE");
  status.set("agent_id", agent_id);
  status.set("pending_steps", Value::array());
  status.set("next_action", "...");
  Value verification = Value::object();
  verification.set("method", "...");
  verification.set("command", "...");
  verification.set("result", "pass");
  Value report = Value::object();
  for (const std::string_view list : {"patterns_checked", "files_checked", "commands_run", "key_outputs",
                                      "verbatim_outputs", "cross_layer_impacts", "open_gaps"})
    report.set(list, Value::array());
  report.set("verification", std::move(verification));
  Value out = Value::object();
  out.set("agent_status", std::move(status));
  out.set("evidence_report", std::move(report));
  return in_fence(json::write_pretty(out));
}

std::string repair_text(const Refusal& refusal) {
  const bool in_message = refusal.channel.empty();
  std::string out = !refusal.problems.empty() ? "Your handoff was refused. Nothing of it was taken."
                    : in_message              ? "Your last message holds no handoff, so the work is not handed over."
                                              : "You handed nothing in, so the work is not handed over.";
  out += " This is repair " + std::to_string(refusal.repair) + " of " + std::to_string(refusal.repairs_max) +
         "; after the last one " + refusal.at_last + ".\n";
  for (const Problem& problem : refusal.problems) {
    out += "- ";
    if (!problem.code.empty()) out += problem.code + ": ";
    out += problem.message;
    if (!problem.place.empty()) out += " (at " + problem.place + ")";
    if (!problem.help.empty()) out += "; " + problem.help;
    out += "\n";
  }
  out += "\nDo not do the work again. ";
  out += in_message ? "Answer with the handoff alone, as the last thing in your message and nothing behind it."
                    : "Hand the handoff in " + refusal.channel + ".";
  out += " With what is true put in, it has this form";
  if (!refusal.form.empty()) return out + ":\n\n" + refusal.form;
  out +=
      " (plan_status is COMPLETE only with verification.result \"pass\"; otherwise BLOCKED, "
      "with the open_gaps):\n\n";
  return out + skeleton(refusal.agent_id);
}

// --- relay -------------------------------------------------------------------------------------------------------------------------------

std::string relay_text(json::Node contract) {
  const json::Node summary = contract["user_facing_summary"];
  if (contract["agent_status"]["plan_status"].is_text("COMPLETE") && summary.is_string() &&
      !is_blank_text(summary.string()))
    return std::string(summary.string());
  std::string out;
  for (const json::Node one : contract["evidence_report"]["key_outputs"].elements())
    out += (out.empty() ? "" : "\n") + (one.is_string() ? std::string(one.string()) : json::write(one));
  return out;
}

}  // namespace baton::agent_contract
