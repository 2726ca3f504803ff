// SPDX-License-Identifier: Apache-2.0
#include "proxy/node_link.h"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "base/ids.h"
#include "base/limits.h"
#include "base/session_token.h"
#include "base/text.h"
#include "json/parse.h"
#include "json/value.h"
#include "proxy/words.h"

namespace baton::proxy {
namespace {

using std::chrono::milliseconds;

// How long a call waits at most for its turn, where those of a workflow execute one at a time.
constexpr int kTurnSeconds = 20;
// Of a session's token: far longer than any.
constexpr std::size_t kTokenBytesMax = 512;

std::string percent_encoded(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~') out.push_back(c);
    else (out += '%') += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

std::string unknown_of(std::string_view settlement) {
  const auto document = json::parse(settlement);
  json::Value out = json::Value::object();
  if (document) out.set("call_id", json::Value::copy(document->root()["call_id"]));
  out.set("result", "unknown");
  return json::write(out);
}

void set_text(json::Value& body, std::string_view name, const std::string& text) {
  if (!text.empty()) body.set(name, text);
}

}  // namespace

NodeLink::NodeLink(Shared& shared) : shared_(shared), approval_look_(shared.context), follow_pause_(shared.context) {
  const NodeOptions& node = shared.options.node;
  if (!node.token.empty()) headers_.push_back({"Authorization", "Bearer " + node.token});
}

NodeLink::~NodeLink() {
  *alive_ = false;
  if (following_ != 0) shared_.node.cancel(following_);
}

net::AsyncRequest NodeLink::request(std::string method, std::string target, std::string body) const {
  net::AsyncRequest out;
  out.method = std::move(method);
  out.target = std::move(target);
  out.body = std::move(body);
  out.headers = headers_;
  out.timeout = kAnswerWait;
  out.answer_bytes_max = limits::kNodeAnswerBytesMax;
  return out;
}

void NodeLink::ask(net::AsyncRequest request, std::function<void(int, std::string, bool)> heard) {
  shared_.node.send(std::move(request),
                    {.on_done = [alive = alive_, heard = std::move(heard)](net::AsyncOutcome outcome) {
                      if (!*alive) return;
                      if (!outcome.answer) return heard(0, outcome.answer.error().reason, outcome.sent);
                      heard(static_cast<int>(outcome.answer->status), std::move(outcome.answer->body), true);
                    }});
}

void NodeLink::after(boost::asio::steady_timer& timer, milliseconds time, std::function<void()> what) {
  timer.expires_after(time);
  timer.async_wait([alive = alive_, what = std::move(what)](const boost::system::error_code& error) {
    if (!error && *alive) what();
  });
}

// --- the session ----------------------------------------------------------------------------------------------------------------------

void NodeLink::adopt(std::string id, std::string token) {
  session_id_ = std::move(id);
  if (!token.empty()) headers_.push_back({"Baton-Session", std::move(token)});
  base_ = "/v1/sessions/" + percent_encoded(session_id_);
  calls_target_ = base_ + "/calls";
  settle_target_ = base_ + "/settle";
}

void NodeLink::open(std::string token, std::function<void(Opened)> opened) {
  const Options& options = shared_.options;
  if (!token.empty()) return join(std::move(token), std::move(opened));
  if (!options.node.session_id.empty()) {
    if (session_id_.empty()) adopt(options.node.session_id, options.node.session_token);
    return ask(request("GET", base_), [this, opened = std::move(opened)](int status, std::string body, bool) {
      if (status != 200) return opened(Opened{false, refusal_text(status, body)});
      read_pack(std::move(body), opened);
    });
  }
  json::Value body = json::Value::object();
  set_text(body, "pack", options.pack);
  set_text(body, "role", options.role);
  set_text(body, "mode", options.mode);
  set_text(body, "gate", options.gate);
  if (!options.labels.empty()) {
    json::Value labels = json::Value::array();
    for (const std::string& label : options.labels) labels.push(label);
    body.set("labels", std::move(labels));
  }
  // One whose answer was lost is not opened twice.
  if (open_key_.empty()) open_key_ = mint_id("open-", shared_.random);
  net::AsyncRequest asked = request("POST", "/v1/sessions", json::write(body));
  asked.headers.push_back({"Idempotency-Key", open_key_});
  ask(std::move(asked), [this, opened = std::move(opened)](int status, std::string answer, bool) {
    if (status != 0) open_key_.clear();
    if (status < 200 || status >= 300) return opened({false, refusal_text(status, answer)});
    const auto document = json::parse(answer);
    const json::Node session = document ? document->root()["session"] : json::Node();
    if (!session["id"].is_string() || !session["token"].is_string())
      return opened({false, "the node's answer names no session"});
    is_own_ = true;
    adopt(std::string(session["id"].string()), std::string(session["token"].string()));
    read_pack(std::move(answer), opened);
  });
}

// Names of contracts, and the definitions that are approved: without them no name could be told, so that nothing goes ahead.
void NodeLink::read_pack(std::string session, std::function<void(Opened)> opened) {
  ask(request("GET", base_ + "/mcp"),
      [session = std::move(session), opened = std::move(opened)](int status, std::string body, bool) mutable {
        if (status != 200) return opened(Opened{false, refusal_text(status, body)});
        opened(Opened{true, std::move(session), std::move(body)});
      });
}

// Whoever names a session is told little about why it is none: it may not be theirs.
void NodeLink::join(std::string token, std::function<void(Opened)> opened) {
  const Opened none{false, "it is not the token of an open governed session"};
  std::string id(session_of_token(token));
  // It becomes a header: what is not written like a token is not sent.
  const auto is_digit = [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; };
  const bool is_written = token.size() <= kTokenBytesMax && std::ranges::all_of(token, is_digit);
  if (id.empty() || !is_written)
    return boost::asio::post(shared_.context, [alive = alive_, none, opened = std::move(opened)] {
      if (*alive) opened(none);
    });
  net::AsyncRequest asked = request("GET", "/v1/sessions/" + percent_encoded(id));
  asked.headers.push_back({"Baton-Session", token});
  ask(std::move(asked), [this, none, id = std::move(id), token = std::move(token), opened = std::move(opened)](
                            int status, std::string body, bool) {
    if (status == 0 || status >= 500 || status == 429) return opened({false, refusal_text(status, body)});
    const auto document = status == 200 ? json::parse(body) : tl::make_unexpected(json::ParseError{});
    if (!document || !document->root()["session"]["governed"]["standing"].is_text("open")) return opened(none);
    adopt(id, token);
    read_pack(std::move(body), opened);
  });
}

void NodeLink::close(Heard heard) {
  ask(request("POST", base_ + "/close", "{}"),
      [heard = std::move(heard)](int status, std::string body, bool) { heard(status, std::move(body)); });
}

void NodeLink::show_session(Heard heard) {
  ask(request("GET", base_),
      [heard = std::move(heard)](int status, std::string body, bool) { heard(status, std::move(body)); });
}

void NodeLink::ask_callable(Heard heard) {
  ask(request("POST", base_ + "/preflight", "{}"),
      [heard = std::move(heard)](int status, std::string body, bool) { heard(status, std::move(body)); });
}

void NodeLink::hand_off(std::string document, Heard heard) {
  net::AsyncRequest asked = request("POST", base_ + "/handoff", std::move(document));
  asked.content_type = "text/plain; charset=utf-8";
  ask(std::move(asked),
      [heard = std::move(heard)](int status, std::string body, bool) { heard(status, std::move(body)); });
}

// --- calls ------------------------------------------------------------------------------------------------------------------------------

void NodeLink::propose(std::string body, Heard heard) {
  ask(request("POST", calls_target_, body),
      [this, body, heard = std::move(heard)](int status, std::string answer, bool sent) {
        if (status == 0 && sent) {
          // Perhaps it was begun, and nothing came of it: that is known here alone.
          if (const auto proposal = json::parse(body)) {
            json::Value settled = json::Value::object(), error = json::Value::object();
            settled.set("call_id", json::Value::copy(proposal->root()["calls"].element(0)["call_id"]));
            settled.set("result", "error");
            error.set("code", "not_sent");
            error.set("class", "network");
            settled.set("error", std::move(error));
            settle(json::write(settled), {});
          }
        }
        heard(status, std::move(answer));
      });
}

void NodeLink::start(std::string body, Heard heard) {
  ask(request("POST", base_ + "/start?wait_seconds=" + std::to_string(kTurnSeconds), std::move(body)),
      [heard = std::move(heard)](int status, std::string answer, bool) { heard(status, std::move(answer)); });
}

void NodeLink::settle(std::string body, Heard heard) {
  ++settling_;
  settle_again(std::move(body), std::move(heard), 1);
}

void NodeLink::settle_again(std::string body, Heard heard, int tries) {
  net::AsyncRequest asked = request("POST", settle_target_, body);
  ask(std::move(asked),
      [this, body = std::move(body), heard = std::move(heard), tries](int status, std::string answer, bool) {
        // 429 and 503: it was not looked at.
        const bool is_over = status != 0 && status != 429 && status != 503;
        // An output larger than the node takes: nobody judged it, so that nobody knows.
        if (status == 413) settle(unknown_of(body), {});
        if (!is_over && tries < kSettleTries) {
          auto timer = std::make_shared<boost::asio::steady_timer>(shared_.context);
          const milliseconds pause =
              in_a_hurry_ ? milliseconds(100) : std::min(milliseconds(100) * (1 << tries), milliseconds(5'000));
          boost::asio::steady_timer& waits = *timer;
          return after(waits, pause, [this, timer, body, heard, tries] { settle_again(body, heard, tries + 1); });
        }
        if (!is_over) shared_.report("what became of a call could not be told to the node: " + printable(answer, 200));
        --settling_;
        const std::shared_ptr<bool> alive = alive_;
        if (heard) heard(status, std::move(answer));
        if (*alive && settling_ == 0 && quiet_) quiet_();
      });
}

// --- approvals --------------------------------------------------------------------------------------------------------------------------

void NodeLink::await_approval(mcp::CallNumber call, std::string approval_id, Heard heard) {
  approvals_.insert_or_assign(call, Waiting{std::move(approval_id), std::move(heard)});
  ask_approval(call);
}

void NodeLink::ask_approval(mcp::CallNumber call) {
  const auto found = approvals_.find(call);
  if (found == approvals_.end() || found->second.is_asked) return;
  found->second.is_asked = true;
  ask(request("GET", "/v1/approvals/" + percent_encoded(found->second.approval_id)),
      [this, call](int status, std::string body, bool) {
        const auto waiting = approvals_.find(call);
        if (waiting == approvals_.end()) return;
        waiting->second.is_asked = false;
        const mcp::Decision::Kind kind = mcp::read_decision(status, body).kind;
        const bool unreachable = kind == mcp::Decision::Kind::Unreachable;
        waiting->second.failures = unreachable ? waiting->second.failures + 1 : 0;
        if (kind == mcp::Decision::Kind::Open || (unreachable && waiting->second.failures < kApprovalTries)) {
          if (!looks_) {
            looks_ = true;
            after(approval_look_, kApprovalLook, [this] { look_at_approvals(); });
          }
          return;
        }
        const Heard heard = std::move(waiting->second.heard);
        approvals_.erase(waiting);
        heard(status, std::move(body));
      });
}

void NodeLink::look_at_approvals() {
  looks_ = false;
  std::vector<mcp::CallNumber> all;
  for (const auto& [call, waiting] : approvals_) all.push_back(call);
  for (const mcp::CallNumber call : all) ask_approval(call);
}

void NodeLink::decide(const std::string& approval_id, const std::string& digest, bool approve) {
  json::Value body = json::Value::object();
  body.set("decision", approve ? "approve" : "deny");
  body.set("digest", digest);
  net::AsyncRequest asked =
      request("POST", "/v1/approvals/" + percent_encoded(approval_id) + "/decide", json::write(body));
  // By the operator, not by the session: whoever has the session's token decides nothing.
  asked.headers = {{"Authorization", "Bearer " + shared_.options.operator_token}};
  ask(std::move(asked), [this](int status, std::string body, bool) {
    if (status < 200 || status >= 300)
      shared_.report("the decision of the client's user was not taken: " + printable(refusal_text(status, body), 500));
    look_at_approvals();
  });
}

// --- what happens there -------------------------------------------------------------------------------------------------------------------

void NodeLink::follow(std::string own_calls, std::function<void()> changed) {
  own_calls_ = std::move(own_calls);
  changed_ = std::move(changed);
  listen();
}

void NodeLink::listen() {
  // Of a session that is ours alone, steps and receipts are our own.
  std::string target = "/v1/events?stream=" + percent_encoded("session/" + session_id_);
  if (is_own_)
    target +=
        "&type=session.ruled&type=session.labelled&type=session.cost&type=session.ended&type=session.paused&type="
        "session.resumed&type=session.reopened";
  net::AsyncRequest asked = request("GET", std::move(target));
  asked.headers.push_back({"Accept", "text/event-stream"});
  if (!last_event_id_.empty()) asked.headers.push_back({"Last-Event-ID", last_event_id_});
  asked.idle_timeout = milliseconds(0);
  following_ = shared_.node.send(
      std::move(asked),
      {.on_done =
           [this, alive = alive_](net::AsyncOutcome outcome) {
             if (!*alive) return;
             following_ = 0;
             // The session is none that may be followed: what is callable is looked at after each call all the same.
             if (outcome.answer && !outcome.streamed && outcome.answer->status != 429 && outcome.answer->status != 503)
               return;
             listen_again();
           },
       .on_stream =
           [this, alive = alive_](const net::HttpAnswer&) {
             if (*alive) pause_ = kFollowPause;
           },
       .on_event =
           [this, alive = alive_](net::SseEvent event) {
             if (!*alive) return;
             last_event_id_ = event.id;
             if (!approvals_.empty()) look_at_approvals();
             const bool is_call = event.event == "session.step" || event.event.starts_with("session.call_");
             if (!*alive || (is_call && event.data.find(own_calls_) != std::string::npos)) return;
             changed_();
           }});
}

void NodeLink::listen_again() {
  after(follow_pause_, pause_, [this] { listen(); });
  pause_ = std::min(pause_ * 2, kFollowPauseMax);
}

}  // namespace baton::proxy
