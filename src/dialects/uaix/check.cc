// SPDX-License-Identifier: Apache-2.0
// The nine steps of checking a packet, in order.
#include <algorithm>
#include <cmath>

#include "base/limits.h"
#include "base/stepped_sha256.h"
#include "base/text.h"
#include "dialects/uaix/packet.h"
#include "dialects/uaix/schema.h"
#include "dialects/uaix/text_rules.h"
#include "json/decimal.h"
#include "json/parse.h"
#include "secrets/detector.h"

namespace baton::uaix {
namespace {

class Check {
 public:
  Check(json::Node packet, const Options& options, Checked& out)
      : packet_(packet), options_(options), checked_(out), out_(out.diagnostics) {
    for (const json::Member member : packet.members())
      if (json::Node* node = node_named(member.name())) *node = member.value;
    checksum_ = integrity_["checksum"];
    if (profile_node_.is_string()) profile_ = profile_node_.string();
  }

  void run() {
    begin_hash();
    check_schema();
    check_times();
    check_cross_fields();
    check_profile_rules();
    check_texts();
    check_extensions();
    check_integrity();
    check_replay();
  }

 private:
  void add(Code code, json::Node node, std::initializer_list<Argument> arguments = {}) {
    if (out_.size() < limits::kDiagnosticsMax) out_.push_back(report(code, place_of(node), arguments));
  }

  // By their first letters and length: two comparisons instead of up to nine.
  json::Node* node_named(std::string_view name) {
    const auto if_named = [name](std::string_view wanted, json::Node& node) {
      return same_text(name, wanted) ? &node : nullptr;
    };
    switch (name.size()) {
      case 4: return if_named("body", body_);
      case 6: return name[0] == 's' ? if_named("source", source_) : if_named("target", target_);
      case 7: return if_named("profile", profile_node_);
      case 8: return if_named("delivery", delivery_);
      case 9: return if_named("integrity", integrity_);
      case 10: return name[0] == 'p' ? if_named("provenance", provenance_) : if_named("extensions", extensions_);
      case 12: return if_named("conversation", conversation_);
      default: return nullptr;
    }
  }

  bool is_profile(std::string_view name) const { return profile_ == name; }

  // For step 8, which compares: the hash is computed between the members and bytes that the steps before it look at.
  void begin_hash() {
    has_checksum_ = checksum_.is_string() && is_checksum(checksum_.string());
    if (!has_checksum_) return;
    if (const auto bytes = sealed_bytes(packet_)) hash_.emplace(*bytes);
  }
  SteppedSha256* hash() { return hash_ ? &*hash_ : nullptr; }

  // Step 2.
  void check_schema() {
    check_object(packet_, envelope_rule(), out_, hash());
    if (!profile_node_.is_string()) return;
    const ObjectRule* rule = body_rule(profile_);
    if (rule == nullptr) add(Code::UAIX_PROFILE_UNKNOWN, profile_node_, {{"profile", profile_}});
    else if (body_.is_object()) check_object(body_, *rule, out_, hash());
  }

  std::optional<Time> time_of(json::Node node) {
    if (!node.is_string()) return std::nullopt;
    const TimeParse parsed = parse_time(node.string());
    if (!parsed.time)
      add(parsed.fault == TimeFault::NotUtc ? Code::UAIX_TIMESTAMP_NOT_UTC : Code::UAIX_TIMESTAMP_MALFORMED, node);
    return parsed.time;
  }

  // Step 3. No grace for expiry; a sender's clock may be ahead a little.
  void check_times() {
    const json::Node expires_at = delivery_["expires_at"], issued_at = provenance_["issued_at"];
    const auto expires = time_of(expires_at), issued = time_of(issued_at);
    if (expires && options_.now >= *expires) add(Code::UAIX_EXPIRED, expires_at, {{"time", expires_at.string()}});
    if (issued && *issued > options_.now + limits::kUaixIssuedLeadSecondsMax)
      add(Code::UAIX_ISSUED_IN_FUTURE, issued_at);
    if (expires && issued && *expires <= *issued) add(Code::UAIX_EXPIRY_BEFORE_ISSUE, expires_at);
  }

  static bool differ(json::Node left, json::Node right) {
    return left.is_string() && right.is_string() && left.string() != right.string();
  }

  // Step 4.
  void check_cross_fields() {
    const json::Node source_id = source_["id"], target_id = target_["id"];
    if (is_profile(kHandoffProfile)) {
      if (source_id.is_string() && target_id.is_string() && source_id.string() == target_id.string())
        add(Code::UAIX_SELF_HANDOFF, target_id);
      if (differ(body_["target_agent_id"], target_id)) add(Code::UAIX_TARGET_MISMATCH, body_["target_agent_id"]);
    }
    if (differ(body_["task_id"], delivery_["task_ref"])) add(Code::UAIX_TASK_MISMATCH, body_["task_id"]);
    if (differ(provenance_["agent_id"], source_id)) add(Code::UAIX_PROVENANCE_MISMATCH, provenance_["agent_id"]);
    const json::Node sequence = conversation_["sequence"], delivered = delivery_["sequence"];
    if (sequence.is_number() && delivered.is_number() &&
        !json::same_number(sequence.number_text(), delivered.number_text()))
      add(Code::UAIX_SEQUENCE_MISMATCH, delivered);
    const json::Node secrets = body_["delegated_authorization"]["secret_values_included"];
    if (secrets.is_true()) add(Code::UAIX_AUTHORIZATION_CARRIES_SECRET, secrets);
  }

  // Step 5.
  void check_profile_rules() {
    if (is_profile("uai.agent.blocker.v1")) {
      constexpr std::array<std::string_view, 4> kForPeople = {"authorization", "secret", "destructive_action",
                                                              "boundary_conflict"};
      const json::Node type = body_["blocker_type"], review = body_["human_review_required"];
      if (type.is_string() && std::find(kForPeople.begin(), kForPeople.end(), type.string()) != kForPeople.end() &&
          review.is_boolean() && !review.boolean())
        add(Code::UAIX_BLOCKER_REVIEW_REQUIRED, review, {{"type", type.string()}});
    } else if (is_profile("uai.agent.memory-proposal.v1")) {
      if (body_["source_type"].is_text("cold_memory") && body_["proposed_status"].is_text("current_truth"))
        add(Code::UAIX_COLD_MEMORY_PROMOTION, body_["proposed_status"]);
    } else if (is_profile("uai.agent.final-report.v1")) {
      const json::Node evidence = body_["evidence_refs"];
      if (evidence.is_array() && evidence.size() == 0) add(Code::UAIX_FINAL_REPORT_EVIDENCE_EMPTY, evidence);
    }
  }

  // Step 6. Every string and every member name. The document's own text is looked at first, all at once, and the strings
  // that were escaped after it: together they hold every character of every string, and nearly always there is nothing to
  // find.
  void check_texts() {
    const json::Document& document = *packet_.document();
    const std::string_view text = document.text(), unescaped = document.unescaped_strings();
    look_for_secrets_ = secrets::may_hold_secret(text, hash()) || secrets::may_hold_secret(unescaped);
    look_for_words_ = may_break_text_rules(text, hash()) || may_break_text_rules(unescaped);
    look_beyond_ascii_ = !document.is_ascii() || !is_ascii(unescaped);
    const json::Node next_action = body_["exact_next_action"];
    if (next_action.is_string() && demands_unattended_execution(next_action.string()))
      add(Code::UAIX_UNATTENDED_EXECUTION, next_action);
    if (look_for_secrets_ || look_for_words_ || look_beyond_ascii_) check_texts_in(packet_, {});
  }

  void check_texts_in(json::Node node, json::Node key) {
    if (node == checksum_) return;  // a hash looks like a secret, and is not
    if (node.is_string()) {
      check_text(node, node.string());
      if (look_for_secrets_ && key) check_assigned(key, node);
    }
    for (const json::Node element : node.elements()) check_texts_in(element, {});
    for (const json::Member member : node.members()) {
      check_text(member.value, member.name());
      check_texts_in(member.value, member.key);
    }
  }

  void check_text(json::Node place, std::string_view text) {
    if (look_for_secrets_)
      for (const secrets::Finding& finding : secrets::find(text)) add_secret(place, finding);
    if (!look_for_words_ && is_ascii(text)) return;
    if (claims_unsupported(text)) add(Code::UAIX_CLAIM_UNSUPPORTED, place);
    if (holds_private_endpoint(text)) add(Code::UAIX_PRIVATE_ENDPOINT, place);
    // A trace is known by ASCII alone, so the first look would have seen it.
    if (look_for_words_ && holds_local_trace(text)) add(Code::UAIX_LOCAL_TRACE, place);
  }

  void check_assigned(json::Node key, json::Node value) {
    if (const auto finding = secrets::find_assigned(key.string(), value.string()); finding && !has_secret_at(value))
      add_secret(value, *finding);
  }

  bool has_secret_at(json::Node node) const {
    const std::string pointer = node.pointer();
    return std::any_of(out_.begin(), out_.end(), [&](const Diagnostic& diagnostic) {
      return diagnostic.code == Code::UAIX_SECRET_DETECTED && diagnostic.place.pointer == pointer;
    });
  }

  void add_secret(json::Node place, const secrets::Finding& finding) {
    add(Code::UAIX_SECRET_DETECTED, place, {{"rule", finding.rule}, {"length", std::to_string(finding.length)}});
  }

  // Step 7.
  void check_extensions() {
    for (const json::Node extension : extensions_.elements()) {
      if (!extension["critical"].is_true() || !extension["namespace"].is_string()) continue;
      const std::string_view name = extension["namespace"].string();
      const auto& known = options_.known_extensions;
      if (name == kWorkExtension || name == kLabelsExtension ||
          std::find(known.begin(), known.end(), name) != known.end())
        continue;
      add(Code::UAIX_EXTENSION_CRITICAL_UNKNOWN, extension["namespace"], {{"namespace", name}});
    }
  }

  // A canonical form in doubles cannot tell such numbers apart, so a checksum would not bind them.
  void check_numbers() {
    if (packet_.document()->has_plain_numbers()) return;
    for (std::uint32_t i = 0; i < packet_.document()->node_count(); ++i) {
      const json::Node node(packet_.document(), i);
      if (!node.is_number()) continue;
      const std::string_view text = node.number_text();
      if (text.size() < 15 && text.find_first_of("eE") == std::string_view::npos) continue;
      const json::Decimal value = json::Decimal::from_number(text), bound(limits::kUaixSafeInteger);
      if ((json::is_integer(text) && (value > bound || value < -bound)) || !std::isfinite(json::to_double(text)))
        add(Code::UAIX_FIELD_RANGE, node,
            {{"expected", "a number that a double carries exactly; send larger ones as strings"}});
    }
  }

  static bool is_checksum(std::string_view text) {
    constexpr std::string_view kPrefix = "sha256:";
    if (!text.starts_with(kPrefix) || text.size() != kPrefix.size() + 64) return false;
    bool all = true;
    for (const char c : text.substr(kPrefix.size())) all &= is_lower_hex(c);
    return all;
  }

  // Step 8.
  void check_integrity() {
    check_numbers();
    const json::Node stated = checksum_, algorithm = integrity_["algorithm"],
                     canonicalization = integrity_["canonicalization"];
    bool known = true;
    if (algorithm.is_string() && algorithm.string() != "sha256")
      add(Code::UAIX_INTEGRITY_ALGORITHM, algorithm), known = false;
    if (canonicalization.is_string() && canonicalization.string() != "jcs-compatible-sorted-json")
      add(Code::UAIX_INTEGRITY_CANONICALIZATION, canonicalization), known = false;
    if (!stated.is_string()) return;
    if (stated.string() == kPlaceholderChecksum) {
      if (!options_.fixture) add(Code::UAIX_CHECKSUM_PLACEHOLDER, stated);
    } else if (!has_checksum_) {
      add(Code::UAIX_CHECKSUM_MALFORMED, stated);
    } else if (known) {
      if (hash_ && !states(stated.string(), hash_->finish())) add(Code::UAIX_CHECKSUM_MISMATCH, stated);
    }
  }

  // Step 9. The same id or key with the same content is a retry; with other content it is not.
  void check_replay() {
    if (options_.seen == nullptr || options_.seen->empty()) return;
    const json::Node source_id = source_["id"], message_id = packet_["message_id"], key = delivery_["idempotency_key"];
    const auto digest = replay_digest(packet_);
    if (!digest || !source_id.is_string()) return;
    bool replay = false, conflict = false;
    for (const Seen& seen : *options_.seen) {
      if (seen.source_id != source_id.string()) continue;
      const bool same = seen.digest == *digest;
      const bool same_id = message_id.is_text(seen.message_id), same_key = key.is_text(seen.idempotency_key);
      replay |= same_id && !same;
      conflict |= same_key && !same;
      checked_.duplicate |= (same_id || same_key) && same;
    }
    if (replay) add(Code::UAIX_REPLAY, message_id);
    if (conflict) add(Code::UAIX_IDEMPOTENCY_CONFLICT, key);
  }

  json::Node packet_, source_, target_, conversation_, delivery_, body_, provenance_, integrity_, extensions_;
  json::Node profile_node_, checksum_;
  std::string_view profile_;
  const Options& options_;
  Checked& checked_;
  std::vector<Diagnostic>& out_;
  bool has_checksum_ = false;  // one of the right form, whether it is right or not
  std::optional<SteppedSha256> hash_;
  bool look_for_secrets_ = false;
  bool look_for_words_ = false;
  bool look_beyond_ascii_ = false;
};

// Step 1.
Diagnostic json_diagnostic(std::string_view text, const json::ParseError& error) {
  const Place place = place_at(text, error.offset);
  switch (error.fault) {
    case json::Fault::TooLarge:
      return report(Code::UAIX_TOO_LARGE, place,
                    {{"bytes", std::to_string(text.size())}, {"max", std::to_string(limits::kUaixBytesMax)}});
    case json::Fault::DuplicateKey: return report(Code::UAIX_JSON_DUPLICATE_KEY, place, {{"what", error.what}});
    case json::Fault::TooDeep: return report(Code::UAIX_TOO_DEEP, place, {{"what", error.what}});
    default: return report(Code::UAIX_JSON_SYNTAX, place, {{"what", error.what}});
  }
}

}  // namespace

Checked check(std::string_view text, const Options& options) {
  Checked checked;
  json::ParseLimits limits;
  limits.bytes_max = limits::kUaixBytesMax;
  limits.depth_max = limits::kUaixDepthMax;
  auto document = json::parse(text, limits);
  if (!document) {
    checked.diagnostics.push_back(json_diagnostic(text, document.error()));
    return checked;
  }
  if (!document->root().is_object()) {
    checked.diagnostics.push_back(report(Code::UAIX_NOT_OBJECT, place_of(document->root()),
                                         {{"kind", json::kind_name(document->root().kind())}}));
    return checked;
  }
  checked.document = std::move(*document);
  Check(checked.document->root(), options, checked).run();
  return checked;
}

}  // namespace baton::uaix
