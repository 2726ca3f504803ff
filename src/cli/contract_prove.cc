// SPDX-License-Identifier: Apache-2.0
// baton contract prove: what holds of every session of a pack.
#include <algorithm>

#include "base/text.h"
#include "cli/contract.h"
#include "cli/pack.h"
#include "cli/render.h"
#include "secrets/detector.h"
#include "session/prove.h"

namespace baton::cli {
namespace {

using session::Answer;

struct Arguments {
  std::string pack = ".", role, format = "human";
  std::vector<std::string> never;
  bool always_finish = false;
  session::ProveBudget budget;
};

class Prove {
 public:
  Prove(World& world, const Arguments& arguments) : world_(world), arguments_(arguments) {}

  int run() {
    if (arguments_.never.empty() && !arguments_.always_finish)
      return could_not(world_, "there is nothing to prove: give --never CLAIM or --always-finish");
    const auto plan = need_plan(world_, arguments_.pack, arguments_.role);
    if (!plan) return kCouldNot;
    std::vector<session::Claim> claims;
    for (const std::string& text : arguments_.never) {
      auto claim = session::read_claim(*plan, text);
      if (const auto* fault = std::get_if<session::ClaimFault>(&claim)) return misread(text, *fault);
      claims.push_back(std::get<session::Claim>(std::move(claim)));
    }
    const auto rules = session::make_rules(plan);
    for (const session::Claim& claim : claims)
      tell("never", claim.text, session::prove_never(rules, claim, arguments_.budget));
    if (arguments_.always_finish) {
      const session::FinishProof proof = session::prove_finish(rules, arguments_.budget);
      tell("always_finish", "", proof);
      tell_notes(proof);
    }
    const std::vector<std::string> left_out = session::abstracted(*plan, arguments_.budget);
    if (arguments_.format == "json") {
      json::Value out = json::Value::object();
      out.set("agent", plan->agent);
      out.set("plan", plan->hash);
      out.set("proofs", std::move(proofs_));
      json::Value list = json::Value::array();
      for (const std::string& one : left_out) list.push(one);
      out.set("abstracted", std::move(list));
      world_.print(json::write(redacted(out)) + "\n");
    } else {
      text_ += "\nWhat was left out, and taken for granted:\n";
      for (const std::string& one : left_out) text_ += "  - " + one + "\n";
      world_.print(secrets::redact(text_));
    }
    return status_;
  }

 private:
  int misread(const std::string& text, const session::ClaimFault& fault) {
    return could_not(world_, "--never: " + fault.problem + "\n  " + printable(text, 200) + "\n  " +
                                 std::string(std::min<std::size_t>(fault.column - 1, 200), ' ') + "^ column " +
                                 std::to_string(fault.column));
  }

  void tell(std::string_view kind, const std::string& claim, const session::Proof& proof) {
    // All of it is asked: one that is refuted makes the answer no, whatever is left open beside it.
    if (proof.answer == Answer::Refuted) status_ = kNo;
    if (proof.answer == Answer::NotDecided && status_ == kYes) status_ = kCouldNot;
    json::Value one = json::Value::object();
    one.set("kind", kind);
    if (!claim.empty()) one.set("claim", claim);
    one.set("answer", name_of(proof.answer));
    one.set("why", proof.why);
    one.set("states", proof.states);
    json::Value trace = json::Value::array();
    for (const session::Traced& step : proof.trace) trace.push(as_json(step));
    one.set("trace", std::move(trace));
    if (proof.unproven) {
      json::Value unproven = json::Value::array();
      for (const session::Traced& step : proof.unproven_trace) unproven.push(as_json(step));
      one.set("unproven_trace", std::move(unproven));
    }
    proofs_.push(std::move(one));

    if (!text_.empty()) text_ += "\n";
    std::string answer(name_of(proof.answer));
    std::ranges::replace(answer, '_', ' ');
    text_ += (claim.empty() ? std::string("always finish") : "never " + claim) + ": " + answer + "\n  " + proof.why +
             " (" + std::to_string(proof.states) + (proof.states == 1 ? " state" : " states") + ")\n";
    std::size_t number = 0;
    for (const session::Traced& step : proof.trace) text_ += line_of(++number, step);
    if (proof.unproven)
      text_ +=
          "  Calls that fail because an ok answer lacks evidence do not count here, and may have had their effect. "
          "`max_calls_per_tool` limits them, too.\n";
  }

  static json::Value as_json(const session::Traced& step) {
    json::Value out = json::Value::object();
    out.set("what", name_of(step.what));
    out.set("tool", step.tool);
    if (!step.phase_before.empty()) {
      out.set("phase_before", step.phase_before);
      out.set("phase_after", step.phase_after);
    }
    if (step.approved) out.set("approved", true);
    if (!step.arguments.is_null()) out.set("arguments", step.arguments);
    if (!step.output.is_null()) out.set("output", step.output);
    return out;
  }

  static std::string line_of(std::size_t number, const session::Traced& step) {
    std::string out = "  " + std::to_string(number) + ". " + step.tool;
    switch (step.what) {
      case session::Traced::What::Called: break;
      case session::Traced::What::Proposed: out += " is proposed"; break;
      case session::Traced::What::Begun: out += " begins"; break;
      case session::Traced::What::Committed: out += " is committed"; break;
      case session::Traced::What::Failed: out += " fails"; break;
      case session::Traced::What::Unproven: out += " fails: its ok answer lacks evidence"; break;
      case session::Traced::What::Lost: out += " is lost: nobody knows what became of it"; break;
    }
    if (!step.arguments.is_null()) out += " " + printable(json::write(redacted(step.arguments)), 300);
    if (step.approved) out += ", approved";
    if (!step.output.is_null()) out += " -> " + printable(json::write(redacted(step.output)), 300);
    if (step.phase_before != step.phase_after) out += "  [" + step.phase_before + " -> " + step.phase_after + "]";
    return out + "\n";
  }

  void tell_notes(const session::FinishProof& proof) {
    json::Value& one = proofs_.elements().back();
    const auto add = [&](std::string_view name, std::string_view title,
                         const std::vector<session::FinishProof::Note>& notes) {
      json::Value list = json::Value::array();
      if (!notes.empty()) text_ += "  " + std::string(title) + ":\n";
      for (const auto& note : notes) {
        json::Value entry = json::Value::object();
        entry.set("name", note.name);
        entry.set("text", note.text);
        list.push(std::move(entry));
        text_ += "    " + note.name + ": " + note.text + "\n";
      }
      one.set(name, std::move(list));
    };
    add("used_up", "limits that can be used up before the end", proof.used_up);
    add("labels", "labels after which there is none", proof.labels);
    add("unknowns", "outcomes that have to be resolved first", proof.unknowns);
  }

  World& world_;
  const Arguments& arguments_;
  json::Value proofs_ = json::Value::array();
  std::string text_;
  int status_ = kYes;
};

}  // namespace

void add_contract_prove(Command& contract, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = contract.add_subcommand("prove", "Prove what holds of every session of a pack");
  command->add_option("PACK", arguments->pack, "The folder of the pack (default: this one)");
  command->add_option("--role", arguments->role, "Of a workflow: the pack of this role");
  command
      ->add_option("--never", arguments->never,
                   "What must never be: `A without B`, `A after B`, `A twice`, `A more than N times`, `A in PHASE`, "
                   "`A`, or `end "
                   "without B`; may be given again")
      ->allow_extra_args(false);
  command->add_flag("--always-finish", arguments->always_finish, "From every state a session can come to an end");
  command->add_flag("--one-at-a-time", arguments->budget.one_at_a_time,
                    "Take it that the host lets each call end before it proposes the next");
  command
      ->add_option("--budget", arguments->budget.states,
                   "How many states to look at (default: 300000) before giving up")
      ->between(std::size_t{1}, std::size_t{10'000'000});
  command->add_option("--format", arguments->format, "human or json")->one_of({"human", "json"});
  examples(
      *command,
      "  baton contract prove my-pack --always-finish\n"
      "  baton contract prove my-pack --never 'refund without approve' --never 'refund twice'\n"
      "  baton contract prove desk --role trader --never 'submit_live_order without approve_risk_check' --format json\n"
      "  # 0: everything is proved; 1: something is refuted, with the calls that show it; 2: not decided, and why");
  command->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return Prove(world, *arguments).run(); }; });
}

}  // namespace baton::cli
