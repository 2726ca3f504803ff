// SPDX-License-Identifier: Apache-2.0
// Which calls touch what no agent may, from tests/protection/cases.json: command lines, and calls of other tools.
#include "protection/protection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/text.h"
#include "diagnostics/diagnostic.h"
#include "json/parse.h"
#include "json/value.h"
#include "protection/operator_commands.h"
#include "protection/spelling.h"

namespace baton::protection {
namespace {

json::Document cases() {
  std::ifstream in(std::filesystem::path(BATON_TESTS_DIR) / "protection" / "cases.json");
  std::ostringstream text;
  text << in.rdbuf();
  auto read = json::parse_owned(text.str());
  EXPECT_TRUE(read) << "the cases are not JSON";
  return std::move(*read);
}

// A file system that is nothing but links.
class GivenLinks final : public Links {
 public:
  explicit GivenLinks(json::Node given) {
    for (const json::Member one : given.members()) links_.emplace(one.name(), one.value.string());
  }
  std::string resolved(const std::string& path) const override {
    std::deque<std::string> left;
    for (const std::string_view name : split(path, '/')) left.emplace_back(name);
    std::string out;
    for (int steps = 0; !left.empty() && steps < 1000; ++steps) {
      const std::string name = left.front();
      left.pop_front();
      if (name.empty() || name == ".") continue;
      if (name == "..") {
        out.resize(out.empty() ? 0 : out.rfind('/'));
        continue;
      }
      const auto link = links_.find(out + "/" + name);
      if (link == links_.end()) {
        out += "/" + name;
        continue;
      }
      if (link->second.starts_with('/')) out.clear();
      const auto names = split(link->second, '/');
      for (auto one = names.rbegin(); one != names.rend(); ++one) left.emplace_front(*one);
    }
    return out.empty() ? "/" : out;
  }

 private:
  std::map<std::string, std::string> links_;
};

Paths paths_in(json::Node file) {
  const json::Node given = file["paths"];
  Paths out;
  out.links = std::make_shared<GivenLinks>(file["links"]);
  for (const json::Node one : given["secret"].elements()) out.secret.emplace_back(one.string());
  for (const json::Node one : given["fixed"].elements()) out.fixed.emplace_back(one.string());
  out.home = given["home"].string();
  return out;
}

std::string said(const std::optional<Touch>& touch) { return touch ? touch->path : "nothing"; }
std::string wanted(json::Node one) {
  return one["touches"].is_string() ? std::string(one["touches"].string()) : "nothing";
}

TEST(Protection, OfCommandLines) {
  const json::Document file = cases();
  const Paths paths = paths_in(file.root());
  std::size_t count = 0;
  for (const json::Node one : file.root()["shell"].elements()) {
    json::Value arguments = json::Value::object(), facts = json::Value::object();
    facts.set("command", one["line"].string());
    facts.set("cwd", one["cwd"].is_string() ? one["cwd"].string() : "/srv/app");
    arguments.set("dev.baton", std::move(facts));
    // What is said beside the facts is the model's.
    arguments.set("command", "ls");
    arguments.set("cwd", "/elsewhere");
    const json::Document document = std::move(*json::parse_owned(json::write(arguments)));
    const auto touch = touched(paths, "Bash", document.root());
    EXPECT_EQ(said(touch), wanted(one)) << one["line"].string();
    EXPECT_TRUE(!touch || touch->always) << one["line"].string();
    ++count;
  }
  EXPECT_GT(count, 300u);
}

// Every command of the program, as a shell line and in a text that another program runs.
TEST(Protection, OfBatonsOwnCommands) {
  std::ifstream in(std::filesystem::path(BATON_TESTS_DIR) / "protection" / "commands.json");
  std::ostringstream text;
  text << in.rdbuf();
  const auto file = json::parse_owned(text.str());
  ASSERT_TRUE(file) << "the commands are not JSON";
  const auto is_refused = [](const std::string& line) {
    json::Value arguments = json::Value::object(), facts = json::Value::object();
    facts.set("command", line);
    facts.set("cwd", "/srv/app");
    arguments.set("dev.baton", std::move(facts));
    const json::Document document = std::move(*json::parse_owned(json::write(arguments)));
    return touched({}, "Bash", document.root()).has_value();
  };
  std::size_t count = 0;
  for (const char* whose : {"agents", "operators"})
    for (const json::Node one : file->root()[whose].elements()) {
      const std::string command = "baton " + std::string(one.string());
      const bool refused = whose == std::string_view("operators");
      if (command == "baton mcp")
        continue;  // what xargs appends may be its subcommand; tests/protection/cases.json has the rest
      for (const std::string& line :
           {command, command + " --help", command + " x --y z", "/opt/bin/" + command + " x",
            "env -u A timeout 5 " + command, "sh -c '" + command + "'", "echo x | xargs " + command,
            "python3 -c 'import os; os.system(\"" + command + " x\")'"}) {
        EXPECT_EQ(is_refused(line), refused) << line;
        ++count;
      }
    }
  EXPECT_GT(count, 590u);
}

// A diagnostic that an agent may get never names a command that decides for an operator. These are for operators, CI and nodes alone.
TEST(Protection, DiagnosticsTeachNoCommand) {
  constexpr std::string_view kNotForAgents[] = {"CI_TOO_OLD", "CREDENTIAL_", "LEDGER_",    "NODE_",
                                                "STORE_",     "TOKEN_",      "TOOLS_LOCK", "WITNESS_"};
  std::size_t commands = 0;
  for (const CodeInfo& row : catalogue()) {
    const bool is_known = std::ranges::any_of(
        kNotForAgents, [&](std::string_view front) { return std::string_view(row.name).starts_with(front); });
    const std::string text = std::string(row.message) + "\n" + std::string(row.help);
    for (std::size_t at = text.find("`baton "); at != std::string::npos; at = text.find("`baton ", at + 1)) {
      const std::string line = text.substr(at + 1, text.find('`', at + 1) - at - 1);
      ++commands;
      EXPECT_TRUE(is_known || !operator_command(shell::parse(line))) << row.name << ": " << line;
    }
  }
  EXPECT_GT(commands, 20u);
}

TEST(Protection, OfOtherTools) {
  const json::Document file = cases();
  const Paths paths = paths_in(file.root());
  std::size_t count = 0;
  for (const json::Node one : file.root()["calls"].elements()) {
    const auto touch = touched(paths, one["tool"].string(), one["arguments"],
                               one["cwd"].is_string() ? one["cwd"].string() : std::string_view());
    const std::string what = json::write(json::Value::copy(one)).substr(0, 300);
    EXPECT_EQ(said(touch), wanted(one)) << what;
    EXPECT_EQ(touch && touch->always, one["always"].is_true()) << what;
    ++count;
  }
  EXPECT_GT(count, 120u);
}

// By name it holds without anybody having said where things are.
TEST(Protection, ByNameAlone) {
  const json::Document arguments = std::move(*json::parse_owned(R"({"file_path":"/x/y/.baton/keys/a"})"));
  EXPECT_TRUE(touched({}, "Read", arguments.root()));
}

// Nobody says where the call is made: a path in a folder of a pack is known all the same.
TEST(Protection, BesideAPack) {
  Paths paths;
  paths.fixed = {"/srv/other/pack"};
  const auto touches = [&](std::string_view path) {
    const json::Document arguments = std::move(*json::parse_owned(R"({"path":")" + std::string(path) + R"("})"));
    return touched(paths, "fs/write", arguments.root()).has_value();
  };
  EXPECT_TRUE(touches("pack/session.yaml"));
  EXPECT_TRUE(touches("./x/../pack/session.yaml"));
  EXPECT_FALSE(touches("pack"));
  EXPECT_FALSE(touches("src/session.yaml"));
  EXPECT_TRUE(touches(".baton/x"));
}

// A path whose links are not followed to the end may lead anywhere.
TEST(Protection, IsBoundedByLinks) {
  struct Endless final : Links {
    std::string resolved(const std::string&) const override { return {}; }
  };
  Paths paths;
  paths.links = std::make_shared<Endless>();
  const json::Document arguments = std::move(*json::parse_owned(R"({"file_path":"/x/y"})"));
  const auto touch = touched(paths, "Read", arguments.root());
  ASSERT_TRUE(touch);
  EXPECT_TRUE(touch->always);
}

// Counts what is looked up: all else that a call costs is bounded by the same count of work.
class CountingLinks final : public Links {
 public:
  std::string resolved(const std::string& path) const override {
    ++lookups;
    bytes += path.size();
    return path;
  }
  mutable std::size_t lookups = 0, bytes = 0;
};

int number(json::Node node) { return node.is_number() ? std::stoi(std::string(node.number_text())) : 0; }

std::string replaced(std::string text, const std::string& by) {
  if (const std::size_t at = text.find('@'); at != text.npos) text.replace(at, 1, by);
  return text;
}

// The arguments of a case of `long`: `@` is `unit` as often as `times` says; with `list`, as many such strings.
std::string long_arguments(json::Node one) {
  std::string unit;
  for (int i = 0; i < number(one["times"]); ++i) unit += one["unit"].string();
  if (one["line"].is_string()) {
    json::Value arguments = json::Value::object(), facts = json::Value::object();
    facts.set("command", replaced(std::string(one["line"].string()), unit));
    facts.set("cwd", "/srv/app");
    arguments.set("dev.baton", std::move(facts));
    return json::write(arguments);
  }
  std::string text = json::write(json::Value::copy(one["arguments"]));
  const std::string quoted = json::write(json::Value(unit));
  if (!one["list"].is_number()) return replaced(text, quoted.substr(1, quoted.size() - 2));
  const std::size_t from = text.rfind('"', text.find('@')), to = text.find('"', text.find('@')) + 1;
  std::string list;
  for (int i = 0; i < number(one["list"]); ++i)
    list += (i == 0 ? "" : ",") + replaced(text.substr(from, to - from - 1), quoted.substr(1, quoted.size() - 2)) +
            std::to_string(i) + "\"";
  return text.replace(from, to - from, "[" + list + "]");
}

// However long a call is, the work is bounded. `touches` of these cases is how the path begins.
TEST(Protection, OfLongCalls) {
  const json::Document file = cases();
  std::size_t count = 0;
  for (const json::Node one : file.root()["long"].elements()) {
    const auto links = std::make_shared<CountingLinks>();
    Paths paths = paths_in(file.root());
    paths.links = links;
    const json::Document document = std::move(*json::parse_owned(long_arguments(one)));
    const auto touch = touched(paths, one["line"].is_string() ? "Bash" : one["tool"].string(), document.root());
    const std::string what = json::write(json::Value::copy(one)).substr(0, 300);
    EXPECT_TRUE(said(touch).starts_with(wanted(one))) << what << "\n" << said(touch).substr(0, 100);
    EXPECT_LE(links->lookups, 5'001u) << what;
    EXPECT_LE(links->bytes, 1u << 20) << what;
    ++count;
  }
  EXPECT_GT(count, 25u);
}

TEST(Protection, BoundsSpellings) {
  const auto times = [](std::string_view unit, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += unit;
    return out;
  };
  for (const std::string_view unit : {"{}", "{a,b}", "{", "}", "{a", "{,", "{a,{b,c}", "{,}", "{a}{b,c}", "{a,b/}"}) {
    const Braces braces = without_braces(times(unit, 1300));
    std::size_t bytes = 0;
    for (const std::string& one : braces.texts) bytes += one.size();
    EXPECT_LE(braces.texts.size(), kBracesMax) << unit;
    EXPECT_LE(bytes, 2 * kBraceBytesMax) << unit;
  }
  for (const std::string_view unit : {":", "a:", "a,", "=b:c", "a\n", "%41", "\\x41:", "@"}) {
    std::size_t bytes = 0;
    for (const std::string& one : spellings_of(times(unit, 1000), "/home/ida", "/srv/app").paths) bytes += one.size();
    EXPECT_LE(bytes, 2 * kSpellingBytesMax) << unit;
  }
}

TEST(Protection, OfBraces) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(without_braces("a{b,c}d").texts, (Texts{"abd", "acd"}));
  EXPECT_EQ(without_braces("{a,b{c,d}}{e,f}").texts, (Texts{"ae", "af", "bce", "bcf", "bde", "bdf"}));
  EXPECT_EQ(without_braces("x{1..9}{}").texts, (Texts{"x*"}));
  // A `{` without its `}` is a letter; so are braces without a list, around one.
  EXPECT_EQ(without_braces("{x,{a,b}").texts, (Texts{"{x,a", "{x,b"}));
  EXPECT_EQ(without_braces("{x{a,b}}").texts, (Texts{"{xa}", "{xb}"}));
}

// So many texts that each would have to be looked at are refused rather than looked through.
TEST(Protection, IsBounded) {
  std::string text = R"({"paths":[)";
  for (int i = 0; i < 20'000; ++i) text += i == 0 ? "\"a\"" : ",\"a\"";
  const json::Document arguments = std::move(*json::parse_owned(text + "]}"));
  const auto touch = touched({}, "x", arguments.root());
  ASSERT_TRUE(touch);
  EXPECT_TRUE(touch->always);
}

// A long word is no path, and a tool may cut it off anywhere.
TEST(Protection, OfLongWords) {
  const Paths paths = paths_in(cases().root());
  for (const bool is_protected : {true, false}) {
    json::Value arguments = json::Value::object(), facts = json::Value::object();
    std::string line = "prog ";
    for (int i = 0; i < 3000; ++i) line += "./";
    facts.set("command", line + (is_protected ? ".batonXXXX" : "src/a.py"));
    facts.set("cwd", "/srv/app");
    arguments.set("dev.baton", std::move(facts));
    const json::Document document = std::move(*json::parse_owned(json::write(arguments)));
    EXPECT_EQ(touched(paths, "Bash", document.root()).has_value(), is_protected);
  }
}

}  // namespace
}  // namespace baton::protection
