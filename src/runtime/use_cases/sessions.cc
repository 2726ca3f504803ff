// SPDX-License-Identifier: Apache-2.0
// What the holder of a lease does beside handing over: renew, release, end; and the process that is the agent.
#include "base/limits.h"
#include "runtime/use_cases/inside.h"
#include "runtime/work_events.h"

namespace baton::runtime {
namespace {

// Reads session and item, asks the rule, records what it says, and tells.
template <class Rule, class Tell>
Engine::Body on_session(std::string session_id, Rule rule, Tell tell) {
  return [session_id = std::move(session_id), rule = std::move(rule), tell](Act& act) -> Result<void> {
    auto held = act.holding(session_id);
    if (!held) return tl::make_unexpected(held.error());
    if (!*held) return {};
    auto& [session, item] = **held;
    const auto allowed = act.record(rule(act, session, item), item);
    if (!allowed) return tl::make_unexpected(allowed.error());
    if (*allowed) tell(act.answer.body, item);
    return {};
  };
}

void tell_work(json::Value& body, const work::Item& item) { body.set("work", shown(item)); }

void tell_expiry(json::Value& body, const work::Item& item) {
  body.set("expires_at", format_time(item.lease->expires_at));
}

}  // namespace

void UseCases::renew(const Mutation& by, std::string session_id, std::int64_t ttl, Answered done) {
  std::vector<Read> reads = reads_of_session(session_id);
  inside_->run(by,
               on_session(
                   std::move(session_id),
                   [ttl](const Act& act, const work::Session& session, const work::Item& item) {
                     return work::renew(item, session, ttl, act.policy(), act.now);
                   },
                   tell_expiry),
               std::move(done), {.reads = std::move(reads)});
}

void UseCases::release(const Mutation& by, std::string session_id, std::string reason, Answered done) {
  std::vector<Read> reads = reads_of_session(session_id);
  inside_->run(by,
               on_session(
                   std::move(session_id),
                   [reason = std::move(reason)](const Act& act, const work::Session& session, const work::Item& item) {
                     return work::release(item, session, reason, act.now);
                   },
                   tell_work),
               std::move(done), {.reads = std::move(reads)});
}

void UseCases::end(const Mutation& by, std::string session_id, SessionEnd how, std::string output, Answered done) {
  std::vector<Read> reads = reads_of_session(session_id);
  inside_->run(
      by,
      on_session(
          std::move(session_id),
          [how, output = std::move(output)](const Act& act, const work::Session& session, const work::Item& item) {
            return how == SessionEnd::Abandoned ? work::abandon(item, session, output, act.policy(), act.now)
                                                : work::fail(item, session, output, act.now);
          },
          tell_work),
      std::move(done), {.reads = std::move(reads)});
}

void UseCases::register_process(const Mutation& by, std::string session_id, ProcessMark process, Answered done) {
  inside_->run(
      by,
      [session_id = std::move(session_id), process = std::move(process)](Act& act) -> Result<void> {
        auto held = act.holding(session_id);
        if (!held) return tl::make_unexpected(held.error());
        if (!*held) return {};
        json::Value payload = json::Value::object();
        payload.set("boot_id", process.boot_id);
        payload.set("pid", process.pid);
        payload.set("started", process.started);
        payload.set("session_id", session_id);
        payload.set("at", format_time(act.now));
        auto done = act.append(std::string(kProcessesStream), kProcessRegistered, std::move(payload), Act::Is::Main,
                               {"/boot_id", "/session_id"});
        if (done) act.answer.body.set("session_id", session_id);
        return done;
      },
      std::move(done));
}

}  // namespace baton::runtime
