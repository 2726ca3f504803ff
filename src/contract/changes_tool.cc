// SPDX-License-Identifier: Apache-2.0
// The comparison of plans: a tool that both have.
#include <algorithm>
#include <map>

#include "contract/comparing.h"
#include "contract/words.h"

namespace baton::contract {
namespace {

using std::string;

Direction wider_if(bool wider) { return wider ? Direction::Wider : Direction::Narrower; }

Direction more_is_wider(std::int64_t was, std::int64_t is) { return was == is ? Direction::Same : wider_if(is > was); }

std::set<string> callable_in(const Tool& tool, const Plan& plan) {
  std::set<string> out;
  callable_phases(tool, plan).each([&](PhaseId phase) { out.insert(plan.phases[phase].name); });
  return out;
}

string phase_word(std::size_t count) { return count == 1 ? "the phase " : "the phases "; }

class ToolComparison {
 public:
  ToolComparison(Comparison& comparison, const Tool& was, const Tool& is)
      : to_(comparison), was_(was), is_(is), name_(is.name) {}

  void compare() {
    risk();
    phases();
    preconditions();
    forbids();
    arguments();
    response_format();
    approval();
    evidence();
    time();
    errors();
    binds();
  }

 private:
  void add(Effect effect, std::string_view field, string text) { to_.add(effect, name_, field, std::move(text)); }
  void add(Direction direction, std::string_view field, string text) {
    to_.add(direction, name_, field, std::move(text));
  }

  void risk() {
    if (was_.side_effect != is_.side_effect) {
      const bool was_mutating = is_mutating(was_.side_effect), is_now = is_mutating(is_.side_effect);
      string text = "it is a tool of the kind " + quoted(name_of(is_.side_effect)) +
                    " (before: " + string(name_of(was_.side_effect)) + ")";
      if (was_mutating != is_now)
        text += is_now ? ", and is held back where only reading goes on" : ", and goes on where only reading does";
      add(was_mutating == is_now ? Effect::Other
          : is_now               ? Effect::Blocks
                                 : Effect::Allows,
          "side_effect", std::move(text));
    }
    const auto gate_name = [](const std::optional<Gate>& gate) { return gate ? string(name_of(*gate)) : "none"; };
    const bool by_tool = was_.gate != is_.gate || was_.side_effect != is_.side_effect;
    const string gates = " (gate: " + gate_name(is_.gate) + ", before: " + gate_name(was_.gate) + ")";
    // Where only risk_defaults moved, the session says it.
    if (was_.passes_gate != is_.passes_gate) {
      if (by_tool)
        add(is_.passes_gate ? Effect::Allows : Effect::Blocks, "gate",
            (is_.passes_gate ? "the risk gate lets it through" : "the risk gate blocks every call") + gates);
    } else if (was_.gate != is_.gate) {
      add(Effect::Other, "gate", "its gate is written differently, with the same outcome" + gates);
    }
  }

  void phases() {
    const Plan &old_plan = to_.before, &new_plan = to_.after;
    const bool had = !old_plan.phases.empty(), has = !new_plan.phases.empty();
    const std::set<string> old_in = callable_in(was_, old_plan), new_in = callable_in(is_, new_plan);
    if (!had && has) {
      if (new_in.size() < new_plan.phases.size())
        add(Effect::Blocks, "transitions",
            "it may be called only in " + phase_word(new_in.size()) + listed(only_in(new_in, {})) +
                " (before: at any time)");
    } else if (had && !has) {
      if (old_in.size() < old_plan.phases.size())
        add(Effect::Allows, "transitions",
            "it may be called at any time (before: only in " + phase_word(old_in.size()) + listed(only_in(old_in, {})) +
                ")");
    } else if (had && has) {
      bool told = false;
      // A phase that came or went is the session's change, as far as tools are concerned that name no phases.
      const auto counts = [&](const Plan& other, const string& phase) {
        return was_.names_phases || is_.names_phases || other.find_phase(phase.substr(1, phase.size() - 2));
      };
      std::vector<string> gained = only_in(new_in, old_in), lost = only_in(old_in, new_in);
      std::erase_if(gained, [&](const string& phase) { return !counts(old_plan, phase); });
      std::erase_if(lost, [&](const string& phase) { return !counts(new_plan, phase); });
      if (!gained.empty())
        add(Effect::Allows, "transitions", "it may be called in " + phase_word(gained.size()) + listed(gained));
      if (!lost.empty())
        add(Effect::Blocks, "transitions", "it may no longer be called in " + phase_word(lost.size()) + listed(lost));
      told = !gained.empty() || !lost.empty();
      if (!told && (was_.names_phases != is_.names_phases ||
                    (is_.names_phases && named(was_, old_plan) != named(is_, new_plan))))
        add(Effect::Other, "transitions",
            "valid_in_phases is written differently; the phases it can be called in are the same");
    }
    const auto target = [](const Tool& tool, const Plan& plan) {
      return tool.advances_to ? plan.phases[*tool.advances_to].name : string();
    };
    const string from = target(was_, old_plan), to = target(is_, new_plan);
    if (from == to) return;
    add(Effect::Other, "transitions",
        "after a successful call the session " + (to.empty() ? "stays in its phase" : "is in the phase " + quoted(to)) +
            " (before: " + (from.empty() ? "it stayed in its phase" : "in " + quoted(from)) + ")");
  }

  static std::set<string> named(const Tool& tool, const Plan& plan) {
    std::set<string> out;
    tool.valid_in.each([&](PhaseId phase) { out.insert(plan.phases[phase].name); });
    return out;
  }

  string prior_name(const Precondition& one, bool after) const {
    return one.prior ? (after ? to_.after : to_.before).tools[*one.prior].name : string();
  }

  void preconditions() {
    auto left = unmatched<Precondition>(
        was_.preconditions, is_.preconditions,
        [&](const Precondition& one, bool after) { return words_of(one, after ? to_.after : to_.before); });
    for (const Precondition* old_one : left.was) {
      const auto found = std::ranges::find_if(
          left.is, [&](const Precondition* one) { return prior_name(*one, true) == prior_name(*old_one, false); });
      const string old_words = words_of(*old_one, to_.before);
      if (found == left.is.end()) {
        add(Effect::Allows, "preconditions", "it no longer has to wait until " + old_words);
        continue;
      }
      add(direction_of(*old_one, **found), "preconditions",
          "it may be called only " + words_of(**found, to_.after) + " (before: " + old_words + ")");
      left.is.erase(found);
    }
    for (const Precondition* one : left.is)
      add(Effect::Blocks, "preconditions", "it may be called only " + words_of(*one, to_.after) + " (new)");
  }

  Direction direction_of(const Precondition& was, const Precondition& is) {
    if (!was.prior) return more_is_wider(is.steps, was.steps);
    Direction out = Direction::Same;
    if (was.resource.has_value() != is.resource.has_value()) out = wider_if(!is.resource);
    else if (was.resource &&
             (was.resource->path != is.resource->path || was.prior_resource->path != is.prior_resource->path))
      out = Direction::Different;
    for (const PathChange& change : path_changes(was.with_output, to_.before, is.with_output, to_.after))
      out = both(out, change.direction);
    return out == Direction::Same ? Direction::Different : out;
  }

  void forbids() {
    std::set<string> was, is;
    for (const ToolId tool : was_.forbids) was.insert(to_.before.tools[tool].name);
    for (const ToolId tool : is_.forbids) is.insert(to_.after.tools[tool].name);
    forbids_per(was, is);
    for (const string& other : is)
      if (!was.contains(other))
        add(to_.before.find_tool(other) ? Effect::Blocks : Effect::Other, "forbids_after",
            other == name_ ? "it may run only once in a session (new)"
                           : "while a call of it is open and once it has run, " + quoted(other) +
                                 " is blocked for the rest of the session (new)");
    for (const string& other : was)
      if (!is.contains(other))
        add(to_.after.find_tool(other) ? Effect::Allows : Effect::Other, "forbids_after",
            other == name_ ? "it may run more than once in a session"
                           : "once it has run, " + quoted(other) + " is no longer blocked");
  }

  // What is forbidden of one entity; `was` and `is` have what is forbidden of all.
  void forbids_per(const std::set<string>& was, const std::set<string>& is) {
    const auto listed = [](const Tool& tool, const Plan& plan) {
      std::map<string, string> out;  // by how it is said
      for (const EntityForbid& one : tool.forbids_per)
        out.emplace(entity_forbid_in_words(one, plan), plan.tools[one.tool].name);
      return out;
    };
    const auto before = listed(was_, to_.before), after = listed(is_, to_.after);
    for (const auto& [words, other] : after)
      if (!before.contains(words))
        add(was.contains(other)           ? Effect::Allows
            : to_.before.find_tool(other) ? Effect::Blocks
                                          : Effect::Other,
            "forbids_after", words + " (new)");
    for (const auto& [words, other] : before)
      if (!after.contains(words))
        add(is.contains(other)           ? Effect::Blocks
            : to_.after.find_tool(other) ? Effect::Allows
                                         : Effect::Other,
            "forbids_after", "no longer: " + words);
  }

  void arguments() {
    to_.invariants(was_.arguments, is_.arguments, name_, "argument_value_invariants");
    to_.invariants(was_.execution_constraints, is_.execution_constraints, name_, "execution_constraints",
                   "in the arguments that are really handed over, ");
    to_.invariants(was_.input_assertions, is_.input_assertions, name_, "assertions.input_invariants",
                   "in what the model or the tool is given, ");
    to_.invariants(was_.output_assertions, is_.output_assertions, name_, "assertions.output_invariants",
                   "in what the model or the tool answers, ");
  }

  void response_format() {
    const auto &was = was_.response_format, &is = is_.response_format;
    if (was.has_value() != is.has_value()) {
      add(is ? Effect::Blocks : Effect::Allows, "response_format_invariants",
          is ? "the model's response that calls it must be known, and is checked (new)"
             : "the model's response that calls it is no longer checked");
      if (!is) return;
    }
    if (!is) return;
    const ResponseFormat old_format = was.value_or(ResponseFormat{});
    const auto one = [&](bool had, bool has, bool differs, const string& what) {
      if (had != has)
        add(has ? Effect::Blocks : Effect::Allows, "response_format_invariants",
            (has ? "the response must " : "the response need no longer ") + what);
      else if (differs)
        add(Direction::Different, "response_format_invariants", "the response must " + what + " (before: another)");
    };
    one(old_format.finish_reason.has_value(), is->finish_reason.has_value(),
        old_format.finish_reason != is->finish_reason,
        "end with the finish reason " + quoted(is->finish_reason.value_or(old_format.finish_reason.value_or(""))));
    one(old_format.content_empty, is->content_empty, false, "hold no text beside its calls");
    one(old_format.tool_calls_present.has_value(), is->tool_calls_present.has_value(),
        old_format.tool_calls_present != is->tool_calls_present,
        is->tool_calls_present.value_or(old_format.tool_calls_present.value_or(true)) ? "hold a tool call"
                                                                                      : "hold no tool call");
  }

  void approval() {
    if (was_.checkpoint && is_.checkpoint) to_.checkpoint(*was_.checkpoint, *is_.checkpoint, name_);
    else if (is_.checkpoint)
      add(Effect::Blocks, "checkpoint",
          "a person must approve " + when_in_words(*is_.checkpoint, to_.after) + " (new)");
    else if (was_.checkpoint)
      add(Effect::Allows, "checkpoint",
          "no person has to approve any more (before: " + when_in_words(*was_.checkpoint, to_.before) + ")");
    command();
    // One of the session's that looks at the kind of tool.
    if (was_.side_effect == is_.side_effect) return;
    for (const Checkpoint& now : to_.after.checkpoints) {
      const auto before = std::ranges::find(to_.before.checkpoints, now.name, &Checkpoint::name);
      if (before == to_.before.checkpoints.end() || now.side_effect != before->side_effect || !now.side_effect)
        continue;
      if (now.tool && to_.after.tools[*now.tool].name != name_) continue;
      const bool fired = *now.side_effect == was_.side_effect, fires = *now.side_effect == is_.side_effect;
      if (fired != fires)
        add(fires ? Effect::Blocks : Effect::Allows, "side_effect",
            "the approval " + quoted(now.name) + (fires ? " is needed" : " is no longer needed") +
                ", because of the kind of tool it is");
    }
  }

  // Content that was approved beforehand takes the place of the question: with it more goes ahead.
  void command() {
    const auto &was = was_.command_path, &is = is_.command_path;
    if (was && is && was->path != is->path)
      add(Direction::Different, "command_path",
          "content that a person approved permits one call whose " + words_of(is->path) +
              " is exactly that (before: its " + words_of(was->path) + ")");
    else if (is && !was)
      add(Effect::Allows, "command_path",
          "content that a person approved permits one call whose " + words_of(is->path) + " is exactly that (new)");
    else if (was && !is) add(Effect::Blocks, "command_path", "content that a person approved no longer permits a call");
  }

  void evidence() {
    if (was_.evidence != is_.evidence) {
      // Weakest last: what needs less proof counts as done more easily, and opens what comes after it.
      add(is_.evidence > was_.evidence ? Effect::Allows : Effect::Blocks, "evidence_class",
          string(is_.evidence > was_.evidence ? "less" : "more") + " proof is needed for it to count as done: " +
              quoted(name_of(is_.evidence)) + " (before: " + quoted(name_of(was_.evidence)) + ")");
    }
    if (was_.commit != is_.commit)
      add(is_.commit == Commit::None ? Effect::Allows : Effect::Blocks, "commit_requirement",
          is_.commit == Commit::None
              ? "it counts as done as soon as it is allowed (before: when it is acknowledged)"
              : "it counts as done only when it is acknowledged (before: as soon as it is allowed)");
  }

  void time() {
    const Retries &was = was_.retries, &is = is_.retries;
    add(more_is_wider(was_.total_ms, is_.total_ms), "timeouts",
        "a call may take " + duration_in_words(is_.total_ms) + " (before: " + duration_in_words(was_.total_ms) + ")");
    add(more_is_wider(was.max_attempts, is.max_attempts), "retries",
        "it is tried at most " + std::to_string(is.max_attempts) +
            " times (before: " + std::to_string(was.max_attempts) + ")");
    const std::set<string> was_on(was.retry_on.begin(), was.retry_on.end()),
        is_on(is.retry_on.begin(), is.retry_on.end());
    if (const auto more = only_in(is_on, was_on); !more.empty())
      add(Effect::Allows, "retries", "it is tried again after " + listed(more, "or"));
    if (const auto less = only_in(was_on, is_on); !less.empty())
      add(Effect::Blocks, "retries", "it is no longer tried again after " + listed(less, "or"));
    if (was.max_sleep_seconds != is.max_sleep_seconds)
      add(wider_if(is.max_sleep_seconds > was.max_sleep_seconds), "rate_limits",
          "after an answer 429 it waits at most " + is.max_sleep_seconds.text() +
              " seconds (before: " + was.max_sleep_seconds.text() + ")");
    if (was.respect_retry_after != is.respect_retry_after)
      add(Effect::Other, "rate_limits",
          is.respect_retry_after ? "after an answer 429 it waits as long as the answer asks for"
                                 : "after an answer 429 it no longer waits as long as the answer asks for");
  }

  void errors() {
    const auto left = unmatched<AllowedError>(was_.allowed_errors, is_.allowed_errors,
                                              [](const AllowedError& one, bool) { return words_of(one); });
    for (const AllowedError* one : left.is)
      add(Effect::Allows, "allowed_errors", words_of(*one) + " is expected, and not counted by the circuit breaker");
    for (const AllowedError* one : left.was)
      add(Effect::Blocks, "allowed_errors",
          words_of(*one) + " is no longer expected, and counted by the circuit breaker");
  }

  void binds() {
    const auto says = [&](const Bind& bind, bool after) {
      return words_of(bind.at.path) + " of its " + (bind.source == Source::Output ? "output" : "arguments") +
             " is remembered as " + quoted((after ? to_.after : to_.before).slots[bind.slot]);
    };
    const auto left = unmatched<Bind>(was_.binds, is_.binds, says);
    for (const Bind* one : left.is)
      add(Effect::Other, "binds", "after a successful call, " + says(*one, true) + " (new)");
    for (const Bind* one : left.was) add(Effect::Other, "binds", "no longer is it so that " + says(*one, false));
  }

  Comparison& to_;
  const Tool &was_, &is_;
  const string& name_;
};

}  // namespace

void Comparison::tool(const Tool& was, const Tool& is) { ToolComparison(*this, was, is).compare(); }

void Comparison::checkpoint(const Checkpoint& was, const Checkpoint& is, std::string_view tool) {
  const string field = is.name.empty() ? "checkpoint" : "checkpoints";
  const string which = is.name.empty() ? "the approval" : "the approval " + quoted(is.name);
  // How often it fires; the more often, the more waits.
  Direction fires = Direction::Same;
  if (was.conditions.empty() != is.conditions.empty()) fires = wider_if(is.conditions.empty());
  else if (!is.conditions.empty()) {
    const bool several = was.conditions.size() > 1 && is.conditions.size() > 1;
    if (several && was.match_all != is.match_all) fires = wider_if(was.match_all);
    // A condition that came is one more reason to ask (any), or one more that must hold as well (all).
    auto left = unmatched<Invariant>(was.conditions, is.conditions, [&](const Invariant& one, bool is_new) {
      return words_of(one, is_new ? after : before, Mood::Does);
    });
    for (const Invariant* one : left.was) {
      const auto found =
          std::ranges::find_if(left.is, [&](const Invariant* other) { return other->at.path == one->at.path; });
      fires = both(fires, found == left.is.end() ? wider_if(is.match_all) : direction_of(one->tests, (*found)->tests));
      if (found != left.is.end()) left.is.erase(found);
    }
    if (!left.is.empty()) fires = both(fires, wider_if(!is.match_all));
  }
  add(opposite(fires), tool, field,
      which + " is needed " + when_in_words(is, after) + " (before: " + when_in_words(was, before) + ")");
  if (fires == Direction::Same && was.match_all != is.match_all)
    add(Effect::Other, tool, field, which + " has another `match`, with the same outcome");

  if (was.side_effect != is.side_effect) {
    const auto kind = [](const std::optional<SideEffect>& effect) {
      return effect ? "tools of the kind " + quoted(name_of(*effect)) : string("tools of every kind");
    };
    const Direction asks = !is.side_effect    ? Direction::Wider
                           : !was.side_effect ? Direction::Narrower
                                              : Direction::Different;
    add(opposite(asks), tool, field,
        which + " is for " + kind(is.side_effect) + " (before: " + kind(was.side_effect) + ")");
  }
  if (was.allow_on_timeout != is.allow_on_timeout)
    add(is.allow_on_timeout ? Effect::Allows : Effect::Blocks, tool, field,
        "without an answer to " + which + " the call is " +
            (is.allow_on_timeout ? "allowed (before: denied)" : "denied (before: allowed)"));
  if (was.timeout_seconds != is.timeout_seconds) {
    const string text =
        which + " is waited for " + is.timeout_seconds.text() + " seconds (before: " + was.timeout_seconds.text() + ")";
    // More time to say yes, unless silence means yes.
    if (is.allow_on_timeout) add(Effect::Other, tool, field, text);
    else add(wider_if(is.timeout_seconds > was.timeout_seconds), tool, field, text);
  }
  const auto shown = [](const Checkpoint& checkpoint) {
    std::vector<string> out;
    for (const Checkpoint::Shown& one : checkpoint.context)
      out.push_back(one.label + " (" + words_of(one.at.path) + ")");
    return out;
  };
  if (const auto old_shown = shown(was), new_shown = shown(is); old_shown != new_shown)
    add(Effect::Other, tool, field,
        "whoever decides on " + which + " is shown " + (new_shown.empty() ? "nothing" : listed(new_shown)) +
            " (before: " + (old_shown.empty() ? "nothing" : listed(old_shown)) + ")");
}

}  // namespace baton::contract
