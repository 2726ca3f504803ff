// SPDX-License-Identifier: Apache-2.0
// The compiler: workflow.yaml and the packs of its roles.
#include <algorithm>
#include <set>

#include "contract/compile.h"
#include "contract/compiler.h"
#include "contract/describe.h"
#include "contract/reading.h"
#include "contract/shapes.h"

namespace baton::contract {
namespace {

class WorkflowCompiler {
 public:
  WorkflowCompiler(const WorkflowSource& source, const CompileOptions& options) : source_(source), options_(options) {}

  CompiledWorkflow run() {
    const Parsed parsed = parse_rules(findings_, source_.workflow);
    if (parsed.document) {
      check_shape(findings_, parsed.document->root(), kWorkflowShape, "workflow");
      if (parsed.document->root().is_object()) read(parsed.document->root());
    }
    CompiledWorkflow out;
    out.findings = findings_.take();
    out.findings.insert(out.findings.end(), of_packs_.begin(), of_packs_.end());
    if (options_.strict) make_strict(out.findings);
    sort(out.findings);
    if (has_errors(out.findings)) return out;
    plan_.hash = hash_of(plan_);
    out.plan = std::make_shared<const WorkflowPlan>(std::move(plan_));
    return out;
  }

 private:
  void read(json::Node root) {
    plan_.name = text_in(root, "workflow");
    read_roles(root);
    read_handoffs(root);
    const json::Node limits = root["workflow_limits"];
    plan_.max_sessions = whole_in(limits, "max_sessions");
    plan_.max_active_sessions = whole_in(limits, "max_active_sessions");
    plan_.max_total_steps = whole_in(limits, "max_total_steps");
    plan_.max_open_handoffs = whole_in(limits, "max_open_handoffs");
    plan_.max_total_cost = number_in(limits, "max_total_cost");
    read_shared(root);
    const json::Node cancellation = root["cancellation"];
    plan_.subtree_kill = flag_in(cancellation, "subtree_kill", false);
    plan_.operator_only_kill = cancellation["workflow_kill"].is_text("operator_only");
    read_close_policy(root, cancellation);
  }

  // At the top, or under `cancellation`; not at both.
  void read_close_policy(json::Node root, json::Node cancellation) {
    const json::Node top = root["parent_close_policy"], inside = cancellation["parent_close_policy"];
    if (top && inside)
      findings_.add(Code::PARENT_CLOSE_POLICY, inside,
                    {{"field", "parent_close_policy"},
                     {"value", "twice"},
                     {"expected", "it once, at the top or under `cancellation`"}});
    const json::Node policy = top ? top : inside;
    if (const auto word = word_in<ClosePolicy>(policy, "default", kClosePolicyNames)) plan_.close_policy = *word;
  }

  void read_roles(json::Node root) {
    for (const json::Node entry : root["roles"].elements()) {
      const std::string name = text_in(entry, "name");
      if (name.empty()) continue;
      const auto [there, is_new] = roles_.emplace(name, static_cast<std::uint32_t>(plan_.roles.size()));
      if (!is_new) {
        findings_.add(Code::ROLE_DUPLICATE, entry["name"], {{"role", name}});
        continue;
      }
      WorkflowRole role{name, text_in(entry, "session_contract"), nullptr};
      const auto pack = source_.packs.find(name);
      if (pack == source_.packs.end()) {
        if (entry["session_contract"])
          findings_.add(Code::ROLE_SESSION_MISSING, entry["session_contract"],
                        {{"field", "session_contract"}, {"expected", "a file that is there"}});
      } else {
        Compiled compiled = compile(pack->second, options_);
        for (Finding& finding : compiled.findings) of_packs_.push_back(std::move(finding));
        role.plan = compiled.plan;
        if (compiled.plan)
          for (const Resource& resource : compiled.plan->resources) resources_.insert(resource.name);
        else all_packs_ = false;
      }
      plan_.roles.push_back(std::move(role));
    }
  }

  std::optional<std::uint32_t> role_at(json::Node name) {
    if (!name.is_string() || name.string().empty()) return std::nullopt;
    if (const auto found = roles_.find(name.string()); found != roles_.end()) return found->second;
    findings_.add(Code::HANDOFF_UNKNOWN_ROLE, name, {{"role", name.string()}});
    return std::nullopt;
  }

  void read_handoffs(json::Node root) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    std::vector<json::Node> places;
    for (const json::Node entry : root["handoffs"].elements()) {
      const auto from = role_at(entry["from"]), to = role_at(entry["to"]);
      if (!from || !to) continue;
      if (!seen.insert({*from, *to}).second)
        findings_.add(Code::HANDOFF_DUPLICATE, entry,
                      {{"from", plan_.roles[*from].name}, {"to", plan_.roles[*to].name}});
      plan_.handoffs.push_back({*from, *to, texts_in(entry, "requires_artifacts"),
                                word_in<ClosePolicy>(entry, "parent_close_policy", kClosePolicyNames)});
      places.push_back(entry);
    }
    // A handoff that closes a circle: work can come back to where it was.
    for (std::size_t i = 0; i < plan_.handoffs.size(); ++i)
      if (leads(plan_.handoffs[i].to, plan_.handoffs[i].from)) {
        findings_.add(
            Code::HANDOFF_CYCLE, places[i],
            {{"from", plan_.roles[plan_.handoffs[i].from].name}, {"to", plan_.roles[plan_.handoffs[i].to].name}});
        break;
      }
  }

  bool leads(std::uint32_t from, std::uint32_t to) const {
    std::vector<bool> seen(plan_.roles.size());
    std::vector<std::uint32_t> open = {from};
    seen[from] = true;
    while (!open.empty()) {
      const std::uint32_t role = open.back();
      open.pop_back();
      if (role == to) return true;
      for (const WorkflowHandoff& handoff : plan_.handoffs)
        if (handoff.from == role && !seen[handoff.to]) {
          seen[handoff.to] = true;
          open.push_back(handoff.to);
        }
    }
    return false;
  }

  void read_shared(json::Node root) {
    std::set<std::string> aliases;
    for (const json::Node entry : root["shared_resources"].elements()) {
      const std::string alias = text_in(entry, "alias");
      if (alias.empty()) continue;
      // What a pack with errors of its own declares is not known.
      if (!resources_.contains(alias) && all_packs_)
        findings_.add(Code::SHARED_RESOURCE_UNKNOWN, entry["alias"], {{"alias", alias}});
      if (!aliases.insert(alias).second)
        findings_.add(Code::SHARED_RESOURCE_DUPLICATE, entry["alias"], {{"alias", alias}});
      if (const auto mode = word_in<SharedMode>(entry, "mode", kSharedModeNames))
        plan_.shared.push_back({alias, *mode});
    }
    for (const std::string& name : resources_)
      if (!aliases.contains(name) && root["shared_resources"])
        findings_.add(Code::resource_unused, root["shared_resources"], {{"name", name}});
  }

  const WorkflowSource& source_;
  const CompileOptions& options_;
  Findings findings_;
  std::vector<Finding> of_packs_;
  WorkflowPlan plan_;
  std::map<std::string, std::uint32_t, std::less<>> roles_;
  std::set<std::string> resources_;  // of all roles
  bool all_packs_ = true;
};

}  // namespace

CompiledWorkflow compile_workflow(const WorkflowSource& source, const CompileOptions& options) {
  return WorkflowCompiler(source, options).run();
}

std::map<std::string, std::string> session_contracts(const SourceFile& workflow) {
  std::map<std::string, std::string> out;
  Findings ignored;
  const Parsed parsed = parse_file(ignored, workflow);
  if (!parsed.document) return out;
  for (const json::Node entry : parsed.document->root()["roles"].elements()) {
    const std::string name = text_in(entry, "name"), file = text_in(entry, "session_contract");
    if (!name.empty() && !file.empty()) out.emplace(name, file);
  }
  return out;
}

}  // namespace baton::contract
