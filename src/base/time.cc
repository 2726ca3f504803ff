// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"

#include <time.h>

#include <chrono>

#include "base/clock.h"
#include "base/text.h"

namespace baton {
namespace {

constexpr std::int64_t kSecondsPerDay = 86'400;

// Reads exactly `count` digits at `at`; -1 when one of them is not a digit.
int digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return -1;
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (!is_digit(text[i])) return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// Days since 1970-01-01 of a day known to exist.
std::int64_t days_from_civil(int year, int month, int day) {
  namespace chr = std::chrono;
  return chr::sys_days(chr::year{year} / chr::month{static_cast<unsigned>(month)} /
                       chr::day{static_cast<unsigned>(day)})
      .time_since_epoch()
      .count();
}

// Where the year runs out of what 64 bits of nanoseconds hold, the nearest instant they do hold: such a time is still
// before or after everything else.
Time clamped(std::int64_t seconds, std::int64_t nanoseconds) {
  constexpr std::int64_t kLimit = INT64_MAX / kNanosecondsPerSecond - 1;
  if (seconds > kLimit) return {INT64_MAX};
  if (seconds < -kLimit) return {INT64_MIN};
  return {seconds * kNanosecondsPerSecond + nanoseconds};
}

// The zone part of a timestamp: `Z`, an offset, or nothing.
bool is_foreign_zone(std::string_view zone) {
  if (zone.empty()) return true;
  if (zone[0] != '+' && zone[0] != '-') return false;
  const int hours = digits(zone, 1, 2);
  if (hours < 0 || hours > 23) return false;
  if (zone.size() == 3) return true;
  const std::size_t at = zone[3] == ':' ? 4 : 3;
  const int minutes = digits(zone, at, 2);
  return zone.size() == at + 2 && minutes >= 0 && minutes <= 59;
}

}  // namespace

bool is_calendar_date(int year, int month, int day) {
  namespace chr = std::chrono;
  if (year < 0 || month < 1 || day < 1) return false;
  return (chr::year{year} / chr::month{static_cast<unsigned>(month)} / chr::day{static_cast<unsigned>(day)}).ok();
}

TimeParse parse_time(std::string_view text) {
  const TimeParse malformed{std::nullopt, TimeFault::Malformed};
  if (text.size() < 19) return malformed;
  const int year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const int hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':') return malformed;
  if (!is_calendar_date(year, month, day)) return malformed;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return malformed;

  std::size_t at = 19;
  std::int64_t nanoseconds = 0;
  if (at < text.size() && text[at] == '.') {
    const std::size_t first = ++at;
    std::int64_t weight = kNanosecondsPerSecond / 10;
    for (; at < text.size() && is_digit(text[at]); ++at, weight /= 10) nanoseconds += (text[at] - '0') * weight;
    if (at == first) return malformed;
  }
  const std::string_view zone = text.substr(at);
  if (zone != "Z") return {std::nullopt, is_foreign_zone(zone) ? TimeFault::NotUtc : TimeFault::Malformed};
  const std::int64_t seconds = days_from_civil(year, month, day) * kSecondsPerDay + hour * 3600 + minute * 60 + second;
  return {clamped(seconds, nanoseconds), {}};
}

std::string format_time(Time time) {
  namespace chr = std::chrono;
  std::int64_t seconds = time.nanoseconds / kNanosecondsPerSecond;
  std::int64_t fraction = time.nanoseconds % kNanosecondsPerSecond;
  if (fraction < 0) fraction += kNanosecondsPerSecond, --seconds;
  std::int64_t day_count = seconds / kSecondsPerDay, of_day = seconds % kSecondsPerDay;
  if (of_day < 0) of_day += kSecondsPerDay, --day_count;
  const chr::year_month_day date{chr::sys_days{chr::days{day_count}}};

  const auto two = [](std::int64_t value) {
    return std::string{static_cast<char>('0' + value / 10), static_cast<char>('0' + value % 10)};
  };
  std::string year = std::to_string(static_cast<int>(date.year()));
  year.insert(0, year.size() < 4 ? 4 - year.size() : 0, '0');
  std::string text = year + "-" + two(static_cast<unsigned>(date.month())) + "-" +
                     two(static_cast<unsigned>(date.day())) + "T" + two(of_day / 3600) + ":" + two(of_day / 60 % 60) +
                     ":" + two(of_day % 60);
  if (fraction != 0) {
    std::string digits_text = std::to_string(fraction);
    digits_text.insert(0, 9 - digits_text.size(), '0');
    while (digits_text.back() == '0') digits_text.pop_back();
    text += "." + digits_text;
  }
  return text + "Z";
}

std::optional<Time> parse_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const int year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  if (!is_calendar_date(year, month, day)) return std::nullopt;
  return clamped(days_from_civil(year, month, day) * kSecondsPerDay, 0);
}

std::optional<std::int64_t> parse_duration_seconds(std::string_view text) {
  if (text.empty() || text[0] != 'P') return std::nullopt;
  std::size_t at = 1;
  std::int64_t total = 0;
  bool any = false;

  // Takes `n` + `unit` when it stands here; false only when a number is there that no unit follows.
  const auto take = [&](char unit, std::int64_t seconds_each) {
    const std::size_t first = at;
    std::size_t end = at;
    std::int64_t value = 0;
    while (end < text.size() && is_digit(text[end]) && end - first < 6) value = value * 10 + (text[end++] - '0');
    if (end == first || end >= text.size() || text[end] != unit) return;
    total += value * seconds_each;
    any = true;
    at = end + 1;
  };

  take('W', 7 * kSecondsPerDay);
  if (any) return at == text.size() ? std::optional(total) : std::nullopt;
  take('D', kSecondsPerDay);
  if (at < text.size() && text[at] == 'T') {
    const std::size_t after_t = ++at;
    take('H', 3600);
    take('M', 60);
    take('S', 1);
    if (at == after_t) return std::nullopt;
  }
  if (!any || at != text.size()) return std::nullopt;
  return total;
}

Time SystemClock::now() {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
              .count()};
}

std::int64_t SystemClock::monotonic_ns() {
  // Not CLOCK_MONOTONIC, which stands still while the machine sleeps.
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<std::int64_t>(time.tv_sec) * kNanosecondsPerSecond + time.tv_nsec;
}

}  // namespace baton
