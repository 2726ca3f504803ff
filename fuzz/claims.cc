// SPDX-License-Identifier: Apache-2.0
// What a handoff claims, against calls that were seen: any block, any calls. Whatever they are:
//   judging ends, within its limits, and gives the same answer twice
//   each claim has a pointer into the block, and what is not proven says why
//   a claim that is proven or contradicted names a call that was seen; without calls nothing is either
//   a call that was refused, or did not begin, proves nothing
//   what is said of it is text, JSON that can be made canonical, and bounded
//   a command that was seen to run and end well, claimed in the same words, is proven; one that was seen to fail is not
// The first byte chooses the calls' states; then come the block and the calls' arguments.
#include <set>

#include "base/limits.h"
#include "claims/claims.h"
#include "properties.h"
#include "shell/arguments.h"

namespace baton::fuzz {
namespace {

using claims::Report;
using claims::Seen;
using claims::SeenCall;
using claims::Verdict;
using json::Value;

std::string told(const Report& report) {
  return json::write(claims::list_value(report)) + json::write(claims::counts_value(report));
}

void check(const Report& report, const Seen& seen, std::string_view text) {
  require(report.claims.size() <= limits::kClaimsMax, "claims are bounded", text);
  require(report.count(Verdict::Proven) + report.count(Verdict::Unproven) + report.count(Verdict::Contradicted) ==
              report.claims.size() + report.left_out,
          "every claim is counted", text);
  std::set<std::string_view> ids;
  for (const SeenCall& call : seen.calls) ids.insert(call.id);
  for (const claims::Claim& claim : report.claims) {
    require(claim.pointer.starts_with("/evidence_report/"), "a claim is a part of the block", claim.pointer);
    require(claim.verdict == Verdict::Proven || !claim.why.empty(), "what is not proven says why", claim.claim);
    require(claim.call_id.empty() || ids.contains(claim.call_id), "a call that shows a claim was seen", claim.call_id);
    require(claim.verdict != Verdict::Proven || !claim.call_id.empty(), "what is proven is shown by a call",
            claim.claim);
    require(find_invalid_utf8(claim.claim) == claim.claim.size() && find_invalid_utf8(claim.why) == claim.why.size(),
            "what is said is text", claim.claim);
    if (claim.verdict == Verdict::Proven)
      for (const SeenCall& call : seen.calls)
        require(call.id != claim.call_id ||
                    (call.state != SeenCall::State::Refused && call.state != SeenCall::State::NotBegun),
                "a call that did not happen proves nothing", claim.claim);
  }
  if (seen.calls.empty())
    require(report.count(Verdict::Proven) == 0 && report.count(Verdict::Contradicted) == 0,
            "nothing is shown where nothing was seen", text);
  const std::string shown = json::write(claims::list_value(report));
  const json::Document document = parsed(shown, "a list is JSON");
  require(json::canonical(document.root(), json::Numbers::Exact).has_value(), "a list has a canonical form");
  for (const Diagnostic& one : claims::diagnostics_of(report))
    require(find_invalid_utf8(one.message) == one.message.size() && !one.message.empty(), "a diagnostic is text",
            one.message);
}

void run(Input input) {
  const std::uint8_t states = input.choice();
  const std::string block(input.part());
  const auto document = json::parse(block);
  Seen seen;
  std::size_t number = 0;
  std::string_view last;
  while (!input.rest().empty() && number < 40) {
    const std::string_view part = input.part();
    SeenCall call;
    call.id = "c" + std::to_string(number);
    call.state = static_cast<SeenCall::State>((states + number) % 6);
    const auto arguments = json::parse(part);
    if (arguments && arguments->root().is_object()) {
      call.tool = number % 3 == 0 ? "Read" : number % 3 == 1 ? "server/write_file" : "server/run_command";
      call.arguments = Value::copy(arguments->root());
    } else {
      if (find_invalid_utf8(part) != part.size()) continue;
      call.tool = "Bash";
      Value facts = shell::arguments_of(shell::parse(part), "/srv/app");
      facts.set("cwd", "/srv/app");
      call.arguments = Value::object();
      call.arguments.set("command", part);
      call.arguments.set("dev.baton", std::move(facts));
      last = part;
    }
    if (number % 4 == 1) call.exit_code = static_cast<int>(states % 3);
    seen.calls.push_back(std::move(call));
    ++number;
  }
  if (document) {
    const Report report = claims::judge(document->root(), seen);
    check(report, seen, block);
    require(told(report) == told(claims::judge(document->root(), seen)), "the same claims have the same answer", block);
    check(claims::judge(document->root(), {}), {}, block);
  }
  // One plain command that ran, claimed as it is.
  std::string command = "make";
  for (const char c : last.substr(0, 20)) command += is_alphanumeric(c) ? std::string(1, to_lower(c)) : " t";
  Value list = Value::array(), evidence = Value::object(), claim = Value::object();
  list.push(command);
  evidence.set("commands_run", std::move(list));
  claim.set("evidence_report", std::move(evidence));
  const std::string text = json::write(claim);
  const json::Document claimed = parsed(text, "a block is JSON");
  Seen one;
  one.calls.push_back({"c", "Bash", Value::object(), SeenCall::State::Ended, 0, {}});
  one.calls[0].arguments.set("command", command);
  Value facts = shell::arguments_of(shell::parse(command), "/srv/app");
  facts.set("cwd", "/srv/app");
  one.calls[0].arguments.set("dev.baton", std::move(facts));
  require(claims::judge(claimed.root(), one).count(Verdict::Proven) == 1, "a command that ran is proven", command);
  one.calls[0].state = SeenCall::State::Refused;
  one.calls[0].exit_code.reset();
  require(claims::judge(claimed.root(), one).count(Verdict::Proven) == 0, "a command that was refused is not", command);
  // What the model says beside the facts is no evidence.
  one.calls[0].state = SeenCall::State::Ended;
  one.calls[0].arguments.find("dev.baton")->set("command", "ls");
  require(claims::judge(claimed.root(), one).count(Verdict::Proven) == 0,
          "what is said beside the facts is no evidence", command);
}

}  // namespace
}  // namespace baton::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return baton::fuzz::fuzz_one([&] { baton::fuzz::run(baton::fuzz::Input(data, size)); });
}
