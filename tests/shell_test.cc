// SPDX-License-Identifier: Apache-2.0
// Command lines and what a contract sees of them, from the files of tests/shell/.
//
// A file is {"cases": [{"command" or "command_hex", "about"?, "cwd"? (/srv/app), ...}]}. What else a case has is what must come out: a
// member of the arguments, equal to it, and
//   opaque      false (when it is not given), or the reasons, all of them, in their order
//   uses, lacks names that must be, and that must not be, members of `uses`
//   lines       those members of `lines` that are given
// A rule of a contract is judged in tests/shell/contracts.json: {"contracts": [{"about", "contract", "allow": [...], "block": [...]}]}
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/limits.h"
#include "base/text.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "session_world.h"
#include "shell/arguments.h"
#include "shell/effects.h"
#include "shell/programs.h"

namespace baton::shell {
namespace {

using json::Node;
using json::Value;

constexpr std::string_view kFolder = "/srv/app";

json::Document document_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  auto document = json::parse_owned(text.str());
  EXPECT_TRUE(document) << path << ": " << (document ? "" : document.error().what);
  return document ? std::move(*document) : std::move(*json::parse_owned("{}"));
}

std::filesystem::path folder() { return std::filesystem::path(BATON_TESTS_DIR) / "shell"; }

std::string command_of(Node one) {
  if (one["command"].is_string()) return std::string(one["command"].string());
  std::string out;
  const std::string_view digits = one["command_hex"].string();
  for (std::size_t at = 0; at + 1 < digits.size(); at += 2)
    out.push_back(static_cast<char>(hex_value(digits[at]) * 16 + hex_value(digits[at + 1])));
  return out;
}

std::string shown(const Value* value) { return value == nullptr ? "nothing" : json::write(*value); }

void hold(Node one) {
  const std::string command = command_of(one);
  SCOPED_TRACE(printable(command, 300));
  const Value got = arguments_of(parse(command), one["cwd"].is_string() ? one["cwd"].string() : kFolder);
  bool wants_opaque = false;
  for (const json::Member member : one.members()) {
    const std::string_view name = member.name();
    if (name == "command" || name == "command_hex" || name == "about" || name == "cwd") continue;
    const Value want = Value::copy(member.value);
    if (name == "opaque") {
      wants_opaque = want.is_array();
      if (want.is_array()) {
        EXPECT_EQ(shown(got.find("opaque_because")), json::write(want));
      }
    } else if (name == "uses") {
      for (const Value& use : want.elements()) EXPECT_NE(got.find("uses")->find(use.string()), nullptr) << use.string();
    } else if (name == "lacks") {
      for (const Value& use : want.elements()) EXPECT_EQ(got.find("uses")->find(use.string()), nullptr) << use.string();
    } else if (name == "may") {  // these, and no others
      for (const auto& [kind, may] : got.find("may")->members())
        EXPECT_EQ(may.boolean(), std::ranges::find(want.elements(), kind, &Value::string) != want.elements().end())
            << kind;
    } else if (name == "lines") {
      for (const auto& [line, text] : want.members())
        EXPECT_EQ(shown(got.find("lines")->find(line)), json::write(text)) << line;
    } else {
      const Value* value = got.find(name);
      if (want.is_null()) {
        EXPECT_EQ(value, nullptr) << name;
      } else EXPECT_TRUE(value != nullptr && equal(*value, want)) << name << " is " << shown(value);
    }
  }
  EXPECT_EQ(got.find("opaque")->boolean(), wants_opaque) << shown(got.find("opaque_because"));
  // The members that contracts rely on are always there, and what is written is JSON that the engine takes.
  for (const char* name : {"command", "opaque", "opaque_because", "programs", "program_count", "commands",
                           "command_count", "substitutions", "uses", "may", "paths", "paths_known", "writes",
                           "writes_known", "writes_outside_cwd", "lines"})
    EXPECT_NE(got.find(name), nullptr) << name;
  const std::string text = json::write(got);
  const auto again = json::parse(text);
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_TRUE(json::canonical(again->root(), json::Numbers::Exact));
}

TEST(ShellCases, AreReadAsWritten) {
  std::size_t count = 0;
  std::set<std::string> reasons;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path().filename());
    const json::Document document = document_of(entry.path());
    for (const Node one : document.root()["cases"].elements()) {
      hold(one);
      ++count;
      if (one["opaque"].is_array())
        for (const Node reason : one["opaque"].elements()) reasons.insert(std::string(reason.string()));
    }
  }
  EXPECT_GE(count, 150u);
  // Every reason has a case, but those of limits, which are below.
  for (int reason = 0; reason <= static_cast<int>(Opaque::EvaluatedText); ++reason) {
    const auto one = static_cast<Opaque>(reason);
    if (one == Opaque::TooLong || one == Opaque::TooDeep || one == Opaque::TooManyCommands) continue;
    EXPECT_TRUE(reasons.contains(std::string(name_of(one)))) << name_of(one);
  }
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t at = 0; at < times; ++at) out.append(text);
  return out;
}

bool is_opaque_for(const std::string& command, Opaque reason) {
  const Parsed parsed = parse(command);
  return std::ranges::find(parsed.because, reason) != parsed.because.end();
}

TEST(ShellLimits, MakeALineOpaque) {
  EXPECT_FALSE(parse("ls " + std::string(limits::kShellCommandBytesMax - 3, 'a')).opaque());
  EXPECT_TRUE(is_opaque_for("ls " + std::string(limits::kShellCommandBytesMax - 2, 'a'), Opaque::TooLong));
  EXPECT_FALSE(parse(repeated("ls;", limits::kShellCommandsMax)).opaque());
  EXPECT_TRUE(is_opaque_for(repeated("ls;", limits::kShellCommandsMax + 1), Opaque::TooManyCommands));
  EXPECT_LE(parse(repeated("sudo ls;", 5000)).commands.size(), limits::kShellCommandsMax + 1);
  for (const char* opening :
       {"(",     "{ ",  "$(",   "echo ${x:-", "if ", "f() { ",  "sudo ",    "\"$(",  "case a in a) ", "find . -exec ",
        "eval ", "! (", "x=$(", "<(",         "`",   "time { ", "f() f() ", "[[ ( ", "time ",         "! ",
        "a=$("})
    for (const std::size_t times : {40u, 4000u}) {
      const Parsed parsed = parse(repeated(opening, times));
      EXPECT_TRUE(parsed.opaque()) << opening;
      EXPECT_LE(parsed.commands.size(), limits::kShellCommandsMax + 1) << opening;
    }
  // Fifteen levels of brackets are read.
  EXPECT_FALSE(parse(repeated("( ", 12) + "ls" + repeated(" )", 12)).opaque());
  EXPECT_TRUE(is_opaque_for(repeated("( ", 33) + "ls" + repeated(" )", 33), Opaque::TooDeep));
}

// Lines that would take minutes if a part of them were read for each other part.
TEST(ShellLimits, KeepLongLinesCheap) {
  const auto read = [](const std::string& line) { return arguments_of(parse(line), "/srv/app"); };
  EXPECT_TRUE(read(repeated("python3 -m ", 5900)).find("uses")->find("python3")->boolean());
  EXPECT_TRUE(read("cd a;cd b;cd c;mkdir -p " + repeated("a/../", 13'000)).find("opaque")->boolean());
  EXPECT_TRUE(read("install -d " + repeated("a/../", 13'000)).find("opaque")->boolean());
  EXPECT_TRUE(read("mkdir -p" + repeated(" " + repeated("a/../", 800), 16)).find("opaque")->boolean());
}

TEST(ShellPaths, AreNormalisedAsText) {
  EXPECT_EQ(normalised("/a/b", "c"), "/a/b/c");
  EXPECT_EQ(normalised("/a/b", "../../../c/./d//"), "/c/d");
  EXPECT_EQ(normalised("/a", "/"), "/");
  EXPECT_EQ(normalised("", "x"), "");
  EXPECT_EQ(normalised("relative", "x"), "");
  EXPECT_TRUE(is_within("/a/b", "/a"));
  EXPECT_TRUE(is_within("/a", "/a"));
  EXPECT_FALSE(is_within("/ab", "/a"));
  EXPECT_TRUE(is_within("/ab", "/"));
}

TEST(ShellPaths, OfAnUnknownFolderAreUnknown) {
  const Value got = arguments_of(parse("echo x > out"), "");
  EXPECT_TRUE(got.find("opaque")->boolean());
  EXPECT_TRUE(got.find("writes_outside_cwd")->boolean());
  EXPECT_FALSE(arguments_of(parse("echo x > /out"), "").find("opaque")->boolean());
}

TEST(ShellLines, HaveNoBlankThatIsNotASeparator) {
  EXPECT_EQ(as_line("a b%c\n"), "a%20b%25c%0A");
  EXPECT_EQ(as_line(""), "%0");
  EXPECT_EQ(as_line("ä\u00a0\u2028"), "ä%C2%A0%E2%80%A8");
  EXPECT_EQ(as_line("\xff\xfeok\xc3"), "%FF%FEok%C3");
}

TEST(ShellPrograms, AreForOthersToAskAbout) {
  EXPECT_EQ(programs_of(parse("cd x && sudo pytest -q | tee log; /bin/ls")),
            (std::vector<std::string>{"/bin/ls", "cd", "pytest", "sudo", "tee"}));
  EXPECT_EQ(base_name("/usr/bin/git"), "git");
  EXPECT_EQ(base_name("git"), "git");
}

// A call as a contract judges it. What the model wrote beside the command says the opposite of everything, and changes nothing.
Value call_of(std::string_view line) {
  Value facts = arguments_of(parse(line), kFolder);
  const Value harmless = arguments_of(parse("ls"), kFolder);
  facts.set("cwd", kFolder);
  Value out = Value::object();
  out.set("command", line);
  for (const auto& [name, value] : harmless.members())
    if (name != "command") out.set(name, value);
  out.set("dev.baton", std::move(facts));
  return out;
}

// The rules that people write, judged by the engine.
TEST(ShellContracts, CanSayWhatPeopleWant) {
  const json::Document document = document_of(folder() / "contracts.json");
  std::size_t contracts = 0;
  for (const Node one : document.root()["contracts"].elements()) {
    SCOPED_TRACE(one["about"].string());
    std::string text = contract::tool_file("Bash", "", "write").text;
    const std::string from = "assertions: {input_invariants: [], output_invariants: []}\n";
    std::string to = "assertions:\n  output_invariants: []\n  input_invariants:\n";
    for (const Node rule : one["rules"].elements()) to += "    - " + std::string(rule.string()) + "\n";
    ASSERT_NE(text.find(from), std::string::npos);
    text.replace(text.find(from), from.size(), to);
    session::Session session({{"Bash.yaml", text + "gate: allow\n"}}, "");
    // The same with the paths of before facts had a member of their own.
    constexpr std::string_view kFront = "$['dev.baton'].";
    for (std::size_t at = text.find(kFront); at != text.npos; at = text.find(kFront))
      text.replace(at, kFront.size(), "$.");
    session::Session older({{"Bash.yaml", text + "gate: allow\n"}}, "");
    ++contracts;
    for (const bool is_allowed : {true, false})
      for (const Node line : one[is_allowed ? "allow" : "block"].elements()) {
        SCOPED_TRACE(line.string());
        const std::string arguments = json::write(call_of(line.string()));
        for (session::Session* one : {&session, &older}) {
          const session::StepVerdict verdict = one->decide_with("Bash", arguments);
          ASSERT_EQ(verdict.calls.size(), 1u);
          const std::string codes = session::codes_of(verdict.calls.front());
          EXPECT_EQ(codes.substr(0, codes.find(' ')), is_allowed ? "" : "input_assertion_failed") << arguments;
        }
      }
  }
  EXPECT_GE(contracts, 3u);
}

// The page that explains all this is true: its example is what comes out, and its rules are among those above.
TEST(ShellDocs, SayWhatIs) {
  std::ifstream in(std::filesystem::path(BATON_TESTS_DIR) / "../docs/reference/hooks.md");
  std::string example, line, block;
  std::vector<std::string> rules;
  while (std::getline(in, line)) {
    if (line.starts_with("```")) block = line == "```" && !block.empty() ? "" : line;
    else if (block == "```json") example += line + "\n";
    else if (block == "```yaml" && line.starts_with("- {path:")) rules.push_back(line.substr(2));
    EXPECT_FALSE(block == "```yaml" && line.find("$.") != line.npos) << "an old path: " << line;
  }
  const auto document = json::parse(example);
  ASSERT_TRUE(document) << example;
  Value got = arguments_of(parse(document->root()["command"].string()), kFolder);
  got.set("cwd", kFolder);
  EXPECT_TRUE(equal(got, Value::copy(document->root()["dev.baton"]))) << json::write_pretty(got);
  EXPECT_GE(rules.size(), 9u);
  const json::Document contracts = document_of(folder() / "contracts.json");
  std::set<std::string> judged;
  for (const Node one : contracts.root()["contracts"].elements())
    for (const Node rule : one["rules"].elements()) judged.insert(std::string(rule.string()));
  for (const std::string& rule : rules) EXPECT_TRUE(judged.contains(rule)) << rule;
}

}  // namespace
}  // namespace baton::shell
