// SPDX-License-Identifier: Apache-2.0
// Governed sessions, their packs and what people are asked. Calls, arguments and outputs are nested as deeply as tools want them, so
// these bodies are read as documents (session/door.h has their form), not member by member.
#include "base/limits.h"
#include "contract/compile.h"
#include "http_api/handlers.h"
#include "json/parse.h"
#include "runtime/packs.h"

namespace baton::http_api::handlers {
namespace {

runtime::UseCases& cases(const AskedPtr& asked) { return asked->workings().around.cases; }

// The body as an object; nothing when it is none, and then the request is answered.
std::optional<json::Document> object_in(const AskedPtr& asked) {
  auto document = json::parse(asked->request().body);
  if (document && document->root().is_object()) return std::move(*document);
  asked->refuse(
      {report(Code::SESSION_OPTIONS, {},
              {{"problem", document ? "the body is no object" : "the body is not JSON: " + document.error().what}})});
  return std::nullopt;
}

std::string text_in(json::Node object, std::string_view name) {
  return object[name].is_string() ? std::string(object[name].string()) : std::string();
}

std::vector<std::string> texts_in(json::Node object, std::string_view name) {
  std::vector<std::string> out;
  for (const json::Node one : object[name].elements())
    if (one.is_string()) out.emplace_back(one.string());
  return out;
}

// A member that is none of these is a mistake that must not pass unseen.
bool has_only(const AskedPtr& asked, json::Node object, std::initializer_list<std::string_view> names) {
  for (const json::Member member : object.members())
    if (std::find(names.begin(), names.end(), member.name()) == names.end()) {
      asked->refuse({report(Code::SESSION_OPTIONS, {},
                            {{"problem", "there is no member `" + std::string(member.name()) + "`"}})});
      return false;
    }
  return true;
}

}  // namespace

void activate_pack(const AskedPtr& asked) {
  const auto document = object_in(asked);
  if (!document || !has_only(asked, document->root(), {"role", "hash", "pack"})) return;
  auto pack = runtime::read_pack_text(json::write(json::Value::copy(document->root()["pack"])));
  if (!pack)
    return asked->refuse(
        {report(Code::SESSION_OPTIONS, {}, {{"problem", "`pack` has no `contracts`, each with name and text"}})});
  cases(asked).activate_pack(asked->mutation(), std::move(*pack), text_in(document->root(), "role"),
                             text_in(document->root(), "hash"), settle(asked));
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
  runtime::OpenSession open;
  open.session_id = text_in(root, "session_id");
  if (open.session_id.empty()) open.session_id = asked->caller.session_id;
  open.pack = text_in(root, "pack");
  open.role = text_in(root, "role");
  open.labels = texts_in(root, "labels");
  open.unwrapped = texts_in(root, "unwrapped");
  const auto mode = root["mode"] ? session::mode_named(text_in(root, "mode")) : std::optional(session::Mode::Enforce);
  const auto gate = root["gate"] ? session::gate_named(text_in(root, "gate")) : std::optional(session::Gate::RejectAll);
  if (!mode || !gate)
    return asked->refuse({report(
        Code::SESSION_OPTIONS, {},
        {{"problem", "`mode` is enforce, shadow or log-only; `gate` reject_all, strip_partial or strip_blocked"}})});
  open.mode = *mode;
  open.gate = *gate;
  if (root["principal"]) open.principal = json::Value::copy(root["principal"]);
  cases(asked).open_session(asked->mutation(), std::move(open), settle(asked));
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

void start_call(const AskedPtr& asked) {
  const std::int64_t wait =
      std::min(asked->query.integer("wait_seconds").value_or(0), cases(asked).config().limits.wait_seconds);
  auto cancel = asked->workings().around.node.start_or_wait(asked->mutation(), asked->id, asked->request().body,
                                                            std::chrono::seconds(std::max<std::int64_t>(wait, 0)),
                                                            settle(asked));
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
  if (!document || !document->root().is_number())
    return asked->refuse({report(Code::SESSION_OPTIONS, {}, {{"problem", "`cost` is no number"}})});
  cases(asked).report_cost(asked->mutation(), asked->id, json::Decimal::from_number(document->root().number_text()),
                           settle(asked));
}

void kill_session(const AskedPtr& asked) {
  cases(asked).kill_session(asked->mutation(), asked->id, asked->body.text("reason"), settle(asked));
}

void close_session(const AskedPtr& asked) { cases(asked).close_session(asked->mutation(), asked->id, settle(asked)); }

void list_approvals(const AskedPtr& asked) {
  read_and_answer(asked, [](Asked& a) {
    return a.workings().around.cases.list_approvals(a.query.text("state"),
                                                    static_cast<std::size_t>(a.query.integer("limit").value_or(100)));
  });
}

void show_approval(const AskedPtr& asked) {
  read_one_and_answer(
      asked, [](Asked& a) { return a.workings().around.cases.show_approval(a.id); },
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
