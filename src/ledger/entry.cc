// SPDX-License-Identifier: Apache-2.0
#include "ledger/entry.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>

#include "base/limits.h"
#include "base/text.h"
#include "diagnostics/diagnostic.h"
#include "json/canonical.h"
#include "json/parse.h"

namespace baton::ledger {
namespace {

struct KindName {
  ActorKind kind;
  std::string_view name;
};
constexpr std::array<KindName, 5> kKinds = {{{ActorKind::Agent, "agent"},
                                             {ActorKind::Operator, "operator"},
                                             {ActorKind::Ci, "ci"},
                                             {ActorKind::Auditor, "auditor"},
                                             {ActorKind::Node, "node"}}};

constexpr std::string_view kPreviousMember = R"(,"previous":")";

std::string_view bytes_of(const Sha256& hash) { return {reinterpret_cast<const char*>(hash.data()), hash.size()}; }

// Both digits of every byte.
constexpr std::array<std::array<char, 2>, 256> kHexOfByte = [] {
  constexpr char kDigits[] = "0123456789abcdef";
  std::array<std::array<char, 2>, 256> table{};
  for (std::size_t byte = 0; byte < table.size(); ++byte) table[byte] = {kDigits[byte >> 4], kDigits[byte & 0x0f]};
  return table;
}();

void append_hex(std::string& out, std::string_view bytes) {
  const std::size_t used = out.size();
  out.resize(used + 2 * bytes.size());
  char* to = out.data() + used;
  for (const char c : bytes) {
    std::memcpy(to, kHexOfByte[static_cast<unsigned char>(c)].data(), 2);
    to += 2;
  }
}

void append_number(std::string& out, std::uint64_t number) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, number);
  out.append(digits, end.ptr);
}

void put_two(char* to, std::int64_t value) {
  to[0] = static_cast<char>('0' + value / 10);
  to[1] = static_cast<char>('0' + value % 10);
}

// --- drafts -------------------------------------------------------------------------------------------------------------

// What is wrong with a name, in the place of a predicate; empty when nothing is.
std::string name_problem(std::string_view what, std::string_view name) {
  const auto is_plain = [](char c) { return c >= ' ' && c < 0x7f; };  // as nearly every name is, all through
  if (!name.empty() && name.size() <= limits::kLedgerNameBytesMax && std::all_of(name.begin(), name.end(), is_plain))
    return {};
  const std::string start = "has a " + std::string(what);
  if (name.empty()) return "has no " + std::string(what);
  if (name.size() > limits::kLedgerNameBytesMax)
    return start + " of more than " + std::to_string(limits::kLedgerNameBytesMax) + " bytes";
  if (find_invalid_utf8(name) != name.size()) return start + " that is not UTF-8";
  for (std::size_t at = 0; at < name.size();)
    if (is_control(next_character(name, at))) return start + " with a control character";
  return {};
}

bool is_type(std::string_view type) {
  for (const std::string_view word : split(type, '.')) {
    if (word.empty()) return false;
    for (const char c : word)
      if (!is_lower(c) && !is_digit(c) && c != '_') return false;
  }
  return true;
}

std::string payload_problem(std::string_view payload) {
  json::ParseLimits limits;
  limits.depth_max = limits::kLedgerPayloadDepthMax;
  const auto document = json::parse(payload, limits);
  if (!document) return "has a payload that is not JSON: " + document.error().what;
  if (!document->root().is_object()) return "has a payload that is not an object";
  const auto canonical = json::canonical(document->root(), json::Numbers::Exact);
  if (!canonical || *canonical != payload) return "has a payload that is not in canonical form";
  return {};
}

// --- reading an exported entry ------------------------------------------------------------------------------------------

std::optional<Sha256> parse_hash(json::Node node) {
  Sha256 hash;
  if (!node.is_string() || node.string().size() != 2 * hash.size()) return std::nullopt;
  const std::string_view text = node.string();
  for (std::size_t i = 0; i < hash.size(); ++i) {
    const int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    hash[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return hash;
}

// The members of a body. Whether they stand there in canonical form is for the caller to see, by writing them again.
tl::expected<Entry, std::string> read_members(json::Node body, std::string_view payload) {
  const auto wrong = [](std::string_view member) {
    return tl::make_unexpected("`" + std::string(member) + "` is absent or not what it has to be");
  };
  // Seven members, each asked for below: so there is no other, between the payload and what follows it either.
  if (body.size() != 7) return tl::make_unexpected(std::string("it has not the seven members of an entry"));
  Entry entry;
  const json::Node actor = body["actor"], sequence = body["sequence"], time = body["time"];
  if (!actor.is_object() || actor.size() != 2 || !actor["id"].is_string() || !actor["kind"].is_string())
    return wrong("actor");
  entry.actor_id = actor["id"].string();
  entry.actor_kind = actor["kind"].string();
  if (!body["payload"].is_object()) return wrong("payload");
  entry.payload = payload;
  const auto previous = parse_hash(body["previous"]);
  if (!previous) return wrong("previous");
  entry.previous = *previous;
  if (!sequence.is_number()) return wrong("sequence");
  const std::string_view digits = sequence.number_text();
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), entry.sequence);
  if (end.ec != std::errc() || end.ptr != digits.data() + digits.size()) return wrong("sequence");
  if (!body["stream"].is_string()) return wrong("stream");
  entry.stream = body["stream"].string();
  const TimeParse parsed_time = time.is_string() ? parse_time(time.string()) : TimeParse{};
  if (!parsed_time.time) return wrong("time");
  entry.time = *parsed_time.time;
  if (!body["type"].is_string()) return wrong("type");
  entry.type = body["type"].string();
  return entry;
}

}  // namespace

std::string_view actor_kind_name(ActorKind kind) { return kKinds[static_cast<std::size_t>(kind)].name; }

std::optional<ActorKind> find_actor_kind(std::string_view name) {
  for (const KindName& row : kKinds)
    if (row.name == name) return row.kind;
  return std::nullopt;
}

Result<void> check_draft(const Draft& draft, Payload payload) {
  constexpr std::string_view kDoing = "appending to the ledger";
  if (draft.payload.size() > limits::kLedgerPayloadBytesMax)
    return failure_of(
        Code::LEDGER_TOO_LARGE, std::string(kDoing),
        {{"bytes", std::to_string(draft.payload.size())}, {"max", std::to_string(limits::kLedgerPayloadBytesMax)}});
  std::string problem = name_problem("stream", draft.stream);
  if (problem.empty()) problem = name_problem("type", draft.type);
  if (problem.empty() && !is_type(draft.type))
    problem = "has a type that is not words of a-z, 0-9 and _ joined by dots";
  if (problem.empty()) problem = name_problem("actor", draft.actor.id);
  if (problem.empty() && payload == Payload::Unknown) problem = payload_problem(draft.payload);
  if (!problem.empty()) return failure_of(Code::LEDGER_DRAFT, std::string(kDoing), {{"problem", problem}});
  return {};
}

store::EntryRow Entry::row() const {
  return {sequence, stream, type, actor_id, actor_kind, time.nanoseconds, payload, bytes_of(previous), bytes_of(hash)};
}

void append_time(std::string& out, std::int64_t nanoseconds) {
  // Entries that follow each other mostly lie in the same second: the part before the fraction is kept.
  struct Written {
    std::int64_t second = INT64_MIN;
    char text[20];  // "2026-11-15T04:00:00."
  };
  thread_local Written written;

  std::int64_t second = nanoseconds / kNanosecondsPerSecond, fraction = nanoseconds % kNanosecondsPerSecond;
  if (fraction < 0) fraction += kNanosecondsPerSecond, --second;
  if (second != written.second) {
    namespace chr = std::chrono;
    constexpr std::int64_t kSecondsPerDay = 86'400;
    std::int64_t day = second / kSecondsPerDay, of_day = second % kSecondsPerDay;
    if (of_day < 0) of_day += kSecondsPerDay, --day;
    const chr::year_month_day date{chr::sys_days{chr::days{day}}};
    const int year = static_cast<int>(date.year());  // 1677 to 2262: all that 64 bits of nanoseconds reach
    std::memcpy(written.text, "....-..-..T..:..:...", sizeof written.text);
    put_two(written.text, year / 100);
    put_two(written.text + 2, year % 100);
    put_two(written.text + 5, static_cast<unsigned>(date.month()));
    put_two(written.text + 8, static_cast<unsigned>(date.day()));
    put_two(written.text + 11, of_day / 3600);
    put_two(written.text + 14, of_day / 60 % 60);
    put_two(written.text + 17, of_day % 60);
    written.second = second;
  }
  char text[30];
  std::memcpy(text, written.text, sizeof written.text);
  for (std::size_t at = 29; at-- > 20; fraction /= 10) text[at] = static_cast<char>('0' + fraction % 10);
  text[29] = 'Z';
  out.append(text, sizeof text);
}

// The payload is spliced in as it is, unread, and still no two rows give the same bytes, whatever their columns hold:
//   - A string written by append_canonical_string ends at its first quote that no backslash precedes, and gives its bytes
//     back; so the body, read from the left, tells actor.id and actor.kind.
//   - What follows the payload holds `,"previous":"` exactly once, at its very beginning: the strings there cannot hold
//     it, because a quote inside a string stands behind a backslash, and the rest is hexadecimal digits, decimal digits
//     and fixed text. So the LAST `,"previous":"` of a body is where its payload ends, whatever the payload holds, and
//     what follows reads back to one previous, sequence, stream, time and type.
// A row whose payload was altered together with another column therefore gives another body, and another hash.
void append_body(std::string& out, const store::EntryRow& row) {
  out += R"({"actor":{"id":)";
  json::append_canonical_string(out, row.actor_id);
  out += R"(,"kind":)";
  json::append_canonical_string(out, row.actor_kind);
  out += R"(},"payload":)";
  out += row.payload;
  out += kPreviousMember;
  append_hex(out, row.previous);
  out += R"(","sequence":)";
  append_number(out, row.sequence);
  out += R"(,"stream":)";
  json::append_canonical_string(out, row.stream);
  out += R"(,"time":")";
  append_time(out, row.time);
  out += R"(","type":)";
  json::append_canonical_string(out, row.type);
  out += '}';
}

Sha256 entry_hash(const store::EntryRow& row, std::string& buffer) {
  buffer.clear();
  buffer += '\0';
  buffer += kEntryTag;
  append_body(buffer, row);
  return sha256(buffer);
}

void append_exported(std::string& out, const store::EntryRow& row) {
  out += R"({"entry":)";
  append_body(out, row);
  out += R"(,"hash":")";
  append_hex(out, row.hash);
  out += R"("})";
}

tl::expected<ExportedEntry, std::string> read_exported(std::string_view line) {
  json::ParseLimits limits;
  limits.bytes_max = limits::kExportLineBytesMax;
  const auto document = json::parse(line, limits);
  if (!document) return tl::make_unexpected("it is not JSON: " + document.error().what);
  const json::Node root = document->root(), body = root["entry"];
  const auto hash = parse_hash(root["hash"]);
  if (root.size() != 2 || !body.is_object() || !hash)
    return tl::make_unexpected(std::string("it is not an object of `entry` and `hash`"));

  // append_body() says why this is where the payload ends.
  const std::size_t payload_end = line.rfind(kPreviousMember);
  const json::Node payload = body["payload"];
  if (!payload.is_object() || payload_end == std::string_view::npos || payload_end <= payload.offset())
    return tl::make_unexpected(std::string("`payload` is absent or not what it has to be"));
  const std::string_view payload_text = line.substr(payload.offset(), payload_end - payload.offset());
  if (payload_text.back() != '}') return tl::make_unexpected(std::string("it is not in canonical form"));

  auto entry = read_members(body, payload_text);
  if (!entry) return tl::make_unexpected(std::move(entry.error()));
  entry->hash = *hash;
  // Written again it has to be the same text: so nothing else can stand in it, and everything stands in one form.
  std::string again;
  again.reserve(line.size());
  append_exported(again, entry->row());
  if (again != line) return tl::make_unexpected(std::string("it is not in canonical form"));
  constexpr std::size_t kBefore = 9, kAfter = 9 + 64 + 2;  // {"entry": and ,"hash":"..."}
  return ExportedEntry{std::move(*entry), line.substr(kBefore, line.size() - kBefore - kAfter)};
}

Result<ExportedEntry> parse_exported(std::string_view line) {
  auto read = read_exported(line);
  if (!read)
    return failure_of(Code::LEDGER_MALFORMED, "reading an exported entry",
                      {{"sequence", "?"}, {"problem", read.error()}});
  return std::move(*read);
}

}  // namespace baton::ledger
