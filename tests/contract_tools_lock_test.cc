// SPDX-License-Identifier: Apache-2.0
// tools.lock.json: what is written is read back, what was edited by hand is found, what differs is named place by place. And which
// contract the tool of a server is held to.
#include "contract/tools_lock.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "contract/changes.h"
#include "contract_pack.h"
#include "json/parse.h"

namespace baton::contract {
namespace {

constexpr std::string_view kTools =
    R"([{"name":"send","title":"Send","description":"Sends.","inputSchema":{"type":"object","properties":{"to":{"type":"string"}}},
        "annotations":{"readOnlyHint":false},"icons":[1],"_meta":{"x":1}},
       {"name":"look","inputSchema":{"type":"object"}}])";

ToolsLock lock_of(const std::vector<std::pair<std::string, std::string>>& servers,
                  std::optional<std::string> instructions = {}) {
  std::vector<json::Document> documents;
  documents.reserve(servers.size());
  std::vector<ServerTools> given;
  for (const auto& [name, tools] : servers) {
    documents.push_back(*json::parse_owned(tools));
    given.push_back({name, documents.back().root(), instructions});
  }
  LockMade made = make_tools_lock(given);
  EXPECT_TRUE(made.problems.empty());
  return made.lock;
}

std::string text_of_lock(const ToolsLock& lock) { return json::write_pretty(value_of(lock)); }

std::string replaced(std::string text, std::string_view old, std::string_view by) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return text.replace(at, old.size(), by);
}

std::vector<std::string> told(const ToolsLock& was, const ToolsLock& is) {
  std::vector<std::string> out;
  for (const ToolChange& change : changes_of(was, is)) {
    out.push_back(headline_of(change) + (change.is_wording ? " (texts)" : ""));
    for (const std::string& line : lines_of(change)) out.push_back(line);
  }
  return out;
}

TEST(ToolsLock, WhatIsWrittenIsReadBack) {
  const ToolsLock lock = lock_of({{"files", std::string(kTools)}, {"web", "[]"}}, "be brief");
  const LockRead read = read_tools_lock(text_of_lock(lock));
  ASSERT_TRUE(read.lock) << read.problem;
  EXPECT_EQ(digest_of(*read.lock), digest_of(lock));
  EXPECT_TRUE(changes_of(lock, *read.lock).empty());
  EXPECT_EQ(read.lock->server("files")->instructions, "be brief");
  EXPECT_NE(read.lock->tool("files", "send"), nullptr);
  EXPECT_EQ(read.lock->tool("web", "send"), nullptr);
  EXPECT_EQ(read.lock->tool("other", "send"), nullptr);
  // What neither a model nor a client acts on is not part of it; the order of members is none.
  const ToolsLock same = lock_of({{"files", R"([{"inputSchema":{"type":"object"},"name":"look"},
         {"annotations":{"readOnlyHint":false},"inputSchema":{"properties":{"to":{"type":"string"}},"type":"object"},
          "description":"Sends.","title":"Send","name":"send"}])"},
                                  {"web", "[]"}},
                                 "be brief");
  EXPECT_EQ(digest_of(same), digest_of(lock));
}

TEST(ToolsLock, EveryPartOfADefinitionIsInItsDigest) {
  const ToolsLock lock = lock_of({{"files", std::string(kTools)}});
  for (const auto& [old, by] :
       {std::pair("\"Send\"", "\"Send!\""), std::pair("Sends.", "Sends!"), std::pair("\"string\"", "\"number\""),
        std::pair("false", "true"), std::pair("\"name\":\"look\"", "\"name\":\"look\",\"outputSchema\":{}"),
        std::pair("\"name\":\"look\"", "\"name\":\"watch\"")}) {
    const ToolsLock other = lock_of({{"files", replaced(std::string(kTools), old, by)}});
    EXPECT_NE(digest_of(other), digest_of(lock)) << old;
    EXPECT_FALSE(changes_of(lock, other).empty()) << old;
  }
  EXPECT_NE(digest_of(lock_of({{"files", std::string(kTools)}}, "hear")), digest_of(lock));
  EXPECT_NE(digest_of(lock_of({{"file", std::string(kTools)}})), digest_of(lock));
}

TEST(ToolsLock, DifferencesAreNamedPlaceByPlace) {
  const ToolsLock lock = lock_of({{"files", std::string(kTools)}}, "be brief");
  EXPECT_EQ(told(lock, lock_of({{"files", R"([{"name":"send","title":"Send","description":"Sends more.",
      "inputSchema":{"type":"object","properties":{"to":{"type":"string"},"bcc":{"type":"string"}}},
      "annotations":{"readOnlyHint":true}},{"name":"new","inputSchema":{}}])"}},
                               "be long")),
            (std::vector<std::string>{"the instructions of files changed: instructions (texts)",
                                      "- instructions: \"be brief\"", "+ instructions: \"be long\"", "files/new is new",
                                      "+ inputSchema: {}", "files/send changed: annotations, description, inputSchema",
                                      "- annotations/readOnlyHint: false", "+ annotations/readOnlyHint: true",
                                      "- description: \"Sends.\"", "+ description: \"Sends more.\"",
                                      "+ inputSchema/properties/bcc: {\"type\":\"string\"}", "files/look is gone"}));
  // Only texts: a schema's description is a part of the schema.
  EXPECT_EQ(told(lock_of({{"a", R"([{"name":"t","description":"x"}])"}}),
                 lock_of({{"a", R"([{"name":"t","description":"y","title":"T"}])"}}))
                .at(0),
            "a/t changed: description, title (texts)");
  EXPECT_EQ(told(lock_of({{"a", R"([{"name":"t","inputSchema":{"description":"x"}}])"}}),
                 lock_of({{"a", R"([{"name":"t","inputSchema":{"description":"y"}}])"}}))
                .at(0),
            "a/t changed: inputSchema");
  // Nothing of a server's text can break the frame.
  const auto lines = told(lock_of({{"a", R"([{"name":"t","description":"x"}])"}}),
                          lock_of({{"a", "[{\"name\":\"t\",\"description\":\"a\\nb\\u001b[2J\\u202e\"}]"}}));
  for (const std::string& line : lines) EXPECT_EQ(line.find_first_of("\n\x1b"), std::string::npos) << line;
}

ToolsLock with_description(const std::string& text) {
  return lock_of({{"a", R"([{"name":"t","description":)" + json::write(json::Value(text)) + "}]"}});
}

bool has_line(const std::vector<std::string>& lines, std::string_view part) {
  return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

// The operator who approves sees every difference and whole texts; the log has the part around the first difference.
TEST(ToolsLock, ALongTextHidesNoDifference) {
  const std::string same(400, 'A'), more(400, 'B');
  const ToolsLock was = with_description(same + " one " + more + " two."),
                  is = with_description(same + " 1 " + more + " 2.");
  const auto change = change_of_tool(was, "a", "t", *is.tool("a", "t"));
  ASSERT_TRUE(change);
  const auto in_short = lines_of(*change), all = lines_of(*change, Detail::All);
  ASSERT_EQ(in_short.size(), 2u);
  EXPECT_TRUE(has_line(in_short, "bytes before) ...AAAA") && has_line(in_short, "A one B") &&
              has_line(in_short, "A 1 B"));
  for (const std::string& line : in_short) EXPECT_LT(line.size(), 420u) << line;
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0], "- description: \"" + same + " one " + more + " two.\"");
  EXPECT_EQ(all[1], "+ description: \"" + same + " 1 " + more + " 2.\"");
  EXPECT_TRUE(has_line(all, "first difference, before: (") && has_line(all, "first difference, after:  ("));
}

TEST(ToolsLock, EveryDifferenceIsShownToWhoApproves) {
  std::string before = R"([{"name":"t","description":"d","inputSchema":{"properties":{)", after = before;
  for (int i = 0; i < 60; ++i) {
    const std::string name = (i == 0 ? "\"p" : ",\"p") + std::to_string(i);
    before += name + "\":{\"type\":\"string\"}";
    after += name + "\":{\"type\":\"number\"}";
  }
  const ToolsLock was = lock_of({{"a", before + "}},\"title\":\"T\"}]"}}),
                  is = lock_of({{"a", after + "}},\"title\":\"U\"}]"}});
  const auto changes = changes_of(was, is);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].differences.size(), 61u);
  EXPECT_FALSE(changes[0].is_cut);
  EXPECT_EQ(lines_of(changes[0], Detail::All).size(), 122u);
  EXPECT_EQ(value_of(changes[0]).find("differences")->elements().size(), 61u);
  // The log is bounded, and names every part that changed.
  const auto change = change_of_tool(was, "a", "t", *is.tool("a", "t"));
  ASSERT_TRUE(change);
  EXPECT_TRUE(change->is_cut);
  EXPECT_EQ(change->differences.size(), 41u);
  EXPECT_EQ(parts_of(*change), "inputSchema, title");
  EXPECT_TRUE(has_line(lines_of(*change), "`baton mcp lock --check` prints further differences"));
}

TEST(ToolsLock, WhatNobodySeesIsShown) {
  const auto lines = [](const std::string& was, const std::string& is, Detail detail = Detail::All) {
    return lines_of(changes_of(with_description(was), with_description(is)).at(0), detail);
  };
  const std::pair<std::string, std::string_view> kHidden[] = {
      {"\u200b", "\\u{200b}"},      {"\u202e", "\\u{202e}"}, {"\u2066", "\\u{2066}"}, {"\U000e0041", "\\u{e0041}"},
      {"\ufe0f", "\\u{fe0f}"},      {"\u00a0", "\\u{a0}"},   {"\u3164", "\\u{3164}"}, {"\u2800", "\\u{2800}"},
      {"\U000e0100", "\\u{e0100}"}, {"\u2003", "\\u{2003}"}, {"\u115f", "\\u{115f}"}, {"\u2028", "\\u{2028}"}};
  for (const auto& [character, escape] : kHidden)
    for (const Detail detail : {Detail::Short, Detail::All})
      EXPECT_TRUE(has_line(lines("Sends.", "Sen" + character + "ds.", detail), "Sen" + std::string(escape) + "ds."))
          << escape;
  // A letter that looks like another one.
  EXPECT_TRUE(has_line(lines("Sends to you.", "Sends to y\u043eu."), "characters beyond ASCII: +U+043E `\u043e`"));
  EXPECT_TRUE(has_line(lines("\u00e9\u00e9", "e"), "-U+00E9 `\u00e9` (2 times)"));
  EXPECT_FALSE(has_line(lines("a\u00e9", "b\u00e9"), "beyond ASCII"));
}

TEST(ToolsLock, HowAToolIsExecutedIsLocked) {
  const auto with = [](std::string_view execution) {
    return lock_of({{"a", R"([{"name":"t","description":"d")" + std::string(execution) + "}]"}});
  };
  const ToolsLock without = with("");
  for (const std::string_view usual : {R"(,"execution":{})", R"(,"execution":{"taskSupport":"forbidden"})"}) {
    EXPECT_TRUE(changes_of(without, with(usual)).empty()) << usual;
    EXPECT_TRUE(changes_of(with(usual), without).empty()) << usual;
    EXPECT_EQ(digest_of(with(usual)), digest_of(without)) << usual;
  }
  for (const std::string_view other :
       {R"(,"execution":{"taskSupport":"required"})", R"(,"execution":{"more":1})", R"(,"execution":5)"}) {
    const auto changes = changes_of(without, with(other));
    ASSERT_EQ(changes.size(), 1u) << other;
    EXPECT_EQ(parts_of(changes[0]), "execution");
    EXPECT_FALSE(changes[0].is_wording);
    EXPECT_TRUE(read_tools_lock(text_of_lock(with(other))).lock) << other;
  }
}

TEST(ToolsLock, WhatCannotBeComparedIsLeftOut) {
  const auto document = json::parse_owned(
      R"([{"name":"ok"},{"name":""},{"noname":1},{"name":"ok"},{"name":"big","inputSchema":{"maximum":1e999999999999}}])");
  ASSERT_TRUE(document);
  const LockMade made = make_tools_lock({{"a", document->root()}});
  EXPECT_EQ(made.problems.size(), 3u);
  EXPECT_EQ(made.conflict, "");
  EXPECT_EQ(made.lock.servers.at("a").tools.size(), 1u);
}

TEST(ToolsLock, AToolThatIsListedTwiceDifferentlyIsNamed) {
  const auto document = json::parse_owned(R"([{"name":"send"},{"name":"look"},{"name":"send","description":"other"}])");
  ASSERT_TRUE(document);
  EXPECT_EQ(make_tools_lock({{"mail", document->root()}}).conflict,
            "mail/send: the server lists it twice, with different definitions");
}

TEST(ToolsLock, AFileThatIsWrongMakesNoPlan) {
  const std::string good = text_of_lock(lock_of({{"files", std::string(kTools)}}, "be brief"));
  ASSERT_TRUE(read_tools_lock(good).lock);
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string(R"({"version":"2","servers":{}})"),
        std::string(R"({"version":1,"servers":{}})"), std::string(R"({"version":"1"})"),
        std::string(R"({"version":"1","servers":[]})"), std::string(R"({"version":"1","servers":{"a":{}}})"),
        std::string(R"({"version":"1","servers":{},"more":1})"),
        std::string(R"({"version":"1","servers":{"a":{"tools":{"t":{"definition":{}}}}}})"),
        replaced(good, "Sends.", "Sends all."), replaced(good, "\"title\"", "\"name\""),
        replaced(good, "\"be brief\"", "5"), replaced(good, "\"tools\"", "\"tool\"")}) {
    const LockRead read = read_tools_lock(text);
    EXPECT_FALSE(read.lock) << text;
    EXPECT_FALSE(read.problem.empty()) << text;
    PackSource pack = source_of({{"send.yaml", contract_text("send", "read")}});
    pack.tools_lock = SourceFile{"tools.lock.json", text, true};
    const Compiled compiled = compile(pack);
    EXPECT_FALSE(compiled.plan) << text;
    ASSERT_EQ(compiled.findings.size(), 1u) << text;
    EXPECT_EQ(info(compiled.findings[0].diagnostic.code).name, "TOOLS_LOCK");
    EXPECT_EQ(compiled.findings[0].file, "tools.lock.json");
  }
}

PackSource pack_with(const ToolsLock& lock, const std::string& tool = "send") {
  PackSource out = source_of({{tool + ".yaml", contract_text(tool, "read")}});
  out.tools_lock = SourceFile{"tools.lock.json", text_of_lock(lock), true};
  return out;
}

TEST(ToolsLock, ThePacksHashCoversIt) {
  const ToolsLock lock = lock_of({{"files", std::string(kTools)}});
  PackSource without = pack_with(lock);
  without.tools_lock.reset();
  const auto bare = compile(without).plan, locked = compile(pack_with(lock)).plan;
  ASSERT_TRUE(bare && locked);
  EXPECT_NE(bare->hash, locked->hash);
  PackSource otherwise = pack_with(lock);
  otherwise.tools_lock->text = json::write(value_of(lock));  // laid out otherwise
  EXPECT_EQ(compile(otherwise).plan->hash, locked->hash);
  const auto changed =
      compile(pack_with(lock_of({{"files", replaced(std::string(kTools), "Sends.", "Sends all.")}}))).plan;
  ASSERT_TRUE(changed);
  EXPECT_NE(changed->hash, locked->hash);
  const auto changes = changes_between(*locked, *changed);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].text, "tools.lock.json: files/send changed: description");
  EXPECT_EQ(changes[0].details,
            (std::vector<std::string>{"- description: \"Sends.\"", "+ description: \"Sends all.\""}));
  EXPECT_EQ(changes_between(*bare, *locked).at(0).effect, Effect::Blocks);
  EXPECT_EQ(changes_between(*locked, *bare).at(0).effect, Effect::Allows);
}

TEST(ToolsLock, ABareContractOfSeveralServersIsWarnedOf) {
  const auto codes = [](const PackSource& pack) {
    std::vector<std::string> out;
    for (const Finding& finding : compile(pack).findings)
      out.push_back(std::string(info(finding.diagnostic.code).name) + " " + finding.file);
    return out;
  };
  EXPECT_EQ(codes(pack_with(lock_of({{"a", std::string(kTools)}, {"b", std::string(kTools)}}))),
            std::vector<std::string>{"TOOL_OF_SEVERAL_SERVERS send.yaml"});
  EXPECT_TRUE(codes(pack_with(lock_of({{"a", std::string(kTools)}, {"b", "[]"}}))).empty());
  EXPECT_TRUE(codes(pack_with(lock_of({{"a", std::string(kTools)}, {"b", std::string(kTools)}}), "a:send")).empty());
}

// --- names ------------------------------------------------------------------------------------------------------------------------

TEST(ServerNames, WhichContractAToolIsHeldTo) {
  const ToolsLock one = lock_of({{"a", R"([{"name":"pay"}])"}, {"b", "[]"}}),
                  both = lock_of({{"a", R"([{"name":"pay"}])"}, {"b", R"([{"name":"pay"}])"}});
  struct Case {
    std::string_view about, server, tool;
    std::vector<std::string> contracts;
    ServersKnown known;
    std::string_view name;
  };
  const ServersKnown only{.is_only_server = true}, several{}, locked{.lock = &one}, locked_both{.lock = &both},
      locked_only{.is_only_server = true, .lock = &one}, reserved{.is_only_server = true, .is_reserved = true};
  const Case kCases[] = {
      {"one server", "a", "pay", {"pay"}, only, "pay"},
      {"one server, without a contract", "a", "pay", {}, only, "pay"},
      {"one server, and a contract that names it", "a", "pay", {"pay", "a:pay"}, only, "a/pay"},
      {"several servers", "a", "pay", {"pay"}, several, "a/pay"},
      {"several servers, and a contract that names it", "a", "pay", {"a:pay"}, several, "a/pay"},
      {"a contract that names another one", "b", "pay", {"a:pay"}, several, "b/pay"},
      {"a name like that of another server's tool", "b", "a:pay", {"a:pay"}, several, "b/a:pay"},
      {"the same with one server", "b", "a:pay", {"a:pay"}, only, "b/a:pay"},
      {"a slash", "b", "a/pay", {"a:pay", "pay"}, only, "b/a/pay"},
      {"a server without a name", "", "pay", {"pay"}, only, "/pay"},
      {"a reserved name", "a", "Bash", {"Bash"}, reserved, "a/Bash"},
      {"a lock with one of them", "a", "pay", {"pay"}, locked, "pay"},
      {"the other one", "b", "pay", {"pay"}, locked, "b/pay"},
      {"one that is not in the lock", "c", "pay", {"pay"}, locked, "c/pay"},
      {"not even alone", "c", "pay", {"pay"}, locked_only, "c/pay"},
      {"a lock with both", "a", "pay", {"pay"}, locked_both, "a/pay"},
      {"underscores", "a", "b__c", {"b__c"}, several, "a/b__c"},
  };
  for (const Case& one_case : kCases) {
    const auto has = [&](const std::string& name) {
      return std::find(one_case.contracts.begin(), one_case.contracts.end(), name) != one_case.contracts.end();
    };
    EXPECT_EQ(call_name(one_case.server, one_case.tool, one_case.known, has), one_case.name) << one_case.about;
  }
  EXPECT_NE(why_not_bare("a", "pay", several).find("`a:pay`, or run `baton mcp lock`"), std::string::npos);
}

// A call of `a:b/c` is not one of `b:c` of the server `a`.
TEST(ServerNames, AServerWithAColonIsNoOther) {
  const auto plan = plan_of({{"a:b:c.yaml", contract_text("a:b:c", "read")}, {"x.yaml", contract_text("x", "read")}});
  EXPECT_TRUE(plan->find_tool("a/b:c"));
  EXPECT_FALSE(plan->find_tool("a:b/c"));
  EXPECT_FALSE(plan->find_tool("s/x"));
  EXPECT_FALSE(plan->find_tool("/x"));
  EXPECT_TRUE(plan->find_tool("x"));
}

}  // namespace
}  // namespace baton::contract
