// SPDX-License-Identifier: Apache-2.0
#include "runtime/use_cases/context.h"

#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "dialects/agent_contract/contract.h"
#include "json/pointer.h"
#include "runtime/work_events.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

using json::Value;

constexpr std::size_t kChangedMax = 64;  // pointers in one entry: the value itself is there too

// Where the two differ, down to the outermost value that is not an object in both.
void list_changes(const Value& before, const Value& after, std::string& pointer, std::vector<std::string>& out) {
  if (out.size() >= kChangedMax) return;
  if (!before.is_object() || !after.is_object()) {
    if (!equal(before, after)) out.push_back(pointer);
    return;
  }
  for (const auto& [name, value] : after.members()) {
    const std::size_t size = pointer.size();
    json::append_pointer_token(pointer, name);
    if (const Value* old = before.find(name)) list_changes(*old, value, pointer, out);
    else if (out.size() < kChangedMax) out.push_back(pointer);
    pointer.resize(size);
  }
}

bool has_long_string(const Value& value) {
  if (value.is_string()) return value.string().size() > limits::kLedgerInlineBytesMax;
  if (value.is_array()) return std::ranges::any_of(value.elements(), has_long_string);
  if (!value.is_object()) return false;
  return std::ranges::any_of(value.members(), [](const auto& member) {
    return member.first.size() > limits::kLedgerInlineBytesMax || has_long_string(member.second);
  });
}

// How an entry refers to a text beside the ledger (ledger/redaction.h). What a caller wrote in that form would be taken for one.
bool has_reference(const Value& value) {
  if (value.is_array()) return std::ranges::any_of(value.elements(), has_reference);
  if (!value.is_object()) return false;
  const Value* blob = value.members().size() == 1 ? value.find("blob") : nullptr;
  if (blob != nullptr && blob->find("sha256") != nullptr && blob->find("bytes") != nullptr) return true;
  return std::ranges::any_of(value.members(), [](const auto& member) { return has_reference(member.second); });
}

bool is_section_name(std::string_view name) {
  if (name.empty() || name.size() > limits::kContextNameBytesMax) return false;
  for (std::size_t at = 0; at < name.size();)
    if (is_control(next_character(name, at))) return false;
  return true;
}

Diagnostic not_writable(const std::string& section) {
  Diagnostic diagnostic =
      report(Code::HANDOFF_UPDATE_CONTRACT_NOT_WRITABLE, place_named("/update_contracts"), {{"section", section}});
  diagnostic.argument = section;
  diagnostic.has_argument = true;
  return diagnostic;
}

Result<ContextSection> current(Act& act, const std::string& name) {
  const auto row = act.unit.get(store::tables::kContextSections, {name});
  if (!row) return tl::make_unexpected(row.error());
  if (*row) return read_section(**row);
  ContextSection section;
  section.section = name;
  return section;
}

}  // namespace

Result<ContextChanges> merge_updates(Act& act, const Value* updates, const work::Session& session,
                                     const work::Item& item) {
  ContextChanges out;
  if (updates == nullptr || !updates->is_array()) return out;
  const auto too_large = [&](std::string_view section, std::string_view problem) {
    out.refused.push_back(report(Code::CONTEXT_TOO_LARGE, place_named("/update_contracts"),
                                 {{"section", section}, {"problem", problem}}));
  };
  if (updates->elements().size() > limits::kContextUpdatesMax) {
    too_large("", "there are more than " + std::to_string(limits::kContextUpdatesMax) + " updates");
    return out;
  }
  const work::Role* role = act.policy().find_role(session.role);
  for (const Value& update : updates->elements()) {
    const Value* name = update.find("contract");
    const Value* payload = update.find("payload");
    // The check has warned of it.
    if (name == nullptr || !name->is_string() || payload == nullptr || !payload->is_object()) continue;
    if (role == nullptr || !is_section_name(name->string()) || !role->writes(name->string())) {
      out.warnings.push_back(not_writable(name->string()));
      continue;
    }
    // Two updates of one section are one change.
    auto change =
        std::ranges::find(out.changes, name->string(), [](const ContextChange& each) { return each.section.section; });
    if (change == out.changes.end()) {
      auto section = current(act, name->string());
      if (!section) return tl::make_unexpected(section.error());
      ++section->version;
      section->author = session.actor_id;
      section->session_id = session.id;
      section->work_id = item.id;
      section->changed_at = act.now;
      // What was there keeps its labels; what is added brings those of the work it comes from.
      for (const std::string& label : item.labels)
        if (std::ranges::find(section->labels, label) == section->labels.end()) section->labels.push_back(label);
      std::ranges::sort(section->labels);
      if (section->labels.size() > limits::kWorkLabelsMax)
        too_large(name->string(), "it would have more than " + std::to_string(limits::kWorkLabelsMax) + " labels");
      change = out.changes.insert(out.changes.end(), ContextChange{std::move(*section), {}});
    }
    agent_contract::Merged merged = agent_contract::merge(change->section.value, *payload);
    std::string pointer;
    list_changes(change->section.value, merged.result, pointer, change->changed);
    change->section.value = std::move(merged.result);
    std::ranges::move(merged.warnings, std::back_inserter(out.warnings));
    if (has_reference(change->section.value))
      out.refused.push_back(
          report(Code::LEDGER_DRAFT, place_named("/update_contracts"),
                 {{"problem", "holds an object of `blob` alone, with `bytes` and `sha256`: the ledger's own form"}}));
    else if (has_long_string(change->section.value))
      too_large(name->string(),
                "it holds a text of more than " + std::to_string(limits::kLedgerInlineBytesMax) + " bytes");
    else if (json::write(change->section.value).size() > limits::kContextSectionBytesMax)
      too_large(name->string(),
                "it would have more than " + std::to_string(limits::kContextSectionBytesMax) + " bytes");
  }
  return out;
}

Result<void> record_changes(Act& act, const ContextChanges& changes) {
  for (const ContextChange& change : changes.changes) {
    const ContextSection& section = change.section;
    Value payload = Value::object();
    payload.set("section", section.section);
    payload.set("version", section.version);
    payload.set("value", section.value);
    payload.set("changed", texts_value(change.changed));
    payload.set("author", section.author);
    payload.set("session_id", section.session_id);
    payload.set("work_id", section.work_id);
    payload.set("labels", texts_value(section.labels));
    payload.set("at", format_time(section.changed_at));
    if (auto done = act.append(context_stream(section.section), kContextUpdated, std::move(payload)); !done)
      return done;
  }
  return {};
}

}  // namespace baton::runtime
