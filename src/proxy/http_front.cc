// SPDX-License-Identifier: Apache-2.0
#include "proxy/http_front.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <mutex>
#include <unordered_map>

#include "base/sha256.h"
#include "base/text.h"
#include "mcp/answers.h"
#include "mcp/message.h"
#include "net/url.h"
#include "proxy/posted.h"

namespace baton::proxy {
namespace {

namespace asio = boost::asio;
using ExchangePointer = std::shared_ptr<net::Exchange>;

// Quiet conversations are looked for so many times within the time that they may be quiet.
constexpr int kLooks = 8;
// Heads of streams and of answers, beside the message.
constexpr std::size_t kFrameBytes = 1u << 20;

// The token that was presented, by its number from 1; 0 where the front is open to everyone; nothing when it is none of ours. All
// are compared, each by its hash, so that the time taken tells nothing.
class Tokens {
 public:
  explicit Tokens(const HttpFrontOptions& options) : open_(options.without_token) {
    for (const std::string& token : options.tokens) hashes_.push_back(sha256(token));
  }

  std::optional<std::size_t> credential(const net::ServerRequest& request) const {
    if (open_) return 0;
    constexpr std::string_view kScheme = "bearer ";
    const std::string_view given = request.header("authorization").value_or("");
    if (to_lower_ascii(given.substr(0, kScheme.size())) != kScheme) return std::nullopt;
    const Sha256 presented = sha256(trim(given.substr(kScheme.size())));
    std::optional<std::size_t> found;
    for (std::size_t at = 0; at < hashes_.size(); ++at)
      if (::CRYPTO_memcmp(hashes_[at].data(), presented.data(), presented.size()) == 0) found = at + 1;
    return found;
  }

 private:
  const bool open_;
  std::vector<Sha256> hashes_;
};

// So many a second of each client, and so many at once. One that has not called for long enough is as good as one that never has,
// and is forgotten when there are many.
class Rates {
 public:
  Rates(double per_second, double at_once) : per_second_(per_second), at_once_(std::max(at_once, 1.0)) {}

  bool take(const std::string& client, std::int64_t now_ns) {
    if (per_second_ <= 0) return true;
    if (buckets_.size() >= kClientsMax && !buckets_.contains(client)) forget(now_ns);
    Bucket& bucket = buckets_.try_emplace(client, Bucket{at_once_, now_ns}).first->second;
    bucket = {left(bucket, now_ns), now_ns};
    if (bucket.left < 1) return false;
    bucket.left -= 1;
    return true;
  }

 private:
  // Addresses of this machine, mostly: it has sixteen million of them.
  static constexpr std::size_t kClientsMax = 4096;
  struct Bucket {
    double left;
    std::int64_t filled_ns;
  };

  double left(const Bucket& bucket, std::int64_t now_ns) const {
    return std::min(at_once_, bucket.left + static_cast<double>(now_ns - bucket.filled_ns) / 1e9 * per_second_);
  }
  // Those that are full again; failing that, the one that has been quiet for longest.
  void forget(std::int64_t now_ns) {
    std::erase_if(buckets_, [&](const auto& entry) { return left(entry.second, now_ns) >= at_once_; });
    if (buckets_.size() < kClientsMax) return;
    buckets_.erase(std::ranges::min_element(buckets_, {}, [](const auto& entry) { return entry.second.filled_ns; }));
  }

  const double per_second_, at_once_;
  std::unordered_map<std::string, Bucket> buckets_;
};

// Whose requests are counted together.
std::string client_of(const net::ServerRequest& request, std::size_t credential) {
  if (credential != 0) return "token " + std::to_string(credential);
  return request.peer.address.substr(0, request.peer.address.rfind(':'));  // without the port
}

// What the operator of the proxy can do about it; empty: nothing.
std::string how_to_admit(std::string_view code) {
  if (code == "HTTP_ORIGIN") return "; `baton mcp --origin ORIGIN` admits the pages of an origin";
  if (code == "HTTP_HOST") return "; `baton mcp --host NAME` admits a further name of the proxy";
  return {};
}

net::ServerResponse refusal(unsigned status, std::string_view problem) {
  // A Host that is not ours is what a page sends that was told our address by its own name server.
  return error_response(status == 421 ? 403 : status, mcp::kInvalidRequest, problem);
}

bool is_json(const net::ServerRequest& request) {
  const std::string_view type = request.header("content-type").value_or("");
  return to_lower_ascii(trim(type.substr(0, type.find(';')))) == "application/json";
}

// The answers to a page that was named: it may read them.
class PageExchange final : public net::Exchange {
 public:
  PageExchange(ExchangePointer inner, std::string origin) : inner_(std::move(inner)), origin_(std::move(origin)) {}

  const net::ServerRequest& request() const override { return inner_->request(); }
  void respond(net::ServerResponse response) override {
    add_to(response.headers);
    inner_->respond(std::move(response));
  }
  std::shared_ptr<net::EventStream> stream(std::vector<net::Header> headers) override {
    add_to(headers);
    return inner_->stream(std::move(headers));
  }
  void on_gone(std::function<void()> call) override { inner_->on_gone(std::move(call)); }

 private:
  void add_to(std::vector<net::Header>& headers) const {
    headers.push_back({"Access-Control-Allow-Origin", origin_});
    headers.push_back({"Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate"});
    headers.push_back({"Vary", "Origin"});
  }

  ExchangePointer inner_;
  std::string origin_;
};

}  // namespace

std::string problem_with(const HttpFrontOptions& options) {
  if (options.listen.empty()) return "there is no address to listen on";
  for (const net::ListenAddress& address : options.listen) {
    if (net::is_loopback(address.host)) continue;
    if (options.without_token) return "only this machine may be listened to without a token";
    if (options.certificate_file.empty())
      return "other machines are listened to only with TLS: give a certificate and its key";
    if (options.tokens.empty()) return "other machines are listened to only with a token";
  }
  if (options.without_token) return options.tokens.empty() ? "" : "a token is given, and none is to be required";
  if (options.tokens.empty()) return "a token is required";
  return std::any_of(options.tokens.begin(), options.tokens.end(),
                     [](const std::string& token) { return token.size() < 16; })
             ? "a token has at least 16 characters"
             : "";
}

// --- the front ----------------------------------------------------------------------------------------------------------------------

class HttpFront::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(asio::io_context& context, Clock& clock, Random& random, HttpFrontOptions options, MakeBehind make)
      : context_(context),
        clock_(clock),
        random_(random),
        options_(std::move(options)),
        tokens_(options_),
        rates_(options_.requests_per_second, options_.requests_at_once),
        make_(std::move(make)),
        looking_(context) {}

  Result<bool> start();
  void stop(std::function<void()> done);
  void cut_off();
  std::vector<std::string> addresses() const { return server_ ? server_->addresses() : std::vector<std::string>(); }
  Figures figures() const { return {sessions_.size(), all_.size()}; }

 private:
  // Whose requests share a conversation in the modern era: the credential, and the governed session that they name.
  using ModernKey = std::pair<std::size_t, std::optional<Sha256>>;
  struct Conversation {
    std::shared_ptr<HttpSession> session;
    std::size_t credential = 0;
    std::uint64_t seen = 0;  // its activity when it was last looked at,
    int quiet_looks = 0;     // and for how long it is so
  };

  // On the server's thread.
  void handle(ExchangePointer exchange);
  void handle_post(ExchangePointer exchange, std::size_t credential);
  void answer_preflight(net::Exchange& exchange) const;

  // On the context's.
  template <class Work>
  void on_context(Work work);
  void post(ExchangePointer exchange, std::size_t credential, Posted posted, std::string body);
  void session_request(ExchangePointer exchange, std::size_t credential);
  bool is_within_rate(net::Exchange& exchange, std::size_t credential);
  std::shared_ptr<HttpSession> find(net::Exchange& exchange, std::size_t credential);
  std::shared_ptr<HttpSession> add(mcp::Era era, const ModernKey& key);
  bool has_room(net::Exchange& exchange) const;
  void remove(const HttpSession* session);
  std::string new_id();
  void look();

  asio::io_context& context_;
  Clock& clock_;
  Random& random_;
  const HttpFrontOptions options_;
  const Tokens tokens_;
  Rates rates_;
  const MakeBehind make_;
  std::unique_ptr<net::HttpServer> server_;
  std::map<const HttpSession*, Conversation> all_;
  std::unordered_map<std::string, std::shared_ptr<HttpSession>> sessions_;  // legacy, by id
  std::map<ModernKey, std::shared_ptr<HttpSession>> modern_;
  asio::steady_timer looking_;
  std::function<void()> stopped_;
};

Result<bool> HttpFront::Core::start() {
  net::ServerOptions server;
  server.listen = options_.listen;
  server.certificate_file = options_.certificate_file;
  server.key_file = options_.key_file;
  server.hosts = options_.hosts;
  server.origins = options_.origins;
  server.loopback_origins = true;
  server.threads = options_.threads;
  if (options_.certificate_file.empty()) server.context = &context_;
  server.limits.body_bytes = options_.client_bytes_max;
  server.limits.connections = options_.connections;
  server.limits.streams = options_.connections;
  server.limits.stream_backlog_bytes = options_.server_bytes_max + options_.limits.unsent_bytes_max + kFrameBytes;
  server.limits.write_time = options_.write_time;
  auto started = net::start_http_server(
      server,
      [weak = weak_from_this()](ExchangePointer exchange) {
        if (const auto self = weak.lock()) self->handle(std::move(exchange));
      },
      [](unsigned status, std::string_view code, std::string_view problem) {
        return refusal(status, std::string(problem) + how_to_admit(code));
      },
      [weak = weak_from_this()](const net::ServerRequest& head) {
        const auto self = weak.lock();
        return self && self->tokens_.credential(head).has_value();
      });
  if (!started) return tl::make_unexpected(started.error());
  server_ = std::move(*started);
  look();
  return true;
}

// --- on the server's thread ---------------------------------------------------------------------------------------------------------

template <class Work>
void HttpFront::Core::on_context(Work work) {
  asio::dispatch(context_, [weak = weak_from_this(), work = std::move(work)]() mutable {
    if (const auto self = weak.lock()) work(*self);
  });
}

// What a page asks before it calls.
void HttpFront::Core::answer_preflight(net::Exchange& exchange) const {
  const auto asked = exchange.request().header("access-control-request-headers");
  exchange.respond({.status = 204,
                    .content_type = "",
                    .body = "",
                    .headers = {{"Access-Control-Allow-Methods", "GET, POST, DELETE"},
                                {"Access-Control-Allow-Headers", std::string(asked.value_or(""))},
                                {"Access-Control-Max-Age", "600"}}});
}

void HttpFront::Core::handle(ExchangePointer exchange) {
  const net::ServerRequest& request = exchange->request();
  // Pages of this machine may call without having been named, but not read what comes.
  if (const auto origin = request.header("origin");
      origin && std::ranges::find(options_.origins, std::string(*origin)) != options_.origins.end()) {
    exchange = std::make_shared<PageExchange>(std::move(exchange), std::string(*origin));
    if (request.method == "OPTIONS") return answer_preflight(*exchange);
  }
  const auto credential = tokens_.credential(request);
  // Clients that were refused look for an authorization server before they give up; 404 says that there is none.
  if (request.path.starts_with("/.well-known/")) return exchange->respond(refusal(404, "the endpoint is /mcp"));
  if (!credential) {
    net::ServerResponse response = refusal(401, "a bearer token is needed");
    response.headers.push_back({"WWW-Authenticate", request.header("authorization")
                                                        ? R"(Bearer realm="baton", error="invalid_token")"
                                                        : R"(Bearer realm="baton")"});
    return exchange->respond(std::move(response));
  }
  if (request.path != "/mcp" && request.path != "/") return exchange->respond(refusal(404, "the endpoint is /mcp"));
  if (request.method == "POST") return handle_post(std::move(exchange), *credential);
  const bool is_modern = says_modern(request.headers);
  if ((request.method != "GET" && request.method != "DELETE") || is_modern) {
    net::ServerResponse response = refusal(405, "the method is not one of this endpoint");
    response.headers.push_back({"Allow", is_modern ? "POST" : "GET, POST, DELETE"});
    return exchange->respond(std::move(response));
  }
  if (request.method == "GET" && !accepts(request.headers, "text/event-stream"))
    return exchange->respond(refusal(406, "Accept has to list text/event-stream"));
  if (!is_legacy_version(request.headers))
    return exchange->respond(refusal(400, "the revision of the header MCP-Protocol-Version is not supported"));
  on_context([exchange = std::move(exchange), credential = *credential](Core& self) mutable {
    self.session_request(std::move(exchange), credential);
  });
}

void HttpFront::Core::handle_post(ExchangePointer exchange, std::size_t credential) {
  const net::ServerRequest& request = exchange->request();
  if (!is_json(request)) return exchange->respond(refusal(415, "the body has to be application/json"));
  if (!accepts(request.headers, "application/json") || !accepts(request.headers, "text/event-stream"))
    return exchange->respond(refusal(406, "Accept has to list application/json and text/event-stream"));
  mcp::Message message(request.body, options_.client_bytes_max);
  auto judged = judge_post(request.headers, message);
  if (const auto* refused = std::get_if<RefusedPost>(&judged))
    return exchange->respond({.status = refused->status, .body = refused->body});
  on_context([exchange = std::move(exchange), credential, posted = std::get<Posted>(std::move(judged)),
              body = message.take_bytes()](Core& self) mutable {
    self.post(std::move(exchange), credential, std::move(posted), std::move(body));
  });
}

// --- on the context's thread --------------------------------------------------------------------------------------------------------

bool HttpFront::Core::is_within_rate(net::Exchange& exchange, std::size_t credential) {
  if (rates_.take(client_of(exchange.request(), credential), clock_.monotonic_ns())) return true;
  net::ServerResponse response = refusal(429, "too many requests");
  response.headers.push_back({"Retry-After", "1"});
  exchange.respond(std::move(response));
  return false;
}

std::shared_ptr<HttpSession> HttpFront::Core::find(net::Exchange& exchange, std::size_t credential) {
  const auto id = exchange.request().header("mcp-session-id");
  if (!id) {
    exchange.respond(refusal(400, "the header Mcp-Session-Id is missing"));
    return nullptr;
  }
  const auto found = sessions_.find(std::string(trim(*id)));
  if (found == sessions_.end() || all_.at(found->second.get()).credential != credential) {
    exchange.respond(refusal(404, "there is no such session"));
    return nullptr;
  }
  return found->second;
}

void HttpFront::Core::session_request(ExchangePointer exchange, std::size_t credential) {
  if (!is_within_rate(*exchange, credential)) return;
  const auto session = find(*exchange, credential);
  if (session == nullptr) return;
  if (exchange->request().method == "GET") {
    const auto from = exchange->request().header("last-event-id");
    return session->listen(exchange, from ? std::optional(trim(*from)) : std::nullopt);
  }
  sessions_.erase(session->id());
  session->end("the client ended the session");
  exchange->respond({.status = 200, .content_type = "", .body = ""});
}

void HttpFront::Core::post(ExchangePointer exchange, std::size_t credential, Posted posted, std::string body) {
  if (stopped_) return exchange->respond(refusal(503, "the proxy is ending"));
  if (!is_within_rate(*exchange, credential)) return;
  std::shared_ptr<HttpSession> session;
  if (posted.era == mcp::Era::Modern) {
    const ModernKey key{credential, posted.session};
    const auto found = modern_.find(key);
    if (found != modern_.end() && !found->second->is_ending()) {
      session = found->second;
    } else {
      if (posted.session && !has_room(*exchange)) return;
      session = add(mcp::Era::Modern, key);
    }
  } else if (posted.begins_session && !exchange->request().header("mcp-session-id")) {
    if (!has_room(*exchange)) return;
    session = add(mcp::Era::Legacy, {credential, std::nullopt});
  } else {
    session = find(*exchange, credential);
    if (session == nullptr) return;
    if (posted.begins_session) return exchange->respond(refusal(400, "the session has begun already"));
  }
  Behind::Parameters parameters;
  if (posted.era == mcp::Era::Modern) parameters = std::move(posted.parameters);
  session->post(std::move(exchange), std::move(body), std::move(parameters),
                {.begins = posted.begins_session, .prefers_stream = posted.prefers_stream});
}

// Of those that anybody may begin any number of; the others are as many as there are tokens.
bool HttpFront::Core::has_room(net::Exchange& exchange) const {
  const auto named = std::ranges::count_if(modern_, [](const auto& entry) { return entry.first.second.has_value(); });
  if (sessions_.size() + static_cast<std::size_t>(named) < options_.limits.sessions) return true;
  net::ServerResponse full = refusal(503, "there are as many sessions as there may be");
  full.headers.push_back({"Retry-After", "30"});
  exchange.respond(std::move(full));
  return false;
}

std::string HttpFront::Core::new_id() {
  std::array<std::uint8_t, 16> bytes = {};
  random_.fill(bytes);
  return hex(bytes);
}

std::shared_ptr<HttpSession> HttpFront::Core::add(mcp::Era era, const ModernKey& key) {
  const bool is_legacy = era == mcp::Era::Legacy;
  // It says by itself when it has ended; the pointer is only a name then.
  const auto name = std::make_shared<const HttpSession*>(nullptr);
  const auto session = std::make_shared<HttpSession>(context_, era, is_legacy ? new_id() : "", options_.limits,
                                                     [weak = weak_from_this(), name] {
                                                       if (const auto self = weak.lock()) self->remove(*name);
                                                     });
  *name = session.get();
  all_.emplace(session.get(), Conversation{session, key.first});
  if (is_legacy) sessions_.emplace(session->id(), session);
  else modern_.insert_or_assign(key, session);
  session->begin(make_);
  return session;
}

void HttpFront::Core::remove(const HttpSession* session) {
  const auto found = all_.find(session);
  if (found == all_.end()) return;
  const auto kept = found->second.session;  // until the end of this
  sessions_.erase(kept->id());
  std::erase_if(modern_, [&](const auto& entry) { return entry.second == kept; });
  all_.erase(found);
  asio::post(context_, [kept] {});
  // After that: whoever is told may stop the loop, and what the loop still held would go with it, later than all else.
  if (stopped_ && all_.empty()) asio::post(context_, std::exchange(stopped_, [] {}));
}

// Ends those that nobody has used for long.
void HttpFront::Core::look() {
  looking_.expires_after(options_.limits.idle / kLooks);
  looking_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = error ? nullptr : weak.lock();
    if (self == nullptr) return;
    std::vector<std::shared_ptr<HttpSession>> over;
    for (auto& [pointer, one] : self->all_) {
      const bool is_quiet = one.session->is_quiet() && one.session->activity() == one.seen;
      one.seen = one.session->activity();
      one.quiet_looks = is_quiet ? one.quiet_looks + 1 : 0;
      if (one.quiet_looks >= kLooks) over.push_back(one.session);
    }
    for (const auto& session : over) {
      self->sessions_.erase(session->id());
      std::erase_if(self->modern_, [&](const auto& entry) { return entry.second == session; });
      session->end("nobody used the session for long");
    }
    self->look();
  });
}

void HttpFront::Core::stop(std::function<void()> done) {
  looking_.cancel();
  stopped_ = std::move(done);
  sessions_.clear();
  modern_.clear();
  if (all_.empty()) {
    asio::post(context_, std::exchange(stopped_, [] {}));
    return;
  }
  std::vector<std::shared_ptr<HttpSession>> open;
  for (const auto& [pointer, one] : all_) open.push_back(one.session);
  for (const auto& session : open) session->end("the proxy is ending");
}

void HttpFront::Core::cut_off() {
  looking_.cancel();
  server_.reset();
  sessions_.clear();
  modern_.clear();
  all_.clear();
}

// --- the outside --------------------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<HttpFront>> HttpFront::start(asio::io_context& context, Clock& clock, Random& random,
                                                    HttpFrontOptions options, MakeBehind make) {
  if (std::string problem = problem_with(options); !problem.empty()) return failure("listening for MCP", problem);
  auto core = std::make_shared<Core>(context, clock, random, std::move(options), std::move(make));
  if (auto started = core->start(); !started) return tl::make_unexpected(started.error());
  return std::unique_ptr<HttpFront>(new HttpFront(std::move(core)));
}

HttpFront::HttpFront(std::shared_ptr<Core> core) : core_(std::move(core)) {}
HttpFront::~HttpFront() { core_->cut_off(); }
std::vector<std::string> HttpFront::addresses() const { return core_->addresses(); }
void HttpFront::stop(std::function<void()> done) { core_->stop(std::move(done)); }
HttpFront::Figures HttpFront::figures() const { return core_->figures(); }

}  // namespace baton::proxy
