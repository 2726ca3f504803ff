// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "json/canonical.h"
#include "json/decimal.h"
#include "json/incremental.h"
#include "json/parse.h"
#include "json/path.h"
#include "json/pointer.h"
#include "json/value.h"

namespace baton::json {
namespace {

TEST(parse, accepts_what_rfc_8259_does) {
  for (const char* text : {"{}",
                           "[]",
                           " [ ] ",
                           "\"\"",
                           "0",
                           "-0",
                           "1e5",
                           "1E+5",
                           "-1.5e-3",
                           "true",
                           "false",
                           "null",
                           "\t\r\n 1 \n",
                           "[1,[2,[3]]]",
                           "{\"\":0}",
                           "\"\\u0000\"",
                           "\"\\ud83d\\ude00\"",
                           "\"\\/\\b\\f\\n\\r\\t\\\\\\\"\"",
                           "\"\u2028\"",
                           "\"\x7f\"",
                           "123456789012345678901234567890",
                           "1e999999"})
    EXPECT_TRUE(parse(text).has_value()) << text << ": " << parse(text).error().what;
}

TEST(parse, refuses_at_the_offending_byte) {
  struct Case {
    std::string text;
    Fault fault;
    std::size_t offset;
  };
  const Case cases[] = {
      {"", Fault::UnexpectedEnd, 0},
      {"   ", Fault::UnexpectedEnd, 3},
      {"{", Fault::UnexpectedEnd, 1},
      {"{\"a\"", Fault::UnexpectedEnd, 4},
      {"{\"a\":", Fault::UnexpectedEnd, 5},
      {"{\"a\":1", Fault::UnexpectedEnd, 6},
      {"[1", Fault::UnexpectedEnd, 2},
      {"\"abc", Fault::UnexpectedEnd, 4},
      {"\"ab\\", Fault::UnexpectedEnd, 4},
      {"\"\\u12", Fault::UnexpectedEnd, 5},
      {"nul", Fault::UnexpectedEnd, 3},
      {"-", Fault::UnexpectedEnd, 1},
      {"{,}", Fault::ExpectedKey, 1},
      {"{a:1}", Fault::ExpectedKey, 1},
      {"{\"a\":1,}", Fault::ExpectedKey, 7},
      {"{'a':1}", Fault::ExpectedKey, 1},
      {"{\"a\" 1}", Fault::ExpectedColon, 5},
      {"{\"a\":1 \"b\":2}", Fault::ExpectedCommaOrBrace, 7},
      {"[1 2]", Fault::ExpectedCommaOrBracket, 3},
      {"[1,]", Fault::ExpectedValue, 3},
      {"[,1]", Fault::ExpectedValue, 1},
      {"{\"a\":]", Fault::ExpectedValue, 5},
      {"[1}", Fault::ExpectedCommaOrBracket, 2},
      {"tru ", Fault::ExpectedValue, 0},
      {"True", Fault::ExpectedValue, 0},
      {"NaN", Fault::ExpectedValue, 0},
      {"+1", Fault::ExpectedValue, 0},
      {".5", Fault::ExpectedValue, 0},
      {"01", Fault::BadNumber, 1},
      {"-x", Fault::BadNumber, 1},
      {"1.", Fault::UnexpectedEnd, 2},
      {"1.x", Fault::BadNumber, 2},
      {"1ex", Fault::BadNumber, 2},
      {"1 2", Fault::TrailingText, 2},
      {"{}}", Fault::TrailingText, 2},
      {"1 //", Fault::TrailingText, 2},
      {"\"a\tb\"", Fault::ControlCharacter, 2},
      {std::string("\"a\0b\"", 5), Fault::ControlCharacter, 2},
      {std::string("[1,\0]", 5), Fault::ExpectedValue, 3},
      {"\"\\x41\"", Fault::BadEscape, 2},
      {"\"\\u12g4\"", Fault::BadEscape, 5},
      {"\"\\ud800\"", Fault::LoneSurrogate, 1},
      {"\"a\\udc00\"", Fault::LoneSurrogate, 2},
      {"\"\\ud800\\u0041\"", Fault::LoneSurrogate, 1},
      {"\"a\xff\"", Fault::BadUtf8, 2},
      {"\"\\n\xc3\"", Fault::BadUtf8, 3},
      {"\xef\xbb\xbf{}", Fault::ExpectedValue, 0},
      {"{\"a\":1,\"a\":2}", Fault::DuplicateKey, 7},
      {"{\"a\":1,\"\\u0061\":2}", Fault::DuplicateKey, 7},
      {"{\"\\u0061\":1,\"a\":2}", Fault::DuplicateKey, 12},
      {"{\"b\":{\"x\":0,\"y\":0,\"x\":1}}", Fault::DuplicateKey, 18},
  };
  for (const Case& one : cases) {
    const auto result = parse(one.text);
    ASSERT_FALSE(result.has_value()) << one.text;
    EXPECT_EQ(result.error().fault, one.fault) << one.text << ": " << result.error().what;
    EXPECT_EQ(result.error().offset, one.offset) << one.text << ": " << result.error().what;
    EXPECT_FALSE(result.error().what.empty());
  }
}

TEST(parse, the_second_of_many_keys_is_found) {
  for (const int count : {2, 31, 32, 33, 34, 500}) {
    for (const int again : {0, count / 2, count - 1}) {
      std::string text = "{";
      for (int i = 0; i < count; ++i) text += "\"key" + std::to_string(i) + "\":[" + std::to_string(i) + "],";
      const std::size_t offset = text.size();
      text += "\"key" + std::to_string(again) + "\":0}";
      const auto result = parse(text);
      ASSERT_FALSE(result.has_value()) << count << " " << again;
      EXPECT_EQ(result.error().fault, Fault::DuplicateKey);
      EXPECT_EQ(result.error().offset, offset);
    }
  }
}

TEST(parse, limits_hold) {
  EXPECT_EQ(parse("[[[]]]", {.depth_max = 2}).error().fault, Fault::TooDeep);
  EXPECT_TRUE(parse("[[[]]]", {.depth_max = 3}).has_value());
  EXPECT_EQ(parse("[1,2,3]", {.members_max = 2}).error().fault, Fault::TooManyMembers);
  EXPECT_EQ(parse("{\"a\":1,\"b\":2}", {.members_max = 1}).error().fault, Fault::TooManyMembers);
  EXPECT_EQ(parse("[1]", {.bytes_max = 2}).error().fault, Fault::TooLarge);
  const std::string deep(100'000, '[');
  EXPECT_EQ(parse(deep).error().fault, Fault::TooDeep);
  const std::string closed = deep + std::string(100'000, ']');
  EXPECT_TRUE(parse(closed, {.depth_max = 200'000}).has_value()) << "nesting costs heap, not stack";
}

TEST(parse, works_at_every_length_around_the_block_size) {
  for (std::size_t length = 0; length < 70; ++length) {
    const std::string content(length, 'x');
    const std::string text =
        "[\"" + content + "\",\"" + content + "\\n\",\"" + content + "\u00e9\"]" + std::string(length % 20, ' ');
    const auto document = parse(text);
    ASSERT_TRUE(document.has_value()) << length;
    EXPECT_EQ(document->root().element(0).string(), content);
    EXPECT_EQ(document->root().element(1).string(), content + "\n");
    EXPECT_EQ(document->root().element(2).string(), content + "\u00e9");
  }
}

TEST(document, knows_the_place_of_every_node) {
  const auto document = parse("{\n \"a/b\": [1, {\"~\": true}],\n \"c\": null\n}");
  const Node root = document->root();
  const Node flag = root["a/b"].element(1)["~"];
  EXPECT_EQ(flag.pointer(), "/a~1b/1/~0");
  EXPECT_EQ(resolve_pointer(root, flag.pointer()), flag);
  EXPECT_EQ(flag.position().line, 2u);
  EXPECT_EQ(flag.position().column, 19u);
  EXPECT_EQ(root["c"].position().line, 3u);
  EXPECT_FALSE(root["d"]);
  EXPECT_FALSE(root["c"]["x"]["y"]);
  EXPECT_EQ(root.pointer(), "");
}

TEST(document, keeps_the_text_it_owns) {
  auto document = parse_owned("{\"name\":\"value\"}");
  const Document moved = std::move(*document);
  EXPECT_EQ(moved.root()["name"].string(), "value");
}

TEST(document, numbers_keep_every_digit) {
  const auto document = parse("[123456789012345678901234567890.10]");
  EXPECT_EQ(document->root().element(0).number_text(), "123456789012345678901234567890.10");
}

TEST(document, equality_is_of_values) {
  const auto same = [](const char* left, const char* right) {
    return equal(parse(left)->root(), parse(right)->root());
  };
  EXPECT_TRUE(same("{\"a\":1,\"b\":[2.0]}", "{\"b\":[2],\"a\":1.0}"));
  EXPECT_TRUE(same("1e2", "100"));
  EXPECT_TRUE(same("-0", "0"));
  EXPECT_FALSE(same("1", "true"));
  EXPECT_FALSE(same("[1,2]", "[2,1]"));
  EXPECT_FALSE(same("null", "{}"));
  EXPECT_FALSE(same("9007199254740993", "9007199254740992"));
}

TEST(pointer, is_rfc_6901) {
  const auto document = parse(R"({"foo":["bar","baz"],"":0,"a/b":1,"m~n":8," ":7})");
  const Node root = document->root();
  EXPECT_EQ(resolve_pointer(root, ""), root);
  EXPECT_EQ(resolve_pointer(root, "/foo/0").string(), "bar");
  EXPECT_EQ(resolve_pointer(root, "/").number_text(), "0");
  EXPECT_EQ(resolve_pointer(root, "/a~1b").number_text(), "1");
  EXPECT_EQ(resolve_pointer(root, "/m~0n").number_text(), "8");
  for (const char* none : {"foo", "/foo/01", "/foo/2", "/foo/-", "/foo/x", "/~2", "/~", "/nope"})
    EXPECT_FALSE(resolve_pointer(root, none)) << none;
}

TEST(path, is_the_subset) {
  const auto document = parse(R"({"a":{"b c":[10,{"d":1}]}})");
  const auto at = [&](const char* text) { return Path::compile(text).value().resolve(document->root()); };
  EXPECT_EQ(at("$"), document->root());
  EXPECT_EQ(at("$.a['b c'][0]").number_text(), "10");
  EXPECT_EQ(at("$['a'][\"b c\"][1].d").number_text(), "1");
  EXPECT_FALSE(at("$.a.x.y"));
  EXPECT_FALSE(at("$.a[0]"));
  EXPECT_EQ(Path::compile("$.a").value(), Path::compile("$['a']").value());
  EXPECT_EQ(Path::compile("$.a['it''s']").has_value(), false);
  EXPECT_EQ(Path::compile(Path::compile("$['it\\'s'][3]").value().text()).value(),
            Path::compile("$['it\\'s'][3]").value());
  for (const char* text : {"$..a", "$.*", "$[*]", "$[1:2]", "$[-1]", "$[?(@.a)]", "$['a','b']", "$[0,1]"}) {
    ASSERT_FALSE(Path::compile(text)) << text;
    EXPECT_TRUE(Path::compile(text).error().unsupported) << text;
  }
  for (const char* text : {"", "a", "$.", "$a", "$[", "$['a", "$['a'", "$[01]", "$[x]", "$.1a"}) {
    ASSERT_FALSE(Path::compile(text)) << text;
    EXPECT_FALSE(Path::compile(text).error().unsupported) << text;
  }
}

TEST(decimal, is_exact_where_doubles_are_not) {
  const auto d = [](const char* text) { return Decimal::from_number(text); };
  EXPECT_LE(d("0.1") + d("0.2"), d("0.3"));
  EXPECT_EQ(d("0.1") + d("0.2"), d("0.30"));
  EXPECT_GT(d("9007199254740993"), d("9007199254740992"));
  EXPECT_EQ((d("1.10") * d("3")).text(), "3.3");
  EXPECT_EQ((d("5") - d("7.25")).text(), "-2.25");
  EXPECT_EQ(d("1e3"), Decimal(1000));
  EXPECT_EQ(d("-0"), Decimal(0));
  EXPECT_GT(d("1e300"), d("1e299"));
}

TEST(decimal, is_exact_at_any_length) {
  const auto d = [](std::string_view text) { return Decimal::from_number(text); };
  // Where one integer of the machine is enough, where it just is not, and far beyond.
  EXPECT_EQ((d("1e300") + Decimal(1) - d("1e300")), Decimal(1));
  EXPECT_EQ((d("99999999999999999999999999999999999") * d("99999999")).text(),
            "9999999899999999999999999999999999900000001");
  EXPECT_EQ((d("9999999999999999999999999999999999999") + Decimal(1)).text(), "10000000000000000000000000000000000000");
  EXPECT_EQ((d("0.999999999999999999") + d("0.000000000000000001")), Decimal(1));
  EXPECT_EQ((d("0.9999999999999999999") + d("0.0000000000000000001")).text(), "1");
  EXPECT_EQ((d("1") - d("0.0000000000000000000000000000000000000001")).text(),
            "0.9999999999999999999999999999999999999999");
  EXPECT_EQ((d("-1e20") * d("1e-40")).text(), "-0.00000000000000000001");
  EXPECT_LT(d("0.1"), d("0.1000000000000000055511151231257827021181583404541015625"));
  EXPECT_LT(d("-0.1000000000000000055511151231257827021181583404541015625"), d("-0.1"));
  EXPECT_EQ(d("1.5e40"), d("15e39"));
  EXPECT_LT(d("-1e40"), d("1e-40"));
  EXPECT_LT(Decimal(), d("1e-9999"));
  EXPECT_EQ(d("1e40") - d("1e40"), Decimal());
  EXPECT_EQ((d("1e40") - d("1e40")).text(), "0");
  EXPECT_EQ(-(-d("1e40")), d("1e40"));
  // What is carried, and borrowed, goes on above the shorter number.
  EXPECT_EQ((d("99999999999999999999999999999999999999999999") + d("1")).text(),
            "100000000000000000000000000000000000000000000");
  EXPECT_EQ((d("1e44") - d("1e-3")).text(), "99999999999999999999999999999999999999999999.999");
  EXPECT_EQ((d("1e9990") + d("1e-9999") - d("1e9990")), d("1e-9999"));
  // The least integer of the machine, which has no opposite there.
  const Decimal least = d("-85070591730234615865843651857942052") * d("2000") - d("1728");
  EXPECT_EQ(least.text(), "-170141183460469231731687303715884105728");
  EXPECT_EQ((-least).text(), "170141183460469231731687303715884105728");
  EXPECT_EQ((Decimal() - least).text(), "170141183460469231731687303715884105728");
  // A product against one that was worked out by hand: (10^20 + 1)^2.
  const Decimal square = d("100000000000000000001") * d("100000000000000000001");
  EXPECT_EQ(square.text(), "10000000000000000000200000000000000000001");
}

TEST(decimal, arithmetic_keeps_its_laws) {
  const std::vector<std::string> texts = {"0",
                                          "1",
                                          "-1",
                                          "0.1",
                                          "-2.5",
                                          "9999999999999999999999999999999999999",
                                          "99999999999999999999999999999999999999",
                                          "0.000000000000000001",
                                          "0.0000000000000000001",
                                          "-123456789012345678901234567890.123456789012345678901234567890",
                                          "1e50",
                                          "-1e-50",
                                          "3.3333333333333333333333333333333333333333333333333333"};
  for (const std::string& first : texts)
    for (const std::string& second : texts) {
      const Decimal a = Decimal::from_number(first), b = Decimal::from_number(second), c(7);
      EXPECT_EQ(a + b, b + a) << first << " " << second;
      EXPECT_EQ(a + b - b, a) << first << " " << second;
      EXPECT_EQ(a * b, b * a) << first << " " << second;
      EXPECT_EQ((a + b) * c, a * c + b * c) << first << " " << second;
      EXPECT_EQ(a <=> b, (a - b) <=> Decimal()) << first << " " << second;
      EXPECT_EQ(a == b, first == second);
      EXPECT_EQ(Decimal::from_number(a.text()), a) << first;
      EXPECT_EQ(Decimal::from_number((a * b).text()), a * b) << first << " " << second;
    }
}

// What nobody can write out costs nothing, and stays beyond what can be.
TEST(decimal, numbers_beyond_the_limit) {
  EXPECT_TRUE(is_within_digits("1e9999"));
  EXPECT_FALSE(is_within_digits("1e10000"));
  EXPECT_TRUE(is_within_digits("1e-9999"));
  EXPECT_FALSE(is_within_digits("1e-10000"));
  EXPECT_TRUE(is_within_digits("0e999999999999"));
  EXPECT_TRUE(is_within_digits("10000000000e-5"));
  EXPECT_TRUE(is_within_digits("1" + std::string(9'999, '0')));
  EXPECT_FALSE(is_within_digits("1" + std::string(10'000, '0')));
  EXPECT_TRUE(is_within_digits("0." + std::string(9'999, '1')));
  EXPECT_FALSE(is_within_digits("0." + std::string(10'000, '1')));
  EXPECT_TRUE(is_within_digits("0.1" + std::string(20'000, '0')));  // zeros at the end say nothing
  EXPECT_TRUE(is_within_digits("12." + std::string(9'998, '1')));
  EXPECT_FALSE(is_within_digits("12." + std::string(9'999, '1')));
  EXPECT_FALSE(are_within_digits(parse(R"({"a":[1,{"b":1e10000}]})")->root()));
  EXPECT_TRUE(are_within_digits(parse(R"({"a":[1,{"b":1e100,"1e10000":"1e10000"}]})")->root()));
  const Decimal huge = Decimal::from_number("1e999999999999"), tiny = Decimal::from_number("1e-999999999999");
  EXPECT_GT(huge, Decimal::from_number("9e9999"));
  EXPECT_LT(-huge, Decimal::from_number("-9e9999"));
  EXPECT_GT(tiny, Decimal());
  EXPECT_LT(tiny, Decimal::from_number("1e-9999"));
  EXPECT_GT(huge + tiny, huge);
}

// Short numbers are read by a way of their own: it gives what the other gives, for every layout of up to 19 characters.
TEST(decimal, short_and_long_spellings_are_one_number) {
  const std::string digits = "1203004567890120300";
  for (const char* sign : {"", "-"})
    for (std::size_t size = 1; size <= digits.size(); ++size)
      for (std::size_t point = 0; point <= size; ++point) {
        // The point after `point` digits; none before the first and after the last.
        const std::string whole = digits.substr(0, point), rest = digits.substr(point, size - point);
        const std::string text = sign + (whole.empty() ? "0" : whole) + (rest.empty() ? "" : "." + rest);
        const std::string long_text = text + (rest.empty() ? "." : "") + std::string(30, '0');
        const std::string exponent = sign + digits.substr(0, size) + "e-" + std::to_string(size - point);
        const Decimal number = Decimal::from_number(text);
        EXPECT_EQ(number, Decimal::from_number(long_text)) << text;
        EXPECT_EQ(number, Decimal::from_number(exponent)) << text;
        EXPECT_EQ(number.text(), Decimal::from_number(exponent).text()) << text;
        EXPECT_TRUE(same_number(number.text(), text)) << text;
        EXPECT_LT(number, Decimal::from_number(text) + Decimal::from_number("1e-40")) << text;
      }
  for (const char* zero : {"0", "-0", "0.0", "-0.000", "0e5", "-0e-5"})
    EXPECT_EQ(Decimal::from_number(zero), Decimal()) << zero;
}

// Comparing costs what is written, not what it names: no digits are laid out for an exponent.
TEST(decimal, huge_exponents_compare_without_room) {
  const std::vector<std::string> rising = {"-1e10000", "-1e9999", "-1e400", "-1", "-1E-30", "-1e-9999", "0",
                                           "1e-9999",  "1E-30",   "0.1",    "1",  "1e400",  "1e9999",   "1e10000"};
  for (std::size_t i = 0; i < rising.size(); ++i)
    for (std::size_t j = 0; j < rising.size(); ++j)
      EXPECT_EQ(Decimal::from_number(rising[i]) <=> Decimal::from_number(rising[j]), i <=> j)
          << rising[i] << " " << rising[j];
  const std::string digits(10'000, '7');
  EXPECT_LT(Decimal::from_number(digits), Decimal::from_number(digits + ".1"));
  EXPECT_EQ(Decimal::from_number(digits), Decimal::from_number(digits + "000e-3"));
  EXPECT_GT(Decimal::from_number(digits + "8"), Decimal::from_number(digits + "7"));
  EXPECT_TRUE(is_within_digits(digits));
  EXPECT_FALSE(is_within_digits(digits + "7"));
}

TEST(decimal, rounded_up) {
  const auto up = [](std::string_view text) { return Decimal::from_number(text).rounded_up(1'000); };
  EXPECT_EQ(up("0"), 0);
  EXPECT_EQ(up("-3.5"), 0);
  EXPECT_EQ(up("0.0000000000000000000000000001"), 1);
  EXPECT_EQ(up("3"), 3);
  EXPECT_EQ(up("3.0001"), 4);
  EXPECT_EQ(up("999.5"), 1'000);
  EXPECT_EQ(up("1e300"), 1'000);
}

TEST(decimal, whole_numbers) {
  EXPECT_EQ(to_int64("3.0"), 3);
  EXPECT_EQ(to_int64("3e2"), 300);
  EXPECT_EQ(to_int64("-9223372036854775808"), INT64_MIN);
  EXPECT_FALSE(to_int64("9223372036854775808"));
  EXPECT_FALSE(to_int64("3.5"));
  EXPECT_TRUE(is_integer("30e-1"));
  EXPECT_FALSE(is_integer("31e-1"));
  EXPECT_TRUE(is_integer("0.0"));
}

TEST(canonical, the_two_modes_differ_only_in_digits) {
  const auto both = [](const char* text) {
    const auto document = parse(text);
    return std::pair{canonical(document->root(), Numbers::Rfc8785).value_or("error"),
                     canonical(document->root(), Numbers::Exact).value_or("error")};
  };
  EXPECT_EQ(both("[1.0,1e2,-0,0.1,1E-7,1e21,123456789]").first, "[1,100,0,0.1,1e-7,1e+21,123456789]");
  EXPECT_EQ(both("[1.0,1e2,-0,0.1,1E-7,1e21,123456789]").second, "[1,100,0,0.1,1e-7,1e+21,123456789]");
  EXPECT_EQ(both("9007199254740993").first, "9007199254740992");
  EXPECT_EQ(both("9007199254740993").second, "9007199254740993");
  EXPECT_EQ(both("0.1234567890123456789").second, "0.1234567890123456789");
  EXPECT_EQ(both("1e400").first, "error");
  EXPECT_EQ(both("1e400").second, "1e+400");
  EXPECT_EQ(both("1e99999999999").second, "error");
}

TEST(canonical, sorts_by_utf16_and_escapes_least) {
  const auto of = [](const char* text) { return canonical(parse(text)->root(), Numbers::Rfc8785).value(); };
  EXPECT_EQ(of("{\"\\ufb33\":1,\"\\ud83d\\ude00\":2,\"\u20ac\":3,\"a\":4,\"\":5}"),
            "{\"\":5,\"a\":4,\"\u20ac\":3,\"\U0001F600\":2,\"\ufb33\":1}");
  EXPECT_EQ(of("{\"\ufb33\":1,\"\U0001F600\":2}"), "{\"\U0001F600\":2,\"\ufb33\":1}");
  EXPECT_EQ(of("\"\\u000f\\u007f\\/\\u2028\\\"\\\\\\b\\t\\n\\f\\r\""), "\"\\u000f\x7f/\u2028\\\"\\\\\\b\\t\\n\\f\\r\"");
  EXPECT_EQ(of("{\"abcdefghij\":1,\"abcdefgh\":2,\"abcdefghi\":3,\"b\":4,\"abcdefg\":5}"),
            "{\"abcdefg\":5,\"abcdefgh\":2,\"abcdefghi\":3,\"abcdefghij\":1,\"b\":4}");
  std::string many = "{", sorted = "{";
  for (int i = 40; i-- > 0;) many += "\"k" + std::to_string(i + 10) + "\":" + std::to_string(i) + (i > 0 ? "," : "}");
  for (int i = 0; i < 40; ++i)
    sorted += "\"k" + std::to_string(i + 10) + "\":" + std::to_string(i) + (i < 39 ? "," : "}");
  EXPECT_EQ(of(many.c_str()), sorted);
}

TEST(canonical, short_texts_are_not_read_past) {
  for (const char* text : {"\"\"", "{}", "[\"a\"]", "{\"a\":1}", "{\"b\":1,\"a\":2}"}) {
    const std::string exact(text);  // no room after it: a sanitizer sees every byte too many
    const std::vector<char> bytes(exact.begin(), exact.end());
    const auto document = parse({bytes.data(), bytes.size()});
    EXPECT_TRUE(canonical(document->root(), Numbers::Exact).has_value());
  }
}

// Room for the whole document would be taken for each part: minutes.
TEST(canonical, a_part_costs_only_its_own_size) {
  std::string text = "[";
  for (int i = 0; i < 200'000; ++i)
    text += (i == 0 ? "" : ",") + std::string(R"({"b":[1.50],"a":")") + std::to_string(i) + "\"}";
  const auto document = parse_owned(text + "]");
  ASSERT_TRUE(document.has_value());
  std::string all = "[";
  for (const Node one : document->root().elements())
    all += (all.size() > 1 ? "," : "") + canonical(one, Numbers::Exact).value_or("error");
  EXPECT_EQ(all + "]", canonical(document->root(), Numbers::Exact).value_or("error"));
}

TEST(canonical, leaves_a_member_out) {
  const auto document = parse("{\"b\":1,\"a\":{\"x\":1,\"y\":2}}");
  std::string out = "kept:";
  ASSERT_TRUE(append_canonical(out, document->root(), Numbers::Exact, document->root()["a"]["x"]).has_value());
  EXPECT_EQ(out, "kept:{\"a\":{\"y\":2},\"b\":1}");
}

TEST(value, is_built_and_found_by_pointer) {
  Value value = Value::object();
  EXPECT_TRUE(value.set_at("/a/b", 1));
  EXPECT_TRUE(value.set_at("/list", Value::array()));
  EXPECT_TRUE(value.set_at("/list/0", "x"));
  EXPECT_TRUE(value.set_at("/list/-", "y"));
  EXPECT_FALSE(value.set_at("/list/5", "z"));
  EXPECT_FALSE(value.set_at("/a/b/c", 1));
  EXPECT_EQ(write(value), "{\"a\":{\"b\":1},\"list\":[\"x\",\"y\"]}");
  EXPECT_EQ(write_pretty(value), "{\n  \"a\": {\n    \"b\": 1\n  },\n  \"list\": [\n    \"x\",\n    \"y\"\n  ]\n}");
}

TEST(tracker, says_open_complete_or_broken) {
  const auto state = [](std::string_view text) {
    Tracker tracker;
    for (const char c : text) {
      tracker.take(c);
      if (tracker.state() != Tracker::State::Open) break;
    }
    return tracker.state();
  };
  using State = Tracker::State;
  for (const char* text : {"{", "{\"a\"", "{\"a\":", "{\"a\":\"\\u12", "[1,2", "{\"a\":{\"b\":[]}"})
    EXPECT_EQ(state(text), State::Open) << text;
  for (const char* text : {"{}", "[]", "{\"a\":[1,{\"b\":null}]}", "{\"a\":\"\\\"}\"}"})
    EXPECT_EQ(state(text), State::Complete) << text;
  for (const char* text : {"{{", "{a", "{\"a\" \"", "{\"a\":1]", "{\"a\":1 2", "{,", "[1}", "{\"a\n", "{\"a\":\"\\x"})
    EXPECT_EQ(state(text), State::Broken) << text;
}

}  // namespace
}  // namespace baton::json
