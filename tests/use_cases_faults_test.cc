// SPDX-License-Identifier: Apache-2.0
// Each use case, on each store, with a store that fails at its n-th operation, for every n: afterwards everything is as before or wholly as after,
// the tables are what the ledger makes of them, and the same request tried again is done once.
#include <chrono>
#include <thread>

#include "contract/scenario.h"
#include "runtime/work_events.h"
#include "store/faulty/faulty_store.h"
#include "store/tables.h"
#include "use_cases_fixture.h"

namespace baton::runtime {
namespace {

using work::Phase;

// The same bytes every time, and never twice the same id.
class SequenceRandom final : public Random {
 public:
  void fill(std::span<std::uint8_t> out) override {
    Sha256 block{};
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (i % block.size() == 0) block = sha256("sequence " + std::to_string(count_++));
      out[i] = block[i % block.size()];
    }
  }

 private:
  std::uint64_t count_ = 0;
};

// One attempt: a new store, a ledger on it through the store that fails, what has to be there before, and the use case.
class Attempt {
 public:
  using Step = std::function<Result<Answer>(Attempt&)>;
  using Setup = std::function<void(Attempt&)>;

  Attempt(const store::Backend& backend, store::Fault fault)
      : has_our_clock_(backend.takes_our_clock),
        made_(backend.make(clock, {})),
        store_(&made_->store()),
        faulty_(*store_, fault) {
    config.policy.exit_protocol = true;
    config.policy.roles[0].writable = {"project"};
    auto opened = Ledger::open(faulty_, clock, random_, {keys_.path(), {}});
    CHECK(opened.has_value());
    ledger_ = std::move(*opened);
    cases = std::make_unique<UseCases>(faulty_, *ledger_, clock, random_, config);
  }

  std::uint64_t operations() const { return faulty_.operations(); }
  bool struck() const { return faulty_.struck(); }
  std::vector<std::uint64_t> commits() const { return faulty_.commits(); }

  // Every row of every table that entries make, and how many entries there are. Where the time is not ours, which is in most
  // rows, only of what kind they are.
  std::string dump() {
    std::string out;
    const auto reader = store_->reader();
    CHECK(reader.has_value());
    out += std::to_string((*reader)->head()->size) + " entries\n";
    for (const store::Table* table : store::all_tables()) {
      if (!table->projection) continue;
      CHECK((*reader)->find({.table = *table}, [&](const store::Row& row) {
        out += table->name;
        if (table == &store::tables::kWorkItems) out += " " + std::get<std::string>(row[5]);
        if (has_our_clock_)
          for (const store::Value& value : row) {
            if (const auto* number = std::get_if<std::int64_t>(&value)) out += " " + std::to_string(*number);
            else if (const auto* text = std::get_if<std::string>(&value)) out += " " + *text;
          }
        out += "\n";
        return true;
      }));
    }
    return out;
  }

  // How many refusals of access the ledger tells of.
  std::uint64_t refusals() {
    std::uint64_t count = 0;
    const auto reader = store_->reader();
    CHECK(reader.has_value());
    CHECK((*reader)->entries(1, INT64_MAX, [&](const store::EntryRow& row) {
      if (row.type != kAccessRefused) return true;
      const auto payload = json::parse(row.payload);
      count += 1 + std::stoull(std::string(payload->root()["also"].number_text()));
      return true;
    }));
    return count;
  }

  void expect_whole() {
    const auto report = verify(*store_, {});
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_FALSE(report->broken) << report->broken->diagnostic.message;
    const auto scratch = store::make_memory_store(clock);
    const auto rebuilt = rebuild_and_compare(*store_, *scratch);
    ASSERT_TRUE(rebuilt) << rebuilt.error().text();
    EXPECT_FALSE(rebuilt->difference) << rebuilt->difference->message;
  }

  // --- short ways -------------------------------------------------------------------------------------------------------

  std::string create(Phase phase, std::vector<std::string> depends_on = {}, std::string pr_url = {}) {
    work::NewWork asked;
    asked.title = "Something to do";
    asked.phase = phase;
    asked.depends_on = std::move(depends_on);
    asked.pr_url = std::move(pr_url);
    return text_at(ask([&](Answered done) { cases->create(as_operator(), asked, std::move(done)); }), "/work/id");
  }
  void claim(const std::string& id) {
    ClaimRequest asked;
    asked.work_id = id;
    const auto answer = ask([&](Answered done) { cases->claim(alice(), asked, std::move(done)); });
    session = text_at(answer, "/session/id");
    agent = text_at(answer, "/session/agent_id");
  }
  static Mutation alice() {
    Mutation by = as("alice");
    by.caller.actor.names = {"agt_alice"};
    return by;
  }
  static Mutation once(Mutation by) { return with_key(std::move(by), "once", "the request"); }
  Result<Answer> hand_off(const std::string& text) {
    return ask([&](Answered done) { cases->hand_off(once(alice()), session, text, std::move(done)); });
  }

  void activate_workflow() {
    const contract::SourceFile file{
        "a.yaml",
        "scenario: a\nworkflow:\n  roles: [{name: hand, session_contract: hand.yaml}]\n"
        "  handoffs: [{from: hand, to: hand}]\n  shared_resources: [{alias: thing, mode: single_writer}]\n"
        "  cancellation: {subtree_kill: true}\n"
        "packs:\n  hand: {session: {risk_defaults: {write: allow}, resources: {thing: {type: t, extract_from: {path: "
        "$.k}}}}, contracts: [{tool: edit, side_effect: write}]}\nevents: []\n"};
    const auto compiled = contract::compile_scenario(file, "");
    CHECK(compiled.workflow != nullptr);
    ask([&](Answered done) {
      cases->activate_workflow(as_operator(), *compiled.source.workflow, "", std::move(done));
    });
  }
  void start_workflow() {
    activate_workflow();
    const auto started =
        ask([&](Answered done) { cases->start_workflow(as_operator(), {"scenario", "", {}}, std::move(done)); });
    root = session = text_at(started, "/session/id");
    workflow = text_at(started, "/workflow/id");
  }
  // By the newest session.
  void offer() {
    OfferRequest asked;
    asked.to = "hand";
    asked.artifacts.set("task", "do it");
    handoff = text_at(
        ask([&](Answered done) { cases->offer(in_session(alice(), session), session, asked, std::move(done)); }),
        "/handoff/id");
  }

  FixedClock clock{{1'800'000'000'000'000'000}};
  workspace::Config config;
  std::unique_ptr<UseCases> cases;
  std::string session, agent, token_id;
  std::string workflow, root, handoff;

 private:
  TemporaryFolder keys_;
  SequenceRandom random_;
  const bool has_our_clock_;
  std::unique_ptr<store::TestStore> made_;
  store::Store* const store_;
  store::FaultyStore faulty_;
  std::unique_ptr<Ledger> ledger_;
};

struct Case {
  std::string name;
  Attempt::Setup setup;
  Attempt::Step step;

  friend void PrintTo(const Case& each, std::ostream* out) { *out << each.name; }
};

std::vector<Case> all_cases() {
  const auto nothing = [](Attempt&) {};
  const auto claimed = [](Phase phase) { return [phase](Attempt& run) { run.claim(run.create(phase)); }; };
  return {
      {"create", [](Attempt& run) { run.create(Phase::Draft); },
       [](Attempt& run) {
         work::NewWork asked;
         asked.title = "new";
         asked.depends_on = {"W-1"};
         return ask([&](Answered done) { run.cases->create(Attempt::once(as_operator()), asked, std::move(done)); });
       }},
      {"claim_next",
       [](Attempt& run) {
         run.create(Phase::Draft);
         run.create(Phase::ReadyForReview);
       },
       [](Attempt& run) {
         return ask([&](Answered done) { run.cases->claim(Attempt::once(Attempt::alice()), {}, std::move(done)); });
       }},
      {"claim_of_what_is_overdue",
       [](Attempt& run) {
         run.claim(run.create(Phase::Draft));
         run.clock.advance(3600 * kNanosecondsPerSecond);
       },
       [](Attempt& run) {
         return ask([&](Answered done) { run.cases->claim(Attempt::once(as("bob")), {}, std::move(done)); });
       }},
      {"take_over", claimed(Phase::Draft),
       [](Attempt& run) {
         ClaimRequest asked;
         asked.work_id = "W-1";
         return ask([&](Answered done) { run.cases->claim(Attempt::once(Attempt::alice()), asked, std::move(done)); });
       }},
      {"signal_that_completes",
       [](Attempt& run) {
         const std::string id = run.create(Phase::ReadyForMerge);
         run.create(Phase::Draft, {id});
         run.create(Phase::Draft, {id});
         run.claim(id);
       },
       [](Attempt& run) { return run.hand_off(signal("READY_FOR_MERGE")); }},
      {"contract_with_context", claimed(Phase::Draft),
       [](Attempt& run) {
         return run.hand_off(contract(run.agent, "COMPLETE",
                                      R"(,"update_contracts":[{"contract":"project","payload":{"language":"C++"}}])"));
       }},
      {"contract_that_asks", claimed(Phase::Draft),
       [](Attempt& run) { return run.hand_off(contract(run.agent, "NEEDS_INPUT")); }},
      {"packet", claimed(Phase::Draft),
       [](Attempt& run) { return run.hand_off(packet({.labels = R"(["external"])"}, run.clock.now())); }},
      {"renew",
       [](Attempt& run) {
         run.claim(run.create(Phase::Draft));
         run.clock.advance(kNanosecondsPerSecond);
       },
       [](Attempt& run) {
         return ask([&](Answered done) {
           run.cases->renew(Attempt::once(Attempt::alice()), run.session, 0, std::move(done));
         });
       }},
      {"release", claimed(Phase::Draft),
       [](Attempt& run) {
         return ask([&](Answered done) {
           run.cases->release(Attempt::once(Attempt::alice()), run.session, "", std::move(done));
         });
       }},
      {"abandon", claimed(Phase::Draft),
       [](Attempt& run) {
         return ask([&](Answered done) {
           run.cases->end(Attempt::once(Attempt::alice()), run.session, SessionEnd::Abandoned, "gone", std::move(done));
         });
       }},
      {"fail", claimed(Phase::Draft),
       [](Attempt& run) {
         return ask([&](Answered done) {
           run.cases->end(Attempt::once(Attempt::alice()), run.session, SessionEnd::Failed, "no block",
                          std::move(done));
         });
       }},
      {"commit", [](Attempt& run) { run.create(Phase::CiPending); },
       [](Attempt& run) {
         return ask([&](Answered done) {
           run.cases->see_commit(Attempt::once(as_operator()), "W-1", std::string(40, 'a'), std::move(done));
         });
       }},
      {"signal_of_ci", [](Attempt& run) { run.create(Phase::CiPending); },
       [](Attempt& run) {
         return ask([&](Answered done) {
           run.cases->hand_off_as_ci(Attempt::once(as_ci()), "W-1", signal("CI_PENDING"), std::move(done));
         });
       }},
      {"answer",
       [](Attempt& run) {
         run.claim(run.create(Phase::Draft));
         ask([&](Answered done) {
           run.cases->hand_off(Attempt::alice(), run.session, contract(run.agent, "NEEDS_INPUT"), std::move(done));
         });
       },
       [](Attempt& run) {
         return ask(
             [&](Answered done) { run.cases->answer(Attempt::once(as_operator()), "W-1", "blue", std::move(done)); });
       }},
      {"unblock",
       [](Attempt& run) {
         run.claim(run.create(Phase::Draft));
         ask([&](Answered done) {
           run.cases->hand_off(Attempt::alice(), run.session, signal("DRAFT", "error"), std::move(done));
         });
       },
       [](Attempt& run) {
         return ask(
             [&](Answered done) { run.cases->unblock(Attempt::once(as_operator()), "W-1", {}, "", std::move(done)); });
       }},
      {"abort", claimed(Phase::Draft),
       [](Attempt& run) {
         return ask(
             [&](Answered done) { run.cases->abort(Attempt::once(as_operator()), "W-1", "no", std::move(done)); });
       }},
      {"ci", [](Attempt& run) { run.create(Phase::CiPending); },
       [](Attempt& run) {
         work::CiReport report;
         report.kind = "api";
         report.conclusion = "success";
         return ask(
             [&](Answered done) { run.cases->report_ci(Attempt::once(as_ci()), "W-1", report, std::move(done)); });
       }},
      {"delivery", [](Attempt& run) { run.create(Phase::CiPending, {}, "https://github.com/acme/site/pull/7"); },
       [](Attempt& run) {
         const CiDelivery delivery{.delivery_id = "d",
                                   .kind = "check_suite",
                                   .action = "completed",
                                   .repository = "acme/site",
                                   .pull_requests = {7},
                                   .name = "all",
                                   .conclusion = "success",
                                   .commit = {},
                                   .at = run.clock.now(),
                                   .body_sha256 = std::string(64, '7')};
         return ask([&](Answered done) { run.cases->take_delivery(delivery, std::move(done)); });
       }},
      {"token", nothing,
       [](Attempt& run) {
         TokenRequest asked;
         asked.actor_id = "bob";
         return ask(
             [&](Answered done) { run.cases->create_token(Attempt::once(as_operator()), asked, std::move(done)); });
       }},
      {"revoke",
       [](Attempt& run) {
         TokenRequest asked;
         asked.actor_id = "bob";
         run.token_id = text_at(
             ask([&](Answered done) { run.cases->create_token(as_operator(), asked, std::move(done)); }), "/id");
       },
       [](Attempt& run) {
         return ask([&](Answered done) {
           run.cases->revoke_token(Attempt::once(as_operator()), run.token_id, std::move(done));
         });
       }},
      {"process", claimed(Phase::Draft),
       [](Attempt& run) {
         return ask([&](Answered done) {
           run.cases->register_process(Attempt::once(Attempt::alice()), run.session, {"boot", 1, 2}, std::move(done));
         });
       }},
      // Two transactions, so that leases end whatever becomes of the rest: each by itself.
      {"sweep_of_leases",
       [](Attempt& run) {
         run.claim(run.create(Phase::Draft));
         run.clock.advance(3600 * kNanosecondsPerSecond);
       },
       [](Attempt& run) { return ask([&](Answered done) { run.cases->sweep(10, std::move(done)); }); }},
      {"sweep_of_answers",
       [](Attempt& run) {
         work::NewWork asked;
         asked.title = "kept";
         // A name that sounds like a secret's: what is forgotten is still found.
         ask([&](Answered done) { run.cases->create(Attempt::once(as("deploy-token")), asked, std::move(done)); });
         run.clock.advance(48 * 3600 * kNanosecondsPerSecond);
       },
       [](Attempt& run) { return ask([&](Answered done) { run.cases->sweep(10, std::move(done)); }); }},
      {"start_of_a_workflow", [](Attempt& run) { run.activate_workflow(); },
       [](Attempt& run) {
         return ask([&](Answered done) {
           run.cases->start_workflow(Attempt::once(as_operator()), {"scenario", "", {}}, std::move(done));
         });
       }},
      {"claim_of_a_handoff",
       [](Attempt& run) {
         run.start_workflow();
         run.offer();
       },
       [](Attempt& run) {
         return ask([&](Answered done) {
           run.cases->claim_handoff(Attempt::once(Attempt::alice()), {run.handoff, {}}, std::move(done));
         });
       }},
      {"last_word_of_a_child_that_names_a_role",
       [](Attempt& run) {
         run.start_workflow();
         run.offer();
         const auto claimed = ask(
             [&](Answered done) { run.cases->claim_handoff(Attempt::alice(), {run.handoff, {}}, std::move(done)); });
         run.session = text_at(claimed, "/session/id");
         run.agent = text_at(claimed, "/session/agent_id");
       },
       [](Attempt& run) {
         return run.hand_off(contract(run.agent, "COMPLETE",
                                      R"(,"consolidation_report":{"ownership_assessment":"owned_here",)"
                                      R"("confirmed_findings":[],"suspected_findings":[],"conflicts":[],)"
                                      R"("open_gaps":[],"next_best_agent":"hand"})"));
       }},
      // What ends: a session with a call under way, its offer, its handoff, and its child with it.
      {"kill_of_a_subtree",
       [](Attempt& run) {
         run.start_workflow();
         for (int i = 0; i < 2; ++i) {
           run.offer();
           run.session = text_at(ask([&](Answered done) {
                                   run.cases->claim_handoff(Attempt::alice(), {run.handoff, {}}, std::move(done));
                                 }),
                                 "/session/id");
         }
         run.offer();
         ask([&](Answered done) {
           run.cases->govern_call(in_session(Attempt::alice(), run.session), run.session,
                                  R"({"start":true,"calls":[{"call_id":"c","tool":"edit","arguments":{"k":1}}]})",
                                  std::move(done));
         });
       },
       [](Attempt& run) {
         return ask([&](Answered done) {
           run.cases->kill_workflow(Attempt::once(as_operator()),
                                    {run.workflow, run.root, workflow::Scope::Subtree, {}}, std::move(done));
         });
       }},
  };
}

// With a fault at every `stride`-th operation, and at every commit.
void expect_nothing_half_done(const Case& each, const store::Backend& backend, std::uint64_t stride = 1) {
  std::uint64_t first = 0, last = 0;
  std::string before, after;
  std::vector<std::uint64_t> commits;
  {
    // What a process compiles once and keeps is not read again: every run that counts comes after that.
    Attempt run(backend, {});
    each.setup(run);
    each.step(run);
  }
  {
    Attempt run(backend, {});
    each.setup(run);
    first = run.operations() + 1;
    before = run.dump();
    const auto answer = each.step(run);
    ASSERT_EQ(outcome(answer), "taken");
    last = run.operations();
    after = run.dump();
    commits = run.commits();
    run.expect_whole();
    ASSERT_NE(before, after);
    ASSERT_GT(last, first + 5);
  }
  const auto try_with = [&](store::Fault fault) {
    SCOPED_TRACE("operation " + std::to_string(fault.at) + " of " + std::to_string(first) + " to " +
                 std::to_string(last));
    Attempt run(backend, fault);
    each.setup(run);
    ASSERT_EQ(run.operations() + 1, first) << "the same every time";
    const auto answer = each.step(run);
    ASSERT_TRUE(run.struck());
    const std::string now = run.dump();
    if (answer) {
      EXPECT_EQ(outcome(answer), "taken");
      EXPECT_EQ(now, after) << "told that it is done";
    }
    EXPECT_TRUE(now == before || now == after) << "half done:\n" << now;
    run.expect_whole();
    // Tried again, it is done: once.
    const auto again = each.step(run);
    EXPECT_EQ(outcome(again), "taken") << (again ? "" : again.error().text());
    if (now == after) {
      EXPECT_EQ(run.dump(), after) << "done twice";
    }
    EXPECT_NE(run.dump(), before);
    run.expect_whole();
  };
  for (std::uint64_t at = first; at <= last; at += stride)
    try_with({.at = at, .failure = {"writing", "the disk is gone", "STORE_IO"}});
  for (const std::uint64_t at : commits)
    if (at >= first)
      try_with(
          {.at = at, .failure = {"committing", "the connection was lost", "STORE_UNAVAILABLE"}, .after_commit = true});
}

// What is compared are rows with times in them, so that the time has to be ours.
std::vector<store::Backend> backends_with_our_clock() {
  std::vector<store::Backend> all = store::backends();
  std::erase_if(all, [](const store::Backend& each) { return !each.takes_our_clock; });
  return all;
}

class CasesFaults : public ::testing::TestWithParam<std::tuple<Case, store::Backend>> {};
INSTANTIATE_TEST_SUITE_P(All, CasesFaults,
                         ::testing::Combine(::testing::ValuesIn(all_cases()),
                                            ::testing::ValuesIn(backends_with_our_clock())),
                         [](const auto& each) {
                           return std::get<Case>(each.param).name + "_on_" + std::get<store::Backend>(each.param).name;
                         });

TEST_P(CasesFaults, nothing_is_half_done) {
  const auto& [each, backend] = GetParam();
  expect_nothing_half_done(each, backend);
}

// A store behind a server is made anew for each try, which takes its time: what hands over, and at every second operation.
class ServerFaults : public ::testing::TestWithParam<store::Backend> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ServerFaults);
INSTANTIATE_TEST_SUITE_P(Backends, ServerFaults, ::testing::ValuesIn([] {
                           std::vector<store::Backend> all = store::backends();
                           std::erase_if(all, [](const store::Backend& each) { return each.takes_our_clock; });
                           return all;
                         }()),
                         [](const auto& each) { return each.param.name; });

TEST_P(ServerFaults, nothing_is_half_done) {
  for (const Case& each : all_cases()) {
    if (each.name != "signal_that_completes" && each.name != "take_over" && each.name != "delivery") continue;
    SCOPED_TRACE(each.name);
    expect_nothing_half_done(each, GetParam(), 2);
  }
}

// A refusal that could not be written down is counted, and written down later.
TEST(RefusalFaults, no_refusal_is_lost) {
  const store::Backend memory = store::backends().front();
  // The refusal is in a batch of its own, so that every run counts the same operations: whoever comes behind it waits until it
  // was written or struck, and is told after what became of it.
  const auto refuse = [](Attempt& run) {
    run.cases->note_refusal(kAccessRefused, as("mallory").caller, "GET /", {report(Code::TOKEN_UNKNOWN, {})});
    for (int i = 0; i < 10'000 && run.refusals() == 0 && !run.struck(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    run.create(Phase::Draft);
  };
  std::uint64_t first = 0, last = 0;
  {
    Attempt run(memory, {});
    first = run.operations() + 1;
    refuse(run);
    last = run.operations();
    EXPECT_EQ(run.refusals(), 1u);
  }
  std::size_t late = 0;
  for (std::uint64_t at = first; at <= last; ++at) {
    SCOPED_TRACE(at);
    Attempt run(memory, {.at = at, .failure = {"writing", "the disk is gone", "STORE_IO"}});
    refuse(run);
    late += run.refusals() == 0 ? 1 : 0;
    run.clock.advance(2 * kNanosecondsPerSecond);
    for (int i = 0; i < 2; ++i) ask([&](Answered done) { run.cases->sweep(10, std::move(done)); });
    EXPECT_EQ(run.refusals(), 1u);
  }
  EXPECT_GT(late, 0u) << "no fault struck a refusal";
}

}  // namespace
}  // namespace baton::runtime
