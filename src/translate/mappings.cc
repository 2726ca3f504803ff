// SPDX-License-Identifier: Apache-2.0
// Which field goes where. One function a target; what differs by source is said where it differs.
#include "base/limits.h"
#include "base/sha256.h"
#include "base/text.h"
#include "dialects/agent_exit/signal.h"
#include "dialects/uaix/packet.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "secrets/detector.h"
#include "translate/draft.h"

namespace baton::translate {
namespace {

constexpr std::size_t kContextSummaryCharactersMax = 4000;  // stated by the packet's format

void narrowed(Draft& draft, std::string_view from, std::string_view to) {
  draft.diagnostics().push_back(report(Code::TRANSLATE_STATUS_NARROWED, {}, {{"from", from}, {"to", to}}));
}

void not_final(Draft& draft) {
  draft.diagnostics().push_back(report(Code::TRANSLATE_NOT_FINAL, place_named("/agent_status/plan_status"),
                                       {{"what", "IN_PROGRESS is a report: nothing is handed over yet"}}));
}

// The exact canonical form, as the digest of a value that is not carried itself.
std::string digest_of(const json::Value& value) {
  const std::string text = json::write(value);
  const auto document = json::parse(text);
  if (!document) return sha256_hex(text);
  return sha256_hex(json::canonical(document->root(), json::Numbers::Exact).value_or(text));
}

std::string canonical_text(const json::Value& value) {
  const std::string text = json::write(value);
  const auto document = json::parse(text);
  return document ? json::canonical(document->root(), json::Numbers::Exact).value_or(text) : text;
}

// A text into a place of limited size. What does not fit is a loss of that field.
void put_text(Draft& draft, Field field, std::string_view pointer, std::string text, std::size_t bytes_max) {
  if (text.empty()) return;
  const std::size_t size = text.size();
  draft.put(pointer, cut(std::move(text), bytes_max));
  if (size <= bytes_max) draft.carried(field);
}

// The same where characters are counted.
void put_summary(Draft& draft, Field field, std::string_view pointer, std::string text) {
  std::size_t bytes = 0;
  for (std::size_t characters = 0; bytes < text.size() && characters < kContextSummaryCharactersMax; ++characters)
    next_character(text, bytes);
  put_text(draft, field, pointer, std::move(text), bytes);
}

// The phase, when Baton's own extension carries it.
std::string phase_in_extension(const Handoff& source) {
  const json::Value* extensions = source.value(Field::extensions);
  if (extensions == nullptr || !extensions->is_array()) return {};
  for (const json::Value& extension : extensions->elements()) {
    const json::Value* name = extension.find("namespace");
    const json::Value* phase = extension.find_at("/data/phase_completed");
    if (name != nullptr && name->is_string() && name->string() == uaix::kWorkExtension && phase != nullptr &&
        phase->is_string())
      return phase->string();
  }
  return {};
}

}  // namespace

void map_to_agent_exit(Draft& draft) {
  const Handoff& source = draft.source();
  draft.put("/protocol", agent_exit::kProtocol);
  if (source.dialect == Dialect::AgentContract) {
    if (source.outcome == Outcome::InProgress) return not_final(draft);
    if (source.outcome == Outcome::NeedsInput || source.outcome == Outcome::NeedsApproval)
      narrowed(draft, source.text(Field::status), "blocked");
    draft.put("/exit_reason", source.outcome == Outcome::Completed ? "completed" : "blocked");
    draft.carried(Field::status);
    // One field for all that people should read: the summary written for them (or else the findings), and what is open
    // unless the work is done.
    const bool told = !is_blank_text(source.text(Field::summary_for_people));
    const auto gaps = as_strings(source.value(Field::open_gaps));
    const bool open = source.outcome != Outcome::Completed && !gaps.empty();
    std::vector<std::string> lines;
    if (told || !open) lines = as_strings(source.value(told ? Field::summary_for_people : Field::summary));
    if (open) lines.insert(lines.end(), gaps.begin(), gaps.end());
    const std::string notes = join(lines, "\n");
    if (told || !open)
      put_text(draft, told ? Field::summary_for_people : Field::summary, "/notes", notes, limits::kExitNotesBytesMax);
    if (open) put_text(draft, Field::open_gaps, "/notes", notes, limits::kExitNotesBytesMax);
    return;
  }
  // A packet: that something is completed is never inferred from an offer.
  if (source.outcome == Outcome::Blocked) {
    draft.put("/exit_reason", "blocked");
    draft.carried(Field::open_gaps);
  }
  if (const std::string phase = phase_in_extension(source); !phase.empty()) draft.put("/phase_completed", phase);
  std::string notes(source.text(Field::summary));
  if (source.outcome == Outcome::Blocked) notes += "\n" + join(as_strings(source.value(Field::open_gaps)), "\n");
  put_text(draft, Field::summary, "/notes", notes, limits::kExitNotesBytesMax);
}

void map_to_agent_contract(Draft& draft) {
  const Handoff& source = draft.source();
  const std::string evidence = "/evidence_report/";
  json::Value outputs = json::Value::array();
  switch (source.dialect) {
    case Dialect::AgentExit: {
      if (source.outcome == Outcome::Error) narrowed(draft, "error", "BLOCKED");
      draft.put("/agent_status/plan_status", source.outcome == Outcome::Completed ? "COMPLETE" : "BLOCKED");
      draft.carried(Field::reason);
      if (const auto notes = source.text(Field::summary); !notes.empty()) {
        outputs.push(notes);
        draft.put("/user_facing_summary", notes);
        if (source.outcome != Outcome::Completed) draft.put(evidence + "open_gaps", json::Value::Array{notes});
        draft.carried(Field::summary);
      }
      // Said as text, which is not the same as carried: they stay on the list of losses.
      for (const Field field : {Field::pr_url, Field::evidence_bundle_ref})
        if (const auto text = source.text(field); !text.empty())
          outputs.push(std::string(field_name(field)) + ": " + std::string(text));
      break;
    }
    case Dialect::Uaix: {
      if (source.outcome == Outcome::Blocked) draft.put("/agent_status/plan_status", "BLOCKED");
      draft.carry(Field::next_action, "/agent_status/next_action");
      draft.carry_strings(Field::open_gaps, evidence + "open_gaps");
      draft.carry_strings(Field::risks, evidence + "cross_layer_impacts");
      if (const auto summary = source.text(Field::summary); !summary.empty())
        outputs.push(summary), draft.carried(Field::summary);
      break;
    }
    case Dialect::HandoffSpec: {
      // A spec asks for rights; in a contract that is a request for approval, and only a draft of one.
      struct Risk {
        std::string_view surface;
        int level;
      };
      static constexpr Risk kRisks[] = {{"infisical", 1}, {"github", 1}, {"cloudflare", 2}, {"heroku", 2},
                                        {"aws", 2},       {"stripe", 3}, {"apple_iap", 3}};
      static constexpr std::string_view kLevels[] = {"LOW", "MEDIUM", "HIGH", "CRITICAL"};
      const auto surfaces = as_strings(source.value(Field::surfaces));
      int level = 1;
      for (const std::string& surface : surfaces)
        for (const Risk& risk : kRisks)
          if (risk.surface == surface) level = std::max(level, risk.level);
      draft.put("/agent_status/plan_status", "APPROVAL_REQUEST");
      draft.put("/approval_request/operation", "provision");
      draft.put("/approval_request/exact_content", canonical_text(handoff_document(source)));
      draft.put("/approval_request/scope", join(surfaces, ", "));
      draft.put("/approval_request/risk_level", kLevels[level]);
      draft.put("/approval_request/rollback", "revoke");
      draft.put("/approval_request/verification", "gate");
      draft.carried(Field::surfaces);
      if (const auto approval = source.text(Field::approval); !approval.empty()) {
        outputs.push("operator_approval: " + std::string(approval));
        draft.carried(Field::approval);
      }
      break;
    }
    case Dialect::AgentContract: break;
  }
  outputs.push("source: " + std::string(dialect_name(source.dialect)) + " sha256:" + source.digest);
  draft.put(evidence + "key_outputs", std::move(outputs));
}

void map_to_uaix(Draft& draft) {
  const Handoff& source = draft.source();
  json::Value references = json::Value::array(), extensions = json::Value::array();
  const auto extension = [&](std::string_view name, std::string_view purpose, json::Value data) {
    json::Value out = json::Value::object();
    out.set("namespace", name);
    out.set("purpose", purpose);
    out.set("critical", false);
    out.set("data", std::move(data));
    extensions.push(std::move(out));
  };
  draft.put("/uai_version", "1.0");
  draft.put("/profile", uaix::kHandoffProfile);
  // An id for the message, taken from the original's bytes: the same original gives the same id.
  draft.put("/message_id", "msg_" + source.digest.substr(0, 32));
  switch (source.dialect) {
    case Dialect::AgentExit: {
      draft.carry(Field::reason, "/body/handoff_reason");
      put_summary(draft, Field::summary, "/body/context_summary", std::string(source.text(Field::summary)));
      if (source.outcome != Outcome::Completed && !source.text(Field::summary).empty())
        draft.put("/body/blockers", json::Value::Array{source.text(Field::summary)});
      for (const Field field : {Field::evidence_bundle_ref, Field::pr_url})
        if (const auto text = source.text(field); !text.empty()) references.push(text), draft.carried(field);
      json::Value work = json::Value::object();
      work.set("phase_completed", source.text(Field::phase_completed));
      extension(uaix::kWorkExtension, "The work phase that was completed.", std::move(work));
      draft.carried(Field::phase_completed);
      break;
    }
    case Dialect::AgentContract: {
      if (source.outcome == Outcome::InProgress) return not_final(draft);
      draft.put("/body/handoff_reason", to_lower_ascii(source.text(Field::status)));
      draft.carried(Field::status);
      draft.carry(Field::next_action, "/body/exact_next_action");
      draft.carry_strings(Field::open_gaps, "/body/blockers");
      draft.carry_strings(Field::risks, "/body/risks");
      put_summary(draft, Field::summary, "/body/context_summary", join(as_strings(source.value(Field::summary)), "\n"));
      for (const Field field : {Field::patterns_checked, Field::files_checked, Field::commands_run, Field::summary,
                                Field::verbatim_outputs, Field::verification}) {
        const json::Value* value = source.value(field);
        if (value == nullptr || (value->is_array() && value->elements().empty())) continue;
        references.push("urn:baton:evidence:" + std::string(field_name(field)) + ":sha256:" + digest_of(*value));
      }
      // Raw output is where secrets hide; a packet that vouches for it by digest must not vouch for one.
      for (const std::string& output : as_strings(source.value(Field::verbatim_outputs)))
        for (const secrets::Finding& finding : secrets::find(output))
          draft.diagnostics().push_back(report(Code::UAIX_SECRET_DETECTED,
                                               place_named("/evidence_report/verbatim_outputs"),
                                               {{"rule", finding.rule}, {"length", std::to_string(finding.length)}}));
      break;
    }
    case Dialect::HandoffSpec: {
      draft.put("/body/task_id", "task_" + std::string(source.text(Field::work_id)));
      draft.carried(Field::work_id);
      draft.carry(Field::expires_at, "/delivery/expires_at");
      draft.put("/body/delegated_authorization/authorization_ref",
                "urn:baton:approval:sha256:" + digest_of(handoff_document(source)));
      draft.carried(Field::approval);
      json::Value grant = json::Value::object();
      for (const Field field : {Field::surfaces, Field::mcp_tools, Field::repo, Field::owner, Field::ttl_hours})
        if (const json::Value* value = source.value(field)) grant.set(field_name(field), *value);
      extension("urn:baton:ext:grant", "The rights the task asks for; a record, not a grant.", std::move(grant));
      break;
    }
    case Dialect::Uaix: break;
  }
  references.push("urn:baton:handoff:" + std::string(dialect_name(source.dialect)) + ":sha256:" + source.digest);
  draft.put("/body/evidence_refs", std::move(references));
  draft.put("/extensions", std::move(extensions));
}

}  // namespace baton::translate
