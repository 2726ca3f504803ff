// SPDX-License-Identifier: Apache-2.0
// Which calls touch what no agent may, from tests/protection/cases.json: command lines run in /srv/app, and calls of other tools.
#include "protection/protection.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "json/parse.h"
#include "json/value.h"

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

Paths paths_in(json::Node given) {
  Paths out;
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
  const Paths paths = paths_in(file.root()["paths"]);
  std::size_t count = 0;
  for (const json::Node one : file.root()["shell"].elements()) {
    json::Value arguments = json::Value::object();
    arguments.set("command", one["line"].string());
    arguments.set("cwd", "/srv/app");
    const json::Document document = std::move(*json::parse_owned(json::write(arguments)));
    const auto touch = touched(paths, "Bash", document.root());
    EXPECT_EQ(said(touch), wanted(one)) << one["line"].string();
    EXPECT_TRUE(!touch || touch->always) << one["line"].string();
    ++count;
  }
  EXPECT_GT(count, 30u);
}

TEST(Protection, OfOtherTools) {
  const json::Document file = cases();
  const Paths paths = paths_in(file.root()["paths"]);
  std::size_t count = 0;
  for (const json::Node one : file.root()["calls"].elements()) {
    const auto touch = touched(paths, one["tool"].string(), one["arguments"]);
    const std::string what = json::write(json::Value::copy(one));
    EXPECT_EQ(said(touch), wanted(one)) << what;
    EXPECT_EQ(touch && touch->always, one["always"].is_true()) << what;
    ++count;
  }
  EXPECT_GT(count, 10u);
}

// By name it holds without anybody having said where things are.
TEST(Protection, ByNameAlone) {
  const json::Document arguments = std::move(*json::parse_owned(R"({"file_path":"/x/y/.baton/keys/a"})"));
  EXPECT_TRUE(touched({}, "Read", arguments.root()));
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

}  // namespace
}  // namespace baton::protection
