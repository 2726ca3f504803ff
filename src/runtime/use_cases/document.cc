// SPDX-License-Identifier: Apache-2.0
#include "runtime/use_cases/document.h"

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "base/sha256.h"
#include "checker/checker.h"
#include "dialects/agent_contract/contract.h"
#include "dialects/agent_exit/signal.h"
#include "dialects/uaix/packet.h"
#include "json/canonical.h"
#include "json/parse.h"

namespace baton::runtime {
namespace {

constexpr std::array kAmbiguous = {Code::EXIT_AMBIGUOUS, Code::HANDOFF_AMBIGUOUS, Code::LOCATE_AMBIGUOUS};

bool contains(const std::vector<Diagnostic>& diagnostics, Code code) {
  return std::ranges::any_of(diagnostics, [&](const Diagnostic& one) { return one.code == code; });
}

checker::Report check(const std::string& text, const checker::Options& options) {
  checker::Report report = checker::check(text, options);
  // A contract that is sent by itself needs no fence around it.
  if (report.dialect == Dialect::AgentContract && contains(report.diagnostics, Code::HANDOFF_BLOCK_MISSING) &&
      json::parse(text))
    return checker::check(agent_contract::in_fence(text), options);
  return report;
}

json::Value document_of(const Handoff& handoff) {
  switch (handoff.dialect) {
    case Dialect::AgentExit: return agent_exit::from_handoff(handoff);
    case Dialect::AgentContract: return agent_contract::from_handoff(handoff);
    case Dialect::Uaix: return uaix::from_handoff(handoff);
    case Dialect::HandoffSpec: break;
  }
  return json::Value::object();
}

std::vector<Diagnostic> errors_of(const std::vector<Diagnostic>& diagnostics) {
  std::vector<Diagnostic> out;
  for (const Diagnostic& one : diagnostics)
    if (one.severity == Severity::Error) out.push_back(one);
  return out;
}

}  // namespace

ReadDocument read_document(std::string text, const workspace::Config& config, Time now) {
  ReadDocument out;
  const auto refuse = [&](Diagnostic diagnostic) {
    out.refused.push_back(std::move(diagnostic));
    return std::move(out);
  };
  if (text.size() > limits::kHandoffTextBytesMax) {
    // The flag comes before size: what is too large to be looked at closely is a signal when it says so anywhere.
    if (!config.policy.exit_protocol && text.find(agent_exit::kProtocol) != std::string::npos)
      return refuse(report(Code::EXIT_DISABLED, {}));
    return refuse(
        report(Code::HANDOFF_TOO_LARGE, {},
               {{"bytes", std::to_string(text.size())}, {"max", std::to_string(limits::kHandoffTextBytesMax)}}));
  }
  checker::Options options;
  options.now = now;
  checker::Report checked = check(text, options);
  // Off refuses everything, before size or syntax. It is about signals alone.
  if (checked.dialect == Dialect::AgentExit && !config.policy.exit_protocol)
    return refuse(report(Code::EXIT_DISABLED, {}));
  if (checked.dialect == Dialect::HandoffSpec)
    return refuse(report(Code::HANDOFF_DIALECT_NOT_TAKEN, {}, {{"what", "a handoff spec asks for rights"}}));
  out.refused = errors_of(checked.diagnostics);
  for (Diagnostic& one : checked.diagnostics)
    if (std::ranges::find(kAmbiguous, one.code) != kAmbiguous.end()) {
      one.severity = Severity::Error;
      out.refused.push_back(one);
    }
  if (!out.refused.empty()) return out;
  if (!checked.handoff)
    return refuse(
        report(Code::HANDOFF_DIALECT_NOT_TAKEN, {}, {{"what", "a packet of this profile hands nothing over"}}));

  Document& document = out.document.emplace();
  document.handoff = std::move(*checked.handoff);
  // What may be written is judged when the session is known.
  std::erase_if(checked.diagnostics,
                [](const Diagnostic& one) { return one.code == Code::HANDOFF_UPDATE_CONTRACT_NOT_WRITABLE; });
  document.warnings = std::move(checked.diagnostics);
  document.digest = sha256_hex(text);
  document.raw = std::move(text);
  const json::Value value = document_of(document.handoff);
  // Its numbers were read already: a double beyond all bounds is the only thing that has no canonical form.
  if (!json::append_canonical(document.canonical, value, json::Numbers::Exact)) document.canonical = json::write(value);
  if (document.dialect() == Dialect::Uaix)
    if (const auto parsed = json::parse(document.canonical))
      document.replay_digest = uaix::replay_digest(parsed->root()).value_or(document.digest);
  return out;
}

std::string words_of(const json::Value* value) {
  if (value == nullptr || value->is_null()) return "";
  if (value->is_string()) return value->string();
  if (!value->is_array()) return json::write(*value);
  std::string out;
  for (const json::Value& element : value->elements()) {
    if (!out.empty()) out += "\n";
    out += element.is_string() ? element.string() : json::write(element);
  }
  return out;
}

}  // namespace baton::runtime
