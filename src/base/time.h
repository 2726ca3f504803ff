// SPDX-License-Identifier: Apache-2.0
// Points in time and spans of it, as the wire formats write them. Always UTC; no leap seconds.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace baton {

// Nanoseconds since 1970-01-01T00:00:00Z. Covers the years 1678 to 2261; what lies outside is clamped by parse_time.
struct Time {
  std::int64_t nanoseconds = 0;
  auto operator<=>(const Time&) const = default;
};

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

inline Time operator+(Time time, std::int64_t seconds) { return {time.nanoseconds + seconds * kNanosecondsPerSecond}; }

enum class TimeFault {
  NotUtc,     // well-formed, but with an offset or with no zone at all
  Malformed,  // not `YYYY-MM-DDTHH:MM:SS[.fraction]Z`, or no such day or hour
};

struct TimeParse {
  std::optional<Time> time;                // set when the text is a UTC timestamp
  TimeFault fault = TimeFault::Malformed;  // meaningful when `time` is not set
};

// `YYYY-MM-DDTHH:MM:SS[.fraction]Z`, with a real calendar date and seconds up to 59. Upper-case T and Z. Digits of the
// fraction beyond the ninth are dropped.
TimeParse parse_time(std::string_view text);

// `2026-11-15T04:00:00Z`; a fraction is written only when there is one, without trailing zeros.
std::string format_time(Time time);

// Is there such a day in the (proleptic) Gregorian calendar?
bool is_calendar_date(int year, int month, int day);

// `YYYY-MM-DD` at the start of the day, UTC.
std::optional<Time> parse_date(std::string_view text);

// ISO 8601 duration, the subset with a fixed length: `P[nD][T[nH][nM][nS]]` or `PnW`, upper case, whole numbers of at
// most six digits, at least one of them, none after a bare `T`. In seconds.
std::optional<std::int64_t> parse_duration_seconds(std::string_view text);

}  // namespace baton
