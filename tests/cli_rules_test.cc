// SPDX-License-Identifier: Apache-2.0
// Rules of commands that are pure: whom `baton unlock` answers, what `baton doctor` finds. The cases are in tests/cli_rules/.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/doctor_rules.h"
#include "cli/unlock_rules.h"
#include "hooks/open_ends.h"
#include "json/parse.h"

namespace baton::cli {
namespace {

json::Document cases(const std::string& name) {
  std::ifstream in(std::filesystem::path(BATON_TESTS_DIR) / "cli_rules" / name);
  std::ostringstream text;
  text << in.rdbuf();
  auto read = json::parse_owned(text.str());
  EXPECT_TRUE(read) << name << " is not JSON";
  return std::move(*read);
}

template <class Number>
Number number(json::Node node) {
  Number out = 0;
  std::from_chars(node.number_text().data(), node.number_text().data() + node.number_text().size(), out);
  return out;
}

net::RunningProcess process_of(json::Node row) {
  net::RunningProcess out;
  out.stat.id = {number<std::int64_t>(row.element(0)), number<std::uint64_t>(row.element(1))};
  out.stat.parent = number<std::int64_t>(row.element(2));
  out.stat.group = number<std::int64_t>(row.element(3));
  out.stat.session = number<std::int64_t>(row.element(4));
  out.stat.terminal = number<std::int64_t>(row.element(5));
  out.stat.foreground = number<std::int64_t>(row.element(6));
  for (std::size_t at = 7; at < row.size(); ++at) out.words.emplace_back(row.element(at).string());
  return out;
}

TEST(Unlock, AnswersWhatWasTypedHereAlone) {
  const json::Document file = cases("unlock.json");
  const json::Node root = file.root();
  const UnlockedTerminal at{
      {number<std::int64_t>(root["shell"].element(0)), number<std::uint64_t>(root["shell"].element(1))},
      number<std::int64_t>(root["terminal"])};
  std::size_t count = 0;
  for (const json::Node one : root["cases"].elements()) {
    std::vector<net::RunningProcess> all;
    for (const json::Node row : one["processes"].elements()) all.push_back(process_of(row));
    for (const json::Node row : root["always"].elements()) {
      const net::RunningProcess process = process_of(row);
      const bool is_there = std::ranges::any_of(
          all, [&](const net::RunningProcess& other) { return other.stat.id.pid == process.stat.id.pid; });
      if (!is_there) all.push_back(process);
    }
    const std::string why = why_not_answered(all, number<std::int64_t>(one["asks"]), at);
    const std::string wanted(one["why"].string());
    EXPECT_TRUE(wanted.empty() ? why.empty() : why.starts_with(wanted)) << one["about"].string() << ": " << why;
    ++count;
  }
  EXPECT_GT(count, 15u);
}

TEST(Doctor, FindsWhatIsNotSafe) {
  const json::Document file = cases("doctor.json");
  std::size_t count = 0;
  for (const json::Node one : file.root()["cases"].elements()) {
    const std::string about(one["about"].string());
    const std::vector<Finding> found = examine(one["facts"]);
    const json::Node wanted = one["finds"];
    ASSERT_EQ(found.size(), wanted.size()) << about << ": " << (found.empty() ? "" : found.back().says);
    for (std::size_t at = 0; at < found.size(); ++at) {
      EXPECT_EQ(found[at].check, wanted.element(at).element(0).string()) << about;
      EXPECT_EQ(name_of(found[at].state), wanted.element(at).element(1).string()) << about << ": " << found[at].says;
      EXPECT_TRUE(found[at].says.starts_with(wanted.element(at).element(2).string()))
          << about << ": " << found[at].says;
      // Whoever is told of a problem is told what to do.
      EXPECT_EQ(found[at].fix.empty(),
                found[at].state == Finding::State::Fine || found[at].state == Finding::State::Unknown ||
                    found[at].check == "node" ||
                    (found[at].check == "operator_token" && found[at].state == Finding::State::Note))
          << about << ": " << found[at].says;
    }
    ++count;
  }
  EXPECT_GT(count, 15u);
}

TEST(Doctor, ReadsVersions) {
  EXPECT_EQ(hooks::version_in("2.1.325 (Claude Code)\n"), "2.1.325");
  EXPECT_EQ(hooks::version_in("codex-cli 0.166.0"), "0.166.0");
  EXPECT_EQ(hooks::version_in("v1.0.102-rc1"), "1.0.102");
  EXPECT_EQ(hooks::version_in("build 7 of 1.2."), "1.2");
  EXPECT_EQ(hooks::version_in("no version"), "");
  EXPECT_EQ(hooks::version_in(""), "");
}

}  // namespace
}  // namespace baton::cli
