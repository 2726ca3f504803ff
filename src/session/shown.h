// SPDX-License-Identifier: Apache-2.0
// Decisions and state as data: what callers are told, one form for the HTTP API, the command line and scenarios
// (docs/reference/sessions.md). Nothing here holds a secret.
#pragma once

#include <string>

#include "json/value.h"
#include "session/decide.h"
#include "session/settle.h"

namespace baton::session {

// {code, message, help, detail?, place?}
json::Value shown(const Refusal& refusal);
json::Value shown(const Diagnostic& diagnostic);
// {timeout_seconds, on_timeout, checkpoints[], context{}}
json::Value shown(const Asked& asked);
// {verdict, reason?, failures[], request_approval?, spends?}
json::Value shown(const CallVerdict& verdict);

// {outcome, calls[{call_id, tool, verdict, ...}], diagnostics[], session_killed, cancelled[]?}
json::Value shown(const Proposal& proposal, const StepVerdict& verdict, const Effects& effects);
// The same, and each call that was held back has its `way_out` (session/way_out.h). `state`: after the step was taken.
json::Value shown(const Rules& rules, const State& state, const Proposal& proposal, const StepVerdict& verdict,
                  const Effects& effects, const Hiding* hiding = nullptr);
// {calls[{call_id, verdict, ...}], diagnostics[], session_killed}
json::Value shown(const RulingVerdict& verdict, const Effects& effects);
// {verdict, reason?, failures[], diagnostics[], session_killed}
json::Value shown(const StartVerdict& verdict, const Effects& effects);
// {state, reason?, failures[], diagnostics[], session_killed, allowed_error?}
json::Value shown(const SettleVerdict& verdict, const Effects& effects);
// {verdict, reason?, failures[], diagnostics[], tools[]}
json::Value shown(const Rules& rules, const PreflightVerdict& verdict);

// {standing, phase?, mode, gate, paused, labels[], bindings{}, forbidden[{tool, by}], tools[], counters{}, open_calls[]}
json::Value shown(const Rules& rules, const State& state);

}  // namespace baton::session
