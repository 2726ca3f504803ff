// SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"
#include "http_api/handlers.h"
#include "net/process.h"
#include "runtime/work_events.h"

namespace baton::http_api::handlers {
namespace {

runtime::UseCases& cases(const AskedPtr& asked) { return asked->workings().around.cases; }

}  // namespace

void show_session(const AskedPtr& asked) {
  read_one_and_answer(
      asked,
      [](Asked& a) -> Result<std::optional<json::Value>> {
        auto found = a.workings().around.cases.show_session(a.id);
        if (!found) return tl::make_unexpected(found.error());
        if (!*found || (*found)->find("session") != nullptr) return found;
        json::Value out = json::Value::object();
        out.set("session", std::move(**found));
        return out;
      },
      [](const Asked& a) { return report(Code::REQUEST_NOT_FOUND, {}, {{"what", "session"}, {"name", a.id}}); });
}

void renew_session(const AskedPtr& asked) {
  const std::int64_t ttl = asked->body.integer("ttl_seconds").value_or(0) * kNanosecondsPerSecond;
  cases(asked).renew(asked->mutation(), asked->id, ttl, settle(asked));
}

void release_session(const AskedPtr& asked) {
  cases(asked).release(asked->mutation(), asked->id, asked->body.text("reason"), settle(asked));
}

void hand_off(const AskedPtr& asked) {
  // What it claims is held against the record first.
  read_then(asked, [](const AskedPtr& one) {
    cases(one).hand_off(one->mutation(), one->id, one->request().body, settle(one));
  });
}

void end_session(const AskedPtr& asked) {
  const auto how = asked->body.text("how") == "failed" ? runtime::SessionEnd::Failed : runtime::SessionEnd::Abandoned;
  cases(asked).end(asked->mutation(), asked->id, how, asked->body.text("output"), settle(asked));
}

void register_process(const AskedPtr& asked) {
  const net::Peer& peer = asked->request().peer;
  const std::int64_t pid = asked->body.integer("pid").value_or(0);
  const auto refuse = [&](std::string_view problem) {
    asked->refuse(
        {report(Code::REQUEST_PROCESS, place_named("/pid"), {{"pid", std::to_string(pid)}, {"problem", problem}})});
  };
  if (!peer.local) return refuse("is not known to be the caller's: the request did not come by the socket");
  const auto process = net::process_id(pid), caller = net::process_id(peer.pid);
  if (!process || !caller || caller->start_ticks != peer.started) return refuse("is not there");
  // Both with the time they began: an id that is used again is another process.
  const net::Ancestry above = net::ancestry(pid);
  if (above.processes.empty() || above.processes.front() != *process || !above.contains(*caller))
    return refuse("does not descend from the caller");
  const runtime::ProcessMark mark{
      .boot_id = asked->workings().around.boot_id, .pid = process->pid, .started = process->start_ticks};
  cases(asked).register_process(
      asked->mutation(), asked->id, mark, [asked, mark](const Result<runtime::Answer>& result) {
        // Whoever is told that it is registered lets the agent go: it must count here and now. Other nodes have it from the feed.
        if (result && result->refused.empty()) {
          json::Value payload = json::Value::object();
          payload.set("boot_id", mark.boot_id);
          payload.set("pid", mark.pid);
          payload.set("started", mark.started);
          payload.set("session_id", asked->id);
          asked->workings().around.access.learn(runtime::kProcessRegistered, json::write(payload));
        }
        asked->settle(result);
      });
}

// --- context ------------------------------------------------------------------------------------------------------------

namespace {

runtime::UseCases& cases_of(Asked& asked) { return asked.workings().around.cases; }

Diagnostic no_section(const Asked& asked) {
  return report(Code::REQUEST_NOT_FOUND, {}, {{"what", "context section"}, {"name", asked.id}});
}

}  // namespace

void list_context(const AskedPtr& asked) {
  read_and_answer(asked, [](Asked& a) { return a.workings().around.cases.list_context(a.caller); });
}

void show_context(const AskedPtr& asked) {
  read_labelled(
      asked, "context/" + asked->id, [](Asked& a) { return cases_of(a).show_context(a.caller, a.id); }, no_section);
}

void context_history(const AskedPtr& asked) {
  read_labelled(
      asked, "context/" + asked->id,
      [](Asked& a) {
        return cases_of(a).context_history(a.caller, a.id,
                                           static_cast<std::size_t>(a.query.integer("limit").value_or(20)));
      },
      no_section);
}

}  // namespace baton::http_api::handlers
