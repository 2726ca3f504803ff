// SPDX-License-Identifier: Apache-2.0
// Settings of clients before and after `baton adopt`, from the files of tests/adopt/.
//
// A file is {"about", "client", "files": {PATH: [lines]}, "after": {PATH: [lines]}, "changes", "left_alone", "carried", "not_carried"}; a PATH that
// begins with `~/` is below the user's home. Lines are joined by line feeds. `after` has the files that change. Of every one it is also
// tried that a second time changes nothing, that each undone file is noticed, that undoing gives back the bytes, and that the pack compiles.
//
// CASES=update writes what is there now into all but the first three.
#include "adopt/adopt.h"

#include <gtest/gtest.h>

#include <re2/re2.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "adopt/merge.h"
#include "adopt/outside.h"
#include "adopt/splice.h"
#include "adopt/toml.h"
#include "base/text.h"
#include "contract_pack.h"
#include "json/parse.h"
#include "json/value.h"

namespace baton::adopt {
namespace {

using json::Value;

const std::filesystem::path kFolder = std::filesystem::path(BATON_TESTS_DIR) / "adopt";

bool is_updating() {
  const char* cases = std::getenv("CASES");
  return cases && std::string_view(cases) == "update";
}

std::string text_of(const Value& lines) {
  std::vector<std::string> out;
  for (const Value& line : lines.elements()) out.push_back(line.string());
  return join(out, "\n");
}
Value lines_of(std::string_view text) {
  Value out = Value::array();
  for (const std::string_view line : split(text, '\n')) out.push(line);
  return out;
}
Value list_of(const std::vector<std::string>& texts) {
  Value out = Value::array();
  for (const std::string& text : texts) out.push(text);
  return out;
}
std::string shown(const Place& place) { return (place.base == Base::Home ? "~/" : "") + std::string(place.path); }

Value load(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  auto document = json::parse_owned(text.str());
  if (!document) ADD_FAILURE() << path << ": " << document.error().what << " at byte " << document.error().offset;
  return document ? Value::copy(document->root()) : Value::object();
}

Options options() { return {"/usr/bin/baton", "/usr/bin/baton-hook", "/srv/project", "/home/agent"}; }

std::vector<File> files_of(hooks::Client client, const Value& texts) {
  std::vector<File> out;
  std::size_t found = 0;
  for (const Place& place : places_of(client)) {
    const Value* lines = texts.find(shown(place));
    out.push_back({place, lines != nullptr, lines ? text_of(*lines) : std::string()});
    found += lines != nullptr;
  }
  EXPECT_EQ(found, texts.members().size()) << "a file that the client is not known to have";
  return out;
}

class Settings : public testing::TestWithParam<std::string> {};

TEST_P(Settings, are_changed_as_the_file_says_and_back) {
  const std::filesystem::path path = kFolder / GetParam();
  Value file = load(path);
  ASSERT_TRUE(file.find("client") && file.find("files"));
  const auto client = hooks::client_named(file.find("client")->string());
  ASSERT_TRUE(client);
  const std::vector<File> before = files_of(*client, *file.find("files"));
  const Adoption adoption = adopt(*client, before, options());

  Value after = Value::object();
  for (const Edit& edit : adoption.edits) after.set(shown(edit.place), lines_of(edit.after));
  const std::pair<std::string_view, Value> seen[] = {{"after", after},
                                                     {"changes", list_of(adoption.changes)},
                                                     {"left_alone", list_of(adoption.left_alone)},
                                                     {"carried", list_of(adoption.pack.carried)},
                                                     {"not_carried", list_of(adoption.pack.not_carried)}};
  for (const auto& [name, value] : seen) {
    if (is_updating()) file.set(name, value);
    else EXPECT_EQ(json::write_pretty(value), file.find(name) ? json::write_pretty(*file.find(name)) : "") << name;
  }
  if (is_updating()) std::ofstream(path) << json::write_pretty(file) << "\n";

  // A second time.
  std::vector<File> now = before;
  for (const Edit& edit : adoption.edits)
    for (File& one : now)
      if (shown(one.place) == shown(edit.place)) one.text = edit.after, one.exists = true;
  EXPECT_EQ(tampered(*client, now, options()), adoption.unhooked);
  EXPECT_TRUE(adopt(*client, now, options()).edits.empty());
  EXPECT_EQ(adopt(*client, now, options()).servers, adoption.servers);

  // One file back as it was: noticed. And undone: the bytes it had, but not over somebody's later change.
  for (const Edit& edit : adoption.edits) {
    std::vector<File> broken = now;
    for (File& one : broken)
      if (shown(one.place) == shown(edit.place)) one.text = edit.before, one.exists = edit.existed;
    EXPECT_FALSE(tampered(*client, broken, options()).empty()) << shown(edit.place);
    ASSERT_TRUE(undo(edit, edit.after));
    EXPECT_EQ(*undo(edit, edit.after), edit.before);
    // A line that somebody has added since stays, and nothing else does.
    const bool is_json = edit.place.path.ends_with(".json") || edit.place.path.ends_with(".jsonc");
    if (edit.after.ends_with('\n')) {
      const auto merged = undo(edit, edit.after + "\n");
      ASSERT_TRUE(merged) << merged.error();
      EXPECT_EQ(*merged, edit.before + "\n") << shown(edit.place);
    }
    if (is_json) {
      EXPECT_FALSE(undo(edit, "{" + edit.after)) << "what would be left is not JSON";
    }
    // What there was is still there: every line that is not one of a server's command.
    EXPECT_EQ(edit.existed, file.find("files")->find(shown(edit.place)) != nullptr);
  }

  contract::Files pack;
  for (const auto& [name, text] : adoption.pack.files) pack[name] = text;
  EXPECT_FALSE(contract::plan_of(pack)->tools.empty());
}

std::vector<std::string> setting_files() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}
INSTANTIATE_TEST_SUITE_P(Files, Settings, testing::ValuesIn(setting_files()),
                         [](const auto& info) { return info.param.substr(0, info.param.find('.')); });

TEST(Tampering, is_found_hook_by_hook) {
  const std::vector<Place> places = places_of(hooks::Client::Claude);
  std::vector<File> files;
  for (const Place& place : places) files.push_back({place, false, {}});
  const Adoption adoption = adopt(hooks::Client::Claude, files, options());
  ASSERT_EQ(adoption.edits.size(), 1u);
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = adoption.edits[0].after;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    std::vector<File> now = files;
    now[0] = {places[0], true, text};
    return tampered(hooks::Client::Claude, now, options());
  };
  EXPECT_TRUE(with("", "").empty());
  EXPECT_EQ(with("{", "").size(), 1u) << "a file that is no longer JSON has no hooks";
  EXPECT_EQ(with("\"PreToolUse\"", "\"Nothing\""),
            std::vector<std::string>{"hook PreToolUse in .claude/settings.json"});
  EXPECT_EQ(with("\"matcher\": \"*\"", "\"matcher\": \"Read\""),
            std::vector<std::string>{"hook PreToolUse in .claude/settings.json"});
  EXPECT_EQ(with("claude PreToolUse", "claude SessionEnd"),
            std::vector<std::string>{"hook PreToolUse in .claude/settings.json"});
  EXPECT_EQ(with("\"onFailure\": \"block\"", "\"onFailure\": \"allow\""),
            std::vector<std::string>{"hook PreToolUse in .claude/settings.json"});
  EXPECT_EQ(with("{\n", "{\n  \"disableAllHooks\": true,\n"),
            std::vector<std::string>{"`disableAllHooks` in .claude/settings.json"});
}

// Every hook of every client gets the key with which the node signs its answers, and a key that was taken out or exchanged is found.
TEST(Tampering, of_the_nodes_key_is_found) {
  const std::string key(64, 'a'), other(64, 'b');
  for (const bool is_of_another_user : {false, true})
    for (const hooks::Client client : hooks::kClients) {
      SCOPED_TRACE(hooks::client_name(client));
      Options keyed = options();
      keyed.store = "/srv/project/.baton";
      if (is_of_another_user) keyed.socket = "/run/baton/agents.sock";
      Options old = keyed, wrong = keyed;
      keyed.node_key = key;
      wrong.node_key = other;
      std::vector<File> files;
      for (const Place& place : places_of(client)) files.push_back({place, false, {}});
      const auto wired = [&](const Options& how) {
        std::vector<File> out = files;
        for (const Edit& edit : adopt(client, files, how).edits)
          for (File& one : out)
            if (shown(one.place) == shown(edit.place)) one.text = edit.after, one.exists = true;
        return out;
      };
      std::string texts;
      for (const File& file : wired(keyed)) texts += file.text;
      const auto times = [&](std::string_view text) {
        std::size_t out = 0;
        for (std::size_t at = texts.find(text); at != std::string::npos; at = texts.find(text, at + 1)) ++out;
        return out;
      };
      EXPECT_GT(times(key), 0u);
      EXPECT_EQ(times("--node-key"), times(key));
      EXPECT_EQ(times("--store") == 0, is_of_another_user) << texts;
      EXPECT_EQ(times("--socket") == 0, !is_of_another_user) << texts;
      EXPECT_TRUE(tampered(client, wired(keyed), keyed).empty());
      EXPECT_FALSE(tampered(client, wired(old), keyed).empty()) << "a hook that believes whatever answers";
      EXPECT_FALSE(tampered(client, wired(wrong), keyed).empty()) << "a hook that believes another node";
      // What was adopted before there were keys is whole as it is, and gets the key when it is adopted again.
      EXPECT_TRUE(tampered(client, wired(old), old).empty());
      std::vector<File> again = wired(old);
      for (const Edit& edit : adopt(client, again, keyed).edits)
        for (File& one : again)
          if (shown(one.place) == shown(edit.place)) one.text = edit.after;
      EXPECT_TRUE(tampered(client, again, keyed).empty());
      std::string now;
      for (const File& file : again) now += file.text;
      EXPECT_EQ(now.size(), texts.size()) << "each hook once: " << now;
    }
}

TEST(Splicing, leaves_comments_and_layout) {
  auto splice = Splice::of("\xef\xbb\xbf{ // one\n\t\"a\": [1, 2,], /* \"a\": { */\n\t\"b\": {},\n}\n");
  ASSERT_TRUE(splice) << splice.error();
  splice->push(splice->root()["a"], Value("x"));
  splice->add(splice->root()["b"], {{"c", Value(true)}});
  splice->add(splice->root(), {{"d", Value::array()}, {"e", Value(1)}});
  EXPECT_EQ(splice->text(),
            "\xef\xbb\xbf{ // one\n\t\"a\": [1, 2, \"x\",], /* \"a\": { */\n\t\"b\": {\n\t  \"c\": "
            "true\n\t},\n\t\"d\": [],\n\t\"e\": 1,\n}\n");
}

TEST(Splicing, strings_that_look_like_comments_are_strings) {
  EXPECT_EQ(without_comments(R"({"a":"//\"/*", "b":1} // x)"), R"({"a":"//\"/*", "b":1}     )");
  EXPECT_FALSE(Splice::of("[]"));
  EXPECT_FALSE(Splice::of("{\"a\":1,\"a\":2}"));
  EXPECT_TRUE(Splice::of(""));
}

TEST(Merging, takes_one_change_back_and_leaves_the_other) {
  EXPECT_EQ(without_change("a\nb\n", "a\nX\nb\n", "a\nX\nb\nc\n"), "a\nb\nc\n");
  EXPECT_EQ(without_change("a\nb\n", "a\nX\nb\n", "0\na\nX\nb\n"), "0\na\nb\n");
  EXPECT_EQ(without_change("a\nb\nc\n", "a\nX\nc\n", "a\nX\nc"), "a\nb\nc");
  EXPECT_EQ(without_change("a\n", "a\nX\nY\n", "a\nX\nZ\nY\n"), std::nullopt) << "in the midst of it";
  EXPECT_EQ(without_change("a\nb\n", "a\nX\n", "a\nZ\n"), std::nullopt) << "the same line";
  EXPECT_EQ(without_change("", "x\n", "x\n"), "");
  EXPECT_EQ(without_change("x", "x", ""), "");
}

TEST(Outside, is_what_a_rule_does_not_name) {
  const auto fits = [](const std::string& one, Among among, std::string_view text) {
    const RE2 regex(whole_text(one, among));
    EXPECT_TRUE(regex.ok()) << regex.pattern();
    return RE2::PartialMatch(text, regex);
  };
  struct Row {
    PathRule rule;
    std::vector<std::string> closed, open;
  };
  const Row rows[] = {
      {{"/srv/p/secrets", "", false},
       {"/srv/p/secrets", "/srv/p/secrets/a/b", "/srv/p/secrets/"},
       {"/srv/p/secret", "/srv/p/secrets2", "/srv/p", "/", "", "secrets", "/x/srv/p/secrets"}},
      {{"", ".env", true}, {"/a/.env", "/.env", ".env", "/a/.env/b"}, {"/a/.envrc", "/a/x.env", "/a/.en", "/", "/a/b"}},
      {{"", "*.pem", true}, {"/a/x.pem", "/.pem", "/a.pem/b"}, {"/a/x.pem2", "/a/pem", "/a/.pe", "/a/x.PEM"}},
      {{"", ".env.*", true}, {"/a/.env.", "/a/.env.local"}, {"/a/.env", "/a/.envx", "/a/x.env.local"}},
      {{"/p/c", "*.json", false}, {"/p/c/x.json", "/p/c/.json"}, {"/p/c/d/x.json", "/p/c", "/p/c/x.js", "/q/x.json"}},
      {{"/p", "id_*", true}, {"/p/id_rsa", "/p/a/id_x", "/p/id_x/y"}, {"/p/xid_", "/q/id_rsa", "/p/id", "/p"}},
  };
  for (const Row& row : rows) {
    const auto alone = outside(row.rule, Among::Alone), lines = outside(row.rule, Among::Lines);
    ASSERT_TRUE(alone && lines);
    for (const std::string& text : row.closed) {
      EXPECT_FALSE(fits(*alone, Among::Alone, text)) << text;
      EXPECT_FALSE(fits(*lines, Among::Lines, "/open\n" + text + "\n/open\n")) << text;
    }
    for (const std::string& text : row.open) {
      EXPECT_TRUE(fits(*alone, Among::Alone, text)) << text << " of " << *alone;
      EXPECT_TRUE(fits(*lines, Among::Lines, "/open\n" + text + "\n")) << text;
    }
  }
  for (const std::string_view name : {"*a*", "a*b", "a?", "[ab]", "*", "{a,b}"})
    EXPECT_FALSE(outside({"/p", std::string(name), true}, Among::Alone)) << name;

  const std::string push = beyond("git push --force", ' ', Among::Lines);
  for (const std::string_view closed : {"git push --force\n", "ls\ngit push --force origin\n"})
    EXPECT_FALSE(fits(push, Among::Lines, closed)) << closed;
  for (const std::string_view open :
       {"git push\n", "git push --force-with-lease\n", "", "git\nls -l\n", "a git push --force\n"})
    EXPECT_TRUE(fits(push, Among::Lines, open)) << open;
  const std::string exactly = beyond("make", std::nullopt, Among::Lines);
  EXPECT_FALSE(fits(exactly, Among::Lines, "make\n"));
  EXPECT_TRUE(fits(exactly, Among::Lines, "make test\nmak\n"));
}

TEST(Outside, a_host_is_not_hidden_in_a_url) {
  const RE2 one(another_host("example.org")), below(another_host("*.example.org"));
  ASSERT_TRUE(one.ok() && below.ok());
  for (const std::string_view url : {"https://example.org", "https://example.org/x", "http://EXAMPLE.org:80/",
                                     "https://example.org./", "https://a:b@example.org/", "https://example.org?x",
                                     "https://x\\@example.org/", "https://exampl%65.org/", "example.org"})
    EXPECT_FALSE(RE2::PartialMatch(url, one)) << url;
  for (const std::string_view url :
       {"https://example.com/", "https://a.example.org/", "https://example.org.uk/x?y=example.org", "https://x/"})
    EXPECT_TRUE(RE2::PartialMatch(url, one)) << url;
  for (const std::string_view url : {"https://a.example.org/", "https://a.example.org./", "https://b.a.example.org:1"})
    EXPECT_FALSE(RE2::PartialMatch(url, below)) << url;
  for (const std::string_view url : {"https://example.org/", "https://aexample.org/", "https://example.org.x/"})
    EXPECT_TRUE(RE2::PartialMatch(url, below)) << url;
}

TEST(Toml, a_text_that_looks_like_a_table_is_none) {
  const TomlServers found =
      toml_servers("note = \"\"\"\n[mcp_servers.no]\ncommand = \"x\"\n\"\"\"\n[mcp_servers.\"a b\"]\ncommand = 'y'\n");
  ASSERT_EQ(found.servers.size(), 1u);
  EXPECT_EQ(found.servers[0].name, "a b");
  EXPECT_EQ(found.servers[0].command_text, "y");
}

// A call of a tool under the pack of these rules: what the contract says of the arguments.
TEST(Rules, are_said_by_contracts_that_compile) {
  const auto pack = [](hooks::Client client, std::string settings) {
    auto document = json::parse_owned(std::move(settings));
    EXPECT_TRUE(document);
    Pack out = pack_of(client, rules_in(client, document->root(), "x"), "/srv/project", "/home/agent");
    contract::Files files;
    for (const auto& [name, text] : out.files) files[name] = text;
    EXPECT_FALSE(contract::plan_of(files)->tools.empty());
    return std::pair(out, files);
  };
  const auto has = [](const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; };

  constexpr std::string_view kAsksAboutOpaque =
      "checkpoint: {when: [{path: \"$['dev.baton'].opaque\", equals: true}], timeout_seconds: 600}\n";

  // What is allowed is allowed, and so is everything else: the client asks about that.
  auto [allowed, allowed_files] =
      pack(hooks::Client::Claude, R"x({"permissions":{"allow":["Bash(git:*)","WebFetch(domain:a.org)"]}})x");
  EXPECT_TRUE(has(allowed_files["Bash.yaml"], "input_invariants: []"));
  EXPECT_TRUE(has(allowed_files["Bash.yaml"], kAsksAboutOpaque)) << "what cannot be read is asked about";
  EXPECT_FALSE(has(allowed_files["Edit.yaml"], "checkpoint"));
  EXPECT_TRUE(allowed.not_carried.empty());

  auto [denied, denied_files] =
      pack(hooks::Client::Claude,
           R"x({"permissions":{"deny":["Bash(rm:*)","Read(**/.env)","WebSearch"],"ask":["Write"]}})x");
  EXPECT_TRUE(has(denied_files["Bash.yaml"], "$['dev.baton'].uses['rm']"));
  EXPECT_TRUE(has(denied_files["Bash.yaml"], "$['dev.baton'].lines.paths"));
  EXPECT_TRUE(has(denied_files["Bash.yaml"], kAsksAboutOpaque));
  EXPECT_TRUE(has(denied_files["Read.yaml"], "$['dev.baton'].paths[0]"));
  EXPECT_TRUE(has(denied_files["WebSearch.yaml"], "gate: block"));
  EXPECT_TRUE(has(denied_files["Write.yaml"], "when: always"));
  EXPECT_TRUE(denied.not_carried.empty());

  // "Only these".
  auto [only, only_files] =
      pack(hooks::Client::Gemini, R"x({"tools":{"core":["read_file","run_shell_command(git status)"]}})x");
  EXPECT_TRUE(has(only_files["write_file.yaml"], "gate: block"));
  EXPECT_FALSE(has(only_files["read_file.yaml"], "gate: block"));
  EXPECT_TRUE(has(only_files["Bash.yaml"], "length_lte: 1"));
  EXPECT_TRUE(has(only_files["Bash.yaml"], kAsksAboutOpaque));
  EXPECT_FALSE(has(only_files["Bash.yaml"], "equals: false"))
      << "what cannot be read needs a person; it is not refused";
  auto [but, but_files] = pack(hooks::Client::OpenCode,
                               R"x({"permission":{"bash":{"*":"deny","git *":"allow"},"webfetch":"deny","*":"ask"}})x");
  EXPECT_TRUE(has(but_files["Bash.yaml"], "git(?: .*)?"));
  EXPECT_FALSE(has(but_files["Bash.yaml"], "gate: block"));
  auto [patching, patching_files] = pack(hooks::Client::OpenCode, R"x({"permission":{}})x");
  EXPECT_TRUE(has(patching_files["apply_patch.yaml"], kAsksAboutOpaque));
  // No pack that is written has an old path.
  for (const auto* files : {&allowed_files, &denied_files, &only_files, &but_files, &patching_files})
    for (const auto& [name, text] : *files) EXPECT_EQ(text.find("$."), text.find("$.url")) << name;
  EXPECT_TRUE(has(but_files["webfetch.yaml"], "gate: block"));
  EXPECT_TRUE(has(but_files["edit.yaml"], "when: always"));

  // A secret in a rule is in nothing that is written.
  const std::string token = "ghp_" + std::string("0123456789abcdefghijABCDEFGHIJ012345");
  auto [secret, secret_files] =
      pack(hooks::Client::Claude, R"x({"permissions":{"deny":["Bash(curl -H token:)x" + token + R"x(:*)"]}})x");
  ASSERT_EQ(secret.not_carried.size(), 1u);
  EXPECT_FALSE(has(secret.not_carried[0], token));
  EXPECT_FALSE(has(secret_files["Bash.yaml"], token));
}

TEST(Rules, about_a_server_are_about_its_tools_when_they_are_known) {
  auto document = json::parse_owned(R"x({"permissions":{"deny":["mcp__a"],"ask":["mcp__b__*"],"allow":["mcp__c"]}})x");
  const auto rules = rules_in(hooks::Client::Claude, document->root(), "x");
  const std::vector<ServerTool> tools = {{"a", "drop", false},
                                         {"b", "send", false},
                                         {"c", "list", true},
                                         {"c", "Bash", true},
                                         // The rule is about `drop` of `a`, not about one of another server.
                                         {"c", "drop", true},
                                         {"x:y", "list", true}};
  const Pack pack = pack_of(hooks::Client::Claude, rules, "/p", "/h", tools);
  contract::Files files;
  for (const auto& [name, text] : pack.files) files[name] = text;
  EXPECT_FALSE(contract::plan_of(files)->tools.empty());
  EXPECT_TRUE(pack.not_carried.empty());
  EXPECT_NE(files["a:drop.yaml"].find("gate: block"), std::string::npos);
  EXPECT_NE(files["b:send.yaml"].find("when: always"), std::string::npos);
  EXPECT_NE(files["c:list.yaml"].find("side_effect: read"), std::string::npos);
  EXPECT_EQ(files["c:drop.yaml"].find("gate: block"), std::string::npos);
  for (const char* none : {"drop.yaml", "send.yaml", "list.yaml", "c:Bash.yaml", "x:y:list.yaml"})
    EXPECT_EQ(files.count(none), 0u) << none;
  EXPECT_NE(files["Bash.yaml"].find("side_effect: write"), std::string::npos) << "the client's own stays what it is";
  const Pack unknown = pack_of(hooks::Client::Claude, rules, "/p", "/h");
  EXPECT_EQ(unknown.not_carried.size(), 2u);
}

TEST(Rules, of_codex_are_read_as_it_writes_them) {
  const auto rules = rules_in_codex_rules(
      "# prefix_rule(pattern=[\"no\"])\nprefix_rule(pattern=[\"git\", \"push\"], decision=\"forbidden\")\n"
      "prefix_rule(\n    pattern = [\"npm\", \"test\"],\n    decision = \"allow\",\n)\n"
      "prefix_rule(pattern=[\"gh\", [\"pr\", \"issue\"]], decision=\"prompt\")\n",
      "~/.codex/rules/default.rules");
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[0].text, "Bash(git push:*)");
  EXPECT_EQ(rules[0].effect, Effect::Deny);
  EXPECT_EQ(rules[1].text, "Bash(npm test:*)");
  EXPECT_EQ(rules[1].effect, Effect::Allow);
  EXPECT_FALSE(rules[2].why_not.empty());
}

// A proxy's line that somebody changed is put back; one that somebody wrote by hand is theirs.
TEST(Tampering, of_a_proxy_is_found) {
  const std::vector<Place> places = places_of(hooks::Client::Claude);
  const auto with = [&](const std::string& servers, std::vector<std::string> wired) {
    std::vector<File> files;
    for (const Place& place : places)
      files.push_back({place, place.path == ".mcp.json", place.path == ".mcp.json" ? servers : ""});
    Options all = options();
    all.store = "/srv/project/.baton";
    all.wired = std::move(wired);
    std::vector<std::string> out;
    for (const std::string& line : tampered(hooks::Client::Claude, files, all))
      if (!line.starts_with("hook ")) out.push_back(line);
    return out;
  };
  const auto server = [](std::string_view args) {
    return R"({"mcpServers":{"a":{"command":"/usr/bin/baton","args":[)" + std::string(args) + "]}}}";
  };
  const std::vector<std::string> found = {"the MCP server a in .mcp.json"};
  EXPECT_TRUE(
      with(server(
               R"("mcp","--name","a","--client","claude","--among-others","--store","/srv/project/.baton","--","npx")"),
           {})
          .empty());
  EXPECT_EQ(
      with(server(R"("mcp","--name","a","--client","claude","--among-others","--store","/tmp/x","--","npx")"), {}),
      found);
  EXPECT_EQ(
      with(
          server(
              R"("mcp","--name","a","--client","claude","--among-others","--store","/srv/project/.baton","--mode","shadow","--","npx")"),
          {}),
      found);
  EXPECT_TRUE(with(server(R"("mcp","--pack","mine","--","npx")"), {}).empty());
  EXPECT_EQ(with(server(R"("mcp","--pack","mine","--","npx")"), {".mcp.json a"}), found);
  EXPECT_EQ(with(server(R"("help","--","npx")"), {".mcp.json a"}), found);
  EXPECT_EQ(with(R"({"mcpServers":{"a":{"command":"npx","args":[]}}})", {".mcp.json a"}), found);
  EXPECT_TRUE(with(R"({"mcpServers":{}})", {".mcp.json a"}).empty()) << "a server that is gone is called by nobody";
}

}  // namespace
}  // namespace baton::adopt
