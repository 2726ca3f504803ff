// SPDX-License-Identifier: Apache-2.0
#include "dialects/uaix/schema.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/check.h"
#include "base/kernel.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/time.h"
#include "json/decimal.h"

namespace baton::uaix {
namespace {

// --- formats --------------------------------------------------------------------------------------------------------

// What a byte may be part of: one look at a table instead of a row of comparisons.
enum Class : std::uint8_t {
  kIdByte = 1,        // letters, digits, `.`, `_`, `-`
  kAlnum = 2,         // letters, digits
  kSlugRun = 4,       // lower-case letters, digits
  kUriByte = 8,       // what a URI may hold
  kSchemeByte = 16,   // what its scheme may hold
  kModelByte = 32,    // letters, digits, `.`, `_`, `:`, `/`, `-`
  kSlugJoint = 64,    // `.`, `-`
  kPartyJoint = 128,  // `.`, `_`, `-`
};
constexpr std::array<std::uint8_t, 256> kClasses = [] {
  std::array<std::uint8_t, 256> out{};
  for (int i = 0x21; i < 0x7f; ++i) {
    const char c = static_cast<char>(i);
    const auto in = [c](std::string_view set) { return set.find(c) != std::string_view::npos; };
    std::uint8_t bits = in("<>\"{}|\\^`") ? 0 : kUriByte;
    if (is_alphanumeric(c)) bits |= kAlnum | kIdByte | kSchemeByte | kModelByte;
    if (is_lower(c) || is_digit(c)) bits |= kSlugRun;
    if (in("._-")) bits |= kIdByte | kPartyJoint;
    if (in(".-")) bits |= kSlugJoint;
    if (in("+.-")) bits |= kSchemeByte;
    if (in("._:/-")) bits |= kModelByte;
    out[static_cast<std::size_t>(i)] = bits;
  }
  return out;
}();
inline bool is_in(char c, std::uint8_t classes) { return (kClasses[static_cast<unsigned char>(c)] & classes) != 0; }

// Where in a text of at most 64 bytes the classes are: a bit for each byte.
constexpr std::size_t kBitsMax = 64;
#if defined(__x86_64__)
[[gnu::target("avx512f,avx512bw,avx512vbmi")]] std::uint64_t bits_avx512(std::string_view text, std::uint8_t classes) {
  const __mmask64 there = text.empty() ? 0 : ~std::uint64_t{0} >> (kBitsMax - text.size());
  const __m512i bytes = _mm512_maskz_loadu_epi8(there, text.data());
  const __m512i all =
      _mm512_permutex2var_epi8(_mm512_loadu_si512(kClasses.data()), bytes, _mm512_loadu_si512(kClasses.data() + 64));
  const __mmask64 ascii = _mm512_mask_cmpge_epi8_mask(there, bytes, _mm512_setzero_si512());
  return _mm512_mask_test_epi8_mask(ascii, all, _mm512_set1_epi8(static_cast<char>(classes)));
}
#else
std::uint64_t bits_avx512(std::string_view, std::uint8_t) { CHECK(false); }
#endif

inline std::uint64_t bits_in(std::string_view text, std::uint8_t classes) {
  if (best_kernel() == Kernel::Avx512) return bits_avx512(text, classes);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) bits |= std::uint64_t{is_in(text[i], classes)} << i;
  return bits;
}

inline bool all_in(std::string_view text, std::uint8_t classes) {
  for (; text.size() > kBitsMax; text.remove_prefix(kBitsMax))
    if (~bits_in(text.substr(0, kBitsMax), classes) != 0) return false;
  return static_cast<std::size_t>(std::popcount(bits_in(text, classes))) == text.size();
}

// PREFIX then `[A-Za-z0-9][A-Za-z0-9._-]{2,122}`.
bool is_id(std::string_view prefix, std::string_view text) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return text.size() >= 3 && text.size() <= 123 && is_in(text[0], kAlnum) && all_in(text, kIdByte);
}
bool is_message_id(std::string_view text) { return is_id("msg_", text); }
bool is_conversation_id(std::string_view text) { return is_id("conv_", text); }
bool is_correlation_id(std::string_view text) { return is_id("corr_", text); }
bool is_idempotency_key(std::string_view text) { return is_id("idem_", text); }
bool is_task_id(std::string_view text) { return is_id("task_", text); }
bool is_trace_id(std::string_view text) { return is_id("trace_", text); }

bool is_turn_id(std::string_view text) {
  return text.starts_with("turn_") && text.size() >= 6 && text.size() <= 14 &&
         std::all_of(text.begin() + 5, text.end(), is_digit);
}

// Runs of lower-case letters and digits joined by single characters of the class `joint`.
bool is_joined(std::string_view text, std::uint8_t joint) {
  bool after_run = false;
  while (!text.empty()) {
    const std::size_t size = std::min(text.size(), kBitsMax);
    const std::string_view part = text.substr(0, size);
    text.remove_prefix(size);
    const std::uint64_t run = bits_in(part, kSlugRun), other = ~run << (kBitsMax - size) >> (kBitsMax - size);
    if (bits_in(part, joint) != other || (other & ~(run << 1 | std::uint64_t{after_run})) != 0) return false;
    after_run = (run >> (size - 1) & 1) != 0;
  }
  return after_run;
}
bool is_slug(std::string_view text) { return is_joined(text, kSlugJoint); }

bool is_party_id(std::string_view text) {
  if (text.size() > 128) return false;
  for (const std::string_view prefix : {"agt_", "hum_", "team_", "svc_"})
    if (text.starts_with(prefix)) return is_joined(text.substr(prefix.size()), kPartyJoint);
  return false;
}

bool is_uri(std::string_view text) {
  if (text.size() > 2048) return false;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) return false;
  return is_lower(to_lower(text[0])) && all_in(text.substr(0, colon), kSchemeByte) &&
         all_in(text.substr(colon), kUriByte);
}
bool is_https_or_urn(std::string_view text) {
  if (!is_uri(text)) return false;
  return (text.starts_with("https://") && text.size() > 8 && text[8] != '/') || text.starts_with("urn:");
}

bool is_replay_window(std::string_view text) {
  if (!text.starts_with("rw-")) return false;
  text.remove_prefix(3);
  if (text.size() < 3 || text.size() > 123 || text[0] == '-') return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return is_in(c, kSlugRun) || c == '-'; });
}

bool is_model_id(std::string_view text) {
  return !text.empty() && text.size() <= 128 && is_in(text[0], kAlnum) && all_in(text, kModelByte);
}

// W3C trace context, version 00: 2-32-16-2 lower-case hexadecimal digits, neither id all zero.
bool is_traceparent(std::string_view text) {
  if (text.size() != 55 || !text.starts_with("00-") || text[35] != '-' || text[52] != '-') return false;
  const std::string_view trace = text.substr(3, 32), parent = text.substr(36, 16), flags = text.substr(53);
  for (const std::string_view part : {trace, parent, flags})
    if (!std::all_of(part.begin(), part.end(), is_lower_hex)) return false;
  return trace.find_first_not_of('0') != std::string_view::npos &&
         parent.find_first_not_of('0') != std::string_view::npos;
}

// `[a-z][a-z0-9_]{2,63}`
bool is_reason(std::string_view text) {
  if (text.size() < 3 || text.size() > 64 || !is_lower(text[0])) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
}

bool is_record_id(std::string_view text) {
  return !text.empty() && text.size() <= 128 && is_in(text[0], kAlnum) && all_in(text, kIdByte);
}

bool is_profile_name(std::string_view text) { return text.starts_with("uai.") && text.size() <= 128 && is_slug(text); }

// A time is judged apart (two codes); here it only has to be a string.
bool is_any(std::string_view) { return true; }

// --- values ---------------------------------------------------------------------------------------------------------

using Words = std::string_view;
constexpr Words kPartyTypes[] = {"agent", "runtime", "human", "team", "service"};
constexpr Words kModes[] = {"sync", "async"};
constexpr Words kPriorities[] = {"interactive", "low", "normal", "high", "urgent"};
constexpr Words kLifecycles[] = {"draft",    "reviewed", "transmitted", "received", "acknowledged", "completed",
                                 "deferred", "rejected", "escalated",   "expired",  "superseded"};
constexpr Words kChannels[] = {"public-web", "authenticated", "credentialed", "signed", "did-vc", "local-file"};
constexpr Words kDecisions[] = {"accept", "reject", "defer", "escalate"};
constexpr Words kOutcomes[] = {"completed", "partial", "failed"};
constexpr Words kBlockerTypes[] = {"authorization", "secret",     "destructive_action", "boundary_conflict",
                                   "boundary",      "dependency", "validation",         "scope",
                                   "access",        "other"};
constexpr Words kSourceTypes[] = {"task_evidence", "human_review", "cold_memory", "wiki"};
constexpr Words kProposedStatuses[] = {"proposed", "short_term", "archive", "current_truth"};

// --- rules ----------------------------------------------------------------------------------------------------------

constexpr std::int64_t kSequenceMax = 2'147'483'647;
constexpr bool kOptional = false;

constexpr MemberRule text(std::string_view name, std::int64_t max, bool required = true) {
  return {.name = name, .type = Type::String, .required = required, .min = 1, .max = max};
}
constexpr MemberRule format(std::string_view name, bool (*matches)(std::string_view), std::string_view expected,
                            bool required = true, bool nullable = false) {
  return {.name = name,
          .type = Type::String,
          .required = required,
          .nullable = nullable,
          .matches = matches,
          .expected = expected};
}
constexpr MemberRule word(std::string_view name, std::span<const Words> values) {
  return {.name = name, .type = Type::String, .values = values};
}
constexpr MemberRule integer(std::string_view name, std::int64_t min, std::int64_t max) {
  return {.name = name, .type = Type::Integer, .min = min, .max = max};
}
constexpr MemberRule boolean(std::string_view name) { return {.name = name, .type = Type::Boolean}; }
constexpr MemberRule object(std::string_view name, const ObjectRule* rule) {
  return {.name = name, .type = Type::Object, .object = rule};
}
constexpr MemberRule strings(std::string_view name, bool required) {
  return {.name = name, .type = Type::Strings, .required = required, .min = 0, .max = limits::kUaixListItemsMax};
}
constexpr MemberRule timestamp(std::string_view name) { return format(name, is_any, "a UTC time"); }

constexpr MemberRule kPartyMembers[] = {
    word("type", kPartyTypes),
    format("id", is_party_id, "`agt_`, `hum_`, `team_` or `svc_` and a lower-case name"),
    text("label", 200),
    format("uri", is_https_or_urn, "an https URI or a URN", kOptional),
    format("role", is_slug, "a lower-case slug"),
    format("project", is_slug, "a lower-case slug"),
    format("implementation", is_slug, "a lower-case slug", kOptional),
};
constexpr ObjectRule kParty{kPartyMembers, true};

constexpr MemberRule kConversationMembers[] = {
    format("conversation_id", is_conversation_id, "`conv_` and an id"),
    format("turn_id", is_turn_id, "`turn_` and up to nine digits"),
    format("parent_message_id", is_message_id, "`msg_` and an id", kOptional, true),
    {.name = "correlation_id",
     .type = Type::String,
     .matches = is_correlation_id,
     .missing = Code::UAIX_CORRELATION_MISSING,
     .malformed = Code::UAIX_CORRELATION_MALFORMED,
     .malformed_type = true},
    {.name = "traceparent",
     .type = Type::String,
     .required = false,
     .matches = is_traceparent,
     .malformed = Code::UAIX_TRACEPARENT_MALFORMED,
     .malformed_type = true},
    integer("sequence", 0, kSequenceMax),
};
constexpr ObjectRule kConversation{kConversationMembers};

constexpr MemberRule kOutputSchemaMembers[] = {
    format("profile", is_profile_name, "a profile such as `uai.agent.ack.v1`"),
    format("schema_uri", is_uri, "a URI", kOptional),
};
constexpr ObjectRule kOutputSchema{kOutputSchemaMembers};

constexpr MemberRule kDeliveryMembers[] = {
    word("mode", kModes),
    word("priority", kPriorities),
    timestamp("expires_at"),
    boolean("reply_requested"),
    boolean("ack_required"),
    format("task_ref", is_task_id, "`task_` and an id"),
    {.name = "idempotency_key",
     .type = Type::String,
     .matches = is_idempotency_key,
     .missing = Code::UAIX_IDEMPOTENCY_KEY_MISSING,
     .malformed = Code::UAIX_IDEMPOTENCY_KEY_MALFORMED,
     .malformed_type = true},
    integer("retry_count", 0, 10),
    integer("sequence", 0, kSequenceMax),
    word("lifecycle", kLifecycles),
    integer("timeout_ms", 1, 86'400'000),
    {.name = "fallback_directive", .type = Type::String, .min = 1, .max = 2000, .missing = Code::UAIX_FALLBACK_MISSING},
    object("expected_output_schema", &kOutputSchema),
};
constexpr ObjectRule kDelivery{kDeliveryMembers};

constexpr MemberRule kTrustMembers[] = {
    word("channel", kChannels),
    format("auth_scheme", is_slug, "a lower-case slug"),
    format("principal", is_uri, "a URI"),
    format("credential_ref", is_uri, "a URI", kOptional),
    format("signature_ref", is_uri, "a URI", kOptional),
    format("replay_window_id", is_replay_window, "`rw-` and a lower-case id"),
};
constexpr ObjectRule kTrust{kTrustMembers};

constexpr MemberRule kLineageMembers[] = {
    text("stage", 200),
    text("actor_id", 128),
    format("model_id", is_model_id, "a model id", kOptional),
    text("note", 2000, kOptional),
};
constexpr ObjectRule kLineage{kLineageMembers};

constexpr MemberRule kProvenanceMembers[] = {
    format("trace_id", is_trace_id, "`trace_` and an id"),
    format("parent_trace_id", is_trace_id, "`trace_` and an id", kOptional, true),
    timestamp("issued_at"),
    format("log_ref", is_uri, "a URI or a URN"),
    text("agent_id", 128),
    format("model_id", is_model_id, "a model id"),
    {.name = "confidence", .type = Type::Number, .min = 0, .max = 1},
    {.name = "lineage", .type = Type::Objects, .max = limits::kUaixListItemsMax, .object = &kLineage},
};
constexpr ObjectRule kProvenance{kProvenanceMembers};

// Algorithm, canonicalization and checksum have codes of their own and are judged with the seal.
constexpr MemberRule kIntegrityMembers[] = {
    integer("version", 1, 1),
    format("algorithm", is_any, ""),
    format("canonicalization", is_any, ""),
    {.name = "checksum",
     .type = Type::String,
     .matches = is_any,
     .malformed = Code::UAIX_CHECKSUM_MALFORMED,
     .malformed_type = true},
};
constexpr ObjectRule kIntegrity{kIntegrityMembers};

constexpr MemberRule kExtensionMembers[] = {
    format("namespace", is_uri, "a URI or a URN"),
    text("purpose", 500),
    boolean("critical"),
    {.name = "data", .type = Type::Any, .required = false, .nullable = true},
};
constexpr ObjectRule kExtension{kExtensionMembers};

constexpr MemberRule kEnvelopeMembers[] = {
    {.name = "uai_version",
     .type = Type::String,
     .matches = [](std::string_view version) { return version == "1.0"; },
     .malformed = Code::UAIX_VERSION_UNSUPPORTED},
    format("profile", is_any, ""),
    {.name = "message_id",
     .type = Type::String,
     .matches = is_message_id,
     .malformed = Code::UAIX_MESSAGE_ID_MALFORMED,
     .malformed_type = true},
    object("source", &kParty),
    object("target", &kParty),
    object("conversation", &kConversation),
    object("delivery", &kDelivery),
    object("trust", &kTrust),
    {.name = "body", .type = Type::AnyObject},
    object("provenance", &kProvenance),
    object("integrity", &kIntegrity),
    {.name = "extensions", .type = Type::Objects, .max = limits::kUaixListItemsMax, .object = &kExtension},
};
constexpr ObjectRule kEnvelope{kEnvelopeMembers};

// --- bodies ---------------------------------------------------------------------------------------------------------

constexpr MemberRule kTaskId = format("task_id", is_task_id, "`task_` and an id");
constexpr MemberRule kSupportBoundary = text("support_boundary", 1000);

constexpr MemberRule kAuthorizationMembers[] = {text("authorization_ref", 512), boolean("secret_values_included")};
constexpr ObjectRule kAuthorization{kAuthorizationMembers};

constexpr MemberRule kHandoffBody[] = {
    kTaskId,
    format("target_agent_id", is_party_id, "the id of the target"),
    text("context_summary", 4000),
    format("handoff_reason", is_reason, "a reason such as `continuation_requested`"),
    text("exact_next_action", 2000),
    object("delegated_authorization", &kAuthorization),
    kSupportBoundary,
    strings("required_reads", kOptional),
    strings("evidence_refs", kOptional),
    strings("blockers", kOptional),
    strings("risks", kOptional),
};
constexpr MemberRule kAckBody[] = {
    kTaskId,
    format("acknowledged_message_id", is_message_id, "`msg_` and an id"),
    word("decision", kDecisions),
    text("note", 2000, kOptional),
    kSupportBoundary,
};
constexpr MemberRule kTaskStatusBody[] = {kTaskId, text("status", 200), text("summary", 4000), kSupportBoundary};
constexpr MemberRule kFinalReportBody[] = {kTaskId, text("summary", 4000), strings("evidence_refs", true),
                                           word("outcome", kOutcomes), kSupportBoundary};
constexpr MemberRule kCorrectionBody[] = {
    kTaskId,
    format("corrects_message_id", is_message_id, "`msg_` and an id"),
    strings("corrected_fields", true),
    text("reason", 2000),
    kSupportBoundary,
};
constexpr MemberRule kCapabilityBody[] = {
    strings("capabilities", true), {.name = "limits", .type = Type::AnyObject}, kSupportBoundary};
constexpr MemberRule kBlockerBody[] = {
    format("blocker_id", is_record_id, "an id"),
    word("blocker_type", kBlockerTypes),
    text("description", 4000),
    boolean("human_review_required"),
    text("proposed_resolution", 2000),
    kSupportBoundary,
};
constexpr MemberRule kMemoryBody[] = {
    format("proposal_id", is_record_id, "an id"),
    word("source_type", kSourceTypes),
    strings("proposed_facts", true),
    word("proposed_status", kProposedStatuses),
    boolean("task_execution_separation"),
    boolean("review_required"),
    kSupportBoundary,
};

struct Profile {
  std::string_view name;
  ObjectRule body;
};
constexpr Profile kProfiles[] = {
    {"uai.agent.handoff.v1", {kHandoffBody}},        {"uai.agent.ack.v1", {kAckBody}},
    {"uai.agent.blocker.v1", {kBlockerBody}},        {"uai.agent.memory-proposal.v1", {kMemoryBody}},
    {"uai.agent.task-status.v1", {kTaskStatusBody}}, {"uai.agent.final-report.v1", {kFinalReportBody}},
    {"uai.agent.correction.v1", {kCorrectionBody}},  {"uai.agent.capability.v1", {kCapabilityBody}},
};

// --- checking -------------------------------------------------------------------------------------------------------

std::string_view type_words(Type type) {
  switch (type) {
    case Type::String: return "a string";
    case Type::Integer: return "a whole number";
    case Type::Number: return "a number";
    case Type::Boolean: return "true or false";
    case Type::Object:
    case Type::AnyObject: return "an object";
    case Type::Strings: return "an array of strings";
    case Type::Objects: return "an array of objects";
    case Type::Any: return "a value";
  }
  return "";
}

std::string list_words(std::span<const Words> values) {
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += i + 1 == values.size() ? " or " : ", ";
    out += values[i];
  }
  return out;
}

// What is said when something is wrong is kept out of line: nearly nothing is, and the walk stays short.
class ObjectCheck {
 public:
  ObjectCheck(const ObjectRule& rule, std::vector<Diagnostic>& out, SteppedSha256* meanwhile)
      : rule_(rule), out_(out), meanwhile_(meanwhile) {}

  void run(json::Node object) {
    if (full()) return;
    std::uint32_t seen = 0;
    std::size_t expected = 0;
    for (const json::Member member : object.members()) {
      if (meanwhile_ != nullptr) meanwhile_->step();
      const std::size_t index = find(member.name(), expected);
      if (full()) return;
      if (index == rule_.members.size()) {
        undeclared(member);
        continue;
      }
      expected = index + 1;
      seen |= 1u << index;
      check_value(member.value, rule_.members[index]);
    }
    if ((rule_.required & ~seen) != 0) missing(object, rule_.required & ~seen);
  }

 private:
  bool full() const { return out_.size() >= limits::kDiagnosticsMax; }

  // Which member of the table has that name; their number if none has. Members mostly come in the table's order, some left
  // out: it is looked for from `expected` on first.
  std::size_t find(std::string_view name, std::size_t expected) const {
    const std::span<const MemberRule> members = rule_.members;
    for (std::size_t i = expected; i < members.size(); ++i)
      if (same_text(members[i].name, name)) return i;
    for (std::size_t i = 0; i < expected; ++i)
      if (same_text(members[i].name, name)) return i;
    return members.size();
  }

  [[gnu::noinline]] void undeclared(json::Member member) {
    out_.push_back(report(Code::UAIX_FIELD_UNDECLARED, place_of(member.value), {{"field", member.name()}}));
  }

  [[gnu::noinline]] void missing(json::Node object, std::uint32_t absent) {
    for (std::size_t i = 0; i < rule_.members.size(); ++i) {
      const MemberRule& rule = rule_.members[i];
      if ((absent & (1u << i)) == 0) continue;
      const Place place = place_of_absent(object, rule.name);
      if (rule_.is_party) {
        out_.push_back(report(Code::UAIX_IDENTITY_MALFORMED, place,
                              {{"problem", "the party has no `" + std::string(rule.name) + "`"}}));
      } else {
        out_.push_back(report(rule.missing, place, {{"field", rule.name}}));
      }
    }
  }

  // Everything wrong with a member of source or target is the same code; elsewhere the code says what is wrong.
  void add(Code code, json::Node node, std::string problem, std::initializer_list<Argument> arguments) {
    if (rule_.is_party) code = Code::UAIX_IDENTITY_MALFORMED;
    if (code == Code::UAIX_IDENTITY_MALFORMED || code == Code::UAIX_FIELD_LENGTH) {
      out_.push_back(report(code, place_of(node), {{"problem", problem}}));
    } else {
      out_.push_back(report(code, place_of(node), arguments));
    }
  }

  [[gnu::noinline]] void wrong_type(json::Node node, const MemberRule& rule) {
    if (node.is_null() && rule.nullable) return;
    if (node.is_null() && rule.missing == Code::UAIX_FALLBACK_MISSING) {
      out_.push_back(report(rule.missing, place_of(node)));
      return;
    }
    const std::string_view kind = json::kind_name(node.kind());
    Code code = rule.malformed_type ? rule.malformed : Code::UAIX_FIELD_TYPE;
    if (rule.object != nullptr && rule.object->is_party) code = Code::UAIX_IDENTITY_MALFORMED;
    add(code, node, "this is " + std::string(kind) + ", expected " + std::string(type_words(rule.type)),
        {{"kind", kind}, {"expected", type_words(rule.type)}});
  }

  void check_value(json::Node node, const MemberRule& rule) {
    const json::Kind kind = node.kind();
    switch (rule.type) {
      case Type::String:
        if (kind == json::Kind::String) return check_string(node, rule);
        break;
      case Type::Integer:
        if (kind == json::Kind::Number && json::is_integer(node.number_text())) return check_range(node, rule);
        break;
      case Type::Number:
        if (kind == json::Kind::Number) return check_range(node, rule);
        break;
      case Type::Boolean:
        if (kind == json::Kind::Boolean) return;
        break;
      case Type::Object:
        if (kind == json::Kind::Object) return check_object(node, *rule.object, out_, meanwhile_);
        break;
      case Type::AnyObject:
        if (kind == json::Kind::Object) return;
        break;
      case Type::Strings:
      case Type::Objects:
        if (kind == json::Kind::Array) return check_list(node, rule);
        break;
      case Type::Any: return;
    }
    wrong_type(node, rule);
  }

  void check_string(json::Node node, const MemberRule& rule) {
    const std::string_view value = node.string();
    if (rule.matches != nullptr && !rule.matches(value)) wrong_format(node, rule);
    else if (!rule.values.empty() && !is_one_of(rule.values, value)) wrong_value(node, rule);
    else if (rule.min > 0 && is_blank_text(value)) blank(node, rule);
    else if (rule.max > 0 && value.size() > static_cast<std::size_t>(rule.max) &&
             count_characters(value) > static_cast<std::size_t>(rule.max))
      too_long(node, rule);
  }

  static bool is_one_of(std::span<const Words> words, std::string_view value) {
    for (const Words word : words)
      if (same_text(word, value)) return true;
    return false;
  }

  [[gnu::noinline]] void wrong_format(json::Node node, const MemberRule& rule) {
    add(rule.malformed, node, "not " + std::string(rule.expected), {{"expected", rule.expected}});
  }

  [[gnu::noinline]] void wrong_value(json::Node node, const MemberRule& rule) {
    const std::string expected = list_words(rule.values);
    add(Code::UAIX_FIELD_ENUM, node, "not " + expected, {{"value", node.string()}, {"expected", expected}});
  }

  [[gnu::noinline]] void blank(json::Node node, const MemberRule& rule) {
    if (rule.missing == Code::UAIX_FALLBACK_MISSING) out_.push_back(report(rule.missing, place_of(node)));
    else add(Code::UAIX_FIELD_LENGTH, node, "the text is blank", {});
  }

  [[gnu::noinline]] void too_long(json::Node node, const MemberRule& rule) {
    add(Code::UAIX_FIELD_LENGTH, node,
        "the text has " + std::to_string(count_characters(node.string())) + " characters, at most " +
            std::to_string(rule.max) + " are taken",
        {});
  }

  void check_range(json::Node node, const MemberRule& rule) {
    std::int64_t small = 0;
    if (const std::string_view text = node.number_text();
        text.size() < 18 &&
        std::from_chars(text.data(), text.data() + text.size(), small).ptr == text.data() + text.size() &&
        small >= rule.min && small <= rule.max)
      return;
    check_exact_range(node, rule);
  }

  [[gnu::noinline]] void check_exact_range(json::Node node, const MemberRule& rule) {
    const json::Decimal value = json::Decimal::from_number(node.number_text());
    if (value >= json::Decimal(rule.min) && value <= json::Decimal(rule.max)) return;
    const std::string expected = std::to_string(rule.min) + " to " + std::to_string(rule.max);
    add(Code::UAIX_FIELD_RANGE, node, "out of range, expected " + expected, {{"expected", expected}});
  }

  void check_list(json::Node node, const MemberRule& rule) {
    if (node.size() > static_cast<std::size_t>(rule.max)) too_many(node, rule);
    std::size_t left = static_cast<std::size_t>(rule.max);  // what is beyond the limit is not looked at one by one
    for (const json::Node item : node.elements()) {
      if (left-- == 0) break;
      if (rule.type == Type::Objects) {
        if (item.is_object()) check_object(item, *rule.object, out_, meanwhile_);
        else wrong_item(item, "an object");
      } else if (!item.is_string()) {
        wrong_item(item, "a string");
      }
    }
  }

  [[gnu::noinline]] void too_many(json::Node node, const MemberRule& rule) {
    add(Code::UAIX_FIELD_LENGTH, node,
        "the list has " + std::to_string(node.size()) + " items, at most " + std::to_string(rule.max) + " are taken",
        {});
  }

  [[gnu::noinline]] void wrong_item(json::Node item, std::string_view expected) {
    add(Code::UAIX_FIELD_TYPE, item, "", {{"kind", json::kind_name(item.kind())}, {"expected", expected}});
  }

  const ObjectRule& rule_;
  std::vector<Diagnostic>& out_;
  SteppedSha256* meanwhile_;
};

}  // namespace

const ObjectRule& envelope_rule() { return kEnvelope; }

const ObjectRule* body_rule(std::string_view profile) {
  for (const Profile& known : kProfiles)
    if (known.name == profile) return &known.body;
  return nullptr;
}

void check_object(json::Node object, const ObjectRule& rule, std::vector<Diagnostic>& out, SteppedSha256* meanwhile) {
  ObjectCheck(rule, out, meanwhile).run(object);
}

}  // namespace baton::uaix
