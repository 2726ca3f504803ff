// SPDX-License-Identifier: Apache-2.0
// What is recorded of a call, and what is read back from it: the members that the entries of session_events.h share. What a rule could
// need later is kept as it is where it may be, as a keyed hash where it is a secret, and as a hash where it is long; so the state can
// be made again from the entries, and nearly every decision too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "ledger/key_files.h"
#include "session/decide.h"
#include "session/settle.h"

namespace baton::runtime {

// Secrets as keyed hashes, with the ledger's key.
// `hmac-sha256:...` of a canonical text: equal for equal texts, and nothing can be tried out against it without the key.
std::string keyed_digest(const ledger::RedactionKey& key, std::string_view canonical);

class KeyedHiding final : public session::Hiding {
 public:
  explicit KeyedHiding(const ledger::RedactionKey& key) : key_(key) {}
  std::optional<std::string> hidden(json::Node value, std::string_view name) const override;
  std::string keyed(std::string_view text) const override;

 private:
  const ledger::RedactionKey& key_;
};

// {path: value} for paths that lead somewhere.
json::Value recorded_values(const session::Values& values, const std::vector<contract::PathAt>& paths,
                            const session::Hiding& hiding);

// --- writing ----------------------------------------------------------------------------------------------------------------------

json::Value failures_value(const std::vector<session::Refusal>& failures);  // [{code, detail?, in_flight?}]
// The members of session.step, but for session_id and at. `approvals` are ids, as the calls; empty where none is asked.
json::Value step_value(const session::Rules& rules, const session::Proposal& proposal,
                       const session::StepVerdict& verdict, const std::vector<std::string>& approvals,
                       const session::Hiding& hiding);
void set_arguments(json::Value& out, json::Node arguments);  // `arguments`, or `arguments_text` when they are long
json::Value resolved_value(const session::RulingVerdict& verdict);
json::Value settled_value(const session::SettleVerdict& verdict);

// --- reading ----------------------------------------------------------------------------------------------------------------------
// Nothing when the payload is not what this version writes.

std::optional<session::TakenStep> read_step(const session::Rules& rules, json::Node payload);
std::optional<std::vector<session::Resolved>> read_resolved(json::Node payload);
std::optional<session::Begun> read_begun(const session::Rules& rules, const session::State& state, json::Node payload);
// Was the call told to wait for others of its workflow?
bool is_told_to_wait(json::Node payload);
std::optional<session::Settled> read_settled(json::Node payload);
std::string_view name_of(session::Ruling ruling);
std::optional<session::Ruling> ruling_named(std::string_view name);

// The questions as they were asked, for deciding again. The nodes are the payload's.
session::Proposal recorded_proposal(json::Node payload);
session::Receipt recorded_receipt(json::Node payload);
// Is something that the rules look at recorded as a hash only? Then a decision may not be made again from it.
bool has_hidden_values(json::Node payload);

}  // namespace baton::runtime
