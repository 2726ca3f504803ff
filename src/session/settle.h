// SPDX-License-Identifier: Apache-2.0
// What became of a call: what its receipt proves, and whether it is tried again. Pure; the edges carry it out.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "session/decide.h"

namespace baton::session {

struct CallError {
  std::string code, error_class, message;
  std::optional<std::int64_t> http_status;
};
// From a code, a class or a status as a tool gave it: `network`, `503`, `E_BUSY`.
CallError error_named(std::string_view text);
// The class of an HTTP status: rate_limited, server_error, client_error; empty: none.
std::string_view class_of_status(std::int64_t status);

struct Receipt {
  enum Kind : std::uint8_t { Ok, Error, Timeout, Lost } kind = Ok;
  bool ack = true;
  Values output = {};        // no root: there was none. A string that is JSON is parsed before (parsed_output)
  Values error_output = {};  // of an error: what the caller is given of it
  // What the caller is given besides `output`. Output invariants are judged on each of these too.
  std::vector<Values> also = {};
  CallError error = {};
  bool recorded_object = true;  // of an output that was recorded: was it an object?
  // What was given holds a number that has no canonical form. No entry can hold it, so that no rule looks at it: it is no evidence.
  bool is_unwritable = false;

  bool has_object() const { return output.is_record() ? recorded_object : output.root().is_object(); }
};

// The output as rules see it: a string that holds JSON is what it holds. `parsed` keeps it.
json::Node parsed_output(json::Node output, std::unique_ptr<json::Document>& parsed);

struct SettleVerdict {
  bool is_open = true;                     // false: no outcome is awaited (call_not_open)
  CallState state = CallState::Committed;  // where it ends
  std::vector<Refusal> failures;           // evidence_insufficient, output_assertion_failed
  bool allowed_error = false;
  Settled settled;
};
// Pending calls count as begun.
SettleVerdict settle(const Rules& rules, const State& state, std::string_view call_id, const Receipt& receipt,
                     const Hiding* hiding = nullptr);
// What a commit of this open call with this output leaves behind, whatever evidence and assertions say of it.
Settled committed_with(const Rules& rules, const State& state, const OpenCall& call, const Values& output,
                       const Hiding* hiding = nullptr);

// --- trying again -----------------------------------------------------------------------------------------------------------------

struct Attempt {
  Receipt::Kind kind = Receipt::Ok;  // Timeout: of the call as a whole
  CallError error = {};
  std::optional<json::Decimal> retry_after;  // seconds, as the tool asked
};
// Whether to try once more: after `made` attempts, `elapsed` milliseconds after the first began. Nothing: it stays with this one. Else
// how many seconds to wait.
struct Retry {
  std::optional<json::Decimal> sleep;  // there is one: try again after it
  bool timed_out = false;              // total_ms is over: the call has timed out, whatever the attempt gave
  bool rate_limited = false;           // the tool asked to wait longer than the contract allows
};
Retry retry(const contract::Tool& tool, const Attempt& attempt, std::int64_t made, const json::Decimal& elapsed_ms);

}  // namespace baton::session
