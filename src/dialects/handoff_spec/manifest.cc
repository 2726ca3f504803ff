// SPDX-License-Identifier: Apache-2.0
#include "dialects/handoff_spec/manifest.h"

#include <algorithm>

#include "base/text.h"
#include "json/decimal.h"

namespace baton::handoff_spec {
namespace {

constexpr std::int64_t kVersionMax = 1;
constexpr std::size_t kSha256Digits = 64;
constexpr std::string_view kSha256Prefix = "sha256:";

// Reads member after member and remembers the first that is wrong. Null counts as absent: the manifest's own writer
// leaves what has not happened (`revoked_at`) as null.
class Reader {
 public:
  std::optional<Diagnostic> fault;

  void refuse(Place place, const std::string& problem) {
    if (!fault) fault = report(Code::GATE_MANIFEST_INVALID, std::move(place), {{"problem", problem}});
  }

  json::Node take(json::Node object, std::string_view name, json::Kind kind, bool required) {
    const json::Node node = object[name];
    if (!node || node.is_null()) {
      if (required) refuse(place_of_absent(object, name), "has no `" + std::string(name) + "`");
      return {};
    }
    if (node.is(kind)) return node;
    refuse(place_of(node), "has a `" + std::string(name) + "` of the wrong type");
    return {};
  }

  std::string_view text(json::Node object, std::string_view name, bool required) {
    const json::Node node = take(object, name, json::Kind::String, required);
    return node ? node.string() : std::string_view();
  }

  std::optional<std::int64_t> integer(json::Node object, std::string_view name, bool required) {
    const json::Node node = take(object, name, json::Kind::Number, required);
    if (!node) return std::nullopt;
    const auto value = json::to_int64(node.number_text());
    if (!value) refuse(place_of(node), "has a `" + std::string(name) + "` that is not a whole number");
    return value;
  }

  std::optional<Time> time(json::Node object, std::string_view name, bool required) {
    const json::Node node = take(object, name, json::Kind::String, required);
    if (!node) return std::nullopt;
    const auto value = parse_time(node.string()).time;
    if (!value) refuse(place_of(node), "has a `" + std::string(name) + "` that is not a UTC time");
    return value;
  }

  bool truth(json::Node object, std::string_view name) {
    const json::Node node = take(object, name, json::Kind::Boolean, false);
    return node && node.boolean();
  }
};

std::string read_digest(Reader& reader, json::Node root) {
  const std::int64_t version = reader.integer(root, "version", false).value_or(0);
  if (version < 0 || version > kVersionMax)
    reader.refuse(place_of(root["version"]), "has a `version` this gate does not know");
  const json::Node node = reader.take(root, "spec_sha256", json::Kind::String, version >= 1);
  if (!node) return "";
  std::string_view text = node.string();
  if (text.starts_with(kSha256Prefix)) text.remove_prefix(kSha256Prefix.size());
  std::string digits = to_lower_ascii(text);
  if (digits.size() != kSha256Digits || !std::ranges::all_of(digits, is_lower_hex))
    reader.refuse(place_of(node), "has a `spec_sha256` that is not a SHA-256");
  return digits;
}

std::string read_revocation(Reader& reader, json::Node root) {
  const auto revoked_at = reader.time(root, "revoked_at", false);
  const json::Node status = reader.take(root, "status", json::Kind::String, false);
  const bool pending = reader.truth(root, "revoke_pending");
  if (revoked_at) return "was revoked at " + format_time(*revoked_at);
  if (pending || (status && status.string() != "active")) return "is being revoked";
  return "";
}

std::vector<ManifestSurface> read_surfaces(Reader& reader, json::Node root) {
  std::vector<ManifestSurface> surfaces;
  for (const json::Member member : reader.take(root, "surfaces", json::Kind::Object, true).members()) {
    if (!member.value.is_object()) {
      reader.refuse(place_of(member.value), "has a surface that is not an object");
      continue;
    }
    reader.text(member.value, "external_id", false);
    reader.time(member.value, "expires_at", false);
    surfaces.push_back({member.value, member.name(), reader.text(member.value, "status", false),
                        reader.text(member.value, "identity", false)});
  }
  return surfaces;
}

}  // namespace

const ManifestSurface* Manifest::find(std::string_view surface) const {
  const auto at = std::ranges::find(surfaces, surface, &ManifestSurface::name);
  return at != surfaces.end() ? &*at : nullptr;
}

tl::expected<Manifest, Diagnostic> read_manifest(json::Node root) {
  Reader reader;
  if (!root.is_object()) {
    reader.refuse(place_of(root), "is not an object");
    return tl::make_unexpected(std::move(*reader.fault));
  }
  Manifest manifest;
  manifest.root = root;
  manifest.spec_sha256 = read_digest(reader, root);
  manifest.task_slug = reader.text(root, "task_slug", true);
  manifest.linked_card = reader.integer(root, "linked_card", true).value_or(0);
  manifest.operator_approval = reader.text(root, "operator_approval", false);
  reader.time(root, "provisioned_at", false);
  manifest.expires_at = reader.time(root, "expires_at", true).value_or(Time{});
  manifest.velvet_enrolled = reader.truth(root, "velvet_enrolled");
  manifest.revocation = read_revocation(reader, root);
  manifest.surfaces = read_surfaces(reader, root);
  if (reader.fault) return tl::make_unexpected(std::move(*reader.fault));
  return manifest;
}

}  // namespace baton::handoff_spec
