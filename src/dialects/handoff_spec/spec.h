// SPDX-License-Identifier: Apache-2.0
// The dialect handoff-spec: which scoped, expiring credentials one handoff asks for, and the gate before its dispatch.
//
// A spec is one JSON object of at most 65,536 bytes: task, surfaces, operator approval, card, times, repository, tools and
// an inline policy for AWS. check() judges it and says what it comes to (Resolved); gate() judges whether what the vault
// holds for it lets a session start now. Both are pure: the clock reading and the manifest are handed in. Minting,
// revoking and keeping secrets are done elsewhere.
//
// What differs between shops (tool sets, surfaces, default repository, secret path, caps) is a Profile: data, never code.
// Rules: docs/formats/handoff-spec.md
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "diagnostics/diagnostic.h"
#include "handoff/handoff.h"
#include "json/document.h"
#include "json/value.h"

namespace baton::handoff_spec {

// --- profiles -------------------------------------------------------------------------------------------------------

// A tool a spec may ask for, and the surface whose credential it works with; empty when it needs none.
struct AddableTool {
  std::string_view name;
  std::string_view surface;
};

// All lists are sorted by name. `excluded` shares no name with the other two.
struct Profile {
  std::string_view name;
  std::optional<std::string_view> default_repo;   // none: a spec must name it
  std::optional<std::string_view> default_owner;  // none: a spec must name it
  std::string_view secret_path_prefix;            // the task's folder is this, the slug and `/`
  std::span<const std::string_view> surfaces;
  std::span<const std::string_view> baseline;  // always allowed
  std::span<const AddableTool> addable;        // allowed when asked for
  std::span<const std::string_view> excluded;  // never allowed
  std::int64_t ttl_seconds_max;                // of a grant, and so of the work; whole hours
  std::size_t tools_max;                       // entries of `mcp_tools`
};

// `default` (repo and owner are required) and `raxx` (the defaults of the published format); null for any other name.
const Profile* find_profile(std::string_view name);
std::span<const Profile> profiles();

// --- checking -------------------------------------------------------------------------------------------------------

struct Options {
  const Profile* profile = find_profile("default");  // never null
  Time now;
  bool strict = false;  // every warning is an error
};

struct Excluded {
  std::string tool;
  std::string_view reason;  // "always_excluded", "unknown", "not_requested"
};

// What a valid spec comes to, were it provisioned now.
struct Resolved {
  std::string expires_at;   // ttl_expires_at when given, else now + ttl_hours
  std::string secret_path;  // the task's folder in the vault
  std::string repo, owner;
  bool velvet_enrolled = false;                // more than an hour of work: revoked by itself
  std::vector<std::string> mcp_tools_allowed;  // sorted: baseline and what was asked for and may be had
  std::vector<Excluded> mcp_tools_excluded;    // sorted: everything else the profile or the spec names

  json::Value to_json() const;
};

struct Checked {
  std::vector<Diagnostic> diagnostics;     // in the order of the format's table of fields, unknown fields last
  std::optional<json::Document> document;  // when the text is JSON
  std::optional<Resolved> resolved;        // when valid

  bool valid() const { return document.has_value() && !has_errors(diagnostics); }
};

// Does this object look like a spec? Says nothing about whether it holds.
bool recognise(json::Node root);

// Judges a spec. The document refers to `text`, which must outlive it. Text that is too large, not strict JSON, has a key
// twice or is no object gets that one diagnostic; otherwise all independent faults are collected, the first 256 of them.
Checked check(std::string_view text, const Options& options);

// What a manifest's `spec_sha256` holds: SHA-256, in hexadecimal, of the spec's canonical JSON with exact numbers. Nothing
// for a spec with a number that has no canonical form.
std::optional<std::string> digest(json::Node root);

// --- the gate -------------------------------------------------------------------------------------------------------

// What the vault answered when it was asked for the task's PROVISION_MANIFEST.
struct VaultAnswer {
  bool reachable = false;
  json::Node manifest;  // no node, or JSON null: nothing was provisioned

  static VaultAnswer unreachable() { return {}; }
  static VaultAnswer not_provisioned() { return {true, {}}; }
  static VaultAnswer found(json::Node manifest) { return {true, manifest}; }
};

struct GateQuestion {
  std::string_view spec;       // the text
  std::string_view task_slug;  // the task somebody wants to dispatch
  VaultAnswer vault;
  Options options;  // `now` is the one clock reading for all steps
};

inline constexpr std::string_view kGatePass = "GATE_PASS";

// The first step that fails, in the order of the format; nothing means GATE_PASS. Whatever cannot be judged fails.
//
// The manifest decides about time, so the spec's own time codes (SPEC_TTL_EXPIRED, SPEC_TTL_TOO_FAR,
// SPEC_RUNTIME_EXCEEDS_TTL) do not count here. The diagnostic's place is in the spec for the first two steps, which judge
// it, and in the manifest for all others.
std::optional<Diagnostic> gate(const GateQuestion& question);

// --- the one Handoff ------------------------------------------------------------------------------------------------

std::span<const Row> rows();

// `root` must be an object; it need not be valid. Mode Grant, outcome Offered.
Handoff to_handoff(json::Node root, std::string_view raw);

// Back to the spec it came from. Only for a handoff of this dialect.
json::Value from_handoff(const Handoff& handoff);

}  // namespace baton::handoff_spec
