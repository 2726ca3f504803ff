// SPDX-License-Identifier: Apache-2.0
// YAML becomes the tree that JSON gives, or is refused at the right place. Expected values are those of the YAML 1.2 core
// schema and of yaml/yaml.h.
#include <gtest/gtest.h>

#include "base/text.h"
#include "json/pointer.h"
#include "json/value.h"
#include "yaml/scalar.h"
#include "yaml/yaml.h"

namespace baton::yaml {
namespace {

// "CODE@line:column pointer", one for each.
std::string shown(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!out.empty()) out += "; ";
    out += info(diagnostic.code).name;
    out += "@" + std::to_string(diagnostic.place.line) + ":" + std::to_string(diagnostic.place.column);
    if (!diagnostic.place.pointer.empty()) out += " " + diagnostic.place.pointer;
  }
  return out;
}

// The JSON that the YAML stands for, digits as they were written; the tree says the same.
std::string json_of(const Parsed& parsed) {
  if (!parsed.document) return "refused";
  EXPECT_EQ(json::write(parsed.document->root()), parsed.document->text());
  return std::string(parsed.document->text());
}

// --- what a text means ------------------------------------------------------------------------------------------------

struct Meaning {
  std::string_view text;
  std::string_view json;
};
const Meaning kMeanings[] = {
    // nothing
    {"", "null"},
    {"# only a comment\n", "null"},
    {"---\n", "null"},
    {"---\n...\n", "null"},
    {"\xef\xbb\xbf"
     "a: 1\nb: 2\n",
     R"({"a":1,"b":2})"},
    // containers, in both styles
    {"a: 1\nb:\n  - x\n  - w: [1, {z: null}]\n", R"({"a":1,"b":["x",{"w":[1,{"z":null}]}]})"},
    {"b:\n- x\n- z\n", R"({"b":["x","z"]})"},
    {"{a: {}, b: [], c: }", R"({"a":{},"b":[],"c":null})"},
    {"[a: 1, b]", R"([{"a":1},"b"])"},
    {"- - 1\n  - 2\n-\n", "[[1,2],null]"},
    {"? a\n: 1\n? b\n", R"({"a":1,"b":null})"},
    {"---\na: 1\n...\n", R"({"a":1})"},
    {"{\"a\":[1,-2.5e3,\"\\u00e9\\n\"],\"b\":{\"c\":true}}", "{\"a\":[1,-2.5e3,\"\u00e9\\n\"],\"b\":{\"c\":true}}"},
    {"a:\r\n  b: 1\r\n", R"({"a":{"b":1}})"},
    // null and booleans
    {"[null, Null, NULL, ~, ]", "[null,null,null,null]"},
    {"[nULL, none, nil]", R"(["nULL","none","nil"])"},
    {"[true, True, TRUE, false, False, FALSE]", "[true,true,true,false,false,false]"},
    {"[tRUE, truE]", R"(["tRUE","truE"])"},
    // numbers
    {"[0, -0, +12, -19, 685_230]", R"([0,-0,12,-19,"685_230"])"},
    {"[0o14, 0o0, 0xC, 0xff, 0xFFFFFFFFFFFFFFFFFFFF, 0o777777777777777777777777]",
     "[12,0,12,255,1208925819614629174706175,4722366482869645213695]"},
    {"[0x3b9aca00, 0xde0b6b3a7640000]", "[1000000000,1000000000000000000]"},
    {"[0o8, 0xg, 0x, 0o, -0x1, 0O7, 0X1, 0b1]", R"(["0o8","0xg","0x","0o","-0x1","0O7","0X1","0b1"])"},
    {"[1.5, .5, -.5, 5., 1e3, 1.E+2, 12e03, -1.25E-2]", "[1.5,0.5,-0.5,5,1e3,1e+2,12e03,-1.25e-2]"},
    {"[., -, +, e1, 1e, 1.5.2, 1 2, +-1]", R"([".","-","+","e1","1e","1.5.2","1 2","+-1"])"},
    {"123456789012345678901234567890.5", "123456789012345678901234567890.5"},
    // quoted and block scalars are strings
    {R"(["1", 'true', "null", '', "0x1", '.inf'])", R"(["1","true","null","","0x1",".inf"])"},
    {"a: |\n  1\n  2\nb: >-\n  x\n  y\n", R"({"a":"1\n2\n","b":"x y"})"},
    {R"("\0\x41\u263a\U0001f600\t\"\\\/\L")", "\"\\u0000A\u263a\U0001f600\\t\\\"\\\\/\u2028\""},
    {"'it''s'", R"("it's")"},
    {"'yes'", R"("yes")"},
    {"\"010\"", R"("010")"},
    {"a: b  # comment\nc: d#e\n", R"({"a":"b","c":"d#e"})"},
    {"a: x\n  y\n", R"({"a":"x y"})"},
    // keys that look like something else, in quotes
    {"\"<<\": 1\n'1': 2\n'true': 3\n\"\": 4\n", R"({"<<":1,"1":2,"true":3,"":4})"},
    {"a: <<\n", R"({"a":"<<"})"},
    // a percent sign that opens no directive
    {"\"x\n%YAML 1.2\n\"", R"("x %YAML 1.2 ")"},
    {"a: 5%\n", R"({"a":"5%"})"},
};

TEST(yaml, a_text_means_what_yaml_1_2_says) {
  for (const Meaning& meaning : kMeanings) {
    const Parsed parsed = parse(meaning.text);
    EXPECT_EQ(shown(parsed.diagnostics), "") << meaning.text;
    EXPECT_EQ(json_of(parsed), meaning.json) << meaning.text;
  }
}

// --- what is refused --------------------------------------------------------------------------------------------------

struct Refusal {
  std::string_view text;
  std::string_view found;
};
const Refusal kRefusals[] = {
    {"a: 1\nb: 2\na: 3\n", "YAML_DUPLICATE_KEY@3:1 /a"},
    {"x: {\"k\": 1, k: 2}", "YAML_DUPLICATE_KEY@1:13 /x/k"},
    {"- {a: 1}\n- a: 1\n  a: 2\n", "YAML_DUPLICATE_KEY@3:3 /1/a"},
    {"a: &here 1\n", "YAML_ANCHOR@1:4 /a"},
    {"a: &here [1]\nb: *here\n", "YAML_ANCHOR@1:4 /a; YAML_ALIAS@2:4 /b"},
    {"&k a: 1\n", "YAML_ANCHOR@1:1 /a"},
    {"a: 1\n*x : 2\n", "YAML_ALIAS@2:1"},
    {"a:\n  <<: {b: 1}\n", "YAML_MERGE@2:3 /a/<<"},
    {"a: !!str 1\n", "YAML_TAG@1:4 /a"},
    {"a: ! 1\n", "YAML_TAG@1:4 /a"},
    {"a: ! 'x'\n", "YAML_TAG@1:4 /a"},
    {"! {a: 1}\n", "YAML_TAG@1:1"},
    {"- !x []\n", "YAML_TAG@1:3 /0"},
    {"!x a: 1\n", "YAML_TAG@1:1 /a"},
    {"a: 1\n---\nb: 1\n", "YAML_DOCUMENTS@2:1"},
    {"---\n---\n", "YAML_DOCUMENTS@2:1"},
    {"%YAML 1.2\n---\na: 1\n", "YAML_DIRECTIVE@1:1"},
    {"%TAG ! tag:example.com,2000:\n---\na: 1\n", "YAML_DIRECTIVE@1:1"},
    {"\n # c\n%FOO bar\n---\na: 1\n", "YAML_DIRECTIVE@3:1"},
    {"a: 1\n...\n\n%YAML 1.2\n---\nb: 1\n", "YAML_DOCUMENTS@4:1"},
    {"1: a\n", "YAML_KEY@1:1 /1"},
    {"a:\n  true: b\n", "YAML_KEY@2:3 /a/true"},
    {"~: a\n", "YAML_KEY@1:1 /~0"},
    {"? [a, b]\n: 1\n", "YAML_KEY@1:3"},
    {"{a: 1, {b: 2}: 3, c: .nan}", "YAML_KEY@1:8; YAML_NUMBER@1:22 /c"},
    {"[.inf, -.INF, .NaN]", "YAML_NUMBER@1:2 /0; YAML_NUMBER@1:8 /1; YAML_NUMBER@1:15 /2"},
    {"a: [1, 2\n", "YAML_SYNTAX@2:1"},
    {"a: b: c\n", "YAML_SYNTAX@1:5"},
    {"a: 'x\n", "YAML_SYNTAX@2:1"},
    {"a:\n\t- b\n", "YAML_SYNTAX@2:1"},
    {"a: \"\\ud83d\"\n", "YAML_SYNTAX@1:7"},
    {"a: b\n\xff: c\n", "YAML_SYNTAX@2:1"},
    {"a: \x01\n", "YAML_SYNTAX@1:4"},
    {std::string_view("a: \0\n", 5), "YAML_SYNTAX@1:4"},
    {"a: x\u2028y\n", "YAML_SYNTAX@1:5"},
    {"a: x\u0085y\n", "YAML_SYNTAX@1:5"},
    {"\xef\xbb\xbf\xef\xbb\xbf"
     "a: 1\n",
     "YAML_SYNTAX@1:4"},
    {std::string_view("\xff\xfe\x61\0", 4), "YAML_SYNTAX@1:1"},
    // everything that can be told is told, in the order of the text
    {"a: &x 1\na: !t 2\nb: [on, 007]\nc: *x\n",
     "YAML_ANCHOR@1:4 /a; YAML_DUPLICATE_KEY@2:1 /a; YAML_TAG@2:4 /a; YAML_AMBIGUOUS@3:5 /b/0; YAML_AMBIGUOUS@3:9 "
     "/b/1; "
     "YAML_ALIAS@4:4 /c"},
};

TEST(yaml, what_is_not_taken_is_refused_at_its_place) {
  for (const Refusal& refusal : kRefusals) {
    const Parsed parsed = parse(refusal.text);
    EXPECT_EQ(shown(parsed.diagnostics), refusal.found) << refusal.text;
    EXPECT_FALSE(parsed.document) << refusal.text;
  }
}

TEST(yaml, numbers_in_other_bases_have_bounded_digits) {
  const std::string most = "0x" + std::string(limits::kYamlRadixDigitsMax, 'f');
  EXPECT_TRUE(parse(most).document);
  EXPECT_EQ(shown(parse(most + "f").diagnostics), "YAML_NUMBER@1:1");
  // 16^64 - 1
  EXPECT_EQ(json_of(parse(most)), "115792089237316195423570985008687907853269984665640564039457584007913129639935");
}

// --- what is only doubtful --------------------------------------------------------------------------------------------

TEST(yaml, words_of_yaml_1_1_are_strings_with_a_warning) {
  for (const std::string_view word :
       {"y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF"}) {
    const Parsed parsed = parse("a: " + std::string(word) + "\n");
    EXPECT_EQ(shown(parsed.diagnostics), "YAML_AMBIGUOUS@1:4 /a");
    EXPECT_FALSE(has_errors(parsed.diagnostics));
    EXPECT_EQ(json_of(parsed), "{\"a\":\"" + std::string(word) + "\"}");
  }
  EXPECT_EQ(shown(parse("on: push\n").diagnostics), "YAML_AMBIGUOUS@1:1 /on");
  EXPECT_EQ(shown(parse("a: yEs\n").diagnostics), "");
  EXPECT_EQ(shown(parse("[\"no\", 'off', |-\n on\n ]").diagnostics).find("YAML_AMBIGUOUS"), std::string::npos);
}

TEST(yaml, leading_zeros_are_decimal_with_a_warning) {
  const Parsed parsed = parse("[010, -010, +007, 089, 00, 01.50, 00e1]");
  EXPECT_EQ(json_of(parsed), "[10,-10,7,89,0,1.50,0e1]");
  EXPECT_EQ(parsed.diagnostics.size(), 7u);
  for (const Diagnostic& diagnostic : parsed.diagnostics) {
    EXPECT_EQ(diagnostic.code, Code::YAML_AMBIGUOUS);
    EXPECT_EQ(diagnostic.message.find("89"), std::string::npos) << "a value is not quoted";
  }
  EXPECT_TRUE(parse("[0, -0, 0.5, 0e1, 100]").diagnostics.empty());
}

// --- places -----------------------------------------------------------------------------------------------------------

TEST(yaml, every_node_knows_its_place_in_the_yaml) {
  const Parsed parsed = parse("# h\u00e4h\u00e4\n\u00fc\u00f6: \U0001f600\nlist:\n  - eins\n  - 'zwei': [ 0x10, b ]\n");
  ASSERT_TRUE(parsed.document);
  const json::Node root = parsed.document->root();
  const auto place = [&](std::string_view pointer) {
    const json::Node node = json::resolve_pointer(root, pointer);
    EXPECT_TRUE(node) << pointer;
    EXPECT_EQ(node.pointer(), pointer);
    const json::Position position = node.position();
    return std::to_string(position.line) + ":" + std::to_string(position.column);
  };
  EXPECT_EQ(place(""), "2:1");
  EXPECT_EQ(place("/\u00fc\u00f6"), "2:7");  // columns are bytes
  EXPECT_EQ(place("/list"), "4:3");
  EXPECT_EQ(place("/list/0"), "4:5");
  EXPECT_EQ(place("/list/1"), "5:5");
  EXPECT_EQ(place("/list/1/zwei"), "5:13");
  EXPECT_EQ(place("/list/1/zwei/0"), "5:15");
  EXPECT_EQ(place("/list/1/zwei/1"), "5:21");
  EXPECT_EQ(json::resolve_pointer(root, "/list/1/zwei/0").number_text(), "16");
  std::vector<std::size_t> lines;
  for (const json::Member member : root.members()) lines.push_back(member.key.position().line);
  EXPECT_EQ(lines, (std::vector<std::size_t>{2, 3}));
}

TEST(yaml, places_count_behind_a_byte_order_mark) {
  const Parsed parsed = parse(
      "\xef\xbb\xbf"
      "a: 1\nb: 2\n");
  ASSERT_TRUE(parsed.document);
  EXPECT_EQ(parsed.document->root()["a"].position().column, 7u);
  EXPECT_EQ(parsed.document->root()["b"].position().line, 2u);
  EXPECT_EQ(shown(parse("\xef\xbb\xbf"
                        "a: 1\na: \u00e4\n")
                      .diagnostics),
            "YAML_DUPLICATE_KEY@2:1 /a");
}

TEST(yaml, a_document_outlives_its_text_and_moves) {
  std::optional<json::Document> kept;
  {
    std::string text = "a: [1, \"x\\ty\"]\n";
    Parsed parsed = parse(text);
    ASSERT_TRUE(parsed.document);
    kept = std::move(parsed.document);
    text.assign(text.size(), '#');
  }
  EXPECT_EQ(kept->root()["a"].element(1).string(), "x\ty");
  EXPECT_EQ(kept->root()["a"].element(1).position().column, 8u);
}

// --- limits -----------------------------------------------------------------------------------------------------------

std::string repeated(std::string_view piece, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += piece;
  return out;
}

TEST(yaml, depth_is_limited_at_once) {
  EXPECT_TRUE(parse(repeated("[", 64) + repeated("]", 64)).document);
  EXPECT_EQ(parse(repeated("[", 65) + repeated("]", 65)).diagnostics.at(0).code, Code::YAML_TOO_DEEP);
  for (const std::string_view piece : {"[", "{a: ", "- ", "? "}) {
    const Parsed parsed = parse(repeated(piece, 20'000));
    ASSERT_FALSE(parsed.diagnostics.empty()) << piece;
    EXPECT_EQ(parsed.diagnostics.back().code, Code::YAML_TOO_DEEP) << piece;
    EXPECT_EQ(parsed.diagnostics.back().place.column, 64 * piece.size() + 1) << piece;
  }
  std::string lines;
  for (std::size_t depth = 0; depth < 1'000; ++depth) lines += std::string(depth, ' ') + "a:\n";
  EXPECT_EQ(parse(lines).diagnostics.at(0).code, Code::YAML_TOO_DEEP);
  EXPECT_EQ(parse(lines).diagnostics.at(0).place.line, 65u);
}

TEST(yaml, size_is_limited) {
  const std::string most = "#" + std::string(limits::kYamlBytesMax - 1, 'x');
  EXPECT_TRUE(parse(most).document);
  EXPECT_EQ(parse(most + "x").diagnostics.at(0).code, Code::YAML_TOO_LARGE);
  EXPECT_EQ(shown(parse("a: 12", {4, 64}).diagnostics), "YAML_TOO_LARGE@1:5");
}

// Nothing here may take the square of its size; with it these would take minutes.
TEST(yaml, large_texts_are_read) {
  std::string members, faults;
  for (int i = 0; members.size() < limits::kYamlBytesMax - 20; ++i)
    members += "key" + std::to_string(i) + ": [\u00e4]\n";
  const Parsed parsed = parse(members);
  ASSERT_TRUE(parsed.document);
  EXPECT_GT(parsed.document->root().size(), 50'000u);
  for (int i = 0; i < 100'000; ++i) faults += "- *a\n";
  EXPECT_EQ(parse(faults).diagnostics.size(), limits::kDiagnosticsMax);
  std::string directives;
  for (int i = 0; directives.size() < limits::kYamlBytesMax - 100; ++i)
    directives += "%TAG !" + std::to_string(i) + "! x\n";
  EXPECT_EQ(shown(parse(directives).diagnostics), "YAML_DIRECTIVE@1:1");
  EXPECT_EQ(shown(parse("a: 1\n... # end\n...\n" + directives).diagnostics), "YAML_DOCUMENTS@4:1");
  EXPECT_EQ(shown(parse("a: 1\n" + directives).diagnostics), "YAML_DOCUMENTS@2:1");
  EXPECT_TRUE(parse("\"" + std::string(1'000'000, 'x') + "\"").document);
  EXPECT_TRUE(parse(std::string(1'000'000, '7')).document);
}

TEST(yaml, many_warnings_do_not_hide_an_error) {
  const Parsed parsed = parse(repeated("- no\n", 1'000) + "- *a\n");
  EXPECT_FALSE(parsed.document);
  EXPECT_TRUE(has_errors(parsed.diagnostics));
  EXPECT_EQ(parsed.diagnostics.back().code, Code::YAML_ALIAS);
  EXPECT_EQ(parsed.diagnostics.back().place.line, 1'001u);
}

TEST(yaml, scalars_are_resolved_alone) {
  EXPECT_EQ(resolve("").kind, json::Kind::Null);
  EXPECT_EQ(resolve("0x1F").json, "31");
  EXPECT_EQ(resolve("+.5").json, "0.5");
  EXPECT_EQ(resolve("+.nan").kind, json::Kind::String);
  EXPECT_EQ(resolve("+.inf").kind, json::Kind::Number);
  EXPECT_FALSE(resolve("+.inf").problem.empty());
}

}  // namespace
}  // namespace baton::yaml
