// SPDX-License-Identifier: Apache-2.0
// Claims and the calls that were seen, from the files of tests/claims/.
//
// A file is {"cases": [{"about", "calls": [...], "cut"?, "commands"?: [...], "files"?: [...], "verification"?: {...}, "expect": [...]}]}.
// A call is {"run": a command line, "exit"?: its code, "cwd"? (/srv/app)}, or {"tool", "arguments", ...}; and of both "id"? (c1, c2, ... in
// order), "state"? (ended, failed, refused, not_begun, open, unknown; failed when there is another code than 0), "by"? of one that was refused.
// Without "exit" the client does not tell it. What is expected is, for each claim in order, [verdict, call id or "", a part of why?].
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/limits.h"
#include "claims/claims.h"
#include "claims/commands.h"
#include "json/parse.h"
#include "shell/arguments.h"

namespace baton::claims {
namespace {

using json::Node;
using json::Value;

json::Document document_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  auto document = json::parse_owned(text.str());
  EXPECT_TRUE(document) << path << ": " << (document ? "" : document.error().what);
  return document ? std::move(*document) : std::move(*json::parse_owned("{}"));
}

SeenCall::State state_named(std::string_view name) {
  if (name == "refused") return SeenCall::State::Refused;
  if (name == "not_begun") return SeenCall::State::NotBegun;
  if (name == "open") return SeenCall::State::Open;
  if (name == "failed") return SeenCall::State::Failed;
  if (name == "unknown") return SeenCall::State::Unknown;
  EXPECT_EQ(name, "ended");
  return SeenCall::State::Ended;
}

SeenCall call_of(Node given, std::size_t number) {
  SeenCall out;
  out.id = given["id"].is_string() ? std::string(given["id"].string()) : "c" + std::to_string(number);
  out.state = SeenCall::State::Ended;
  if (given["run"].is_string()) {
    const std::string cwd = given["cwd"].is_string() ? std::string(given["cwd"].string()) : "/srv/app";
    out.tool = "Bash";
    Value facts = shell::arguments_of(shell::parse(given["run"].string()), cwd);
    facts.set("cwd", cwd);
    // An entry from before facts had a member of their own has them among the arguments.
    if (given["facts_at_the_top"].is_true()) {
      out.arguments = std::move(facts);
    } else {
      out.arguments = Value::object();
      out.arguments.set("command", given["run"].string());
      out.arguments.set("dev.baton", std::move(facts));
    }
  } else {
    out.tool = given["tool"].string();
    out.arguments = Value::copy(given["arguments"]);
  }
  if (given["exit"].is_number()) {
    out.exit_code = std::stoi(std::string(given["exit"].number_text()));
    if (*out.exit_code != 0) out.state = SeenCall::State::Failed;
  }
  if (given["state"].is_string()) out.state = state_named(given["state"].string());
  if (given["by"].is_string()) out.refused_by = given["by"].string();
  return out;
}

Value block_of(Node given) {
  Value evidence = Value::object();
  evidence.set("commands_run", given["commands"] ? Value::copy(given["commands"]) : Value::array());
  evidence.set("files_checked", given["files"] ? Value::copy(given["files"]) : Value::array());
  if (given["verification"]) evidence.set("verification", Value::copy(given["verification"]));
  Value out = Value::object();
  out.set("evidence_report", std::move(evidence));
  return out;
}

void hold(Node one) {
  SCOPED_TRACE(one["about"].is_string() ? std::string(one["about"].string()) : std::string("?"));
  Seen seen;
  for (const Node call : one["calls"].elements()) seen.calls.push_back(call_of(call, seen.calls.size() + 1));
  seen.cut = one["cut"].is_true();
  const auto block = json::parse_owned(json::write(block_of(one)));
  ASSERT_TRUE(block);
  const Report report = judge(block->root(), seen);
  ASSERT_EQ(report.claims.size(), one["expect"].size()) << json::write(list_value(report));
  std::size_t at = 0;
  for (const Node wanted : one["expect"].elements()) {
    const Claim& claim = report.claims[at++];
    SCOPED_TRACE(claim.claim + ": " + claim.why);
    EXPECT_EQ(name_of(claim.verdict), wanted.element(0).string());
    if (wanted.size() > 1) {
      EXPECT_EQ(claim.call_id, wanted.element(1).string());
    }
    if (wanted.size() > 2) {
      EXPECT_NE(claim.why.find(wanted.element(2).string()), std::string::npos);
    }
    EXPECT_FALSE(claim.why.empty());
    EXPECT_TRUE(claim.pointer.starts_with("/evidence_report/"));
  }
}

TEST(Claims, Files) {
  std::size_t cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(BATON_TESTS_DIR) / "claims")) {
    const json::Document document = document_of(entry.path());
    SCOPED_TRACE(entry.path().filename().string());
    for (const Node one : document.root()["cases"].elements()) {
      hold(one);
      ++cases;
    }
  }
  EXPECT_GT(cases, 50u);
}

TEST(Claims, WhatIsSaidOfTheOutcome) {
  for (const std::string_view text :
       {"12 passed", "(12 passed, 0 failed)", "ok", "exit code 0", "no errors", "All green!", "PASS"})
    EXPECT_EQ(outcome_in(text), Says::Passed) << text;
  for (const std::string_view text : {"1 failed, 11 passed", "exit 1", "did not pass", "errors", "exit status 2"})
    EXPECT_EQ(outcome_in(text), Says::Failed) << text;
  for (const std::string_view text : {"", "done", "see the log", "12 tests"})
    EXPECT_EQ(outcome_in(text), Says::Nothing) << text;
}

// However much is claimed and was seen, what is looked at is bounded, and what is not is said.
TEST(Claims, Bounds) {
  Value commands = Value::array();
  for (std::size_t i = 0; i < limits::kClaimsMax + 50; ++i) commands.push("make target" + std::to_string(i));
  commands.push(std::string(100'000, 'x'));
  Value evidence = Value::object(), block = Value::object();
  evidence.set("commands_run", std::move(commands));
  block.set("evidence_report", std::move(evidence));
  Seen seen;
  SeenCall call;
  call.id = "c1";
  call.tool = "Bash";
  call.state = SeenCall::State::Ended;
  call.arguments = Value::object();
  call.arguments.set("command", "make target1");
  seen.calls.assign(limits::kClaimCallsMax, call);
  const auto document = json::parse_owned(json::write(block));
  const Report report = judge(document->root(), seen);
  EXPECT_EQ(report.claims.size(), limits::kClaimsMax);
  EXPECT_EQ(report.left_out, 51u);
  EXPECT_EQ(report.count(Verdict::Proven), 1u);
  EXPECT_EQ(report.count(Verdict::Unproven), limits::kClaimsMax + 50);
  const Value counts = counts_value(report);
  EXPECT_EQ(json::write(*counts.find("left_out")), "51");
}

// Nothing of an evidence_report that has another form than it should have brings it down.
TEST(Claims, OddBlocks) {
  for (const std::string_view text :
       {"{}", "[]", "{\"evidence_report\":5}",
        "{\"evidence_report\":{\"commands_run\":\"pytest\",\"files_checked\":{}}}",
        "{\"evidence_report\":{\"commands_run\":[null,5,{},[],\"\",{\"command\":5}],\"files_checked\":[null,{},\"\"]}}",
        "{\"evidence_report\":{\"verification\":{\"result\":\"pass\",\"command\":5,\"commands\":7}}}"}) {
    const auto document = json::parse_owned(std::string(text));
    const Report report = judge(document->root(), {});
    EXPECT_TRUE(report.is_unseen());
    EXPECT_EQ(report.count(Verdict::Proven), 0u);
  }
}

}  // namespace
}  // namespace baton::claims
