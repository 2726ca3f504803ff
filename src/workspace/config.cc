// SPDX-License-Identifier: Apache-2.0
#include "workspace/config.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/sha256.h"
#include "base/text.h"
#include "dialects/agent_exit/signal.h"
#include "workspace/fields.h"
#include "yaml/yaml.h"

namespace baton::workspace {
namespace {

using work::Phase;
using work::Policy;
using work::Role;

// --- lease ------------------------------------------------------------------------------------------------------------

struct Unit {
  char letter;
  std::int64_t seconds;
};
constexpr std::array kUnits = {Unit{'s', 1}, Unit{'m', 60}, Unit{'h', 3'600}, Unit{'d', 86'400}};
constexpr std::size_t kDurationDigitsMax = 9;  // beyond every range, and far from an overflow

// `90s`, `10m`, `24h`, `7d` in seconds.
std::optional<std::int64_t> parse_duration(std::string_view text) {
  if (text.size() < 2 || text.size() > kDurationDigitsMax + 1) return std::nullopt;
  const auto unit = std::ranges::find(kUnits, text.back(), &Unit::letter);
  if (unit == kUnits.end()) return std::nullopt;
  text.remove_suffix(1);
  std::int64_t number = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number * unit->seconds;
}

// As people would write it: in the largest unit that divides it.
std::string duration_text(std::int64_t seconds) {
  const Unit* best = &kUnits[0];
  for (const Unit& unit : kUnits)
    if (seconds % unit.seconds == 0) best = &unit;
  return std::to_string(seconds / best->seconds) + best->letter;
}

constexpr std::string_view kDurationExpected = "a whole number and `s`, `m`, `h` or `d`, such as `10m`";

// Bounds in seconds, the member in nanoseconds.
template <auto member, std::int64_t min, std::int64_t max>
void duration(Findings& findings, Value value, member_of::Owner<member>& into) {
  if (!findings.is(json::Kind::String, value, kDurationExpected)) return;
  const auto seconds = parse_duration(value.node.string());
  if (!seconds) findings.refuse(value, "is no duration", kDurationExpected);
  else if (*seconds < min || *seconds > max)
    findings.out_of_range(value, duration_text(min) + " to " + duration_text(max));
  else into.*member = *seconds * kNanosecondsPerSecond;
}

constexpr std::array kLeaseFields = {
    Field<Policy>{"ttl", duration<&Policy::lease_ttl, 1, 86'400>},
    Field<Policy>{"max_parked", duration<&Policy::max_parked, 60, 30 * 86'400>},
};

// --- roles ------------------------------------------------------------------------------------------------------------

constexpr std::array kClaimable = {Phase::Draft, Phase::Implementation, Phase::ReadyForReview, Phase::Review,
                                   Phase::ReadyForMerge};

std::string phase_names() {
  std::string out = "one of";
  for (const Phase phase : agent_exit::kPhases) (out += out.size() == 6 ? " " : ", ") += agent_exit::phase_name(phase);
  return out;
}

void read_phases(Findings& findings, Value value, Role& into) {
  if (!findings.is(json::Kind::Array, value, "a list of phases")) return;
  if (value.node.size() == 0) findings.out_of_range(value, "at least one phase");
  for (const json::Node element : value.node.elements()) {
    const Value one{element, value.name};
    if (!findings.is(json::Kind::String, one, "a string")) continue;
    if (const auto phase = agent_exit::find_phase(element.string())) into.phases.push_back(*phase);
    else findings.refuse(one, "names an unknown phase", phase_names());
  }
}

constexpr std::array kRoleFields = {
    Field<Role>{"phases", read_phases, "the list of the phases it takes"},
    Field<Role>{"pack", text<&Role::pack, kPackName>},
    Field<Role>{"reads", texts<&Role::readable, kSectionName>},
    Field<Role>{"writes", texts<&Role::writable, kSectionName>},
};

// A phase belongs to one role: who takes it must not depend on the order of the file.
void check_phases_apart(Findings& findings, json::Node roles) {
  std::array<std::string_view, agent_exit::kPhases.size()> taken_by = {};
  for (const json::Member role : roles.members()) {
    if (is_own(role.name())) continue;
    for (const json::Node element : role.value["phases"].elements()) {
      const auto phase = element.is_string() ? agent_exit::find_phase(element.string()) : std::nullopt;
      if (!phase) continue;
      std::string_view& owner = taken_by[static_cast<std::size_t>(*phase)];
      if (!owner.empty())
        findings.refuse({element, "phases"}, "names a phase that the role `" + std::string(owner) + "` takes",
                        "each phase in one role");
      else owner = role.name();
    }
  }
  for (const Phase phase : kClaimable)
    if (taken_by[static_cast<std::size_t>(phase)].empty())
      findings.add(Code::CONFIG_PHASE_UNASSIGNED, roles, {{"phase", agent_exit::phase_name(phase)}});
}

void read_roles(Findings& findings, Value value, Policy& into) {
  if (!findings.is(json::Kind::Object, value, "an object with a member for each role")) return;
  into.roles.clear();
  for (const json::Member member : value.node.members()) {
    if (is_own(member.name())) continue;
    if (const auto problem = kRoleName.problem(member.name()); !problem.empty())
      findings.refuse({member.key, value.name}, problem, kRoleName.expected);
    Role& role = into.roles.emplace_back();
    role.name = member.name();
    role.phases.clear();
    read_object(findings, {member.value, member.name()}, kRoleFields, role);
  }
  check_phases_apart(findings, value.node);
}

// --- webhooks ---------------------------------------------------------------------------------------------------------

constexpr std::array kSourceFields = {
    Field<WebhookSource>{"repository", text<&WebhookSource::repository, kRepository>, "`owner/name`"},
    Field<WebhookSource>{"secret_file", text<&WebhookSource::secret_file, kSecretFile>, "the file with the secret"},
};
constexpr std::array kTargetFields = {
    Field<WebhookTarget>{"name", text<&WebhookTarget::name, kTargetName>, "a name of your own for the target"},
    Field<WebhookTarget>{"url", text<&WebhookTarget::url, kTargetUrl>, "the address that events are sent to"},
    Field<WebhookTarget>{"secret_file", text<&WebhookTarget::secret_file, kSecretFile>, "the file with the secret"},
    Field<WebhookTarget>{"types", texts<&WebhookTarget::types, kTypePattern>},
    Field<WebhookTarget>{"streams", texts<&WebhookTarget::streams, kStreamPattern>},
};

// A list of objects that are told apart by one of their members. Case does not: GitHub's names have none.
template <auto member, const auto& fields, auto key>
void list_by(Findings& findings, Value value, Config& into) {
  if (!findings.is(json::Kind::Array, value, "a list of objects")) return;
  std::set<std::string> seen;
  for (const json::Node element : value.node.elements()) {
    auto& one = (into.*member).emplace_back();
    read_object(findings, {element, value.name}, fields, one);
    if (!(one.*key).empty() && !seen.insert(to_lower_ascii(one.*key)).second)
      findings.refuse({element[fields[0].name], fields[0].name}, "stands in the list already", "each once");
  }
}

constexpr std::array kWebhookFields = {
    Field<Config>{"in", list_by<&Config::webhooks_in, kSourceFields, &WebhookSource::repository>},
    Field<Config>{"out", list_by<&Config::webhooks_out, kTargetFields, &WebhookTarget::name>},
};

// --- the rest ---------------------------------------------------------------------------------------------------------

constexpr std::int64_t kBytesMax = std::int64_t{1} << 50;  // beyond any disk, and far from an overflow

constexpr std::array kActorFields = {
    Field<ActorLimits>{"items", integer<&ActorLimits::items, 0, 10'000'000>},
    Field<ActorLimits>{"approvals", integer<&ActorLimits::approvals, 0, 10'000>},
    Field<ActorLimits>{"bytes_per_hour", integer<&ActorLimits::bytes_per_hour, 0, kBytesMax>},
    Field<ActorLimits>{"requests_per_second", integer<&ActorLimits::requests_per_second, 0, 10'000'000>},
};

void read_per_actor(Findings& findings, Value value, NodeLimits& into) {
  read_object(findings, value, kActorFields, into.per_actor);
}

constexpr std::array kApprovalFields = {
    Field<ApprovalLimits>{"per_session", integer<&ApprovalLimits::per_session, 1, 64>},
    Field<ApprovalLimits>{"per_workspace", integer<&ApprovalLimits::per_workspace, 1, 10'000>},
};

void read_approvals(Findings& findings, Value value, Config& into) {
  read_object(findings, value, kApprovalFields, into.approvals);
}

// net/http_server.h has what each means.
constexpr std::array kLimitFields = {
    Field<NodeLimits>{"body_bytes", integer<&NodeLimits::body_bytes, 1'024, limits::kJsonBytesMax>},
    Field<NodeLimits>{"header_bytes", integer<&NodeLimits::header_bytes, 1'024, 65'536>},
    Field<NodeLimits>{"connections", integer<&NodeLimits::connections, 1, 65'536>},
    Field<NodeLimits>{"event_streams", integer<&NodeLimits::event_streams, 0, 65'536>},
    Field<NodeLimits>{"waiting_claims", integer<&NodeLimits::waiting_claims, 0, 65'536>},
    Field<NodeLimits>{"read_seconds", integer<&NodeLimits::read_seconds, 1, 300>},
    Field<NodeLimits>{"idle_seconds", integer<&NodeLimits::idle_seconds, 1, 3'600>},
    Field<NodeLimits>{"wait_seconds", integer<&NodeLimits::wait_seconds, 1, 3'600>},
    Field<NodeLimits>{"disk_free_bytes", integer<&NodeLimits::disk_free_bytes, 0, kBytesMax>},
    Field<NodeLimits>{"per_actor", read_per_actor},
};

void read_exit_protocol(Findings& findings, Value value, Config& into) {
  boolean<&Policy::exit_protocol>(findings, value, into.policy);
  into.exit_protocol_stated = value.node.is_boolean();
}

void read_review_by(Findings& findings, Value value, Policy& into) {
  if (!findings.is(json::Kind::String, value, "a string")) return;
  into.review_by_operator = value.node.is_text("operator");
  if (!into.review_by_operator && !value.node.is_text("anyone"))
    findings.refuse(value, "is none of the two words", "`anyone` or `operator`");
}

// A file URL is the folder it names.
void read_witness(Findings& findings, Value value, Config& into) {
  static constexpr std::string_view kFile = "file://";
  texts<&Config::witnesses, kWitnessAddress>(findings, value, into);
  for (std::string& witness : into.witnesses)
    if (witness.starts_with(kFile)) witness = "folder:" + witness.substr(kFile.size());
}

// What a reader of the policy does, for the configuration that has one.
template <auto read>
void in_policy(Findings& findings, Value value, Config& into) {
  read(findings, value, into.policy);
}

void read_limits(Findings& findings, Value value, Config& into) {
  read_object(findings, value, kLimitFields, into.limits);
}

constexpr std::array kLaneFields = {
    Field<Config>{"reads", boolean<&Config::fast_lane_reads>},
};

void read_fast_lane(Findings& findings, Value value, Config& into) { read_object(findings, value, kLaneFields, into); }

constexpr std::array kFields = {
    Field<Config>{"exit_protocol", read_exit_protocol},
    Field<Config>{"lease", in_policy<object<kLeaseFields, Policy>>},
    Field<Config>{"max_attempts", in_policy<integer<&Policy::max_attempts, 1, 100>>},
    Field<Config>{"allow_self_review", in_policy<boolean<&Policy::allow_self_review>>},
    Field<Config>{"review_by", in_policy<read_review_by>},
    Field<Config>{"roles", in_policy<read_roles>},
    Field<Config>{"required_checks", in_policy<texts<&Policy::required_checks, kCheckName>>},
    Field<Config>{"webhooks", object<kWebhookFields, Config>},
    Field<Config>{"witness", read_witness},
    Field<Config>{"approvals", read_approvals},
    Field<Config>{"limits", read_limits},
    Field<Config>{"fast_lane", read_fast_lane},
};

}  // namespace

ReadConfig read_config(std::string_view yaml) {
  ReadConfig out;
  out.config.digest = sha256_hex(yaml);
  yaml::Parsed parsed = yaml::parse(yaml);
  out.diagnostics = std::move(parsed.diagnostics);
  if (!parsed.document || parsed.document->root().is_null()) return out;  // an empty file: defaults
  Findings findings;
  read_object(findings, {parsed.document->root(), "configuration"}, kFields, out.config);
  for (Diagnostic& finding : findings.take()) out.diagnostics.push_back(std::move(finding));
  return out;
}

void apply_flag(Config& config, const char* flag) {
  if (flag != nullptr) config.policy.exit_protocol = agent_exit::is_enabled(flag);
  else if (!config.exit_protocol_stated) config.policy.exit_protocol = false;
}

bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

}  // namespace baton::workspace
