// SPDX-License-Identifier: Apache-2.0
#include "work/ruling.h"

#include "base/limits.h"
#include "base/text.h"

namespace baton::work {
namespace {

// Room for the words that say what was left out.
constexpr std::size_t kNoticeBytes = 40;

// Text that is not UTF-8 cannot be recorded; as escapes it can.
std::string as_utf8(std::string_view text) {
  return find_invalid_utf8(text) == text.size() ? std::string(text) : printable(text);
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

bool has_control(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (is_control(c) && c != '\n' && c != '\t' && c != '\r') return true;
  }
  return false;
}

}  // namespace

Time later(Time time, std::int64_t nanoseconds) {
  std::int64_t sum;
  return {__builtin_add_overflow(time.nanoseconds, nanoseconds, &sum) ? INT64_MAX : sum};
}

Ruling refuse(Diagnostic diagnostic) {
  Ruling ruling;
  ruling.refused.push_back(std::move(diagnostic));
  return ruling;
}

Ruling refuse(Code code, std::initializer_list<Argument> arguments) { return refuse(report(code, {}, arguments)); }

Diagnostic bad_field(std::string_view field, std::string_view problem) {
  return report(Code::WORK_FIELD, place_named("/" + std::string(field)), {{"field", field}, {"problem", problem}});
}

std::optional<Diagnostic> check_lease_ttl(std::int64_t ttl, const Policy& policy) {
  if (ttl >= 0 && ttl <= policy.lease_ttl_max) return std::nullopt;
  const auto seconds = [](std::int64_t nanoseconds) { return std::to_string(nanoseconds / kNanosecondsPerSecond); };
  return report(Code::LEASE_TTL, place_named("/ttl"),
                {{"seconds", seconds(ttl)}, {"seconds_max", seconds(policy.lease_ttl_max)}});
}

Happens::Happens(std::string_view type, std::string_view work_id, Time now) {
  event_.type = type;
  event_.payload.members().reserve(16);
  event_.payload.set("work_id", work_id);
  event_.payload.set("at", format_time(now));
}

Happens::Happens(std::string_view type, const Item& item, const Lease& lease, Time now) : Happens(type, item.id, now) {
  event_.payload.set("session_id", lease.session_id);
  event_.payload.set("fence", lease.fence);
}

Happens&& Happens::with(std::string_view name, json::Value value) && {
  event_.payload.set(name, std::move(value));
  return std::move(*this);
}

Happens&& Happens::with_text(std::string_view name, std::string_view text) && {
  if (!text.empty()) event_.payload.set(name, text);
  return std::move(*this);
}

Happens::operator Ruling() && {
  Ruling ruling;
  ruling.events.push_back(std::move(event_));
  return ruling;
}

std::string problem_with_text(std::string_view text) {
  if (find_invalid_utf8(text) != text.size()) return "is not UTF-8";
  if (is_blank_text(text)) return "is empty";
  if (text.size() > limits::kWorkTextBytesMax) {
    return "is longer than " + std::to_string(limits::kWorkTextBytesMax) + " bytes";
  }
  if (has_control(text)) return "contains a control character";
  return "";
}

std::string beginning_of(std::string_view text, std::size_t bytes_max) {
  std::string out = as_utf8(text);
  if (out.size() <= bytes_max) return out;
  std::size_t cut = bytes_max - kNoticeBytes;
  while (cut > 0 && continues_character(out[cut])) --cut;
  return out.substr(0, cut) + "... (" + std::to_string(out.size() - cut) + " more bytes)";
}

std::string end_of(std::string_view text, std::size_t bytes_max) {
  // Only the end is looked at, however much there is.
  std::size_t cut = text.size() <= bytes_max ? 0 : text.size() - bytes_max;
  while (cut > 0 && cut < text.size() && continues_character(text[cut])) ++cut;
  const std::string end = as_utf8(text.substr(cut));
  if (end.size() <= bytes_max) return end;
  std::size_t at = end.size() - bytes_max;
  while (at < end.size() && continues_character(end[at])) ++at;
  return end.substr(at);
}

}  // namespace baton::work
