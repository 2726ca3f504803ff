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
    EXPECT_FALSE(undo(edit, edit.after + " "));
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

TEST(Toml, a_text_that_looks_like_a_table_is_none) {
  const TomlServers found =
      toml_servers("note = \"\"\"\n[mcp_servers.no]\ncommand = \"x\"\n\"\"\"\n[mcp_servers.\"a b\"]\ncommand = 'y'\n");
  ASSERT_EQ(found.servers.size(), 1u);
  EXPECT_EQ(found.servers[0].name, "a b");
  EXPECT_EQ(found.servers[0].command_text, "y");
}

// A folder that is closed is closed with all below it, and nothing else is.
TEST(Rules, a_closed_folder_is_closed_exactly) {
  auto document =
      json::parse_owned(R"x({"permissions":{"deny":["Read(./secrets/**)","Read(./secrets2)","Read(//etc/**)"]}})x");
  const Pack pack = pack_of(hooks::Client::Claude, rules_in(hooks::Client::Claude, document->root(), "x"),
                            "/srv/project", "/home/agent");
  EXPECT_TRUE(pack.not_carried.empty());
  contract::Files files;
  for (const auto& [name, text] : pack.files) files[name] = text;
  ASSERT_TRUE(files.count("Read.yaml"));
  const auto golden = [&](std::string_view path, bool allowed) {
    contract::Files with = files;
    std::string& text = with["Read.yaml"];
    text.replace(text.find("golden_cases: []"), 16,
                 "golden_cases:\n  - {id: x, arguments: {file_path: \"" + std::string(path) +
                     "\"}, expect: {verdict: " + (allowed ? "allow" : "block, reason: input_assertion_failed") + "}}");
    return contract::plan_of(with);
  };
  const std::string& text = files["Read.yaml"];
  const std::size_t at = text.find("regex: ") + 7;
  const std::string_view line = std::string_view(text).substr(at, text.find("}\n", at) - at);
  const std::string pattern(json::parse_owned(std::string(line))->root().string());
  const RE2 regex(pattern);
  ASSERT_TRUE(regex.ok()) << pattern;
  for (const std::string_view closed :
       {"/srv/project/secrets", "/srv/project/secrets/a", "/srv/project/secrets/", "/srv/project/secrets2",
        "/srv/project/secrets2/x", "/etc", "/etc/passwd", "/srv/project/secrets/a\nb"})
    EXPECT_FALSE(RE2::PartialMatch(closed, regex)) << closed;
  for (const std::string_view open :
       {"/srv/project/secret", "/srv/project/secrets3", "/srv/project/secretsx/y", "/srv/project/a", "/", "",
        "/etcetera", "/srv/project/secrets22", "/x/etc/passwd", "~/x"})
    EXPECT_TRUE(RE2::PartialMatch(open, regex)) << open;
  EXPECT_FALSE(golden("/srv/project/a", true)->tools.empty());
}

}  // namespace
}  // namespace baton::adopt
