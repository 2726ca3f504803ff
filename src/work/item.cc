// SPDX-License-Identifier: Apache-2.0
// Items and sessions as rows: each record is a table of its members, and the same table writes and reads it.
#include "work/item.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>

#include "base/limits.h"
#include "base/text.h"
#include "work/rules.h"

namespace baton::work {
namespace {

using json::Node;
using json::Value;

constexpr std::array<std::string_view, 3> kWaitsForNames = {"", "input", "approval"};
constexpr std::array<std::string_view, 5> kSessionStateNames = {"open", "paused", "closed", "killed", "abandoned"};

// --- one member: what is left out, how it is written, how it is read --------------------------------------------------

bool is_empty(const std::string& text) { return text.empty(); }
Value to_value(const std::string& text) { return text; }
bool from_node(Node node, std::string& out) {
  if (!node.is_string()) return false;
  out = node.string();
  return true;
}

bool is_empty(bool value) { return !value; }
Value to_value(bool value) { return value; }
bool from_node(Node node, bool& out) {
  if (!node.is_boolean()) return false;
  out = node.boolean();
  return true;
}

template <std::integral T>
bool is_empty(T number) {
  return number == 0;
}
template <std::integral T>
Value to_value(T number) {
  return number;
}
template <std::integral T>
bool from_node(Node node, T& out) {
  if (!node.is_number()) return false;
  const std::string_view text = node.number_text();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

bool is_empty(Time) { return false; }
Value to_value(Time time) { return format_time(time); }
bool from_node(Node node, Time& out) {
  const auto time = node.is_string() ? parse_time(node.string()).time : std::nullopt;
  if (time) out = *time;
  return time.has_value();
}

// Enumerations are written by their names.
std::string_view name_of(Phase phase) { return agent_exit::phase_name(phase); }
std::string_view name_of(ActorKind kind) { return agent_exit::actor_kind_name(kind); }
std::string_view name_of(WaitsFor waits) { return waits_for_name(waits); }
std::string_view name_of(SessionState state) { return session_state_name(state); }
std::optional<Phase> find_named(std::string_view name, Phase) { return agent_exit::find_phase(name); }
std::optional<ActorKind> find_named(std::string_view name, ActorKind) { return agent_exit::find_actor_kind(name); }
std::optional<WaitsFor> find_named(std::string_view name, WaitsFor) { return find_waits_for(name); }
std::optional<SessionState> find_named(std::string_view name, SessionState) { return find_session_state(name); }

template <class T>
concept Enumeration = std::is_enum_v<T>;
template <Enumeration T>
bool is_empty(T value) {
  return name_of(value).empty();
}
template <Enumeration T>
Value to_value(T value) {
  return name_of(value);
}
template <Enumeration T>
bool from_node(Node node, T& out) {
  const auto value = node.is_string() ? find_named(node.string(), T{}) : std::nullopt;
  if (value) out = *value;
  return value.has_value();
}

bool is_empty(const std::vector<std::string>& list) { return list.empty(); }
Value to_value(const std::vector<std::string>& list) { return Value::Array(list.begin(), list.end()); }
bool from_node(Node node, std::vector<std::string>& out) {
  if (!node.is_array()) return false;
  out.reserve(node.size());
  for (const Node element : node.elements())
    if (!from_node(element, out.emplace_back())) return false;
  return true;
}

bool is_empty(const std::map<std::string, std::string>& map) { return map.empty(); }
Value to_value(const std::map<std::string, std::string>& map) { return Value::Object(map.begin(), map.end()); }
bool from_node(Node node, std::map<std::string, std::string>& out) {
  if (!node.is_object()) return false;
  for (const json::Member member : node.members())
    if (!from_node(member.value, out[std::string(member.name())])) return false;
  return true;
}

bool is_empty(const json::Decimal& number) { return number == json::Decimal(); }
Value to_value(const json::Decimal& number) { return Value::number(number.text()); }
bool from_node(Node node, json::Decimal& out) {
  if (!node.is_number()) return false;
  out = json::Decimal::from_number(node.number_text());
  return true;
}

// Records in records; their tables stand below.
Value to_value(const Lease& lease);
bool from_node(Node node, Lease& out);
Value to_value(const Offer& offer);
bool from_node(Node node, Offer& out);
bool is_empty(const Item::Totals& totals) { return totals == Item::Totals{}; }
Value to_value(const Item::Totals& totals);
bool from_node(Node node, Item::Totals& out);

template <class T>
bool is_empty(const std::optional<T>& value) {
  return !value;
}
template <class T>
Value to_value(const std::optional<T>& value) {
  return to_value(*value);
}
template <class T>
bool from_node(Node node, std::optional<T>& out) {
  return from_node(node, out.emplace());
}

// --- a record: its members in order -----------------------------------------------------------------------------------

template <class Record>
struct Field {
  std::string_view name;
  bool always;  // written even when empty, and missed when it is not there
  bool (*is_empty)(const Record&);
  Value (*write)(const Record&);
  bool (*read)(Record&, Node);
};

template <class>
struct MemberPointer;
template <class Record, class T>
struct MemberPointer<T Record::*> {
  using Owner = Record;
};

template <auto Member>
constexpr auto field(std::string_view name, bool always) {
  using Record = typename MemberPointer<decltype(Member)>::Owner;
  return Field<Record>{name, always, [](const Record& record) { return work::is_empty(record.*Member); },
                       [](const Record& record) { return to_value(record.*Member); },
                       [](Record& record, Node node) { return from_node(node, record.*Member); }};
}
template <auto Member>
constexpr auto always(std::string_view name) {
  return field<Member>(name, true);
}
template <auto Member>
constexpr auto unless_empty(std::string_view name) {
  return field<Member>(name, false);
}

template <class Record, std::size_t N>
Value write_record(const std::array<Field<Record>, N>& fields, const Record& record) {
  Value::Object members;
  members.reserve(N);
  for (const Field<Record>& field : fields)
    if (field.always || !field.is_empty(record)) members.emplace_back(field.name, field.write(record));
  return members;
}

// The members usually come in the order they are written in, so each is looked for from where the last one was.
template <class Record, std::size_t N>
bool read_record(const std::array<Field<Record>, N>& fields, Node node, Record& out) {
  static_assert(N <= 64);
  if (!node.is_object()) return false;
  std::uint64_t seen = 0;
  std::size_t expected = 0;
  for (const json::Member member : node.members()) {
    std::size_t at = expected;
    while (fields[at].name != member.name())
      if (at = (at + 1) % N; at == expected) return false;
    if (!fields[at].read(out, member.value)) return false;
    seen |= std::uint64_t{1} << at;
    expected = (at + 1) % N;
  }
  for (std::size_t i = 0; i < N; ++i)
    if (fields[i].always && (seen >> i & 1) == 0) return false;
  return true;
}

constexpr std::array kLeaseFields = {
    always<&Lease::id>("id"),
    always<&Lease::session_id>("session_id"),
    always<&Lease::holder>("holder"),
    always<&Lease::fence>("fence"),
    always<&Lease::issued_at>("issued_at"),
    always<&Lease::expires_at>("expires_at"),
    always<&Lease::ttl>("ttl"),
    unless_empty<&Lease::parked_at>("parked_at"),
    unless_empty<&Lease::parked_until>("parked_until"),
};

constexpr std::array kOfferFields = {
    always<&Offer::to>("to"),
    always<&Offer::until>("until"),
    always<&Offer::message_id>("message_id"),
};

constexpr std::array kTotalsFields = {
    always<&Item::Totals::sessions>("sessions"),
    always<&Item::Totals::attempts>("attempts"),
    always<&Item::Totals::calls>("calls"),
    unless_empty<&Item::Totals::cost>("cost"),
};

constexpr std::array kItemFields = {
    always<&Item::id>("id"),
    always<&Item::title>("title"),
    unless_empty<&Item::text>("text"),
    always<&Item::phase>("phase"),
    always<&Item::priority>("priority"),
    always<&Item::created_at>("created_at"),
    always<&Item::changed_at>("changed_at"),
    always<&Item::created_by>("created_by"),
    unless_empty<&Item::counts_for>("counts_for"),
    always<&Item::waiting_since>("waiting_since"),
    unless_empty<&Item::depends_on>("depends_on"),
    unless_empty<&Item::open_dependencies>("open_dependencies"),
    unless_empty<&Item::aborted>("aborted"),
    always<&Item::fence>("fence"),
    unless_empty<&Item::lease>("lease"),
    unless_empty<&Item::offer>("offer"),
    unless_empty<&Item::waits_for>("waits_for"),
    unless_empty<&Item::question>("question"),
    unless_empty<&Item::answer>("answer"),
    unless_empty<&Item::blocked_in>("blocked_in"),
    unless_empty<&Item::blocked_because>("blocked_because"),
    unless_empty<&Item::attempts>("attempts"),
    unless_empty<&Item::implementer>("implementer"),
    unless_empty<&Item::earlier_implementers>("earlier_implementers"),
    unless_empty<&Item::pr_url>("pr_url"),
    unless_empty<&Item::repository>("repository"),
    unless_empty<&Item::evidence_bundle_ref>("evidence_bundle_ref"),
    unless_empty<&Item::pr_number>("pr_number"),
    unless_empty<&Item::head_sha>("head_sha"),
    unless_empty<&Item::checks>("checks"),
    unless_empty<&Item::checks_sha>("checks_sha"),
    unless_empty<&Item::labels>("labels"),
    unless_empty<&Item::totals>("totals"),
};

constexpr std::array kSessionFields = {
    always<&Session::id>("id"),
    unless_empty<&Session::work_id>("work_id"),
    always<&Session::actor_id>("actor_id"),
    always<&Session::actor_kind>("actor_kind"),
    unless_empty<&Session::agent_id>("agent_id"),
    unless_empty<&Session::token_id>("token_id"),
    unless_empty<&Session::role>("role"),
    unless_empty<&Session::fence>("fence"),
    always<&Session::state>("state"),
    unless_empty<&Session::ended_because>("ended_because"),
    always<&Session::opened_at>("opened_at"),
    unless_empty<&Session::ended_at>("ended_at"),
    unless_empty<&Session::plan_status>("plan_status"),
    unless_empty<&Session::reports_in_a_row>("reports_in_a_row"),
    unless_empty<&Session::handoff_digest>("handoff_digest"),
    unless_empty<&Session::earlier_digests>("earlier_digests"),
};

Value to_value(const Lease& lease) { return write_record(kLeaseFields, lease); }
bool from_node(Node node, Lease& out) { return read_record(kLeaseFields, node, out); }
Value to_value(const Offer& offer) { return write_record(kOfferFields, offer); }
bool from_node(Node node, Offer& out) { return read_record(kOfferFields, node, out); }
Value to_value(const Item::Totals& totals) { return write_record(kTotalsFields, totals); }
bool from_node(Node node, Item::Totals& out) { return read_record(kTotalsFields, node, out); }

// --- pull requests ----------------------------------------------------------------------------------------------------

// What stands between a repository and the number, and how many parts the repository's name may have: GitLab has groups in
// groups.
struct Forge {
  std::string_view separator;
  std::size_t parts_max;
};
constexpr std::array kForges = {Forge{"/pull/", 2}, Forge{"/pulls/", 2}, Forge{"/-/merge_requests/", 20},
                                Forge{"/merge_requests/", 20}};

bool is_repository(std::string_view name, std::size_t parts_max) {
  const auto parts = split(name, '/');
  return parts.size() >= 2 && parts.size() <= parts_max &&
         std::none_of(parts.begin(), parts.end(), [](std::string_view part) { return part.empty() || part == "-"; });
}

}  // namespace

std::string_view waits_for_name(WaitsFor waits) { return kWaitsForNames[static_cast<std::size_t>(waits)]; }

std::optional<WaitsFor> find_waits_for(std::string_view name) {
  const auto at = std::find(kWaitsForNames.begin() + 1, kWaitsForNames.end(), name);
  if (at == kWaitsForNames.end()) return std::nullopt;
  return static_cast<WaitsFor>(at - kWaitsForNames.begin());
}

std::string_view session_state_name(SessionState state) { return kSessionStateNames[static_cast<std::size_t>(state)]; }

std::optional<SessionState> find_session_state(std::string_view name) {
  const auto at = std::find(kSessionStateNames.begin(), kSessionStateNames.end(), name);
  if (at == kSessionStateNames.end()) return std::nullopt;
  return static_cast<SessionState>(at - kSessionStateNames.begin());
}

Value Item::to_json() const { return write_record(kItemFields, *this); }

std::optional<Item> Item::from_json(Node node) {
  std::optional<Item> item(std::in_place);
  if (!read_record(kItemFields, node, *item)) item.reset();
  return item;
}

Value Session::to_json() const { return write_record(kSessionFields, *this); }

std::optional<Session> Session::from_json(Node node) {
  std::optional<Session> session(std::in_place);
  if (!read_record(kSessionFields, node, *session)) session.reset();
  return session;
}

bool Session::took(std::string_view key) const {
  return handoff_digest == key ||
         std::find(earlier_digests.begin(), earlier_digests.end(), key) != earlier_digests.end();
}

std::string Item::queue() const {
  if (!is_claimable(phase) || lease || aborted || !open_dependencies.empty()) return "";
  return offer ? "@" + offer->to : std::string(agent_exit::phase_name(phase));
}

std::int64_t Item::rank() const {
  std::int64_t rank;
  // Out of range only for times centuries away: then the earliest or the latest there is.
  if (__builtin_sub_overflow(waiting_since.nanoseconds, priority * kPriorityStep, &rank))
    return waiting_since.nanoseconds < 0 ? INT64_MIN : INT64_MAX;
  return rank;
}

std::int64_t Item::deadline() const {
  return std::min(lease ? lease->deadline().nanoseconds : INT64_MAX, offer ? offer->until.nanoseconds : INT64_MAX);
}

std::string Item::pull_request() const {
  return pr_number == 0 ? "" : to_lower_ascii(repository) + "#" + std::to_string(pr_number);
}

std::optional<PullRequest> parse_pull_request(std::string_view url) {
  constexpr std::string_view kScheme = "https://";
  if (!url.starts_with(kScheme)) return std::nullopt;
  url.remove_prefix(kScheme.size());
  const std::size_t slash = url.find('/');
  if (slash == 0 || slash == std::string_view::npos) return std::nullopt;
  const std::string_view path = url.substr(slash + 1);
  for (const Forge& forge : kForges) {
    const std::size_t at = path.find(forge.separator);
    if (at == std::string_view::npos || !is_repository(path.substr(0, at), forge.parts_max)) continue;
    const std::string_view rest = path.substr(at + forge.separator.size());
    const std::string_view digits = rest.substr(0, rest.find_first_of("/?#"));
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size() || digits.front() == '0') continue;
    return PullRequest{std::string(path.substr(0, at)), number};
  }
  return std::nullopt;
}

bool is_work_id(std::string_view text) {
  return !text.empty() && text.size() <= limits::kWorkIdBytesMax && is_alphanumeric(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

}  // namespace baton::work
