// SPDX-License-Identifier: Apache-2.0
// Workflows: started, looked at and ended; handoffs between their sessions, and what is handed over.
#include "http_api/handlers.h"
#include "http_api/object_body.h"
#include "json/parse.h"

namespace baton::http_api::handlers {
namespace {

constexpr std::int64_t kListed = 100;                    // unless told
constexpr std::int64_t kOfferSecondsMax = 366 * 86'400;  // as long as a lease

runtime::UseCases& cases(const AskedPtr& asked) { return asked->workings().around.cases; }

std::size_t limit_of(const Asked& asked) {
  return static_cast<std::size_t>(asked.query.integer("limit").value_or(kListed));
}

void refuse_option(const AskedPtr& asked, std::string_view problem) {
  asked->refuse({report(Code::SESSION_OPTIONS, {}, {{"problem", problem}})});
}

}  // namespace

// --- workflows ------------------------------------------------------------------------------------------------------------

void start_workflow(const AskedPtr& asked) {
  const auto document = object_in(asked);
  if (!document || !has_only(asked, document->root(),
                             {"workflow", "role", "session_id", "labels", "mode", "gate", "principal", "unwrapped"}))
    return;
  auto open = session_in(asked, document->root());
  if (!open) return;
  runtime::StartWorkflow start{text_in(document->root(), "workflow"), text_in(document->root(), "role"),
                               std::move(*open)};
  if (start.workflow.empty()) return refuse_option(asked, "`workflow` says which: its name or its hash");
  cases(asked).start_workflow(asked->mutation(), std::move(start), settle(asked));
}

void list_workflows(const AskedPtr& asked) {
  read_and_answer(
      asked, [](Asked& a) { return a.workings().around.cases.list_workflows(limit_of(a), a.query.text("after")); });
}

void show_workflow(const AskedPtr& asked) {
  read_one_and_answer(
      asked, [](Asked& a) { return a.workings().around.cases.show_workflow(a.caller, a.id); },
      [](const Asked& a) { return report(Code::WORKFLOW_UNKNOWN, {}, {{"workflow", a.id}}); });
}

void kill_workflow(const AskedPtr& asked) {
  runtime::KillWorkflow kill;
  kill.workflow_id = asked->id;
  kill.scope = *workflow::scope_named(asked->body.text("scope"));
  kill.session_id = asked->body.text("session_id");
  if (kill.session_id.empty()) kill.session_id = asked->caller.session_id;
  kill.reason = asked->body.text("reason");
  if (kill.scope != workflow::Scope::Workflow && kill.session_id.empty())
    return refuse_option(asked, "`session_id` says which session is meant");
  cases(asked).kill_workflow(asked->mutation(), std::move(kill), settle(asked));
}

// --- handoffs -------------------------------------------------------------------------------------------------------------

void offer(const AskedPtr& asked) {
  const auto document = object_in(asked);
  if (!document || !has_only(asked, document->root(), {"to", "artifacts", "expires_seconds", "resources"})) return;
  const json::Node root = document->root();
  runtime::OfferRequest offer;
  offer.to = text_in(root, "to");
  if (offer.to.empty()) return refuse_option(asked, "`to` says which role is meant");
  if (root["artifacts"]) {
    if (!root["artifacts"].is_object()) return refuse_option(asked, "`artifacts` is no object of names and values");
    offer.artifacts = json::Value::copy(root["artifacts"]);
  }
  if (root["expires_seconds"]) {
    const auto seconds =
        root["expires_seconds"].is_number() ? parse_integer(root["expires_seconds"].number_text()) : std::nullopt;
    if (!seconds || *seconds < 1 || *seconds > kOfferSecondsMax)
      return refuse_option(asked, "`expires_seconds` is no whole number from 1 to " + std::to_string(kOfferSecondsMax));
    offer.expires_seconds = *seconds;
  }
  for (const json::Node one : root["resources"].elements()) {
    if (!one.is_string()) return refuse_option(asked, "`resources` is no list of names");
    offer.resources.emplace_back(one.string());
  }
  if (root["resources"] && !root["resources"].is_array())
    return refuse_option(asked, "`resources` is no list of names");
  cases(asked).offer(asked->mutation(), asked->id, std::move(offer), settle(asked));
}

void show_artifacts(const AskedPtr& asked) {
  read_then(asked, [](const AskedPtr& by) {
    auto answer = by->workings().around.cases.artifacts(by->caller, by->id, by->query.text("name"));
    if (!answer) return by->fail(answer.error());
    by->settle(std::move(*answer));
  });
}

void list_handoffs(const AskedPtr& asked) {
  read_and_answer(asked, [](Asked& a) {
    const std::string stage = a.query.text("stage");
    return a.workings().around.cases.list_handoffs(stage.empty() ? workflow::name_of(workflow::Stage::Offered) : stage,
                                                   a.query.text("role"), limit_of(a));
  });
}

void claim_handoff(const AskedPtr& asked) {
  const auto document = object_in(asked);
  if (!document ||
      !has_only(asked, document->root(), {"session_id", "labels", "mode", "gate", "principal", "unwrapped"}))
    return;
  auto open = session_in(asked, document->root());
  if (!open) return;
  cases(asked).claim_handoff(asked->mutation(), {asked->id, std::move(*open)}, settle(asked));
}

void acknowledge_handoff(const AskedPtr& asked) {
  cases(asked).acknowledge(asked->mutation(), asked->request().body, settle(asked));
}

void decline_handoff(const AskedPtr& asked) {
  cases(asked).end_offer(asked->mutation(), asked->id, workflow::Event::Decline, settle(asked));
}

void cancel_handoff(const AskedPtr& asked) {
  cases(asked).end_offer(asked->mutation(), asked->id, workflow::Event::Cancel, settle(asked));
}

}  // namespace baton::http_api::handlers
