// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/check.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "dialects/handoff_spec/steps.h"
#include "json/canonical.h"
#include "json/decimal.h"
#include "json/parse.h"

namespace baton::handoff_spec {
namespace {

Diagnostic unreadable(std::string_view text, const json::ParseError& error) {
  const Code code = error.fault == json::Fault::DuplicateKey ? Code::SPEC_JSON_DUPLICATE_KEY : Code::SPEC_JSON;
  return report(code, place_at(text, error.offset), {{"what", error.what}});
}

// The rows are the fields of a spec; each stands at the top.
bool is_field(std::string_view name) {
  return std::ranges::any_of(rows(), [&](const Row& row) { return row.pointer.substr(1) == name; });
}

void check_unknown_fields(Run& run) {
  for (const json::Member member : run.root.members())
    if (!is_field(member.name())) run.add(Code::SPEC_FIELD_UNKNOWN, member.key, {{"field", member.name()}});
}

}  // namespace

std::string_view with_article(json::Kind kind) {
  switch (kind) {
    case json::Kind::Null: return "null";
    case json::Kind::Boolean: return "a boolean";
    case json::Kind::Number: return "a number";
    case json::Kind::String: return "a string";
    case json::Kind::Array: return "an array";
    case json::Kind::Object: return "an object";
  }
  CHECK(false);
}

void Run::add_wrong_type(json::Node at, std::string_view expected) {
  if (found.size() >= limits::kDiagnosticsMax) return;
  const std::string pointer = at.pointer();
  add(Code::SPEC_FIELD_TYPE, at,
      {{"field", std::string_view(pointer).substr(1)}, {"kind", with_article(at.kind())}, {"expected", expected}});
}

json::Node Run::take(std::string_view name, json::Kind kind, Need need) {
  const json::Node node = root[name];
  if (!node) {
    if (need == Need::Required) add_absent(Code::SPEC_FIELD_MISSING, name, {{"field", name}});
    return {};
  }
  if (node.is(kind)) return node;
  add_wrong_type(node, with_article(kind));
  return {};
}

json::Node Run::take_integer(std::string_view name, Need need) {
  const json::Node node = root[name];
  if (!node) return take(name, json::Kind::Number, need);
  if (node.is_number() && json::is_integer(node.number_text())) return node;
  add_wrong_type(node, "a whole number");
  return {};
}

std::vector<json::Node> Run::take_strings(json::Node array) {
  std::vector<json::Node> strings;
  for (const json::Node element : array.elements()) {
    if (element.is_string()) strings.push_back(element);
    else add_wrong_type(element, "a string");
  }
  return strings;
}

bool recognise(json::Node root) { return root["task_slug"] || (root["surfaces"] && root["operator_approval"]); }

Checked check(std::string_view text, const Options& options) {
  CHECK(options.profile != nullptr);
  Checked checked;
  auto parsed = json::parse(text, {.bytes_max = limits::kSpecBytesMax, .depth_max = limits::kSpecDepthMax});
  if (!parsed) {
    checked.diagnostics.push_back(unreadable(text, parsed.error()));
    return checked;
  }
  checked.document.emplace(std::move(*parsed));
  const json::Node root = checked.document->root();
  if (!root.is_object()) {
    checked.diagnostics.push_back(report(Code::SPEC_NOT_OBJECT, place_of(root), {{"kind", with_article(root.kind())}}));
    return checked;
  }

  Run run{root, *options.profile, options.now, checked.diagnostics};
  check_task_slug(run);
  const auto surfaces = check_surfaces(run);
  check_operator_approval(run);
  check_linked_card(run);
  check_lifetime(run);
  check_repository(run);
  check_mcp_tools(run, surfaces);
  check_aws_policy(run, surfaces);
  check_unknown_fields(run);

  if (options.strict) make_strict(checked.diagnostics);
  if (checked.valid()) checked.resolved = resolve(root, *options.profile, options.now);
  return checked;
}

std::optional<std::string> digest(json::Node root) {
  const auto canonical = json::canonical(root, json::Numbers::Exact);
  if (!canonical) return std::nullopt;
  return sha256_hex(*canonical);
}

}  // namespace baton::handoff_spec
