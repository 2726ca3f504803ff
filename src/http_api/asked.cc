// SPDX-License-Identifier: Apache-2.0
#include "http_api/asked.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "base/text.h"
#include "http_api/problem.h"
#include "secrets/detector.h"

namespace baton::http_api {
namespace {

// Answers that take longer are logged whatever they are. Claims that wait are not slow.
constexpr std::int64_t kSlowNanoseconds = 1'000'000'000;
// Reading is done by so many threads: SQLite's readers do not stand in each other's way, and more than a few gain nothing.
constexpr unsigned kReadingThreads = 2;

// Those that say who asks or what a retry is: one of each, so that no two readers can disagree which one counts.
constexpr std::array<std::string_view, 4> kOnce = {"Authorization", "Baton-Session", "Idempotency-Key",
                                                   "Last-Event-ID"};

bool same_header(std::string_view left, std::string_view right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](char a, char b) { return to_lower(a) == to_lower(b); });
}

bool is_idempotency_key(std::string_view text) {
  return !text.empty() && text.size() <= limits::kIdempotencyKeyBytesMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

// `application/json`, with whatever parameters.
bool is_json(std::string_view content_type) {
  return same_header(trim(content_type.substr(0, content_type.find(';'))), "application/json");
}

// The token of `Authorization: Bearer TOKEN`. Anything else is no token that could be right.
std::string_view bearer_of(std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  if (authorization.size() < kScheme.size() || !same_header(authorization.substr(0, kScheme.size()), kScheme))
    return {};
  return trim(authorization.substr(kScheme.size()));
}

json::Value redacted(json::Value value) {
  if (value.is_string()) return secrets::may_hold_secret(value.string()) ? secrets::redact(value.string()) : value;
  if (value.is_object())
    for (auto& [name, member] : value.members()) member = redacted(std::move(member));
  return value;
}

}  // namespace

runtime::Presented presented_by(const net::ServerRequest& request) {
  const net::Peer& peer = request.peer;
  runtime::Presented presented;
  presented.local = peer.local;
  presented.for_agents = peer.for_agents;
  presented.pid = peer.pid;
  presented.uid = peer.uid;
  if (peer.local) presented.started = peer.started;
  presented.address = peer.address;
  if (const auto authorization = request.header("Authorization")) presented.bearer = bearer_of(*authorization);
  presented.session_token = request.header("Baton-Session");
  if (presented.session_token) presented.session_token = trim(*presented.session_token);
  return presented;
}

// --- Workings -----------------------------------------------------------------------------------------------------------

Workings::Workings(Surroundings given)
    : around(std::move(given)),
      figures(routes().size()),
      readings(std::make_shared<ReadingPool>(kReadingThreads, limits::kReadingsQueuedMax)),
      events(EventHub::start(
          around.store, around.node.feed(), readings,
          [&cases = around.cases](std::string_view stream, std::string_view payload) {
            return cases.labels_of_entry(stream, payload);
          },
          [log = around.log, &clock = around.clock](const Failure& failure) {
            json::Value line = json::Value::object();
            line.set("time", format_time(clock.now()));
            line.set("level", "error");
            line.set("event", "stream_failed");
            line.set("problem", secrets::redact(failure.text()));
            if (log) log(line);
          })),
      requests(around.cases.config().limits.per_actor.requests_per_second, kNanosecondsPerSecond),
      answer_key(ledger::answer_key(around.ledger.redaction_key())),
      started_ns(around.clock.monotonic_ns()),
      started_at(around.clock.now()) {}

void Workings::tell_left_out(bool all) {
  const std::uint64_t count = log_budget.take_left_out(around.clock.monotonic_ns(), all);
  if (count == 0) return;
  json::Value line = json::Value::object();
  line.set("count", count);
  log_line(around, "warning", "requests_not_logged", std::move(line));
}

void Workings::end() {
  tell_left_out(true);
  events->end();
  readings->end();
}

void log_line(const Surroundings& around, std::string_view level, std::string_view event, json::Value members) {
  if (!around.log) return;
  json::Value line = json::Value::object();
  line.set("time", format_time(around.clock.now()));
  line.set("level", level);
  line.set("event", event);
  for (auto& [name, value] : members.members()) line.set(name, redacted(std::move(value)));
  around.log(line);
}

// --- Asked: understanding -----------------------------------------------------------------------------------------------

Asked::Asked(std::shared_ptr<Workings> workings, std::shared_ptr<net::Exchange> exchange)
    : workings_(std::move(workings)),
      exchange_(std::move(exchange)),
      began_ns_(workings_->around.clock.monotonic_ns()) {
  workings_->being_answered.fetch_add(1, std::memory_order_relaxed);
}

Asked::~Asked() { workings_->being_answered.fetch_sub(1, std::memory_order_relaxed); }

// The order is public: is there such a thing, who is it and may they, and only then what they say.
std::vector<Diagnostic> Asked::find() {
  if (auto faults = find_route(); !faults.empty()) return faults;
  return check_headers();
}

bool Asked::needs_store() const {
  return route_->door != Door::Open && workings_->around.access.needs_store(presented_by(request()));
}

std::vector<Diagnostic> Asked::understand() {
  if (auto faults = let_in(); !faults.empty()) return faults;
  // Who sent it is known by now, but was not when it began, or there was nothing to be sent.
  if (request().body_left_out)
    return {report(Code::HTTP_BODY_TOO_LARGE, {}, {{"problem", "the body was not read: send the request again"}})};
  return read();
}

std::vector<Diagnostic> Asked::find_route() {
  Found found = http_api::find_route(request().method, request().path);
  if (found.route != nullptr) {
    route_ = found.route;
    id = std::move(found.parameter);
    return {};
  }
  if (found.allowed.empty()) return {report(Code::REQUEST_ROUTE, {}, {{"path", printable(request().path, 200)}})};
  allowed_ = std::move(found.allowed);
  std::string methods;
  for (const std::string_view method : allowed_) methods += (methods.empty() ? "" : ", ") + std::string(method);
  return {report(Code::REQUEST_METHOD, {},
                 {{"path", printable(request().path, 200)}, {"method", request().method}, {"allowed", methods}})};
}

std::vector<Diagnostic> Asked::check_headers() {
  std::vector<Diagnostic> faults;
  for (const std::string_view name : kOnce) {
    const auto times = std::count_if(request().headers.begin(), request().headers.end(),
                                     [&](const net::Header& header) { return same_header(header.name, name); });
    if (times > 1)
      faults.push_back(report(Code::REQUEST_HEADER, {}, {{"header", name}, {"problem", "is there twice"}}));
  }
  const auto key = request().header("Idempotency-Key");
  if (key && route_->is_mutation() && !route_->replays)
    faults.push_back(
        report(Code::REQUEST_HEADER, {},
               {{"header", "Idempotency-Key"}, {"problem", "is not for this: it is done each time it is asked for"}}));
  if (key && route_->takes_key() && !is_idempotency_key(*key))
    faults.push_back(report(Code::REQUEST_HEADER, {},
                            {{"header", "Idempotency-Key"}, {"problem", "is not 1 to 128 visible ASCII characters"}}));
  return faults;
}

std::vector<Diagnostic> Asked::turned_away(Diagnostic why) {
  workings_->around.cases.note_refusal("access.refused", caller,
                                       std::string(route_->method) + " " + std::string(route_->path), {why});
  return {std::move(why)};
}

std::vector<Diagnostic> Asked::let_in() {
  // Whoever cannot be told is nobody: all of them are counted as one, so that they cannot fill the ledger.
  caller.actor = {.id = "nobody", .kind = work::ActorKind::Agent};
  if (route_->door == Door::Open) return {};
  runtime::Access& access = workings_->around.access;
  auto identified = access.identify(presented_by(request()));
  // Nobody was refused when the store could not say who it is.
  if (!identified && identified.error().code == Code::ACCESS_UNAVAILABLE) return {std::move(identified.error())};
  if (!identified) return turned_away(std::move(identified.error()));
  caller = std::move(*identified);
  // Nothing is recorded about it: that would be what the limit is there to prevent.
  if (auto over = over_quota()) return {std::move(*over)};

  auto refused = access.check(caller, route_->action);
  switch (route_->door) {
    case Door::Open:
    case Door::Action: break;
    case Door::OwnSession:
      // An operator may look at any session, and act for none.
      if (!route_->is_mutation() && caller.actor.kind == work::ActorKind::Operator && !caller.supervised) break;
      if (!refused && caller.session_id != id) refused = report(Code::REQUEST_SESSION, {}, {{"session", id}});
      break;
    case Door::ActionOrSession:
      if (refused && !caller.session_id.empty()) refused = access.check(caller, runtime::Action::Session);
      break;
    case Door::Stop:
      if (refused && request().peer.local && !request().peer.for_agents && workings_->around.started_by_client &&
          !caller.supervised)
        refused.reset();
      break;
  }
  if (refused) return turned_away(std::move(*refused));
  return {};
}

std::optional<Diagnostic> Asked::over_quota() {
  if (runtime::is_exempt(caller)) return std::nullopt;
  const auto wait = workings_->requests.take(caller.actor.id, began_ns_);
  if (!wait) return std::nullopt;
  retry_seconds_ = *wait / kNanosecondsPerSecond + 1;
  return report(Code::ACTOR_REQUESTS, {},
                {{"actor", caller.actor.id}, {"max", std::to_string(workings_->requests.limit())}});
}

std::vector<Diagnostic> Asked::read() {
  if (auto faults = query.read(request().query, route_->query); !faults.empty()) return faults;
  if (route_->takes != Takes::Json) return {};
  if (!request().body.empty()) {
    const std::string_view type = request().header("Content-Type").value_or("");
    if (!is_json(type)) return {report(Code::REQUEST_TYPE, {}, {{"type", type.empty() ? "of no stated type" : type}})};
  }
  return body.read(request().body, route_->body);
}

runtime::Mutation Asked::mutation() const {
  runtime::Mutation by{.caller = caller};
  if (const auto key = request().header("Idempotency-Key")) {
    by.idempotency_key = *key;
    by.request_sha256 = sha256_hex(request().method + "\n" + request().path + "\n" + request().body);
  }
  return by;
}

// --- Asked: answering ---------------------------------------------------------------------------------------------------

void Asked::finished(unsigned status, std::string_view code) {
  CHECK(!answered_);
  answered_ = true;
  const std::int64_t took = workings_->around.clock.monotonic_ns() - began_ns_;
  const std::size_t place = route_ == nullptr ? routes().size() : static_cast<std::size_t>(route_ - routes().data());
  workings_->figures.answered(place, status, took);
  if (!code.empty()) workings_->figures.refused(code);

  workings_->tell_left_out(false);
  const bool waits = route_ != nullptr &&
                     (body.integer("wait_seconds").value_or(0) > 0 || query.integer("wait_seconds").value_or(0) > 0);
  const bool slow = took >= kSlowNanoseconds && !waits && status < 400;
  const std::string_view level = status >= 500 ? "error" : status >= 400 ? "info" : slow ? "warning" : "debug";
  if (level == "debug" && !workings_->around.log_all) return;
  json::Value line = json::Value::object();
  line.set("method", request().method);
  line.set("route", route_ == nullptr ? "none" : route_->path);
  line.set("status", status);
  line.set("duration_us", took / 1000);
  line.set("actor", caller.actor.id);
  if (!code.empty()) line.set("code", code);
  log(level, "request", std::move(line));
}

// About a request. Whoever wants every request logged gets every one.
void Asked::log(std::string_view level, std::string_view event, json::Value members) {
  Workings& workings = *workings_;
  if (workings.around.log_all || workings.log_budget.take(workings.around.clock.monotonic_ns()))
    log_line(workings.around, level, event, std::move(members));
}

void Asked::respond(net::ServerResponse response) {
  finished(response.status, {});
  exchange_->respond(std::move(response));
}

void Asked::answer(const json::Value& what, unsigned status) { respond({.status = status, .body = json::write(what)}); }

void Asked::refuse(const std::vector<Diagnostic>& refused) {
  net::ServerResponse response = problem_of(refused);
  for (const std::string_view method : allowed_) {
    if (method == allowed_.front()) response.headers.push_back({"Allow", ""});
    response.headers.back().value += (method == allowed_.front() ? "" : ", ") + std::string(method);
  }
  if (retry_seconds_ > 0) {
    std::erase_if(response.headers, [](const net::Header& header) { return header.name == "Retry-After"; });
    response.headers.push_back({"Retry-After", std::to_string(retry_seconds_)});
  }
  finished(response.status, info(refused.front().code).name);
  exchange_->respond(std::move(response));
}

void Asked::fail(const Failure& failure) {
  net::ServerResponse response = problem_of(failure);
  if (response.status == 500) {
    json::Value line = json::Value::object();
    line.set("route", route_ == nullptr ? "none" : route_->path);
    line.set("problem", failure.text());
    log("error", "failed", std::move(line));
  }
  finished(response.status, failure.code.empty() ? info(Code::HTTP_UNANSWERED).name : failure.code);
  exchange_->respond(std::move(response));
}

void Asked::settle(const Result<runtime::Answer>& result) {
  if (!result) return fail(result.error());
  if (!result->refused.empty()) {
    retry_seconds_ = result->retry_seconds;
    return refuse(result->refused);
  }
  net::ServerResponse response;
  if (result->created) response.status = 201;
  json::Value what = result->body;
  if (result->entry) {
    response.headers.push_back({"Baton-Sequence", std::to_string(result->entry->sequence)});
    if (what.find("receipt") == nullptr) {
      json::Value receipt = json::Value::object();
      receipt.set("sequence", result->entry->sequence);
      receipt.set("hash", hex(result->entry->hash));
      what.set("receipt", std::move(receipt));
    }
  }
  if (result->replayed) response.headers.push_back({"Idempotency-Replayed", "true"});
  if (const json::Value* work = result->created ? what.find("work") : nullptr)
    if (const json::Value* made = work->find("id"))
      response.headers.push_back({"Location", "/v1/work/" + made->string()});
  response.body = json::write(what);
  respond(std::move(response));
}

std::shared_ptr<net::EventStream> Asked::stream() {
  finished(200, {});
  return exchange_->stream({{"Cache-Control", "no-store"}});
}

// --- ways to answer -----------------------------------------------------------------------------------------------------

runtime::Answered settle(const AskedPtr& asked) {
  return [asked](Result<runtime::Answer> result) { asked->settle(result); };
}

void read_then(const AskedPtr& asked, std::function<void(const AskedPtr&)> then) {
  if (!asked->workings().readings->post([asked, then = std::move(then)] { then(asked); }))
    asked->fail(
        failure_of(Code::STORE_BUSY, "reading", {{"count", std::to_string(limits::kReadingsQueuedMax)}}).value());
}

void read_and_answer(const AskedPtr& asked, std::function<Result<json::Value>(Asked&)> reading) {
  read_then(asked, [reading = std::move(reading)](const AskedPtr& by) {
    const auto value = reading(*by);
    if (value) by->answer(*value);
    else by->fail(value.error());
  });
}

void read_one_and_answer(const AskedPtr& asked, std::function<Result<std::optional<json::Value>>(Asked&)> reading,
                         std::function<Diagnostic(const Asked&)> missing) {
  read_then(asked, [reading = std::move(reading), missing = std::move(missing)](const AskedPtr& by) {
    const auto value = reading(*by);
    if (!value) by->fail(value.error());
    else if (!*value) by->refuse({missing(*by)});
    else by->answer(**value);
  });
}

namespace {

// Labels may appear between what was recorded and what is then read; whoever writes all the time must not keep a reader waiting.
constexpr int kReadTriesMax = 4;

struct LabelledRead {
  std::string stream;
  std::function<Result<runtime::ReadAnswer>(Asked&)> reading;
  std::function<Diagnostic(const Asked&)> missing;
  int tries = 0;
};

void read_on(const AskedPtr& asked, const std::shared_ptr<LabelledRead>& read) {
  read_then(asked, [read](const AskedPtr& by) {
    auto answer = read->reading(*by);
    if (!answer) return by->fail(answer.error());
    if (answer->withheld) return by->refuse({std::move(*answer->withheld)});
    if (answer->adds.empty()) return answer->value ? by->answer(*answer->value) : by->refuse({read->missing(*by)});
    if (++read->tries > kReadTriesMax)
      return by->fail(failure_of(Code::STORE_BUSY, "reading", {{"count", std::to_string(kReadTriesMax)}}).value());
    by->workings().around.cases.gain_labels(by->mutation(), std::move(answer->adds), read->stream,
                                            [by, read](const Result<runtime::Answer>& gained) {
                                              if (!gained) return by->fail(gained.error());
                                              if (!gained->refused.empty()) return by->refuse(gained->refused);
                                              read_on(by, read);
                                            });
  });
}

}  // namespace

void read_labelled(const AskedPtr& asked, std::string stream,
                   std::function<Result<runtime::ReadAnswer>(Asked&)> reading,
                   std::function<Diagnostic(const Asked&)> missing) {
  read_on(asked,
          std::make_shared<LabelledRead>(LabelledRead{std::move(stream), std::move(reading), std::move(missing)}));
}

}  // namespace baton::http_api
