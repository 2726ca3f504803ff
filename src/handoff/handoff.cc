// SPDX-License-Identifier: Apache-2.0
#include "handoff/handoff.h"

#include "base/check.h"
#include "base/sha256.h"
#include "json/pointer.h"

namespace baton {
namespace {

constexpr std::array<std::string_view, 4> kDialectNames = {"agent-exit", "agent-contract", "uaix", "handoff-spec"};
constexpr std::array<std::string_view, 4> kModeNames = {"transfer", "delegate", "grant", "report"};
constexpr std::array<std::string_view, 7> kOutcomeNames = {"completed",      "blocked",     "error",  "needs_input",
                                                           "needs_approval", "in_progress", "offered"};
constexpr std::array<std::string_view, kFieldCount> kFieldNames = {
#define FIELD(name) #name,
    BATON_HANDOFF_FIELDS(FIELD)
#undef FIELD
};

// Collects what no row covers. An object on the way to a row is entered; any other node is kept whole.
void collect_other(json::Node node, const std::string& pointer, std::span<const Row> rows,
                   std::vector<Handoff::Member>& out) {
  bool on_the_way = pointer.empty();
  for (const Row& row : rows) {
    if (row.pointer == pointer) return;
    on_the_way |= row.pointer.starts_with(pointer + "/");
  }
  if (!on_the_way || !node.is_object()) {
    out.push_back({pointer, json::Value::copy(node)});
    return;
  }
  for (const json::Member member : node.members()) {
    std::string inner = pointer;
    json::append_pointer_token(inner, member.name());
    collect_other(member.value, inner, rows, out);
  }
}

}  // namespace

std::string_view dialect_name(Dialect dialect) { return kDialectNames[static_cast<std::size_t>(dialect)]; }

std::optional<Dialect> find_dialect(std::string_view name) {
  for (const Dialect dialect : kDialects)
    if (dialect_name(dialect) == name) return dialect;
  return std::nullopt;
}

std::string_view mode_name(Mode mode) { return kModeNames[static_cast<std::size_t>(mode)]; }
std::string_view outcome_name(Outcome outcome) { return kOutcomeNames[static_cast<std::size_t>(outcome)]; }
std::string_view field_name(Field field) { return kFieldNames[static_cast<std::size_t>(field)]; }

const json::Value* Handoff::value(Field field) const {
  const Member* member = find(field);
  return member != nullptr && !member->value.is_null() ? &member->value : nullptr;
}

std::string_view Handoff::text(Field field) const {
  const json::Value* found = value(field);
  return found != nullptr && found->is_string() ? std::string_view(found->string()) : std::string_view();
}

json::Value Handoff::to_json() const {
  json::Value out = json::Value::object();
  out.set("dialect", dialect_name(dialect));
  out.set("digest", "sha256:" + digest);
  out.set("mode", mode_name(mode));
  out.set("outcome", outcome_name(outcome));
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    const json::Value* found = value(static_cast<Field>(i));
    if (found != nullptr) out.set(kFieldNames[i], *found);
  }
  if (!other.empty()) {
    json::Value rest = json::Value::object();
    for (const Member& member : other) rest.set(member.pointer, member.value);
    out.set("other", std::move(rest));
  }
  return out;
}

Handoff read_rows(Dialect dialect, std::span<const Row> rows, json::Node root, std::string_view raw) {
  Handoff handoff;
  handoff.dialect = dialect;
  handoff.digest = sha256_hex(raw);
  for (const Row& row : rows) {
    const json::Node node = json::resolve_pointer(root, row.pointer);
    if (node) handoff.set(row.field, std::string(row.pointer), json::Value::copy(node));
  }
  collect_other(root, "", rows, handoff.other);
  return handoff;
}

json::Value write_rows(std::span<const Row> rows, const Handoff& handoff) {
  json::Value out = json::Value::object();
  for (const Row& row : rows) {
    const Handoff::Member* member = handoff.find(row.field);
    if (member != nullptr) CHECK(out.set_at(row.pointer, member->value));
  }
  for (const Handoff::Member& member : handoff.other) CHECK(out.set_at(member.pointer, member.value));
  return out;
}

}  // namespace baton
