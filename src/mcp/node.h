// SPDX-License-Identifier: Apache-2.0
// What a proxy says to the node about calls, and what the node's answers mean. The bodies are those of the HTTP API
// (docs/reference/http-api.md, "Governed sessions"); nothing here sends anything.
//
// A node that cannot be reached, or answers with something that is no answer, is a verdict too: Unreachable. Nothing goes ahead
// on it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "contract/plan.h"
#include "mcp/answers.h"

namespace baton::mcp {

// --- said ---------------------------------------------------------------------------------------------------------------------------

// How deep arguments and outputs may nest, so that the bodies below are no deeper than the node accepts.
inline constexpr std::size_t kJudgedDepthMax = limits::kCallBodyDepthMax - 3;
// "nested 80 levels deep, and at most 69 can be judged"
std::string too_deep(std::size_t depth);

// {"calls":[{"call_id":...,"tool":...,"arguments":...}],"start":true}; `arguments` is canonical JSON.
std::string proposal_body(std::string_view call_id, std::string_view tool, std::string_view arguments);
std::string start_body(std::string_view call_id);

// A value that output invariants are judged on (mcp/output.h).
struct JudgedOutput {
  std::string json;      // empty: there is none
  bool is_text = false;  // an object whose member `text` is the whole of it: `$` is that text

  bool operator==(const JudgedOutput&) const = default;
};

// What became of a call.
struct Outcome {
  enum class Kind { Ok, Error, Timeout, Unknown } kind = Kind::Unknown;
  JudgedOutput output;             // of Ok; of Error: what the client is given of it
  std::vector<JudgedOutput> also;  // what the client is given beside it
  std::string error_code, error_class, error_message;
  std::optional<std::int64_t> http_status;
  // Of Unknown: why what came cannot be judged. Empty: nothing came. `bytes`: of a result that is too large, else 0.
  std::string unjudged;
  std::size_t bytes = 0;
};
std::string settle_body(std::string_view call_id, const Outcome& outcome);

// --- heard --------------------------------------------------------------------------------------------------------------------------

struct Verdict {
  enum class Kind {
    Begun,        // recorded as begun: it may reach the server
    Allowed,      // not begun yet (approved before, or it waits for its turn): Start comes next
    Refused,      // `denial` says why
    Waits,        // for a person: `approval_id`
    Unreachable,  // nobody could be asked; `denial` says so
  } kind = Kind::Unreachable;
  std::string call_id;  // as the node calls it; one that joins another has that one's
  Denial denial = {};
  std::size_t bytes_max = 0;  // of Refused: the node accepts no larger body; 0: refused for another reason
  std::string approval_id = {};
  std::string approval_digest = {};
  bool can_be_approved = true;                // false: a part of it cannot be shown to anybody
  std::vector<std::string> checkpoints = {};  // their names
  // How the contract wants it carried out: `execution` of the call in the node's answer, with `total_ms`, `max_attempts`,
  // `retry_on`, `respect_retry_after`, `max_sleep_seconds`. Without it there is no limit, and one attempt.
  std::int64_t total_ms = 0;  // all attempts together; 0: no limit
  contract::Retries retries = {};
};

// What the node said of a call's outcome.
struct Settled {
  bool recorded = false;        // false: it could not be told; `denial` says so
  std::string state;            // committed, failed, unknown
  bool output_blocked = false;  // an assertion about the output failed: nobody gets it
  std::size_t bytes_max = 0;    // not recorded because the node accepts no more than this; 0: for another reason
  Denial denial = {};           // then
};

// What could be called now, by the node's names.
struct Callable {
  bool known = false;  // false: it could not be asked; nothing is callable
  std::set<std::string, std::less<>> kept;
  std::string
      refused;  // why nothing at all goes ahead (session_killed, session_paused, ...); empty: nothing stands in the way
  std::vector<std::pair<std::string, std::string>> removed;  // tool and reason
  // Those of them that only a call in flight forbids. A call that has begun is not held to that: it may be that call itself.
  std::set<std::string, std::less<>> in_flight = {};
};

struct Decision {
  enum class Kind { Approved, Denied, Open, Lapsed, Spent, Unreachable } kind = Kind::Open;
  std::string note;  // what the person wrote
};

// Answers of the node: the HTTP status and the body; status 0: it could not be reached, and `body` says why.
Verdict read_verdict(int status, std::string_view body);  // of /calls with one call
Verdict read_started(int status, std::string_view body);  // of /start
Settled read_settled(int status, std::string_view body);
Callable read_callable(int status, std::string_view body);  // of /preflight
Decision read_decision(int status, std::string_view body);  // of GET /v1/approvals/{id}

}  // namespace baton::mcp
