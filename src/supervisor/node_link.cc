// SPDX-License-Identifier: Apache-2.0
#include "supervisor/node_link.h"

#include "base/ids.h"
#include "base/limits.h"
#include "base/text.h"

namespace baton::supervisor {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAgain{250}, kFollowPause{500};
// A node says something at least every 15 seconds on a stream.
constexpr milliseconds kFollowSilence{60'000};

bool is_worth_another_try(int status) {
  return status == 0 || status == 429 || status == 502 || status == 503 || status == 504;
}

}  // namespace

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

struct NodeLink::Asking {
  net::AsyncRequest request;
  std::int64_t until_ns;  // of the monotonic clock
  Heard heard;
  boost::asio::steady_timer pause;
  net::AsyncId id = 0;
};

NodeLink::NodeLink(boost::asio::io_context& context, Clock& clock, Random& random, net::AsyncPlace& node,
                   std::string token)
    : context_(context),
      clock_(clock),
      random_(random),
      node_(node),
      token_(std::move(token)),
      follow_pause_(context) {}

NodeLink::~NodeLink() {
  *alive_ = false;
  stop_following();
}

std::vector<net::Header> NodeLink::headers() const {
  std::vector<net::Header> out;
  if (!token_.empty()) out.push_back({"Authorization", "Bearer " + token_});
  if (!session_token_.empty()) out.push_back({"Baton-Session", session_token_});
  return out;
}

void NodeLink::ask(const std::shared_ptr<Asking>& asking) {
  asking->id = node_.send(asking->request, {.on_done = [this, alive = alive_, asking](net::AsyncOutcome outcome) {
                            if (!*alive) return;
                            const int status = outcome.answer ? static_cast<int>(outcome.answer->status) : 0;
                            if (is_worth_another_try(status) && clock_.monotonic_ns() < asking->until_ns)
                              return ask_later(asking);
                            if (!outcome.answer) return asking->heard(0, outcome.answer.error().text());
                            asking->heard(status, std::move(outcome.answer->body));
                          }});
}

void NodeLink::ask_later(const std::shared_ptr<Asking>& asking) {
  asking->pause.expires_after(kAgain);
  asking->pause.async_wait([this, alive = alive_, asking](const boost::system::error_code& error) {
    if (!error && *alive) ask(asking);
  });
}

void NodeLink::get(std::string path, Heard heard) {
  net::AsyncRequest request;
  request.method = "GET";
  request.target = std::move(path);
  request.headers = headers();
  request.safe_to_repeat = true;
  request.answer_bytes_max = limits::kNodeAnswerBytesMax;
  ask(std::make_shared<Asking>(Asking{std::move(request), 0, std::move(heard), boost::asio::steady_timer(context_)}));
}

void NodeLink::post(std::string path, const json::Value& body, milliseconds patience, Heard heard,
                    milliseconds answer_wait) {
  net::AsyncRequest request;
  request.target = std::move(path);
  request.body = json::write(body);
  request.headers = headers();
  request.headers.push_back({"Idempotency-Key", mint_id("run_", random_)});
  request.safe_to_repeat = true;
  request.timeout = answer_wait;
  request.answer_bytes_max = limits::kNodeAnswerBytesMax;
  const std::int64_t until = clock_.monotonic_ns() + std::chrono::nanoseconds(patience).count();
  const auto asking = std::make_shared<Asking>(
      Asking{std::move(request), until, std::move(heard), boost::asio::steady_timer(context_)});
  newest_ = asking;
  ask(asking);
}

void NodeLink::hurry(milliseconds time) {
  const auto asking = newest_.lock();
  if (!asking) return;
  node_.cancel(asking->id);
  asking->pause.cancel();
  asking->until_ns = 0;
  asking->request.timeout = time;
  ask(asking);
}

void NodeLink::post_text(std::string path, std::string text, milliseconds patience, Heard heard) {
  net::AsyncRequest request;
  request.target = std::move(path);
  request.body = std::move(text);
  request.content_type = "text/plain; charset=utf-8";
  request.headers = headers();
  request.headers.push_back({"Idempotency-Key", mint_id("run_", random_)});
  request.safe_to_repeat = true;
  request.timeout = std::chrono::seconds(30);
  request.answer_bytes_max = limits::kNodeAnswerBytesMax;
  const std::int64_t until = clock_.monotonic_ns() + std::chrono::nanoseconds(patience).count();
  ask(std::make_shared<Asking>(
      Asking{std::move(request), until, std::move(heard), boost::asio::steady_timer(context_)}));
}

void NodeLink::follow(const std::vector<std::string>& streams, std::uint64_t from,
                      std::function<void(std::string)> entry) {
  stop_following();
  follow_target_ = "/v1/events?from=" + std::to_string(from);
  for (const std::string& stream : streams) follow_target_ += "&stream=" + percent_encoded(stream);
  last_event_id_.clear();
  entry_ = std::move(entry);
  connect();
}

void NodeLink::stop_following() {
  follow_pause_.cancel();
  entry_ = {};
  if (following_ != 0) node_.cancel(std::exchange(following_, 0));
}

void NodeLink::connect() {
  net::AsyncRequest request;
  request.method = "GET";
  request.target = follow_target_;
  request.headers = headers();
  if (!last_event_id_.empty()) request.headers.push_back({"Last-Event-ID", last_event_id_});
  request.idle_timeout = kFollowSilence;
  following_ = node_.send(std::move(request),
                          {.on_done =
                               [this, alive = alive_](const net::AsyncOutcome&) {
                                 if (!*alive || !entry_) return;
                                 following_ = 0;
                                 follow_pause_.expires_after(kFollowPause);
                                 follow_pause_.async_wait([this, alive](const boost::system::error_code& error) {
                                   if (!error && *alive && entry_) connect();
                                 });
                               },
                           .on_event =
                               [this, alive = alive_](net::SseEvent event) {
                                 if (!*alive || !entry_) return;
                                 last_event_id_ = event.id;
                                 const auto entry = entry_;  // it may stop the following
                                 entry(std::move(event.data));
                               }});
}

}  // namespace baton::supervisor
