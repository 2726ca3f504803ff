// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/check.h"
#include "dialects/agent_contract/block.h"
#include "dialects/agent_contract/contract.h"

namespace baton::agent_contract {
namespace {

constexpr std::array<Row, 21> kRows = {{
    {Field::status, "/agent_status/plan_status"},
    {Field::agent_id, "/agent_status/agent_id"},
    {Field::pending_steps, "/agent_status/pending_steps"},
    {Field::next_action, "/agent_status/next_action"},
    {Field::patterns_checked, "/evidence_report/patterns_checked"},
    {Field::files_checked, "/evidence_report/files_checked"},
    {Field::commands_run, "/evidence_report/commands_run"},
    {Field::summary, "/evidence_report/key_outputs"},
    {Field::verbatim_outputs, "/evidence_report/verbatim_outputs"},
    {Field::risks, "/evidence_report/cross_layer_impacts"},
    {Field::open_gaps, "/evidence_report/open_gaps"},
    {Field::verification, "/evidence_report/verification"},
    {Field::consolidation, "/consolidation_report"},
    {Field::approval, "/approval_request"},
    {Field::loop, "/loop_state"},
    {Field::summary_for_people, "/user_facing_summary"},
    {Field::memorialize_suggestions, "/memorialize_suggestions"},
    {Field::memory_suggestions, "/memory_suggestions"},
    {Field::context_updates, "/update_contracts"},
    {Field::rollback, "/rollback_executed"},
    {Field::consumption, "/context_consumption"},
}};

struct Meaning {
  Mode mode;
  Outcome outcome;
};
// In the order of Status.
constexpr std::array<Meaning, 5> kMeanings = {{
    /* IN_PROGRESS      */ {Mode::Report, Outcome::InProgress},
    /* APPROVAL_REQUEST */ {Mode::Report, Outcome::NeedsApproval},
    /* COMPLETE         */ {Mode::Transfer, Outcome::Completed},
    /* BLOCKED          */ {Mode::Transfer, Outcome::Blocked},
    /* NEEDS_INPUT      */ {Mode::Report, Outcome::NeedsInput},
}};

}  // namespace

bool recognise(json::Node root) { return root["agent_status"] || root["evidence_report"]; }

std::span<const Row> rows() { return kRows; }

Handoff to_handoff(json::Node root, std::string_view raw) {
  Handoff handoff = read_rows(Dialect::AgentContract, kRows, root, raw);
  const auto status = find_status(handoff.text(Field::status));
  CHECK(status.has_value());
  handoff.mode = kMeanings[static_cast<std::size_t>(*status)].mode;
  handoff.outcome = kMeanings[static_cast<std::size_t>(*status)].outcome;
  return handoff;
}

json::Value from_handoff(const Handoff& handoff) { return write_rows(kRows, handoff); }

std::string in_fence(std::string_view body) {
  std::size_t longest = 2, run = 0;
  for (const char c : body) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  const std::string fence(longest + 1, '`');
  return fence + std::string(kTag) + "\n" + std::string(body) + "\n" + fence + "\n";
}

std::string write_block(const json::Value& contract) { return in_fence(json::write_pretty(contract)); }

}  // namespace baton::agent_contract
