// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "dialects/handoff_spec/manifest.h"
#include "dialects/handoff_spec/steps.h"
#include "json/decimal.h"

namespace baton::handoff_spec {
namespace {

using Refusal = std::optional<Diagnostic>;

bool is_time_code(Code code) {
  return code == Code::SPEC_TTL_EXPIRED || code == Code::SPEC_TTL_TOO_FAR || code == Code::SPEC_RUNTIME_EXCEEDS_TTL;
}

Refusal judge_spec(const Checked& checked) {
  std::vector<std::string> codes;
  Place place;
  for (const Diagnostic& diagnostic : checked.diagnostics) {
    if (diagnostic.severity != Severity::Error || is_time_code(diagnostic.code)) continue;
    if (codes.empty()) place = diagnostic.place;
    std::string name(info(diagnostic.code).name);
    if (std::ranges::find(codes, name) == codes.end()) codes.push_back(std::move(name));
  }
  if (codes.empty()) return std::nullopt;
  return report(Code::GATE_SPEC_INVALID, std::move(place), {{"codes", join(codes, ", ")}});
}

Refusal refuse_at(Code code, json::Node root, std::string_view member, std::initializer_list<Argument> arguments = {}) {
  const json::Node node = root[member];
  return report(code, node ? place_of(node) : place_of_absent(root, member), arguments);
}

Refusal judge_binding(json::Node spec, const Manifest& manifest) {
  const auto differs = [&](std::string_view field) {
    return refuse_at(Code::GATE_MANIFEST_MISMATCH, manifest.root, field, {{"field", field}});
  };
  if (manifest.task_slug != spec["task_slug"].string()) return differs("task_slug");
  if (manifest.linked_card != json::to_int64(spec["linked_card"].number_text())) return differs("linked_card");
  if (!manifest.spec_sha256.empty() && manifest.spec_sha256 != digest(spec)) return differs("spec_sha256");
  return std::nullopt;
}

Refusal judge_standing(json::Node spec, const Manifest& manifest, Time now) {
  if (!manifest.revocation.empty())
    return refuse_at(Code::GATE_REVOKED, manifest.root, "revoked_at", {{"problem", manifest.revocation}});
  if (manifest.operator_approval != spec["operator_approval"].string())
    return refuse_at(Code::GATE_APPROVAL_MISSING, manifest.root, "operator_approval");
  if (now >= manifest.expires_at)
    return refuse_at(Code::GATE_TTL_EXPIRED, manifest.root, "expires_at", {{"time", format_time(manifest.expires_at)}});
  return std::nullopt;
}

// Each question is put to every surface before the next: which code comes out must not depend on the surfaces' order.
Refusal judge_surfaces(json::Node spec, const Manifest& manifest) {
  std::set<std::string_view> wanted;
  for (const json::Node node : spec["surfaces"].elements()) {
    wanted.insert(node.string());
    if (manifest.find(node.string()) == nullptr)
      return refuse_at(Code::GATE_SURFACE_MISSING, manifest.root["surfaces"], node.string(),
                       {{"surface", node.string()}});
  }
  for (const ManifestSurface& surface : manifest.surfaces)
    if (!wanted.contains(surface.name))
      return report(Code::GATE_SURFACE_MISSING, place_of(surface.node), {{"surface", surface.name}});
  for (const ManifestSurface& surface : manifest.surfaces)
    if (surface.status != "active")
      return refuse_at(Code::GATE_SURFACE_INACTIVE, surface.node, "status", {{"surface", surface.name}});
  for (const ManifestSurface& surface : manifest.surfaces)
    if (surface.identity != "task")
      return refuse_at(Code::GATE_BLANKET_IDENTITY, surface.node, "identity", {{"surface", surface.name}});
  return std::nullopt;
}

Refusal judge_runtime(std::int64_t runtime, const Manifest& manifest, Time now) {
  if (needs_velvet(runtime) && !manifest.velvet_enrolled)
    return refuse_at(Code::GATE_VELVET_NOT_ENROLLED, manifest.root, "velvet_enrolled");
  if (!runtime_fits(now, runtime, manifest.expires_at))
    return refuse_at(Code::GATE_TTL_TOO_SHORT, manifest.root, "expires_at");
  return std::nullopt;
}

}  // namespace

Refusal gate(const GateQuestion& question) {
  const Options& options = question.options;
  const Checked checked = check(question.spec, options);
  if (auto refusal = judge_spec(checked)) return refusal;
  const json::Node spec = checked.document->root();

  if (spec["task_slug"].string() != question.task_slug) return refuse_at(Code::GATE_SLUG_MISMATCH, spec, "task_slug");
  if (!question.vault.reachable) return report(Code::GATE_VAULT_UNREACHABLE, Place{});
  const json::Node root = question.vault.manifest;
  if (!root || root.is_null()) return report(Code::GATE_NOT_PROVISIONED, Place{});

  const auto manifest = read_manifest(root);
  if (!manifest) return manifest.error();
  if (auto refusal = judge_binding(spec, *manifest)) return refusal;
  if (auto refusal = judge_standing(spec, *manifest, options.now)) return refusal;
  if (auto refusal = judge_surfaces(spec, *manifest)) return refusal;
  // The spec holds, so its runtime can be read.
  return judge_runtime(runtime_seconds(spec, *options.profile).value(), *manifest, options.now);
}

}  // namespace baton::handoff_spec
