// SPDX-License-Identifier: Apache-2.0
// The checks of a contract, row by row as the format's table has them.
#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "dialects/agent_contract/block.h"
#include "dialects/agent_contract/contract.h"
#include "json/decimal.h"
#include "json/parse.h"
#include "json/pointer.h"

namespace baton::agent_contract {
namespace {

enum class List { Missing, Invalid, Warning };

constexpr std::array<std::string_view, 11> kFields = {
    "agent_status",     "evidence_report",     "consolidation_report",    "approval_request",
    "loop_state",       "user_facing_summary", "memorialize_suggestions", "memory_suggestions",
    "update_contracts", "rollback_executed",   "context_consumption",
};

struct EvidenceList {
  std::string_view name;
  Code code;
};
constexpr std::array<EvidenceList, 7> kEvidence = {{
    {"patterns_checked", Code::HANDOFF_PATTERNS_CHECKED},
    {"files_checked", Code::HANDOFF_FILES_CHECKED},
    {"commands_run", Code::HANDOFF_COMMANDS_RUN},
    {"key_outputs", Code::HANDOFF_KEY_OUTPUTS},
    {"verbatim_outputs", Code::HANDOFF_VERBATIM_OUTPUTS},
    {"cross_layer_impacts", Code::HANDOFF_CROSS_LAYER_IMPACTS},
    {"open_gaps", Code::HANDOFF_OPEN_GAPS},
}};
constexpr std::array<EvidenceList, 6> kConsolidation = {{
    {"ownership_assessment", Code::HANDOFF_OWNERSHIP_ASSESSMENT},
    {"confirmed_findings", Code::HANDOFF_CONFIRMED_FINDINGS},
    {"suspected_findings", Code::HANDOFF_SUSPECTED_FINDINGS},
    {"conflicts", Code::HANDOFF_CONFLICTS},
    {"open_gaps", Code::HANDOFF_CONSOLIDATION_OPEN_GAPS},
    {"next_best_agent", Code::HANDOFF_NEXT_BEST_AGENT},
}};
constexpr std::array<std::string_view, 3> kOwnership = {"owned_here", "cross_surface_dependency", "not_my_surface"};
constexpr std::array<std::string_view, 4> kRiskLevels = {"LOW", "MEDIUM", "HIGH", "CRITICAL"};
constexpr std::array<std::string_view, 3> kMemoryTypes = {"atom", "decision", "negative"};
constexpr std::array<std::string_view, 3> kMemoryClasses = {"anchor", "thread", "log"};

template <std::size_t N>
bool is_one_of(json::Node node, const std::array<std::string_view, N>& words) {
  return node.is_string() && std::find(words.begin(), words.end(), node.string()) != words.end();
}

// `a` and five or more lower-case hexadecimal digits.
bool is_agent_id(json::Node node) {
  if (!node.is_string()) return false;
  const std::string_view id = node.string();
  return id.size() >= 6 && id[0] == 'a' && std::all_of(id.begin() + 1, id.end(), is_lower_hex);
}

// What `<x>` stands for: the string as decoded, or the JSON of anything else.
std::string shown(json::Node node) { return node.is_string() ? std::string(node.string()) : json::write(node); }

bool is_blank_string(json::Node node) { return node.is_string() && is_blank_text(node.string()); }
// Absent, null or a blank string.
bool is_nothing(json::Node node) { return !node || node.is_null() || is_blank_string(node); }

class Check {
 public:
  Check(json::Node root, const Options& options, Checked& out) : root_(root), options_(options), out_(out) {}

  void run() {
    check_status();
    check_evidence();
    check_verification();
    check_consolidation();
    check_approval();
    check_loop();
    check_updates();
    check_memory();
    check_unknown();
  }

 private:
  void add(List list, Code code, Place place, std::initializer_list<Argument> arguments = {},
           std::optional<std::string> argument = std::nullopt) {
    Diagnostic diagnostic = report(code, std::move(place), arguments);
    if (argument) diagnostic.argument = std::move(*argument), diagnostic.has_argument = true;
    diagnostic.severity = list == List::Warning ? Severity::Warning : Severity::Error;
    auto& names = list == List::Missing ? out_.missing : list == List::Invalid ? out_.invalid : out_.warnings;
    names.push_back(wire_name(diagnostic));
    if (!full()) out_.diagnostics.push_back(std::move(diagnostic));
  }

  // The wire lists are complete; only so many of them become diagnostics with a place.
  bool full() const { return out_.diagnostics.size() >= limits::kDiagnosticsMax; }
  Place place(json::Node node) const { return full() ? Place{} : place_of(node); }

  void missing(Code code, json::Node parent, std::string_view member) {
    add(List::Missing, code, place_of_absent(parent, member), {{"problem", "is missing"}});
  }
  void wrong_type(Code code, json::Node node, std::string_view expected) {
    const std::string problem =
        "is " + std::string(json::kind_name(node.kind())) + ", expected " + std::string(expected);
    add(List::Invalid, code, place(node), {{"problem", problem}}, "type");
  }
  void wrong_value(Code code, json::Node node) {
    const std::string problem = "is `" + shown(node) + "`";
    add(List::Invalid, code, place(node), {{"problem", problem}}, shown(node));
  }

  void check_status() {
    const json::Node status = root_["agent_status"];
    if (!status.is_object()) {
      add(List::Missing, Code::HANDOFF_AGENT_STATUS, place_of_absent(root_, "agent_status"));
      for (const auto& [code, member] : {std::pair{Code::HANDOFF_PLAN_STATUS, "plan_status"},
                                         {Code::HANDOFF_AGENT_ID, "agent_id"},
                                         {Code::HANDOFF_PENDING_STEPS, "pending_steps"},
                                         {Code::HANDOFF_NEXT_ACTION, "next_action"}})
        add(List::Missing, code, place_named("/agent_status/" + std::string(member)), {{"problem", "is missing"}});
      return;
    }
    const json::Node plan_status = status["plan_status"];
    if (!plan_status) missing(Code::HANDOFF_PLAN_STATUS, status, "plan_status");
    else if (!plan_status.is_string() || !find_status(plan_status.string()))
      wrong_value(Code::HANDOFF_PLAN_STATUS, plan_status);
    else status_ = find_status(plan_status.string());

    const json::Node agent_id = status["agent_id"];
    if (!agent_id) missing(Code::HANDOFF_AGENT_ID, status, "agent_id");
    else if (!is_agent_id(agent_id)) wrong_value(Code::HANDOFF_AGENT_ID, agent_id);

    const json::Node pending_steps = status["pending_steps"];
    if (!pending_steps || pending_steps.is_null()) missing(Code::HANDOFF_PENDING_STEPS, status, "pending_steps");
    else if (!pending_steps.is_array()) wrong_type(Code::HANDOFF_PENDING_STEPS, pending_steps, "array");

    const json::Node next_action = status["next_action"];
    if (is_nothing(next_action)) missing(Code::HANDOFF_NEXT_ACTION, status, "next_action");
    else if (!next_action.is_string()) wrong_type(Code::HANDOFF_NEXT_ACTION, next_action, "string");
  }

  void check_evidence() {
    const json::Node evidence = root_["evidence_report"];
    if (!evidence.is_object()) {
      add(List::Missing, Code::HANDOFF_EVIDENCE_REPORT, place_of_absent(root_, "evidence_report"));
      for (const auto& [name, code] : kEvidence)
        add(List::Missing, code, place_named("/evidence_report/" + std::string(name)), {{"problem", "is missing"}});
      return;
    }
    // All that are absent, then all of a wrong type: the table's order.
    for (const auto& [name, code] : kEvidence)
      if (!evidence[name]) missing(code, evidence, name);
    for (const auto& [name, code] : kEvidence)
      if (const json::Node list = evidence[name]; list && !list.is_array()) wrong_type(code, list, "array");
  }

  bool complete() const { return status_ == Status::Complete; }

  void check_verification() {
    if (!complete()) return;
    const json::Node evidence = root_["evidence_report"];
    const json::Node verification = evidence["verification"];
    if (!verification.is_object()) {
      add(List::Missing, Code::HANDOFF_VERIFICATION_RESULT_REQUIRED_FOR_COMPLETE,
          evidence.is_object() ? place_of_absent(evidence, "verification")
                               : place_named("/evidence_report/verification"));
    } else if (!verification["result"].is_text("pass")) {
      const json::Node result = verification["result"];
      add(List::Invalid, Code::HANDOFF_VERIFICATION_RESULT_MUST_BE_PASS,
          result ? place(result) : place_of_absent(verification, "result"));
    }
  }

  void check_consolidation() {
    const json::Node consolidation = root_["consolidation_report"];
    if (!consolidation.is_object()) {
      // What is there and is no report is none, whether one is asked for or not. Null stands for nothing.
      if (consolidation && !consolidation.is_null())
        add(List::Missing, Code::HANDOFF_CONSOLIDATION_REPORT, place(consolidation),
            {{"problem", "is " + std::string(json::kind_name(consolidation.kind())) + ", and must be an object"}});
      else if (consolidation_required(options_.input_envelope))
        add(List::Missing, Code::HANDOFF_CONSOLIDATION_REPORT, place_of_absent(root_, "consolidation_report"),
            {{"problem", "is missing, and the input asks for it"}});
      return;
    }
    for (const auto& [name, code] : kConsolidation)
      if (!consolidation[name]) missing(code, consolidation, name);
    const json::Node ownership = consolidation["ownership_assessment"];
    if (ownership && !is_one_of(ownership, kOwnership)) wrong_value(Code::HANDOFF_OWNERSHIP_ASSESSMENT, ownership);
  }

  void check_approval() {
    const json::Node approval = root_["approval_request"];
    if (!approval.is_object()) {
      if (status_ == Status::ApprovalRequest)
        add(List::Missing, Code::HANDOFF_APPROVAL_REQUEST, place_of_absent(root_, "approval_request"));
      return;
    }
    if (is_nothing(approval["rollback"]))
      add(List::Missing, Code::HANDOFF_APPROVAL_REQUEST_ROLLBACK, place_of_absent(approval, "rollback"));
    if (is_nothing(approval["verification"]))
      add(List::Missing, Code::HANDOFF_APPROVAL_REQUEST_VERIFICATION, place_of_absent(approval, "verification"));
    for (const std::string_view name : {"operation", "exact_content", "scope", "risk_level"})
      if (is_nothing(approval[name]))
        add(List::Warning, Code::HANDOFF_APPROVAL_REQUEST_FIELD_MISSING, place_of_absent(approval, name),
            {{"field", name}}, std::string(name));
    const json::Node risk = approval["risk_level"];
    if (!is_nothing(risk) && !is_one_of(risk, kRiskLevels))
      add(List::Warning, Code::HANDOFF_APPROVAL_REQUEST_INVALID_RISK_LEVEL, place(risk), {{"value", shown(risk)}},
          shown(risk));
  }

  void check_loop() {
    const json::Node loop = root_["loop_state"];
    if (!loop || loop.is_null()) return;
    const List list = complete() ? List::Invalid : List::Warning;
    const auto cannot = [&](json::Node node, std::string_view problem) {
      add(list, Code::HANDOFF_LOOP_STATE, place(node), {{"problem", problem}}, "type");
    };
    if (!loop.is_object()) {
      cannot(loop, "is not an object");
      return;
    }
    constexpr std::array<std::string_view, 4> kNumbers = {"iteration", "max_iterations", "metric", "threshold"};
    std::array<json::Node, 4> numbers;
    for (std::size_t i = 0; i < 4; ++i) {
      numbers[i] = loop[kNumbers[i]];
      if (numbers[i] && !numbers[i].is_number()) {
        cannot(numbers[i], "holds something that is not a number");
        return;
      }
    }
    if (!complete() ||
        !std::all_of(numbers.begin(), numbers.end(), [](json::Node node) { return static_cast<bool>(node); }))
      return;
    const auto decimal = [&](std::size_t i) { return json::Decimal::from_number(numbers[i].number_text()); };
    if (!(decimal(0) < decimal(1)) || !(decimal(2) < decimal(3))) return;
    const auto text = [&](std::size_t i) { return std::string(numbers[i].number_text()); };
    add(List::Invalid, Code::HANDOFF_LOOP_STATE_INCOMPLETE, place(loop),
        {{"iteration", text(0)}, {"max", text(1)}, {"metric", text(2)}, {"threshold", text(3)}},
        "iteration=" + text(0) + "<max=" + text(1) + ",metric=" + text(2) + "<threshold=" + text(3));
  }

  bool is_writable(std::string_view section) const {
    for (const std::string& name : options_.writable)
      if (name == section) return true;
    if (!options_.input_envelope) return false;
    for (const json::Node name : options_.input_envelope["write_permissions"]["writable_sections"].elements())
      if (name.is_text(section)) return true;
    return false;
  }

  void check_updates() {
    const auto well_formed = [](json::Node entry) {
      return entry["contract"].is_string() && entry["payload"].is_object();
    };
    std::size_t index = 0;
    for (const json::Node entry : root_["update_contracts"].elements()) {
      if (!well_formed(entry))
        add(List::Warning, Code::HANDOFF_UPDATE_CONTRACT_MALFORMED, place(entry), {{"index", std::to_string(index)}},
            std::to_string(index));
      ++index;
    }
    for (const json::Node entry : root_["update_contracts"].elements()) {
      if (!well_formed(entry) || is_writable(entry["contract"].string())) continue;
      const std::string section(entry["contract"].string());
      add(List::Warning, Code::HANDOFF_UPDATE_CONTRACT_NOT_WRITABLE, place(entry["contract"]), {{"section", section}},
          section);
    }
  }

  void check_memory() {
    std::size_t index = 0;
    for (const json::Node entry : root_["memorialize_suggestions"].elements()) {
      const std::string number = std::to_string(index++);
      const auto has_text = [&](std::string_view name) {
        return entry[name].is_string() && !is_blank_string(entry[name]);
      };
      if (!entry.is_object() || !has_text("description") || !has_text("body")) {
        add(List::Warning, Code::HANDOFF_MEMORIALIZE_MALFORMED, place(entry), {{"index", number}}, number);
        continue;
      }
      check_memory_word(entry["type"], kMemoryTypes, Code::HANDOFF_MEMORIALIZE_TYPE);
      check_memory_word(entry["class"], kMemoryClasses, Code::HANDOFF_MEMORIALIZE_CLASS);
    }
  }

  void check_memory_word(json::Node word, const std::array<std::string_view, 3>& words, Code code) {
    if (!word || word.is_null() || is_one_of(word, words)) return;
    add(List::Warning, code, place(word), {{"value", shown(word)}}, shown(word));
  }

  void check_unknown() {
    for (const json::Member member : root_.members()) {
      if (std::find(kFields.begin(), kFields.end(), member.name()) != kFields.end()) continue;
      add(List::Warning, Code::HANDOFF_UNKNOWN_FIELD, place(member.value), {{"field", member.name()}},
          std::string(member.name()));
    }
  }

  json::Node root_;
  const Options& options_;
  Checked& out_;
  std::optional<Status> status_;  // when it is one of the five
};

// A place inside the block, counted in the message.
Place in_message(Place place, const BlockFinder::Block& block) {
  if (place.line > 0) place.line += block.line - 1;
  return place;
}

void add_whole(Checked& checked, std::vector<std::string>& list, Diagnostic diagnostic) {
  list.push_back(wire_name(diagnostic));
  checked.diagnostics.push_back(std::move(diagnostic));
}

}  // namespace

std::string wire_name(const Diagnostic& diagnostic) {
  static constexpr std::string_view kPrefix = "HANDOFF_";
  std::string_view name = info(diagnostic.code).name;
  const bool keeps_prefix = diagnostic.code == Code::HANDOFF_BLOCK_MISSING || diagnostic.code == Code::HANDOFF_JSON ||
                            diagnostic.code == Code::HANDOFF_MULTIPLE_BLOCKS ||
                            diagnostic.code == Code::HANDOFF_AMBIGUOUS;
  if (!keeps_prefix) name.remove_prefix(kPrefix.size());
  return diagnostic.has_argument ? std::string(name) + ":" + diagnostic.argument : std::string(name);
}

bool consolidation_required(json::Node envelope) {
  if (!envelope) return false;
  return envelope["agent_contract_handoff"]["consolidation_required"].is_true() ||
         envelope["agent_contract_handoff"]["cross_check_required"].is_true() ||
         envelope["surface_routing"]["multi_surface"].is_true();
}

Checked check(std::string_view message, const Options& options) {
  Checked checked;
  BlockFinder finder;
  finder.feed(message);
  finder.end();
  if (!finder.last()) {
    add_whole(checked, checked.missing, report(Code::HANDOFF_BLOCK_MISSING, {}));
    return checked;
  }
  const BlockFinder::Block& block = *finder.last();
  if (finder.complete_blocks() > 1)
    add_whole(checked, checked.warnings,
              report(Code::HANDOFF_MULTIPLE_BLOCKS, {"", block.line - 1, 1},
                     {{"count", std::to_string(finder.complete_blocks())}}));

  json::ParseLimits limits;
  limits.bytes_max = limits::kContractBytesMax;
  limits.depth_max = limits::kContractDepthMax;
  auto document = json::parse_owned(block.body, limits);
  if (!document) {
    add_whole(checked, checked.invalid,
              report(Code::HANDOFF_JSON, in_message(place_at(block.body, document.error().offset), block),
                     {{"what", document.error().what}}));
    return checked;
  }
  checked.document = std::move(*document);
  const json::Node root = checked.document->root();
  if (!root.is_object()) {
    const std::string what = "the block is " + std::string(json::kind_name(root.kind())) + ", expected an object";
    add_whole(checked, checked.invalid,
              report(Code::HANDOFF_JSON, in_message(place_of(root), block), {{"what", what}}));
    return checked;
  }
  const std::size_t before = checked.diagnostics.size();
  Check(root, options, checked).run();
  for (std::size_t i = before; i < checked.diagnostics.size(); ++i)
    checked.diagnostics[i].place = in_message(std::move(checked.diagnostics[i].place), block);
  return checked;
}

}  // namespace baton::agent_contract
