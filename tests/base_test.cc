// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/ids.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/time.h"

namespace baton {
namespace {

TEST(time, only_utc_with_a_real_date_is_a_time) {
  struct Case {
    const char* text;
    bool good;
    TimeFault fault;
  };
  const Case cases[] = {
      {"2026-05-31T18:00:00Z", true, {}},
      {"2024-02-29T00:00:00Z", true, {}},
      {"2026-05-31T18:00:00.125Z", true, {}},
      {"2026-05-31T18:00:00.123456789123Z", true, {}},
      {"2026-05-31T18:00:00+02:00", false, TimeFault::NotUtc},
      {"2026-05-31T18:00:00", false, TimeFault::NotUtc},
      {"2026-05-31T18:00:00.5-00:00", false, TimeFault::NotUtc},
      {"2026-05-31T18:00:00+0200", false, TimeFault::NotUtc},
      {"2026-05-31T18:00:00-08", false, TimeFault::NotUtc},
      {"2026-05-31T18:00:00+2", false, TimeFault::Malformed},
      {"2026-05-31T18:00:00z", false, TimeFault::Malformed},
      {"2026-05-31 18:00:00Z", false, TimeFault::Malformed},
      {"2026-02-29T00:00:00Z", false, TimeFault::Malformed},
      {"2026-11-31T00:00:00Z", false, TimeFault::Malformed},
      {"2026-13-01T00:00:00Z", false, TimeFault::Malformed},
      {"2026-05-31T24:00:00Z", false, TimeFault::Malformed},
      {"2026-05-31T23:59:60Z", false, TimeFault::Malformed},
      {"2026-05-31T18:00:00.Z", false, TimeFault::Malformed},
      {"2026-05-31T18:00Z", false, TimeFault::Malformed},
      {"2026-05-31T18:00:00Z ", false, TimeFault::Malformed},
      {"", false, TimeFault::Malformed},
  };
  for (const Case& one : cases) {
    const TimeParse parsed = parse_time(one.text);
    EXPECT_EQ(parsed.time.has_value(), one.good) << one.text;
    if (!one.good) {
      EXPECT_EQ(parsed.fault, one.fault) << one.text;
    }
  }
}

TEST(time, written_times_read_back) {
  for (const char* text : {"1970-01-01T00:00:00Z", "2026-11-15T04:00:00Z", "2024-02-29T23:59:59.000000001Z",
                           "1969-12-31T23:59:59.5Z", "2000-01-01T00:00:00.1Z"})
    EXPECT_EQ(format_time(*parse_time(text).time), text);
  EXPECT_EQ(format_time(*parse_time("2026-11-15T00:00:00Z").time + 24 * 3600), "2026-11-16T00:00:00Z");
}

TEST(time, far_years_keep_their_order) {
  EXPECT_LT(*parse_time("2026-01-01T00:00:00Z").time, *parse_time("9999-12-31T23:59:59Z").time);
  EXPECT_GT(*parse_time("2026-01-01T00:00:00Z").time, *parse_time("0001-01-01T00:00:00Z").time);
}

TEST(time, durations_of_fixed_length) {
  const std::pair<const char*, std::int64_t> good[] = {{"PT1H", 3600}, {"PT60M", 3600},      {"PT1H1S", 3601},
                                                       {"P1D", 86400}, {"P1DT2H30M", 95400}, {"P2W", 1209600},
                                                       {"PT0S", 0},    {"PT999999S", 999999}};
  for (const auto& [text, seconds] : good) EXPECT_EQ(parse_duration_seconds(text), seconds) << text;
  for (const char* text : {"", "P", "PT", "P1DT", "PT1.5H", "-PT1H", "+PT1H", "pt1h", "P1Y", "P1M", "PT1H ", " PT1H",
                           "PT1S1M", "P1W1D", "PT1000000S", "1H", "PTH", "P1H"})
    EXPECT_FALSE(parse_duration_seconds(text)) << text;
}

TEST(text, utf8_is_checked_to_the_byte) {
  EXPECT_EQ(find_invalid_utf8("plain"), 5u);
  EXPECT_EQ(find_invalid_utf8("\u00e9\u20ac\U0001F600"), 9u);
  EXPECT_EQ(find_invalid_utf8("ab\xff"), 2u);
  EXPECT_EQ(find_invalid_utf8("12345678\xc0\x80"), 8u);  // overlong
  EXPECT_EQ(find_invalid_utf8("\xed\xa0\x80"), 0u);      // a surrogate
  EXPECT_EQ(find_invalid_utf8("\xf4\x90\x80\x80"), 0u);  // beyond U+10FFFF
  EXPECT_EQ(find_invalid_utf8("a\xe2\x82"), 1u);         // cut short
}

TEST(text, what_cannot_be_seen_is_shown) {
  EXPECT_EQ(printable("a\nb\x1b[31m"), "a\\nb\\u{1b}[31m");
  EXPECT_EQ(printable("x\u202ey\u200b"), "x\\u{202e}y\\u{200b}");
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("abcdef", 3), "abc... (3 more bytes)");
}

TEST(text, blanks_of_every_kind) {
  EXPECT_TRUE(is_blank_text(""));
  EXPECT_TRUE(is_blank_text(" \t\n\u00a0\u3000\u2028"));
  EXPECT_FALSE(is_blank_text(" x "));
  EXPECT_FALSE(is_blank_text("\u200b"));  // zero-width, but no blank
  EXPECT_EQ(trim("\u00a0 a b \n"), "a b");
}

TEST(sha256, known_answers) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(ids, have_the_shape_of_their_kind) {
  CountingRandom random;
  EXPECT_EQ(mint_id("msg_", random), "msg_000102030405060708090a0b0c0d0e0f");
  CountingRandom again;
  EXPECT_EQ(mint_uuid(again), "00010203-0405-4607-8809-0a0b0c0d0e0f");
}

}  // namespace
}  // namespace baton
