// SPDX-License-Identifier: Apache-2.0
// Inside the engine: one call judged, check by check. It is judged on the state and on what earlier calls of the same response will
// do if they go ahead; never on what it would do itself, which is why calls that are judged again are left out of every count.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "session/decide.h"
#include "session/tests.h"
#include "session/totals.h"

namespace baton::session {

// What an aggregate comes to without the call that is judged, for all calls of a step: each takes into account all that is open, and
// numbers may be long. Of one state, and of one `left_out`.
class Tallies {
 public:
  // `beside.ahead` only grows from one question to the next.
  const Tally& of(const Rules& rules, const State& state, std::uint32_t aggregate, const Beside& beside);

 private:
  struct Kept {
    Tally tally;
    std::size_t ahead;  // how many of them are in it
  };
  std::map<std::uint32_t, Kept> kept_;
};

struct Step {
  const Proposal* proposal = nullptr;  // null: a call is judged again
  std::vector<Ahead> ahead = {};
  std::vector<LoopStep::Call> proposed = {};   // all earlier calls of the response, those that were blocked too
  std::size_t position = 0;                    // of the call among those of the response
  std::vector<const OpenCall*> left_out = {};  // what is judged again
  std::optional<json::Decimal> estimate = {};
  const Commons* commons = nullptr;
  std::uint32_t number = kNone;  // of a call that was proposed before; kNone: it is proposed now
  mutable Tallies tallies = {};
};

class Judge {
 public:
  Judge(const Rules& rules, const State& state, ToolId tool, const Step& step, const Hiding* hiding)
      : rules_(rules),
        plan_(*rules.plan),
        state_(state),
        tool_(rules.tool(tool)),
        tool_rules_(rules.tools[tool]),
        id_(tool),
        step_(step),
        environment_{plan_.environment, state.environment, hiding},
        hiding_(hiding) {}

  // All checks; `arguments` null: those that depend on the arguments alone were made before and have passed.
  void all(const Values* arguments, CallVerdict& out);
  // Items 12 to 16, of arguments that differ from those that were judged: a precondition may be about what they name.
  void arguments_again(const Values& arguments, CallVerdict& out);

  void labels(CallVerdict& out);
  void forbidden(CallVerdict& out);
  void execution_constraints(const Values& arguments, CallVerdict& out);
  void aggregates(CallVerdict& out);
  void envelopes(CallVerdict& out);
  void resources(CallVerdict& out);
  // May the call execute now, as far as others of its workflow go that want the same? Refused: it waits.
  void serial(const SharedCall& call, CallVerdict& out);
  bool is_serial(const CallVerdict& call) const;  // is it one of those that execute one at a time?
  // What a person must be asked; nothing when nobody must.
  std::optional<Asked> checkpoints(const Values& arguments);
  void measure(const Values& arguments, std::vector<Fact>& facts);
  // The call as the loop knows it.
  static LoopStep::Call looped(ToolId tool, std::string_view digest);

 private:
  void one(contract::Check check, const Values* arguments, CallVerdict& out);
  void policy(CallVerdict& out);
  void gate(CallVerdict& out);
  void phase(CallVerdict& out);
  void limits(CallVerdict& out);
  void budgets(CallVerdict& out);
  void loop(CallVerdict& out);
  void response_format(CallVerdict& out);
  void boundary(CallVerdict& out);
  void preconditions(CallVerdict& out);
  void invariants(const Values& arguments, CallVerdict& out);
  void input_assertions(const Values& arguments, CallVerdict& out);
  void refs(CallVerdict& out);
  void envelope(std::span<const ToolRules::Stage> stages, CallVerdict& out);

  void hold_to(const std::vector<contract::Invariant>& list, const Values& arguments, contract::Scope scope, Code code,
               CallVerdict& out);
  void refuse(CallVerdict& out, Code code, const contract::PathAt* at, std::initializer_list<Argument> arguments,
              std::string detail = {});
  bool is_set(const std::string& variable) const;  // of the session's environment

  void entities(CallVerdict& out);

  // What the call names of shared resources, in their order.
  template <typename Each>
  void each_shared(const CallVerdict& call, const Each& each) const;

  // Is the tool one that this session may not call? Then refusals of others do not name it.
  bool is_kept_away(ToolId tool) const;

  const Rules& rules_;
  const Plan& plan_;
  const State& state_;
  const contract::Tool& tool_;
  const ToolRules& tool_rules_;
  const ToolId id_;
  const Step& step_;
  const Environment environment_;
  const Hiding* hiding_;
};

// What is exceeded of the workflow's budgets.
std::vector<Refusal> over_budget(const Commons& commons, const Spent& spent,
                                 const std::optional<json::Decimal>& estimate);

// A JSONPath as the JSON Pointer of the same place.
std::string pointer_of(const json::Path& path);

}  // namespace baton::session
