// SPDX-License-Identifier: Apache-2.0
// Inside the dialect: the provisioning manifest as the gate reads it. It holds ids and times, never a secret.
//
// {version, task_slug, spec_sha256, linked_card, operator_approval, provisioned_at, expires_at, velvet_enrolled,
//  revoked_at, surfaces: {name: {status, identity, external_id, expires_at, scope}}}
//
// Version 0 (or none) may leave out `spec_sha256`; version 1 may not; a later one is not for this gate. While a revocation
// is under way, or only part of it worked, the manifest also has `status` other than `active`, or `revoke_pending`.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/time.h"
#include "diagnostics/diagnostic.h"
#include "json/document.h"

namespace baton::handoff_spec {

struct ManifestSurface {
  json::Node node;
  std::string_view name;
  std::string_view status;    // empty when absent
  std::string_view identity;  // empty when absent
};

// Refers to the document it was read from.
struct Manifest {
  json::Node root;
  std::string_view task_slug;
  std::string spec_sha256;  // lower-case hexadecimal, without a prefix; empty when absent
  std::int64_t linked_card = 0;
  std::string_view operator_approval;  // empty when absent
  Time expires_at;
  bool velvet_enrolled = false;
  std::string revocation;  // "was revoked at ...", "is being revoked"; empty while the grant stands
  std::vector<ManifestSurface> surfaces;

  const ManifestSurface* find(std::string_view surface) const;
};

// The manifest, or GATE_MANIFEST_INVALID with the first thing that is wrong with its shape. What a later step of the gate
// has its own code for (no approval, no identity, not enrolled) may be absent here.
tl::expected<Manifest, Diagnostic> read_manifest(json::Node root);

}  // namespace baton::handoff_spec
