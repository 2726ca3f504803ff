// SPDX-License-Identifier: Apache-2.0
#include "translate/translate.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "checker/checker.h"
#include "dialects/agent_contract/contract.h"
#include "dialects/agent_exit/signal.h"
#include "dialects/handoff_spec/spec.h"
#include "dialects/uaix/packet.h"
#include "json/pointer.h"
#include "translate/draft.h"

namespace baton::translate {

json::Value handoff_document(const Handoff& handoff) {
  switch (handoff.dialect) {
    case Dialect::AgentExit: return agent_exit::from_handoff(handoff);
    case Dialect::AgentContract: return agent_contract::from_handoff(handoff);
    case Dialect::Uaix: return uaix::from_handoff(handoff);
    case Dialect::HandoffSpec: return handoff_spec::from_handoff(handoff);
  }
  CHECK(false);
}

namespace {

// Pairs that have nothing to say to each other. A spec asks for rights: no other dialect may create one, and none follows
// from its being written.
std::optional<std::string_view> unrelated(Dialect from, Dialect to) {
  if (from == to) return std::nullopt;
  if (to == Dialect::HandoffSpec) return "a handoff spec asks for rights, which no other handoff does";
  if (from == Dialect::HandoffSpec && to == Dialect::AgentExit)
    return "a handoff spec completes nothing, so there is no exit to signal";
  return std::nullopt;
}

// Members that the source's format fixes: they say nothing of their own.
std::vector<std::string> implied_by(Dialect dialect) {
  if (dialect == Dialect::AgentExit) return {"/protocol"};
  if (dialect == Dialect::Uaix) return {"/uai_version", "/profile"};
  return {};
}

class Supplier {
 public:
  Supplier(json::Value& target, std::vector<Diagnostic>& diagnostics) : target_(target), diagnostics_(diagnostics) {}

  void lay_under(const json::Value& with, const std::string& pointer) {
    for (const auto& [name, value] : with.members()) {
      std::string inner = pointer;
      json::append_pointer_token(inner, name);
      const json::Value* present = target_.find_at(inner);
      if (present != nullptr && present->is_object() && value.is_object()) lay_under(value, inner);
      else supply(inner, value);
    }
  }

  void supply(const std::string& pointer, const json::Value& value) {
    const json::Value* present = target_.find_at(pointer);
    if (present != nullptr) {
      if (!equal(*present, value)) diagnostics_.push_back(with_pointer(Code::TRANSLATE_SUPPLIED_CONFLICT, pointer, ""));
    } else if (pointer.empty() || !target_.set_at(pointer, value)) {
      diagnostics_.push_back(with_pointer(Code::TRANSLATE_SUPPLIED_PLACE, pointer, ""));
    }
  }

 private:
  json::Value& target_;
  std::vector<Diagnostic>& diagnostics_;
};

void copy_if_absent(json::Value& target, std::string_view from, std::string_view to) {
  const json::Value* value = target.find_at(from);
  // Only into an object that is there: a whole section is not conjured up for one member.
  const std::string parent(to.substr(0, to.rfind('/')));
  const json::Value* section = target.find_at(parent);
  if (value != nullptr && section != nullptr && section->is_object() && target.find_at(to) == nullptr)
    CHECK(target.set_at(to, json::Value(*value)));
}

void put_if_absent(json::Value& target, std::string_view pointer, json::Value value) {
  if (target.find_at(pointer) == nullptr) target.set_at(pointer, std::move(value));
}

// What a format fixes, and what one member says about another. None of it says anything new.
void complete(Dialect dialect, const Handoff& source, json::Value& target, std::vector<Diagnostic>& diagnostics) {
  switch (dialect) {
    case Dialect::AgentExit: put_if_absent(target, "/version", "1.0.0"); break;
    case Dialect::AgentContract: {
      // An empty list is legal and says "none", so it is said aloud. From a packet the lists must come from the caller.
      if (source.dialect == Dialect::Uaix) {
        for (const std::string_view name : {"open_gaps", "cross_layer_impacts"})
          put_if_absent(target, "/evidence_report/" + std::string(name), json::Value::array());
        break;
      }
      bool empty = false;
      for (const std::string_view name : {"patterns_checked", "files_checked", "commands_run", "verbatim_outputs",
                                          "cross_layer_impacts", "open_gaps"}) {
        const std::string pointer = "/evidence_report/" + std::string(name);
        if (target.find_at(pointer) != nullptr) continue;
        target.set_at(pointer, json::Value::array());
        empty = true;
      }
      if (empty) diagnostics.push_back(report(Code::TRANSLATE_EMPTY_EVIDENCE, place_named("/evidence_report")));
      break;
    }
    case Dialect::Uaix:
      put_if_absent(target, "/body/delegated_authorization/secret_values_included", false);
      copy_if_absent(target, "/delivery/task_ref", "/body/task_id");
      copy_if_absent(target, "/body/task_id", "/delivery/task_ref");
      copy_if_absent(target, "/target/id", "/body/target_agent_id");
      copy_if_absent(target, "/source/id", "/provenance/agent_id");
      copy_if_absent(target, "/conversation/sequence", "/delivery/sequence");
      copy_if_absent(target, "/delivery/sequence", "/conversation/sequence");
      put_if_absent(target, "/integrity/version", 1);
      put_if_absent(target, "/integrity/algorithm", "sha256");
      put_if_absent(target, "/integrity/canonicalization", "jcs-compatible-sorted-json");
      if (auto sealed = uaix::seal(target)) target = std::move(*sealed);
      break;
    case Dialect::HandoffSpec: break;
  }
}

std::string write_as(Dialect dialect, const json::Value& document) {
  if (dialect == Dialect::AgentContract) return agent_contract::write_block(document);
  return json::write_pretty(document) + "\n";
}

}  // namespace

Translation translate(const Handoff& source, const Options& options) {
  Translation out;
  if (const auto why = unrelated(source.dialect, options.to)) {
    out.diagnostics.push_back(report(Code::TRANSLATE_UNRELATED, {}, {{"what", *why}}));
    return out;
  }
  Draft draft(source);
  const bool same = source.dialect == options.to;
  if (same) draft.target() = handoff_document(source);
  else if (options.to == Dialect::AgentExit) map_to_agent_exit(draft);
  else if (options.to == Dialect::AgentContract) map_to_agent_contract(draft);
  else map_to_uaix(draft);
  out.diagnostics = std::move(draft.diagnostics());
  if (has_errors(out.diagnostics)) return out;

  Supplier supplier(draft.target(), out.diagnostics);
  if (options.with) supplier.lay_under(*options.with, "");
  for (const auto& [pointer, value] : options.set) supplier.supply(pointer, value);
  if (!same) complete(options.to, source, draft.target(), out.diagnostics);

  // The target's own checker judges; what it misses because it is not there is what the caller has to supply.
  out.text = write_as(options.to, draft.target());
  checker::Options check_options;
  check_options.dialect = options.to;
  check_options.now = options.now;
  check_options.profile = options.profile;
  for (Diagnostic& found : checker::check(out.text, check_options).diagnostics) {
    const bool absent = found.severity == Severity::Error && !found.place.pointer.empty() &&
                        draft.target().find_at(found.place.pointer) == nullptr;
    if (absent) found = with_pointer(Code::TRANSLATE_MISSING, found.place.pointer, dialect_name(options.to));
    else found.place.line = found.place.column = 0;  // of a text nobody has seen
    out.diagnostics.push_back(std::move(found));
  }
  if (!same) {
    draft.diagnostics().clear();
    draft.report_losses(dialect_name(options.to), implied_by(source.dialect));
    for (Diagnostic& loss : draft.diagnostics()) {
      if (options.strict) loss.severity = Severity::Error;
      out.diagnostics.push_back(std::move(loss));
    }
  }
  if (!has_errors(out.diagnostics)) out.document = std::move(draft.target());
  return out;
}

}  // namespace baton::translate
