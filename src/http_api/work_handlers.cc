// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/limits.h"
#include "dialects/agent_exit/phase.h"
#include "http_api/handlers.h"
#include "http_api/problem.h"
#include "json/parse.h"

namespace baton::http_api::handlers {
namespace {

runtime::UseCases& cases(const AskedPtr& asked) { return asked->workings().around.cases; }

// A phase the table has checked already; nothing when none was given.
std::optional<work::Phase> phase_in(const std::string& name) {
  return name.empty() ? std::nullopt : agent_exit::find_phase(name);
}

void claim(const AskedPtr& asked, runtime::ClaimRequest request) {
  request.role = asked->body.text("role");
  request.ttl = asked->body.integer("ttl_seconds").value_or(0) * kNanosecondsPerSecond;
  const std::int64_t wait =
      std::min(asked->body.integer("wait_seconds").value_or(0), cases(asked).config().limits.wait_seconds);
  if (wait <= 0) return cases(asked).claim(asked->mutation(), std::move(request), settle(asked));
  const Surroundings& around = asked->workings().around;
  std::chrono::milliseconds longest = std::chrono::seconds(wait);
  if (const auto until = around.access.good_until(asked->caller))
    longest =
        std::min(longest, std::chrono::milliseconds((until->nanoseconds - around.clock.now().nanoseconds) / 1'000'000));
  auto cancel = around.node.claim_or_wait(asked->mutation(), std::move(request), longest, settle(asked));
  // Revoked since it was let in: the entry that says so may have been seen before this one waited.
  if (!around.access.is_still_good(asked->caller)) cancel();
  asked->exchange()->on_gone(std::move(cancel));
}

}  // namespace

void create_work(const AskedPtr& asked) {
  const Body& body = asked->body;
  work::NewWork work{.id = body.text("id"),
                     .title = body.text("title"),
                     .text = body.text("text"),
                     .phase = phase_in(body.text("phase")).value_or(work::Phase::Draft),
                     .priority = body.integer("priority").value_or(5),
                     .depends_on = body.texts("depends_on"),
                     .labels = body.texts("labels"),
                     .pr_url = body.text("pr_url"),
                     .commit = body.text("commit")};
  cases(asked).create(asked->mutation(), std::move(work), settle(asked));
}

void list_work(const AskedPtr& asked) {
  read_and_answer(asked, [](Asked& a) {
    return a.workings().around.cases.list(a.caller, phase_in(a.query.text("phase")), a.query.text("after"),
                                          static_cast<std::size_t>(a.query.integer("limit").value_or(100)));
  });
}

void show_work(const AskedPtr& asked) {
  read_labelled(
      asked, "work/" + asked->id,
      [](Asked& a) -> Result<runtime::ReadAnswer> {
        auto found = a.workings().around.cases.show(a.caller, a.id);
        if (!found || !found->value) return found;
        json::Value out = json::Value::object();
        out.set("work", std::move(*found->value));
        found->value = std::move(out);
        return found;
      },
      [](const Asked& a) { return report(Code::WORK_UNKNOWN, {}, {{"work", a.id}}); });
}

void claim_next(const AskedPtr& asked) {
  runtime::ClaimRequest request;
  for (const std::string& name : asked->body.texts("phases"))
    if (const auto phase = phase_in(name)) request.phases.push_back(*phase);
  claim(asked, std::move(request));
}

void claim_work(const AskedPtr& asked) { claim(asked, {.work_id = asked->id}); }

void unblock_work(const AskedPtr& asked) {
  cases(asked).unblock(asked->mutation(), asked->id, phase_in(asked->body.text("to")), asked->body.text("note"),
                       settle(asked));
}

void answer_work(const AskedPtr& asked) {
  cases(asked).answer(asked->mutation(), asked->id, asked->body.text("text"), settle(asked));
}

void abort_work(const AskedPtr& asked) {
  cases(asked).abort(asked->mutation(), asked->id, asked->body.text("reason"), settle(asked));
}

void report_ci(const AskedPtr& asked) {
  work::CiReport told{.check = asked->body.text("check"),
                      .kind = "api",
                      .conclusion = asked->body.text("result"),
                      .commit = asked->body.text("commit"),
                      .delivery_id = {}};
  cases(asked).report_ci(asked->mutation(), asked->id, std::move(told), settle(asked));
}

void see_commit(const AskedPtr& asked) {
  const auto see = [](const AskedPtr& by) {
    cases(by).see_commit(by->mutation(), by->id, by->body.text("commit"), settle(by));
  };
  // Whoever may report CI may. A session may for the item it holds, and has to be looked up.
  if (!asked->workings().around.access.check(asked->caller, runtime::Action::ReportCi)) return see(asked);
  read_then(asked, [see](const AskedPtr& by) {
    const auto session = cases(by).show_session(by->caller.session_id);
    if (!session) return by->fail(session.error());
    const auto is = [&](std::string_view name, std::string_view text) {
      const json::Value* member = *session ? (*session)->find(name) : nullptr;
      return member != nullptr && member->is_string() && member->string() == text;
    };
    if (is("work_id", by->id) && (is("state", "open") || is("state", "paused"))) return see(by);
    by->refuse({report(Code::LEASE_STALE, {}, {{"work", by->id}, {"problem", "it is not the one that holds it"}})});
  });
}

void hand_off_as_ci(const AskedPtr& asked) {
  cases(asked).hand_off_as_ci(asked->mutation(), asked->id, asked->request().body, settle(asked));
}

// --- webhooks -----------------------------------------------------------------------------------------------------------

namespace {

// Which repository a webhook says it is about. It is believed only once the signature was right.
std::string repository_in(std::string_view body) {
  const auto document =
      json::parse(body, {.bytes_max = limits::kWebhookBytesMax, .depth_max = limits::kWebhookDepthMax});
  if (!document) return {};
  const json::Node name = document->root()["repository"]["full_name"];
  return name.is_string() ? std::string(name.string()) : std::string();
}

void accepted(const AskedPtr& asked, std::string_view result) {
  json::Value out = json::Value::object();
  out.set("result", result);
  asked->answer(out, 202);
}

}  // namespace

void take_github_webhook(const AskedPtr& asked) {
  const net::ServerRequest& request = asked->request();
  if (request.body.size() > limits::kWebhookBytesMax)
    return asked->refuse({report(Code::HTTP_BODY_TOO_LARGE, {}, {{"problem", "a webhook has at most 1 MiB"}})});
  const std::string_view signature = request.header("X-Hub-Signature-256").value_or("");
  // One answer for everything that is not genuine: it does not tell which repositories are known here.
  if (!asked->workings().around.node.is_genuine(repository_in(request.body), request.body, signature)) {
    const Diagnostic why = report(Code::WEBHOOK_SIGNATURE, {});
    asked->caller.actor.id = "webhook";
    cases(asked).note_refusal("access.refused", asked->caller, "POST /v1/webhooks/github", {why});
    return asked->refuse({why});
  }
  const std::string_view delivery = request.header("X-GitHub-Delivery").value_or("");
  if (delivery.empty() || delivery.size() > limits::kIdempotencyKeyBytesMax)
    return asked->refuse({report(Code::REQUEST_HEADER, {},
                                 {{"header", "X-GitHub-Delivery"}, {"problem", "is not 1 to 128 characters"}})});
  const auto read =
      runtime::read_github_delivery(request.header("X-GitHub-Event").value_or(""), delivery, request.body);
  if (!read) return accepted(asked, "ignored");
  cases(asked).take_delivery(*read, [asked](Result<runtime::Answer> result) {
    if (!result || !result->refused.empty()) return asked->settle(result);
    const json::Value* said = result->body.find("result");
    const json::Value* twice = result->body.find("duplicate");
    if (said != nullptr && said->is_string()) return accepted(asked, said->string());
    accepted(asked, twice != nullptr ? "duplicate" : result->entry ? "moved" : "ignored");
  });
}

}  // namespace baton::http_api::handlers
