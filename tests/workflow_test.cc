// SPDX-License-Identifier: Apache-2.0
// The rules of workflows: every scenario with an `events` body (the published ones in vectors/scenarios/, ours in scenarios/) through the
// pure rules, and what no scenario can say.
#include "workflow/scenario.h"

#include "session_world.h"

namespace baton::workflow {
namespace {

std::vector<std::filesystem::path> event_scenarios() {
  std::vector<std::filesystem::path> out;
  for (const char* folder : {"vectors/scenarios", "scenarios/workflow"})
    for (const auto& path : contract::yaml_files(contract::tests_folder() / folder))
      if (contract::compile_scenario(contract::read_file(path), path.stem().string()).body == contract::Body::Events)
        out.push_back(path);
  return out;
}

void expect_all_pass(const std::filesystem::path& path, const MakeDoor& make) {
  const contract::ScenarioReport report = judge_events(contract::read_file(path), path.stem().string(), make);
  EXPECT_TRUE(report.is_readable()) << contract::shown(report.findings);
  EXPECT_FALSE(report.entries.empty());
  for (const contract::Judged& entry : report.entries)
    EXPECT_TRUE(entry.passed) << path.filename() << ":" << entry.place.line << ": entry " << entry.number
                              << "\n  expected " << entry.expected << "\n  got      " << entry.got << "\n  "
                              << entry.why;
}

class Scenario : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Scenario, IsDecidedAsItSays) { expect_all_pass(GetParam(), engine_door); }

INSTANTIATE_TEST_SUITE_P(Events, Scenario, testing::ValuesIn(event_scenarios()),
                         [](const auto& path) { return path.param.stem().string(); });

TEST(Scenarios, AreAllThere) {
  std::size_t published = 0, own = 0;
  for (const auto& path : event_scenarios())
    ++(path.parent_path().parent_path().filename() == "vectors" ? published : own);
  EXPECT_EQ(published, 3u);
  EXPECT_GE(own, 45u);
}

// --- handoffs -------------------------------------------------------------------------------------------------------------------------

// Every stage and every event: where it leads, or that it cannot happen.
TEST(Handoffs, HaveOneTable) {
  const std::map<std::pair<Stage, Event>, Stage> legal = {
      {{Stage::Offered, Event::Claim}, Stage::Claimed},      {{Stage::Offered, Event::Decline}, Stage::Declined},
      {{Stage::Offered, Event::Cancel}, Stage::Cancelled},   {{Stage::Offered, Event::Expire}, Stage::Expired},
      {{Stage::Claimed, Event::Complete}, Stage::Completed}, {{Stage::Claimed, Event::Cancel}, Stage::Cancelled}};
  for (const Stage stage :
       {Stage::Offered, Stage::Claimed, Stage::Completed, Stage::Declined, Stage::Cancelled, Stage::Expired})
    for (const Event event : {Event::Claim, Event::Complete, Event::Decline, Event::Cancel, Event::Expire}) {
      const auto found = legal.find({stage, event});
      EXPECT_EQ(next(stage, event), found == legal.end() ? std::nullopt : std::optional(found->second))
          << name_of(stage) << " " << static_cast<int>(event);
    }
}

}  // namespace
}  // namespace baton::workflow
