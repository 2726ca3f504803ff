// SPDX-License-Identifier: Apache-2.0
// Governed sessions, their packs and what people are asked. Calls, arguments and outputs are nested as deeply as tools want them, so
// these bodies are read as documents (session/door.h has their form), not member by member.
#include "base/limits.h"
#include "contract/compile.h"
#include "http_api/handlers.h"
#include "http_api/object_body.h"
#include "json/parse.h"
#include "runtime/packs.h"
#include "session/door.h"

namespace baton::http_api::handlers {
namespace {

runtime::UseCases& cases(const AskedPtr& asked) { return asked->workings().around.cases; }

void activate_workflow(const AskedPtr& asked, json::Node root) {
  if (root["pack"] || root["role"])
    return asked->refuse({report(Code::SESSION_OPTIONS, {},
                                 {{"problem", "a workflow brings the packs of its roles: no `pack`, no `role`"}})});
  auto source = runtime::read_workflow_text(json::write(json::Value::copy(root["workflow"])));
  if (!source)
    return asked->refuse({report(
        Code::SESSION_OPTIONS, {},
        {{"problem", "`workflow` has no `workflow` with name and text, or a pack of `packs` has no `contracts`"}})});
  cases(asked).activate_workflow(asked->mutation(), std::move(*source), text_in(root, "hash"), settle(asked),
                                 text_in(root, "folder"));
}

}  // namespace

void activate_pack(const AskedPtr& asked) {
  const auto document = object_in(asked);
  if (!document || !has_only(asked, document->root(), {"role", "hash", "pack", "workflow", "folder"})) return;
  const json::Node root = document->root();
  if (root["workflow"]) return activate_workflow(asked, root);
  auto pack = runtime::read_pack_text(json::write(json::Value::copy(root["pack"])));
  if (!pack)
    return asked->refuse(
        {report(Code::SESSION_OPTIONS, {}, {{"problem", "`pack` has no `contracts`, each with name and text"}})});
  cases(asked).activate_pack(asked->mutation(), std::move(*pack), text_in(root, "role"), text_in(root, "hash"),
                             settle(asked), text_in(root, "folder"));
}

void list_packs(const AskedPtr& asked) {
  read_and_answer(asked, [](Asked& a) { return a.workings().around.cases.list_packs(); });
}

void open_session(const AskedPtr& asked) {
  const auto document = object_in(asked);
  if (!document || !has_only(asked, document->root(),
                             {"session_id", "pack", "role", "labels", "mode", "gate", "principal", "unwrapped"}))
    return;
  const json::Node root = document->root();
  auto open = session_in(asked, root);
  if (!open) return;
  if (open->session_id.empty()) open->session_id = asked->caller.session_id;
  open->pack = text_in(root, "pack");
  open->role = text_in(root, "role");
  cases(asked).open_session(asked->mutation(), std::move(*open), settle(asked));
}

void list_sessions(const AskedPtr& asked) {
  read_and_answer(asked, [](Asked& a) {
    return a.workings().around.cases.list_sessions(a.query.text("standing"), a.query.text("after"),
                                                   static_cast<std::size_t>(a.query.integer("limit").value_or(100)));
  });
}

void govern_call(const AskedPtr& asked) {
  cases(asked).govern_call(asked->mutation(), asked->id, asked->request().body, settle(asked));
}

void preflight(const AskedPtr& asked) {
  read_then(asked, [](const AskedPtr& by) {
    auto answer = by->workings().around.cases.preflight(by->caller, by->id, by->request().body);
    if (!answer) return by->fail(answer.error());
    by->settle(std::move(*answer));
  });
}

void show_session_mcp(const AskedPtr& asked) {
  read_one_and_answer(
      asked, [](Asked& a) { return a.workings().around.cases.mcp_of_session(a.id); },
      [](const Asked& a) { return report(Code::REQUEST_NOT_FOUND, {}, {{"what", "session"}, {"name", a.id}}); });
}

void start_call(const AskedPtr& asked) {
  const std::int64_t wait =
      std::min(asked->query.integer("wait_seconds").value_or(0), cases(asked).config().limits.wait_seconds);
  auto cancel =
      asked->workings().around.node.start_or_wait(asked->mutation(), asked->id, asked->request().body,
                                                  std::chrono::seconds(std::max<std::int64_t>(wait, 0)), settle(asked));
  if (wait > 0) asked->exchange()->on_gone(std::move(cancel));
}

void settle_call(const AskedPtr& asked) {
  cases(asked).settle_call(asked->mutation(), asked->id, asked->request().body, settle(asked));
}

void add_label(const AskedPtr& asked) {
  cases(asked).add_label(asked->mutation(), asked->id, asked->body.text("label"), settle(asked));
}

void report_cost(const AskedPtr& asked) {
  const std::string text = asked->body.text("cost");
  const auto document = json::parse(text);
  std::optional<json::Decimal> cost;
  const std::string problem =
      document ? session::read_cost(document->root(), "cost", cost) : std::string("`cost` is no number");
  if (!problem.empty()) return asked->refuse({report(Code::SESSION_OPTIONS, {}, {{"problem", problem}})});
  cases(asked).report_cost(asked->mutation(), asked->id, *cost, settle(asked));
}

void kill_session(const AskedPtr& asked) {
  cases(asked).kill_session(asked->mutation(), asked->id, asked->body.text("reason"), settle(asked));
}

void resume_session(const AskedPtr& asked) {
  cases(asked).resume_session(asked->mutation(), asked->id, asked->body.text("note"), settle(asked));
}

void close_session(const AskedPtr& asked) { cases(asked).close_session(asked->mutation(), asked->id, settle(asked)); }

void list_approvals(const AskedPtr& asked) {
  read_and_answer(asked, [](Asked& a) {
    return a.workings().around.cases.list_approvals(a.caller, a.query.text("state"),
                                                    static_cast<std::size_t>(a.query.integer("limit").value_or(100)));
  });
}

void show_approval(const AskedPtr& asked) {
  read_one_and_answer(
      asked, [](Asked& a) { return a.workings().around.cases.show_approval(a.caller, a.id); },
      [](const Asked& a) { return report(Code::APPROVAL_UNKNOWN, {}, {{"id", a.id}}); });
}

void decide_approval(const AskedPtr& asked) {
  runtime::ApprovalDecision decision;
  decision.approval_id = asked->id;
  decision.approve = asked->body.text("decision") == "approve";
  decision.digest = asked->body.text("digest");
  decision.note = asked->body.text("note");
  cases(asked).decide_approval(asked->mutation(), std::move(decision), settle(asked));
}

}  // namespace baton::http_api::handlers
