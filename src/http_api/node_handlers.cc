// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "base/limits.h"
#include "http_api/handlers.h"
#include "http_api/openapi.h"
#include "http_api/problem.h"
#include "runtime/work_events.h"

namespace baton::http_api::handlers {
namespace {

runtime::UseCases& cases(const AskedPtr& asked) { return asked->workings().around.cases; }

Result<std::uint64_t> ledger_size(const Surroundings& around) {
  const auto reader = around.store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto head = (*reader)->head();
  if (!head) return tl::make_unexpected(head.error());
  return head->size;
}

}  // namespace

// --- events -------------------------------------------------------------------------------------------------------------

void follow_events(const AskedPtr& asked) {
  std::optional<std::uint64_t> first;
  if (const auto from = asked->query.integer("from")) first = static_cast<std::uint64_t>(*from);
  if (const auto header = asked->request().header("Last-Event-ID")) {
    const auto last = parse_integer(*header);
    if (!last || *last < 0)
      return asked->refuse({report(Code::REQUEST_HEADER, {},
                                   {{"header", "Last-Event-ID"}, {"problem", "is not the number of an entry"}})});
    first = static_cast<std::uint64_t>(*last) + 1;
  }
  const auto follow = [](const AskedPtr& by, std::uint64_t next) {
    EventFilter filter{by->query.texts("stream"), by->query.texts("type")};
    // A stream cannot give its labels to a session, so that it shows what needs none.
    auto as = cases(by).reading_as(by->caller, false);
    if (!as) return by->fail(as.error());
    if (!as->clearance.reads_all) filter.as = std::make_shared<const runtime::ReadingAs>(std::move(*as));
    EventHub::MayHear may_hear;
    if (!by->caller.token_id.empty())
      may_hear = [&access = by->workings().around.access, caller = by->caller] { return access.is_still_good(caller); };
    by->workings().events->attach(by->stream(), std::move(filter), next, std::move(may_hear));
  };
  if (first) return read_then(asked, [follow, next = *first](const AskedPtr& by) { follow(by, next); });
  // From now on: behind the last entry there is, which may not have been handed out yet.
  read_then(asked, [follow](const AskedPtr& by) {
    const auto size = ledger_size(by->workings().around);
    if (!size) return by->fail(size.error());
    follow(by, *size + 1);
  });
}

// --- tokens -------------------------------------------------------------------------------------------------------------

void create_token(const AskedPtr& asked) {
  const Body& body = asked->body;
  runtime::TokenRequest wanted{.actor_id = body.text("actor"), .names = body.texts("names"), .note = body.text("note")};
  if (!body.has("actor")) wanted.actor_id = asked->caller.actor.id;
  wanted.kind = agent_exit::find_actor_kind(body.text("kind")).value_or(work::ActorKind::Agent);
  wanted.is_host = body.text("kind") == "host";
  wanted.roles = body.texts("roles");
  if (body.has("principal")) wanted.principal = json::Value::copy(body.object("principal"));
  if (body.has("scopes")) wanted.scopes = body.texts("scopes");
  if (const auto seconds = body.integer("expires_in_seconds"))
    wanted.expires_at = asked->workings().around.clock.now() + *seconds;
  cases(asked).create_token(asked->mutation(), std::move(wanted), settle(asked));
}

void list_tokens(const AskedPtr& asked) {
  read_and_answer(asked, [](Asked& a) { return a.workings().around.cases.list_tokens(); });
}

void revoke_token(const AskedPtr& asked) {
  cases(asked).revoke_token(asked->mutation(), asked->id, [asked](const Result<runtime::Answer>& result) {
    // Whoever is told that it is revoked may rely on it, here and now; other nodes have it from the feed.
    if (result && result->refused.empty()) {
      json::Value payload = json::Value::object();
      payload.set("token_id", asked->id);
      asked->workings().around.access.learn(runtime::kTokenRevoked, json::write(payload));
    }
    asked->settle(result);
  });
}

// --- the node -----------------------------------------------------------------------------------------------------------

namespace {

net::ServerFigures server_figures(const Surroundings& around) {
  return around.server_figures ? around.server_figures() : net::ServerFigures{};
}

Result<json::Value> status_of_node(Workings& workings) {
  const Surroundings& around = workings.around;
  const auto size = ledger_size(around);
  if (!size) return tl::make_unexpected(size.error());
  auto counts = around.cases.counts();
  if (!counts) return tl::make_unexpected(counts.error());
  json::Value out = json::Value::object(), ledger = json::Value::object(), node = json::Value::object();
  ledger.set("origin", around.ledger.origin());
  ledger.set("size", *size);
  ledger.set("answer_key", ledger::answer_key_text(workings.answer_key));
  if (const auto setbacks = around.ledger.setbacks(); !setbacks.empty()) {
    json::Value behind = json::Value::array();
    for (const runtime::Setback& setback : setbacks) behind.push(setback.to_json());
    ledger.set("behind", std::move(behind));
  }
  const runtime::NodeFigures figures = around.node.figures();
  const net::ServerFigures server = server_figures(around);
  node.set("pid", ::getpid());
  node.set("started_at", format_time(workings.started_at));
  node.set("started_by_client", around.started_by_client);
  node.set("connections_open", server.connections_open);
  node.set("requests_total", server.requests_total);
  node.set("streams_open", workings.events->open());
  node.set("waiting_claims", figures.waiting_claims);
  node.set("writer_queued", around.ledger.writer().queued());
  node.set("sweeps", figures.sweeps);
  node.set("webhooks_sent", figures.webhooks_sent);
  node.set("webhooks_failed", figures.webhooks_failed);
  out.set("version", around.version);
  out.set("store", around.store.name());
  out.set("ledger", std::move(ledger));
  out.set("uptime_seconds", (around.clock.monotonic_ns() - workings.started_ns) / kNanosecondsPerSecond);
  for (const char* what : {"work", "sessions"})
    out.set(what, counts->find(what) != nullptr ? *counts->find(what) : json::Value::object());
  out.set("node", std::move(node));
  out.set("exit_protocol", around.cases.config().policy.exit_protocol);
  if (const auto disk = around.cases.disk()) {
    json::Value told = json::Value::object();
    told.set("floor_bytes", disk->floor);
    if (disk->free) told.set("free_bytes", *disk->free);
    told.set("low", disk->is_low);
    out.set("disk", std::move(told));
  }
  return out;
}

}  // namespace

void show_status(const AskedPtr& asked) {
  read_and_answer(asked, [](Asked& a) { return status_of_node(a.workings()); });
}

void show_health(const AskedPtr& asked) {
  const bool posted = asked->workings().readings->post([asked] {
    const auto size = ledger_size(asked->workings().around);
    if (!size) {
      const std::string_view code = size.error().code.empty() ? info(Code::STORE_UNAVAILABLE).name : size.error().code;
      return asked->respond(problem(503, code, "the store cannot be read"));
    }
    json::Value out = json::Value::object();
    out.set("status", "ok");
    asked->answer(out);
  });
  if (!posted) asked->respond(problem(503, info(Code::STORE_BUSY).name, "too much waits to be read"));
}

void show_metrics(const AskedPtr& asked) {
  const bool posted = asked->workings().readings->post([asked] {
    Workings& workings = asked->workings();
    const Surroundings& around = workings.around;
    const auto size = ledger_size(around);
    auto counts = around.cases.counts();
    NodeSnapshot now{.server = server_figures(around), .node = around.node.figures()};
    // What cannot be read now is left out: the rest is wanted most when the store is ill.
    if (counts) now.counts = std::move(*counts);
    if (size) now.ledger_size = *size;
    now.queued = around.ledger.writer().queued();
    now.streams = workings.events->open();
    now.started_at = static_cast<double>(workings.started_at.nanoseconds) / 1e9;
    now.resident_bytes = resident_bytes();
    asked->respond({.content_type = "text/plain; version=0.0.4; charset=utf-8",
                    .body = metrics_text(workings.figures, now, around.version)});
  });
  if (!posted) asked->respond(problem(503, info(Code::STORE_BUSY).name, "too much waits to be read"));
}

void show_openapi(const AskedPtr& asked) {
  static const std::string document = json::write(openapi_document(asked->workings().around.version));
  asked->respond({.body = document});
}

void look_at_adoptions(const AskedPtr& asked) {
  read_and_answer(asked, [](Asked& a) -> Result<json::Value> {
    const auto& look = a.workings().around.look_at_adoptions;
    if (look) return look();
    json::Value none = json::Value::object();
    none.set("adoptions", json::Value::array());
    return none;
  });
}

void stop_node(const AskedPtr& asked) {
  json::Value line = json::Value::object();
  line.set("actor", asked->caller.actor.id);
  log_line(asked->workings().around, "info", "stop_asked", std::move(line));
  json::Value out = json::Value::object();
  out.set("status", "stopping");
  const auto stop = asked->workings().around.stop;
  asked->answer(out);
  if (stop) stop();
}

}  // namespace baton::http_api::handlers
