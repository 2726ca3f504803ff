// SPDX-License-Identifier: Apache-2.0
// UAI-1 agent packets: the strict envelope by which reviewed state is handed on. Checked, sealed, produced.
//
// A packet is one JSON object of twelve members, closed at every level, sealed by a SHA-256 over its canonical form.
// Checking goes through nine steps (syntax, schema, time, cross-field, profile, text, extensions, integrity, replay) and
// collects every fault of steps two to nine. A valid packet is evidence, never a trigger.
//
// Needs the time: expiry is judged against Options::now.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/sha256.h"
#include "base/time.h"
#include "diagnostics/diagnostic.h"
#include "handoff/handoff.h"

namespace baton::uaix {

// A packet seen before, for the rules about replay.
struct Seen {
  std::string message_id;
  std::string source_id;
  std::string idempotency_key;
  std::string digest;  // replay_digest() of it
};

struct Options {
  Time now;
  bool fixture = false;                       // accept the published fixture's placeholder checksum
  std::vector<std::string> known_extensions;  // critical extensions understood, beside Baton's own
  const std::vector<Seen>* seen = nullptr;
};

struct Checked {
  std::vector<Diagnostic> diagnostics;
  std::optional<json::Document> document;  // refers to the text given; set when it is a JSON object
  bool duplicate = false;                  // seen before, with the same content: valid, but not to be acted on again

  bool valid() const { return document.has_value() && !has_errors(diagnostics); }
};

Checked check(std::string_view text, const Options& options);

// `sha256:` and the hash of the packet's canonical form without integrity.checksum; nothing when it has none (a number
// beyond doubles).
std::optional<std::string> checksum(json::Node packet);
// The bytes that hash is of. The view holds until this thread asks for a checksum again.
std::optional<std::string_view> sealed_bytes(json::Node packet);
// Does `stated`, of that form, state this hash?
bool states(std::string_view stated, const Sha256& hash);

// The digest that tells a retry from a replay: also without delivery.retry_count and delivery.lifecycle.
std::optional<std::string> replay_digest(json::Node packet);

// Puts the right checksum in place of whatever stands there; nothing when there is no `integrity` object to put it into.
std::optional<json::Value> seal(const json::Value& packet);

inline constexpr std::string_view kPlaceholderChecksum = "sha256:fixture-hash-recorded-by-validator";
inline constexpr std::string_view kHandoffProfile = "uai.agent.handoff.v1";
inline constexpr std::string_view kAckProfile = "uai.agent.ack.v1";
inline constexpr std::string_view kBlockerProfile = "uai.agent.blocker.v1";
inline constexpr std::string_view kTaskStatusProfile = "uai.agent.task-status.v1";

// Baton's own extensions.
inline constexpr std::string_view kWorkExtension = "urn:baton:ext:work";
inline constexpr std::string_view kLabelsExtension = "urn:baton:ext:labels";

// Does a body of this profile have that member?
bool body_has(std::string_view profile, std::string_view member);

// A packet of that profile with everything filled in that needs no knowledge: versions, fresh ids, times, empty lists,
// algorithms. What is left for the author is absent, so that a check names it.
json::Value skeleton(std::string_view profile, Time now, Random& random);

// --- as a dialect ---------------------------------------------------------------------------------------------------

bool recognise(json::Node root);
std::span<const Row> rows();
// A handoff or task-status packet; nothing for the other profiles, which hand nothing over.
std::optional<Handoff> to_handoff(json::Node root, std::string_view raw);
json::Value from_handoff(const Handoff& handoff);

}  // namespace baton::uaix
