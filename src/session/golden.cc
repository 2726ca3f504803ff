// SPDX-License-Identifier: Apache-2.0
#include "session/golden.h"

#include "json/canonical.h"
#include "json/parse.h"
#include "session/decide.h"
#include "session/judge.h"
#include "session/settle.h"

namespace baton::session {
namespace {

std::string text_of(json::Node node) { return node.is_string() ? std::string(node.string()) : std::string(); }

json::Node or_empty_object(json::Node node) {
  static const json::Document kNothing = std::move(*json::parse("{}"));
  return node ? node : kNothing.root();
}

// --- the session a case is judged in ----------------------------------------------------------------------------------------------

class Seed {
 public:
  Seed(const Rules& rules, json::Node body) : rules_(rules), body_(body) {}

  // What is wrong with the case; empty: nothing, and `state` is as it says.
  std::string plant(State& state) {
    const Plan& plan = *rules_.plan;
    if (plan.needs_principal && !body_["principal"])
      return "the pack asks who the principal is, and the case has none (PRINCIPAL_REQUIRED)";
    Opening opening;
    for (const json::Node label : body_["labels"].elements()) opening.labels.push_back(text_of(label));
    opening.denied = denied_by_policy(plan, body_["principal"]);
    state = open(rules_, opening);
    for (const json::Node call : body_["history"].elements())
      if (std::string problem = commit(state, call); !problem.empty()) return problem;
    for (const json::Member slot : body_["bindings"].members()) {
      const auto id = plan.find_slot(slot.name());
      if (!id) return "there is no slot `" + std::string(slot.name()) + "`";
      Fact& fact = state.slots[*id];
      fact.clear();
      if (!slot.value.is_null()) json::append_canonical(fact, slot.value, json::Numbers::Exact);
    }
    if (body_["phase"]) {
      const auto phase = plan.find_phase(text_of(body_["phase"]));
      if (!phase) return "there is no phase `" + text_of(body_["phase"]) + "`";
      state.phase = *phase;
    }
    return {};
  }

 private:
  // A call of the history has been allowed and has happened: it is not judged, but what it leaves behind is its own.
  std::string commit(State& state, json::Node call) {
    const std::string name = text_of(call["tool"]);
    const std::string which = "call " + std::to_string(++made_) + " of the history, of `" + name + "`, ";
    const auto tool = rules_.plan->find_tool(name);
    if (!tool) return which + "is of no tool of the pack";
    const json::Node arguments = or_empty_object(call["arguments"]);
    TakenStep step;
    TakenCall& taken = step.calls.emplace_back();
    taken.id = "history:" + std::to_string(made_);
    taken.tool = *tool;
    taken.verdict = Verdict::Allow;
    taken.digest = digest_of(arguments).value_or("");
    const Step alone;
    Judge(rules_, state, *tool, alone, nullptr).measure(Values::of_call(arguments), taken.facts);
    take_step(rules_, state, step);
    std::unique_ptr<json::Document> parsed;
    const Values output = Values::of_document(parsed_output(or_empty_object(call["output"]), parsed));
    take_settlement(rules_, state, committed_with(rules_, state, *state.find(taken.id), output));
    return {};
  }

  const Rules& rules_;
  const json::Node body_;
  std::size_t made_ = 0;
};

// --- one case ---------------------------------------------------------------------------------------------------------------------

struct Seen {
  Verdict verdict = Verdict::Allow;
  std::string reason;          // of a block
  std::string failed_with;     // of a call that went ahead and did not commit with its output
  std::string because;         // in words
  std::string could_not = {};  // not empty: the case itself is wrong, and nothing was judged

  std::string words() const {
    if (!could_not.empty()) return "no decision";
    if (verdict == Verdict::Block) return "block:" + reason;
    return std::string(name_of(verdict)) + (failed_with.empty() ? "" : ", then failed:" + failed_with);
  }
};

Seen judge(const Rules& rules, const contract::Tool& tool, json::Node body) {
  Seen out;
  State state;
  out.could_not = Seed(rules, body).plant(state);
  if (!out.could_not.empty()) return out;
  Proposal proposal;
  proposal.calls.push_back({"case", tool.name, Values::of_call(or_empty_object(body["arguments"])), {}});
  const StepVerdict verdict = decide(rules, state, proposal);
  const CallVerdict& call = verdict.calls.front();
  out.verdict = call.verdict;
  if (!call.failures.empty()) {
    out.reason = info(call.failures.front().code()).name;
    out.because = call.failures.front().diagnostic.message;
  }
  if (call.verdict != Verdict::Allow || !body["output"]) return out;
  take_step(rules, state, step_of(proposal, verdict));
  Receipt receipt;
  std::unique_ptr<json::Document> parsed;
  if (!body["output"].is_null()) receipt.output = Values::of_document(parsed_output(body["output"], parsed));
  const SettleVerdict settled = settle(rules, state, "case", receipt);
  if (!settled.failures.empty()) {
    out.failed_with = info(settled.failures.front().code()).name;
    out.because = settled.failures.front().diagnostic.message;
  }
  return out;
}

// Both shapes of expectation as one question.
void compare(json::Node entry, const Seen& seen, GoldenReport& out) {
  out.got = seen.words();
  out.because = seen.could_not.empty() ? seen.because : seen.could_not;
  bool same = false;
  if (entry["input_ref"] && !entry["expect_ok"].is_true()) {
    const std::string error = text_of(entry["expected_error"]);
    out.expected = "refused with " + error;
    same = error == (seen.verdict == Verdict::Block ? seen.reason : seen.failed_with) && !error.empty();
  } else {
    Seen wanted;
    const std::string reason = text_of(entry["expect"]["reason"]);
    wanted.verdict = entry["input_ref"] ? Verdict::Allow
                                        : verdict_named(text_of(entry["expect"]["verdict"])).value_or(Verdict::Allow);
    (wanted.verdict == Verdict::Block ? wanted.reason : wanted.failed_with) = reason;
    out.expected = wanted.words();
    same = out.expected == out.got;
    // A block for whatever reason.
    if (wanted.verdict == Verdict::Block && reason.empty()) {
      out.expected = "block";
      same = seen.verdict == Verdict::Block;
    }
  }
  if (!seen.could_not.empty()) same = false;
  out.outcome = same ? GoldenReport::Outcome::AsExpected : GoldenReport::Outcome::Differs;
}

bool is_for_live_only(json::Node entry) {
  if (!entry["provider_modes"]) return false;
  for (const json::Node mode : entry["provider_modes"].elements())
    if (mode.is_text("recorded")) return false;
  return true;
}

}  // namespace

std::string_view name_of(GoldenReport::Outcome outcome) {
  switch (outcome) {
    case GoldenReport::Outcome::AsExpected: return "as_expected";
    case GoldenReport::Outcome::Differs: return "differs";
    case GoldenReport::Outcome::Skipped: return "skipped";
  }
  return "";
}

std::vector<GoldenReport> judge_golden(const Rules& rules, const std::map<std::string, std::string>& files,
                                       std::string_view only) {
  std::vector<GoldenReport> out;
  for (const contract::Tool& tool : rules.plan->tools)
    for (const contract::Golden& golden : tool.golden) {
      if (!only.empty() && only != golden.id && only != tool.name + "/" + golden.id) continue;
      GoldenReport& report = out.emplace_back();
      report.tool = tool.name;
      report.id = golden.id;
      report.file = tool.file;
      report.line = golden.line;
      report.input_ref = golden.input_ref;
      const auto entry = json::parse_owned(json::write(golden.body));
      if (is_for_live_only(entry->root())) {
        report.outcome = GoldenReport::Outcome::Skipped;
        report.because = "it is for live runs only";
        continue;
      }
      if (golden.input_ref.empty()) {
        compare(entry->root(), judge(rules, tool, entry->root()), report);
        continue;
      }
      const auto text = files.find(golden.input_ref);
      const auto body = json::parse_owned(text == files.end() ? std::string() : text->second);
      Seen seen;
      if (body) seen = judge(rules, tool, body->root());
      else seen.could_not = golden.input_ref + " cannot be read";
      compare(entry->root(), seen, report);
    }
  return out;
}

}  // namespace baton::session
