// SPDX-License-Identifier: Apache-2.0
// A ledger and its use cases on a store, and short ways to ask them.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "dialects/uaix/packet.h"
#include "json/parse.h"
#include "runtime/ledger.h"
#include "runtime/rebuild.h"
#include "runtime/use_cases.h"
#include "runtime/verify.h"
#include "store/memory/memory_store.h"
#include "store_backends.h"
#include "temporary_folder.h"

namespace baton::runtime {

// Waits for the answer of a call that takes `done` last.
template <class Call>
Result<Answer> ask(const Call& call) {
  std::promise<Result<Answer>> told;
  call([&](Result<Answer> answer) { told.set_value(std::move(answer)); });
  return told.get_future().get();
}

inline Mutation as(std::string actor, work::ActorKind kind = work::ActorKind::Agent) {
  Mutation by;
  by.caller.actor = {std::move(actor), kind};
  by.caller.grant.is_host =
      true;  // it names the role and the principal of each session; tests of who may, say otherwise
  return by;
}
inline Mutation as_operator() { return as("oscar", work::ActorKind::Operator); }
inline Mutation as_ci() { return as("ci-bot", work::ActorKind::Ci); }
inline Mutation with_key(Mutation by, std::string key, std::string request) {
  by.idempotency_key = std::move(key);
  by.request_sha256 = sha256_hex(request);
  return by;
}
inline Mutation in_session(Mutation by, std::string session_id) {
  by.caller.session_id = std::move(session_id);
  by.caller.supervised = true;
  return by;
}

inline std::vector<std::string> codes(const std::vector<Diagnostic>& diagnostics) {
  std::vector<std::string> out;
  for (const Diagnostic& one : diagnostics) out.emplace_back(info(one.code).name);
  return out;
}

// The first code an answer was refused with; "taken" when it was not.
inline std::string outcome(const Result<Answer>& answer) {
  if (!answer) return "failed: " + answer.error().text();
  return answer->refused.empty() ? "taken" : std::string(info(answer->refused.front().code).name);
}

inline std::string text_at(const json::Value& value, std::string_view pointer) {
  const json::Value* found = value.find_at(pointer);
  if (found == nullptr) return "(nothing)";
  return found->is_string() ? found->string() : json::write(*found);
}
inline std::string text_at(const Result<Answer>& answer, std::string_view pointer) {
  return answer ? text_at(answer->body, pointer) : "failed: " + answer.error().text();
}

inline std::string signal(std::string_view phase, std::string_view reason = "completed", std::string_view more = "") {
  return R"({"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":")" + std::string(phase) +
         R"(","exit_reason":")" + std::string(reason) + "\"" + std::string(more) + "}";
}

// A contract block by `agent_id`; `more` are further members.
inline std::string contract(std::string_view agent_id, std::string_view status, std::string_view more = "",
                            std::string_view gaps = "[]") {
  return "Here is what I did.\n```agent_contract_handoff\n{\"agent_status\":{\"plan_status\":\"" + std::string(status) +
         "\",\"agent_id\":\"" + std::string(agent_id) +
         "\",\"pending_steps\":[],\"next_action\":\"go on\"},\"evidence_report\":{\"patterns_checked\":[],"
         "\"files_checked\":[],\"commands_run\":[],\"key_outputs\":[],\"verbatim_outputs\":[],\"cross_layer_impacts\":"
         "[],\"open_gaps\":" +
         std::string(gaps) + ",\"verification\":{\"result\":\"pass\"}}" + std::string(more) + "}\n```\n";
}

struct PacketParts {
  std::string message_id = "msg_handoff_0001", key = "idem_handoff_0001";
  std::string source = "agt_alice", target = "agt_bob";
  std::string summary = "The work is prepared and waits for the next one.";
  int retry_count = 0;
  std::string labels = "[]";
};
// A sealed UAIX handoff that is valid around `now` and expires an hour later.
inline std::string packet(const PacketParts& parts, Time now) {
  const auto party = [](const std::string& id) {
    return R"({"type":"agent","id":")" + id + R"(","label":"An agent","role":"builder","project":"demo"})";
  };
  const std::string text =
      R"({"uai_version":"1.0","profile":"uai.agent.handoff.v1","message_id":")" + parts.message_id + R"(","source":)" +
      party(parts.source) + R"(,"target":)" + party(parts.target) +
      R"(,"conversation":{"conversation_id":"conv_demo_01","turn_id":"turn_1","correlation_id":"corr_demo_01","sequence":1},)"
      R"("delivery":{"mode":"async","priority":"normal","expires_at":")" +
      format_time(now + 3600) +
      R"(","reply_requested":true,"ack_required":true,"task_ref":"task_demo_01","idempotency_key":")" + parts.key +
      R"(","retry_count":)" + std::to_string(parts.retry_count) +
      R"(,"sequence":1,"lifecycle":"transmitted","timeout_ms":1000,"fallback_directive":"Stop and tell the sender.",)"
      R"("expected_output_schema":{"profile":"uai.agent.ack.v1"}},)"
      R"("trust":{"channel":"authenticated","auth_scheme":"https","principal":"https://demo.example","replay_window_id":"rw-demo-01"},)"
      R"("body":{"task_id":"task_demo_01","target_agent_id":")" +
      parts.target + R"(","context_summary":")" + parts.summary +
      R"(","handoff_reason":"continuation_requested","exact_next_action":"Read the notes, then acknowledge.",)"
      R"("delegated_authorization":{"authorization_ref":"ticket-1","secret_values_included":false},)"
      R"("support_boundary":"The target does the work."},"provenance":{"trace_id":"trace_demo_01","issued_at":")" +
      format_time(now) + R"(","log_ref":"urn:demo:log:1","agent_id":")" + parts.source +
      R"(","model_id":"model.demo","confidence":0.9,"lineage":[]},"integrity":{"version":1,"algorithm":"sha256",)"
      R"("canonicalization":"jcs-compatible-sorted-json","checksum":"sha256:)" +
      std::string(64, '0') + R"("},"extensions":)" +
      (parts.labels == "[]" ? "[]"
                            : R"([{"namespace":"urn:baton:ext:labels","purpose":"labels","critical":true,"data":)" +
                                  parts.labels + "}]") +
      "}";
  const auto document = json::parse(text);
  CHECK(document.has_value());
  return json::write(*uaix::seal(json::Value::copy(document->root())));
}

// A store with a ledger and its use cases.
class CasesFixture {
 public:
  explicit CasesFixture(const store::Backend& backend)
      : backend_(backend), clock_({1'800'000'000'000'000'000}), made_(backend.make(clock_, {})) {
    place_.keys = keys_.path();
    config_.policy.exit_protocol = true;
  }

  store::Store& store() { return made_->store(); }
  // What the store says the time is.
  Clock& clock() { return backend_.takes_our_clock ? static_cast<Clock&>(clock_) : system_clock_; }
  bool has_our_clock() const { return backend_.takes_our_clock; }

  UseCases& cases() {
    if (!cases_) {
      auto opened = Ledger::open(store(), clock_, random_, place_);
      CHECK(opened.has_value());
      ledger_ = std::move(*opened);
      cases_ = std::make_unique<UseCases>(store(), *ledger_, clock(), random_, config_);
    }
    return *cases_;
  }

  // Another node on the same store, where several may be; else the same one.
  UseCases& other_cases() {
    if (backend_.takes_our_clock) return cases();
    if (!other_cases_) {
      cases();  // the first makes the ledger
      auto opened = Ledger::open(store(), clock_, random_, place_);
      CHECK(opened.has_value());
      other_ledger_ = std::move(*opened);
      other_cases_ = std::make_unique<UseCases>(store(), *other_ledger_, clock(), random_, config_);
    }
    return *other_cases_;
  }

  // --- short ways ---------------------------------------------------------------------------------------------------------

  std::string create(work::NewWork asked = {}) {
    if (asked.title.empty()) asked.title = "Something to do";
    const auto answer = ask([&](Answered done) { cases().create(as_operator(), asked, std::move(done)); });
    EXPECT_EQ(outcome(answer), "taken");
    return text_at(answer, "/work/id");
  }
  std::string create_in(work::Phase phase) {
    work::NewWork asked;
    asked.phase = phase;
    return create(asked);
  }
  Result<Answer> claim(const Mutation& by, std::string work_id = {}, std::vector<work::Phase> phases = {}) {
    ClaimRequest asked;
    asked.work_id = std::move(work_id);
    asked.phases = std::move(phases);
    return ask([&](Answered done) { cases().claim(by, asked, std::move(done)); });
  }
  Result<Answer> hand_off(const Mutation& by, const std::string& session_id, std::string text) {
    return ask([&](Answered done) { cases().hand_off(by, session_id, std::move(text), std::move(done)); });
  }
  Result<Answer> sweep() {
    return ask([&](Answered done) { cases().sweep(100, std::move(done)); });
  }
  json::Value show(std::string_view work_id) {
    const auto shown = cases().show(work_id);
    EXPECT_TRUE(shown && *shown);
    return shown && *shown ? **shown : json::Value();
  }
  std::string phase_of(std::string_view work_id) { return text_at(show(work_id), "/phase"); }

  std::vector<std::string> entry_types() {
    std::vector<std::string> out;
    for_entries([&](const store::EntryRow& row) { out.emplace_back(row.type); });
    return out;
  }
  std::size_t count_entries(std::string_view type) {
    std::size_t count = 0;
    for_entries([&](const store::EntryRow& row) { count += row.type == type; });
    return count;
  }
  template <class Take>
  void for_entries(Take take) {
    const auto reader = store().reader();
    ASSERT_TRUE(reader);
    ASSERT_TRUE((*reader)->entries(1, INT64_MAX, [&](const store::EntryRow& row) {
      take(row);
      return true;
    }));
  }

  // The chain is whole, and every table is what the ledger makes of it.
  void expect_whole() {
    const auto report = verify(store(), {});
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_FALSE(report->broken) << report->broken->diagnostic.message;
    const auto scratch = store::make_memory_store(clock_);
    const auto rebuilt = rebuild_and_compare(store(), *scratch);
    ASSERT_TRUE(rebuilt) << rebuilt.error().text();
    EXPECT_FALSE(rebuilt->difference) << rebuilt->difference->message;
  }

  store::Backend backend_;
  TemporaryFolder keys_;
  FixedClock clock_;
  SystemClock system_clock_;
  SystemRandom random_;
  LedgerPlace place_;
  workspace::Config config_;
  std::unique_ptr<store::TestStore> made_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<UseCases> cases_;
  std::unique_ptr<Ledger> other_ledger_;
  std::unique_ptr<UseCases> other_cases_;
};

}  // namespace baton::runtime
