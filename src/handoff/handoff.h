// SPDX-License-Identifier: Apache-2.0
// The one Handoff: what every dialect says, in one set of words.
//
// A handoff moves responsibility from one actor to another. On the wire it is one of four dialects; inside Baton it is
// this value. A dialect is a table of rows (field, place in its document); reading walks the rows, writing walks them
// back, and whatever a document holds beyond its rows is kept under its place. So a document that goes through the value
// and back is the same document, and a translation can list exactly what it could not carry.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace baton {

enum class Dialect { AgentExit, AgentContract, Uaix, HandoffSpec };
inline constexpr std::array kDialects = {Dialect::AgentExit, Dialect::AgentContract, Dialect::Uaix,
                                         Dialect::HandoffSpec};

std::string_view dialect_name(Dialect dialect);  // "agent-exit", "agent-contract", "uaix", "handoff-spec"
std::optional<Dialect> find_dialect(std::string_view name);

// What the handoff does to the sender's work.
enum class Mode {
  Transfer,  // the sender's session ends with it
  Delegate,  // the sender stays active above the receiver
  Grant,     // rights are asked for; nothing moves
  Report,    // a sign of life
};
std::string_view mode_name(Mode mode);

enum class Outcome { Completed, Blocked, Error, NeedsInput, NeedsApproval, InProgress, Offered };
std::string_view outcome_name(Outcome outcome);  // "completed", "needs_input", ...

// The fields. Where a dialect has its own word for one, the dialect's table says so.
#define BATON_HANDOFF_FIELDS(FIELD)                                                                                   \
  FIELD(protocol_version)       /* of the dialect's format */                                                         \
  FIELD(profile)                /* uaix: which packet */                                                              \
  FIELD(message_id)             /* uaix */                                                                            \
  FIELD(idempotency_key)        /* a resend with the same key is the same handoff */                                  \
  FIELD(work_id)                /* what the work is called: task id, task slug */                                     \
  FIELD(linked_card)            /* handoff-spec: the issue behind the work */                                         \
  FIELD(from)                   /* the sender */                                                                      \
  FIELD(agent_id)               /* agent-contract: the sender's id as issued */                                       \
  FIELD(to)                     /* the receiver */                                                                    \
  FIELD(target_agent_id)        /* uaix: the receiver's id, again */                                                  \
  FIELD(status)                 /* agent-contract: plan_status */                                                     \
  FIELD(phase_completed)        /* agent-exit */                                                                      \
  FIELD(reason)                 /* exit_reason, handoff_reason */                                                     \
  FIELD(summary)                /* for the next actor: notes, key_outputs, context_summary */                         \
  FIELD(summary_for_people)     /* user_facing_summary */                                                             \
  FIELD(next_action)                                                                                                  \
  FIELD(pending_steps)                                                                                                \
  FIELD(required_reads)                                                                                               \
  FIELD(pr_url)                                                                                                       \
  FIELD(evidence_bundle_ref)                                                                                          \
  FIELD(evidence_refs)                                                                                                \
  FIELD(patterns_checked)                                                                                             \
  FIELD(files_checked)                                                                                                \
  FIELD(commands_run)                                                                                                 \
  FIELD(verbatim_outputs)                                                                                             \
  FIELD(verification)                                                                                                 \
  FIELD(open_gaps)              /* open_gaps, blockers */                                                             \
  FIELD(risks)                  /* risks, cross_layer_impacts */                                                      \
  FIELD(consolidation)                                                                                                \
  FIELD(approval)               /* approval_request, operator_approval */                                             \
  FIELD(authorization)          /* delegated_authorization */                                                         \
  FIELD(surfaces)               /* handoff-spec: the grant asked for, down to aws_inline_policy */                    \
  FIELD(mcp_tools)                                                                                                    \
  FIELD(repo)                                                                                                         \
  FIELD(owner)                                                                                                        \
  FIELD(ttl_hours)                                                                                                    \
  FIELD(aws_inline_policy)                                                                                            \
  FIELD(issued_at)                                                                                                    \
  FIELD(expires_at)             /* expires_at, ttl_expires_at */                                                      \
  FIELD(expected_runtime)       /* to finish */                                                                       \
  FIELD(timeout_ms)             /* to acknowledge: not the same thing as expected_runtime */                          \
  FIELD(priority)                                                                                                     \
  FIELD(retry_count)                                                                                                  \
  FIELD(fallback_directive)                                                                                           \
  FIELD(expected_output_schema)                                                                                       \
  FIELD(conversation)                                                                                                 \
  FIELD(context_updates)        /* update_contracts */                                                                \
  FIELD(memorialize_suggestions)                                                                                      \
  FIELD(memory_suggestions)                                                                                           \
  FIELD(loop)                   /* loop_state */                                                                      \
  FIELD(rollback)               /* rollback_executed */                                                               \
  FIELD(consumption)            /* context_consumption */                                                             \
  FIELD(provenance)             /* who made it, by which model, how sure: without issued_at */                        \
  FIELD(trust)                                                                                                        \
  FIELD(support_boundary)                                                                                             \
  FIELD(integrity)                                                                                                    \
  FIELD(extensions)

enum class Field {
#define FIELD(name) name,
  BATON_HANDOFF_FIELDS(FIELD)
#undef FIELD
};
inline constexpr std::size_t kFieldCount = 0
#define FIELD(name) +1
    BATON_HANDOFF_FIELDS(FIELD)
#undef FIELD
    ;
std::string_view field_name(Field field);

// A dialect's table: where each field stands in its documents.
struct Row {
  Field field;
  std::string_view pointer;
};

class Handoff {
 public:
  struct Member {
    std::string pointer;  // where it stood in the document it came from
    json::Value value;
  };

  Dialect dialect = Dialect::AgentExit;
  std::string digest;  // SHA-256 of the bytes it came in, hexadecimal
  Mode mode = Mode::Transfer;
  Outcome outcome = Outcome::Offered;
  std::vector<Member> other;  // what the document held beyond its dialect's rows

  const Member* find(Field field) const { return fields_[index(field)] ? &*fields_[index(field)] : nullptr; }
  // The field's value; null when it is absent or JSON null (in every dialect, null means absent).
  const json::Value* value(Field field) const;
  // The field as text; empty when it is absent or not a string.
  std::string_view text(Field field) const;
  void set(Field field, std::string pointer, json::Value value) {
    fields_[index(field)] = Member{std::move(pointer), std::move(value)};
  }

  // For people and programs: dialect, digest, mode, outcome, then every field present, in the order above.
  json::Value to_json() const;

 private:
  static std::size_t index(Field field) { return static_cast<std::size_t>(field); }
  std::array<std::optional<Member>, kFieldCount> fields_;
};

// Reads a document by its dialect's rows. Mode and outcome are the dialect's to set.
Handoff read_rows(Dialect dialect, std::span<const Row> rows, json::Node root, std::string_view raw);

// Writes the document back: the rows' fields and `other`. Only for a handoff of the same dialect.
json::Value write_rows(std::span<const Row> rows, const Handoff& handoff);

}  // namespace baton
