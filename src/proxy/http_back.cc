// SPDX-License-Identifier: Apache-2.0
#include "proxy/http_back.h"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "base/text.h"
#include "mcp/message.h"

namespace baton::proxy {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kSessionHeader = "Mcp-Session-Id";
constexpr std::string_view kBothTypes = "application/json, text/event-stream";

bool is_modern(const mcp::Revision* revision) { return revision != nullptr && revision->era == mcp::Era::Modern; }

std::string class_of_status(unsigned status) {
  if (status == 429) return "rate_limited";
  if (status >= 500) return "server_error";
  return "client_error";
}

// Retry-After in seconds; a date is not read.
std::optional<json::Decimal> retry_after(const net::HttpAnswer& answer) {
  const auto header = answer.header("Retry-After");
  if (!header || header->empty() || header->size() > 9) return std::nullopt;
  if (!std::ranges::all_of(*header, [](char c) { return is_digit(c); })) return std::nullopt;
  return json::Decimal::from_number(*header);
}

}  // namespace

HttpBack::HttpBack(Shared& shared, const ServerOptions& options, std::size_t server, BackListener& listener)
    : shared_(shared), options_(options), server_(server), listener_(listener), listen_timer_(shared.context) {
  auto client = net::AsyncClient::make(shared.context, {.url = options.url, .ca_file = options.ca_file});
  if (client) client_ = std::move(*client);
  else problem_ = client.error().reason;
}

HttpBack::~HttpBack() { *alive_ = false; }

void HttpBack::later(std::function<void()> what) {
  boost::asio::post(shared_.context, [alive = alive_, what = std::move(what)] {
    if (*alive) what();
  });
}

void HttpBack::after(milliseconds time, std::function<void()> what) {
  auto timer = std::make_shared<boost::asio::steady_timer>(shared_.context, time);
  timer->async_wait([alive = alive_, timer, what = std::move(what)](const boost::system::error_code& error) {
    if (!error && *alive) what();
  });
}

void HttpBack::start() {
  if (client_) return;
  shared_.report(options_.name + ": " + problem_);
  later([this] { listener_.gone(server_, "cannot be called: " + problem_, false); });
}

// --- sending ----------------------------------------------------------------------------------------------------------------------------

net::AsyncRequest HttpBack::request(std::string method) const {
  net::AsyncRequest out;
  out.method = std::move(method);
  out.headers = options_.headers;
  out.timeout = shared_.options.request_timeout;
  out.idle_timeout = milliseconds(0);  // the call's own time is what ends it
  out.answer_bytes_max = shared_.options.server_bytes_max;
  out.event_bytes_max = shared_.options.server_bytes_max;
  out.takes_json_lines = true;
  return out;
}

void HttpBack::send(mcp::ToServer message) {
  if (!client_ || ending_) return;
  if (!is_barred_ && waiting_.empty()) return post(std::move(message));
  waiting_bytes_ += message.bytes.size();
  waiting_.push_back(std::move(message));
}

void HttpBack::withdraw(mcp::Withdraw wanted) {
  if (!client_ || ending_) return;
  const auto waits = std::ranges::find(waiting_, wanted.ticket, &mcp::ToServer::ticket);
  if (wanted.ticket != 0 && waits != waiting_.end()) {
    waiting_bytes_ -= waits->bytes.size();
    waiting_.erase(waits);
    return;
  }
  const auto found = asked_.find(wanted.ticket);
  if (found == asked_.end()) return;
  found->second->is_withdrawn = true;
  if (found->second->is_modern) {
    client_->cancel(found->second->id);
    streams_.erase(found->second->id);
    asked_.erase(found);
    return;
  }
  // Not behind a bar: it is of use only as long as the request is under way.
  net::AsyncRequest out = request("POST");
  out.body = std::move(wanted.bytes);
  out.headers.push_back({"Accept", std::string(kBothTypes)});
  if (!session_id_.empty()) out.headers.push_back({std::string(kSessionHeader), session_id_});
  if (!version_.empty()) out.headers.push_back({"MCP-Protocol-Version", version_});
  client_->send(std::move(out), {.on_done = [](net::AsyncOutcome) {}});
}

void HttpBack::post(mcp::ToServer message) {
  net::AsyncRequest out = request("POST");
  out.headers.push_back({"Accept", std::string(kBothTypes)});
  const bool modern = is_modern(message.revision);
  if (message.revision != nullptr) version_ = message.revision->name;
  if (message.method == "initialize") forget_session();
  else if (!modern && !session_id_.empty()) out.headers.push_back({std::string(kSessionHeader), session_id_});
  if (message.revision != nullptr && message.method != "initialize")
    out.headers.push_back({"MCP-Protocol-Version", std::string(message.revision->name)});
  if (modern) {
    if (!message.method.empty()) out.headers.push_back({"Mcp-Method", message.method});
    if (!message.name.empty()) out.headers.push_back({"Mcp-Name", message.name});
    for (auto& [name, value] : message.headers) out.headers.push_back({name, value});
    // A name that cannot stand in a header is in the message all the same.
    std::erase_if(out.headers, [](const net::Header& header) { return !net::is_sendable(header); });
  }
  out.body = std::move(message.bytes);
  auto asked = std::make_shared<Asked>();
  asked->ticket = message.ticket;
  asked->method = std::move(message.method);
  asked->is_modern = modern;
  if (asked->ticket == 0) is_barred_ = true;
  else asked_.insert_or_assign(asked->ticket, asked);
  asked->id = client_->send(std::move(out), {.on_done =
                                                 [this, asked, alive = alive_](net::AsyncOutcome outcome) {
                                                   if (*alive) answered(asked, std::move(outcome));
                                                 },
                                             .on_stream =
                                                 [this, asked, alive = alive_](const net::HttpAnswer& head) {
                                                   if (!*alive) return;
                                                   note_session(*asked, head);
                                                   streams_.insert(asked->id);
                                                   if (paused_) client_->pause(asked->id);
                                                 },
                                             .on_event =
                                                 [this, asked, alive = alive_](net::SseEvent one) {
                                                   if (*alive) event(asked, std::move(one));
                                                 }});
}

void HttpBack::next() {
  while (!is_barred_ && !waiting_.empty() && !ending_) {
    mcp::ToServer message = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= message.bytes.size();
    post(std::move(message));
  }
  if (!is_full()) listener_.drained(server_);
}

// --- answers ----------------------------------------------------------------------------------------------------------------------------

void HttpBack::note_session(const Asked& asked, const net::HttpAnswer& head) {
  if (asked.method != "initialize" || asked.is_modern) return;
  if (const auto id = head.header(kSessionHeader); id && !id->empty() && id->size() <= 1024) session_id_ = *id;
}

void HttpBack::forget_session() {
  session_id_.clear();
  listen_event_id_.clear();
  wants_to_listen_ = false;
  has_stream_ = true;
  listen_timer_.cancel();
  if (listening_ != 0) client_->cancel(std::exchange(listening_, 0));
}

void HttpBack::event(const AskedPtr& asked, net::SseEvent one) {
  if (!one.id.empty()) {
    asked->last_event_id = one.id;
    asked->can_resume = !asked->is_modern;
  }
  asked->resumes = 0;
  if (one.data.empty()) return;  // an id to go on behind, and nothing else
  {
    const mcp::Message message(one.data, shared_.options.server_bytes_max);
    if (message.is_answer() || message.kind() == mcp::Message::Kind::Batch) asked->is_answered = true;
  }
  listener_.message(server_, std::move(one.data), asked->ticket);
}

void HttpBack::answered(const AskedPtr& asked, net::AsyncOutcome outcome) {
  streams_.erase(asked->id);
  const std::shared_ptr<bool> alive = alive_;
  if (asked->ticket == 0) is_barred_ = false;
  if (!outcome.last_event_id.empty() && !asked->is_modern) {
    asked->last_event_id = outcome.last_event_id;
    asked->can_resume = true;
  }
  if (outcome.streamed) {
    if (!outcome.answer && outcome.answer.error().code == "HTTP_BODY_TOO_LARGE") {
      asked_.erase(asked->ticket);
      listener_.oversized(server_, {}, {}, asked->ticket);
    } else if (asked->ticket != 0 && !asked->is_answered && !asked->is_withdrawn) {
      broke_off(asked, outcome.retry_ms, outcome.answer.has_value());
    } else {
      asked_.erase(asked->ticket);
      no_other(asked);
    }
  } else if (outcome.answer) {
    note_session(*asked, *outcome.answer);
    asked_.erase(asked->ticket);
    whole(asked, *outcome.answer);
  } else {
    asked_.erase(asked->ticket);
    const Failure& failure = outcome.answer.error();
    if (failure.code == "HTTP_BODY_TOO_LARGE") listener_.oversized(server_, {}, {}, asked->ticket);
    else
      failed(asked, {.error_class = failure.code == "HTTP_TIMEOUT" ? "timeout" : "network", .message = failure.reason});
  }
  if (*alive) next();
}

void HttpBack::failed(const AskedPtr& asked, mcp::AttemptFailure failure) {
  if (asked->ticket != 0) return listener_.attempt_failed(server_, asked->ticket, std::move(failure));
  shared_.report(options_.name + ": " + asked->method + " was not taken: " + printable(failure.message, 200));
}

// What came was whole. Was it the answer, nothing waits for one any more, and nothing happens here.
void HttpBack::no_other(const AskedPtr& asked) {
  if (asked->ticket == 0 || asked->is_withdrawn) return;
  listener_.attempt_failed(
      server_, asked->ticket,
      {.error_class = "network", .message = "what it answered is not the answer to what it was asked"});
}

// An answer that is no stream.
void HttpBack::whole(const AskedPtr& asked, const net::HttpAnswer& answer) {
  const std::shared_ptr<bool> alive = alive_;
  const bool ok = answer.status >= 200 && answer.status < 300;
  if (asked->method == "notifications/initialized" && ok && !asked->is_modern) {
    wants_to_listen_ = true;
    listen();
  }
  if (answer.status == 404 && !session_id_.empty() && !asked->is_modern) {
    forget_session();
    listener_.gone(server_, "does not know its session any more", true);
    if (*alive) listener_.back(server_);
    return;
  }
  if (ok && answer.body.empty()) {
    if (asked->ticket != 0)
      failed(asked, {.error_class = "server_error", .http_status = answer.status, .message = "an empty answer"});
    return;
  }
  // An error of the protocol may come with a status that says the same.
  bool is_message = ok;
  if (!ok && asked->ticket != 0) {
    const mcp::Message message(answer.body, shared_.options.server_bytes_max);
    is_message = message.is_answer() && !message.id().is_null() && answer.status != 429 && answer.status < 500;
  }
  if (is_message) {
    listener_.message(server_, answer.body, asked->ticket);
    if (*alive) no_other(asked);
    return;
  }
  failed(asked, {.error_class = class_of_status(answer.status),
                 .http_status = answer.status,
                 .retry_after = retry_after(answer),
                 .message = "status " + std::to_string(answer.status)});
}

// --- streams that break off ---------------------------------------------------------------------------------------------------------------

void HttpBack::broke_off(const AskedPtr& asked, std::optional<std::int64_t> retry_ms, bool in_order) {
  if (!asked->can_resume || asked->resumes >= kResumesMax || ending_) {
    asked_.erase(asked->ticket);
    return failed(asked, {.error_class = "network", .message = "the answer broke off"});
  }
  const milliseconds pause = retry_ms ? milliseconds(std::clamp<std::int64_t>(*retry_ms, 0, kLongestPause.count()))
                                      : std::min(kFirstPause * (1 << asked->resumes), kLongestPause);
  ++asked->resumes;
  asked->pauses = true;
  after(pause, [this, asked, number = asked->resumes] {
    if (asked->resumes == number) take_up(asked->ticket);
  });
  if (in_order) listener_.left_off(server_, asked->ticket, pause.count());
}

void HttpBack::take_up(mcp::Ticket ticket) {
  const auto found = asked_.find(ticket);
  if (ending_ || found == asked_.end()) return;
  const AskedPtr asked = found->second;
  if (!asked->is_withdrawn && std::exchange(asked->pauses, false)) take_up(asked);
}

void HttpBack::take_up(const AskedPtr& asked) {
  net::AsyncRequest out = request("GET");
  out.headers.push_back({"Accept", "text/event-stream"});
  if (!session_id_.empty()) out.headers.push_back({std::string(kSessionHeader), session_id_});
  if (!version_.empty()) out.headers.push_back({"MCP-Protocol-Version", version_});
  out.headers.push_back({"Last-Event-ID", asked->last_event_id});
  asked->id = client_->send(std::move(out), {.on_done =
                                                 [this, asked, alive = alive_](net::AsyncOutcome outcome) {
                                                   if (!*alive) return;
                                                   streams_.erase(asked->id);
                                                   if (!outcome.last_event_id.empty())
                                                     asked->last_event_id = outcome.last_event_id;
                                                   if (asked->is_answered || asked->is_withdrawn)
                                                     asked_.erase(asked->ticket);
                                                   else
                                                     broke_off(asked, outcome.retry_ms,
                                                               outcome.streamed && outcome.answer.has_value());
                                                 },
                                             .on_stream =
                                                 [this, asked, alive = alive_](const net::HttpAnswer&) {
                                                   if (!*alive) return;
                                                   streams_.insert(asked->id);
                                                   if (paused_) client_->pause(asked->id);
                                                 },
                                             .on_event =
                                                 [this, asked, alive = alive_](net::SseEvent one) {
                                                   if (!*alive) return;
                                                   event(asked, std::move(one));
                                                   // The rest of this stream belongs to nobody.
                                                   if (!*alive || !asked->is_answered) return;
                                                   client_->cancel(asked->id);
                                                   streams_.erase(asked->id);
                                                   asked_.erase(asked->ticket);
                                                   no_other(asked);
                                                 }});
}

// --- what belongs to no request -----------------------------------------------------------------------------------------------------------

void HttpBack::listen() {
  if (ending_ || !wants_to_listen_ || !has_stream_ || listening_ != 0) return;
  net::AsyncRequest out = request("GET");
  out.headers.push_back({"Accept", "text/event-stream"});
  if (!session_id_.empty()) out.headers.push_back({std::string(kSessionHeader), session_id_});
  if (!version_.empty()) out.headers.push_back({"MCP-Protocol-Version", version_});
  if (!listen_event_id_.empty()) out.headers.push_back({"Last-Event-ID", listen_event_id_});
  listening_ = client_->send(std::move(out), {.on_done =
                                                  [this, alive = alive_](net::AsyncOutcome outcome) {
                                                    if (!*alive) return;
                                                    streams_.erase(listening_);
                                                    listening_ = 0;
                                                    if (!outcome.last_event_id.empty())
                                                      listen_event_id_ = outcome.last_event_id;
                                                    // One that has no such stream has none; one that forgot the session says so to the next request too.
                                                    if (outcome.answer && !outcome.streamed &&
                                                        outcome.answer->status < 500 && outcome.answer->status != 429) {
                                                      has_stream_ = false;
                                                      return;
                                                    }
                                                    listen_later(outcome.retry_ms);
                                                  },
                                              .on_stream =
                                                  [this, alive = alive_](const net::HttpAnswer&) {
                                                    if (!*alive) return;
                                                    listen_pause_ = kFirstPause;
                                                    streams_.insert(listening_);
                                                    if (paused_) client_->pause(listening_);
                                                  },
                                              .on_event =
                                                  [this, alive = alive_](net::SseEvent one) {
                                                    if (!*alive) return;
                                                    if (!one.id.empty()) listen_event_id_ = one.id;
                                                    if (!one.data.empty())
                                                      listener_.message(server_, std::move(one.data), 0);
                                                  }});
}

void HttpBack::listen_later(std::optional<std::int64_t> retry_ms) {
  if (ending_ || !wants_to_listen_) return;
  const milliseconds pause =
      retry_ms ? milliseconds(std::clamp<std::int64_t>(*retry_ms, 0, kLongestPause.count())) : listen_pause_;
  listen_pause_ = std::min(listen_pause_ * 2, kLongestPause);
  listen_timer_.expires_after(pause);
  listen_timer_.async_wait([this, alive = alive_](const boost::system::error_code& error) {
    if (!error && *alive) listen();
  });
}

// --- the rest -----------------------------------------------------------------------------------------------------------------------------

void HttpBack::pause() {
  paused_ = true;
  for (const net::AsyncId id : streams_) client_->pause(id);
}

void HttpBack::resume() {
  paused_ = false;
  for (const net::AsyncId id : streams_) client_->resume(id);
}

void HttpBack::say_ended() {
  if (std::exchange(has_ended_, true)) return;
  listener_.ended(server_);
}

void HttpBack::end() {
  if (ending_) return;
  ending_ = true;
  listen_timer_.cancel();
  if (!client_ || session_id_.empty()) return later([this] { say_ended(); });
  if (listening_ != 0) client_->cancel(std::exchange(listening_, 0));
  // It may say no (405), or nothing: then it forgets us by itself.
  net::AsyncRequest out = request("DELETE");
  out.timeout = kEndWait;
  out.headers.push_back({std::string(kSessionHeader), session_id_});
  if (!version_.empty()) out.headers.push_back({"MCP-Protocol-Version", version_});
  client_->send(std::move(out), {.on_done = [this, alive = alive_](net::AsyncOutcome) {
                  if (*alive) say_ended();
                }});
}

}  // namespace baton::proxy
