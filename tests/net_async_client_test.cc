// SPDX-License-Identifier: Apache-2.0
// The asynchronous HTTP client against the real server, and against peers that do as they are told.
#include "net/async_client.h"

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <map>

#include "base/descriptor.h"
#include "http_fixture.h"
#include "net/http_message.h"
#include "net_loop.h"

namespace baton::net {
namespace {

// A client with its loop, and what became of its requests.
struct Asking {
  explicit Asking(AsyncClientOptions options) {
    auto made = AsyncClient::make(loop.context, std::move(options));
    EXPECT_TRUE(made) << made.error().text();
    if (made) client = std::move(*made);
  }
  explicit Asking(const Node& node) : Asking(AsyncClientOptions{.unix_path = node.path()}) {}

  AsyncEvents events(const std::string& name) {
    return {[this, name](AsyncOutcome outcome) {
              EXPECT_FALSE(in_call);
              EXPECT_TRUE(outcomes.emplace(name, std::move(outcome)).second);
            },
            [this, name](const HttpAnswer& head) {
              EXPECT_FALSE(in_call);
              streams[name] = head.status;
            },
            [this, name](SseEvent event) {
              EXPECT_FALSE(in_call);
              seen[name].push_back(std::move(event));
            }};
  }
  AsyncId send(const std::string& name, AsyncRequest request) {
    if (request.timeout == seconds(10)) request.timeout = kPatience;
    in_call = true;
    const AsyncId id = client->send(std::move(request), events(name));
    in_call = false;
    return id;
  }
  bool until(const std::string& name) {
    return loop.until([&] { return outcomes.contains(name); });
  }
  // Sends and waits.
  const AsyncOutcome& ask(const std::string& name, AsyncRequest request) {
    send(name, std::move(request));
    EXPECT_TRUE(until(name)) << name;
    return outcomes.at(name);
  }
  std::string body(const std::string& name, AsyncRequest request) {
    const AsyncOutcome& outcome = ask(name, std::move(request));
    EXPECT_TRUE(outcome.answer) << outcome.answer.error().text();
    return outcome.answer ? outcome.answer->body : "";
  }

  Loop loop;
  bool in_call = false;
  std::map<std::string, AsyncOutcome> outcomes;
  std::map<std::string, unsigned> streams;
  std::map<std::string, std::vector<SseEvent>> seen;
  std::unique_ptr<AsyncClient> client;
};

AsyncRequest get_request(std::string target) { return {.method = "GET", .target = std::move(target)}; }

// Accepts one connection after the other and does with each what it is told.
class Partner {
 public:
  explicit Partner(std::vector<std::function<void(Raw&)>> scripts) : listener_(Raw::unix_socket()) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    thread_ = std::thread([this, scripts = std::move(scripts)] {
      for (const auto& script : scripts) {
        Raw raw(::accept(listener_, nullptr, nullptr));
        if (raw.socket() < 0) return;
        ++accepted;
        script(raw);
      }
    });
  }
  ~Partner() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::string path() const { return folder_.file("peer"); }
  AsyncClientOptions options() const { return {.unix_path = path()}; }

  std::atomic<int> accepted{0};

 private:
  Folder folder_;
  int listener_;
  std::thread thread_;
};

std::string ok(std::string_view body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}
const std::string kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n";
std::string chunk(std::string_view bytes) {
  char size[20];
  std::snprintf(size, sizeof(size), "%zx\r\n", bytes.size());
  return size + std::string(bytes) + "\r\n";
}

// --- whole answers ---------------------------------------------------------------------------------------------------

TEST(async_client, keeps_its_connections) {
  Node node;
  Asking asking(node);
  AsyncRequest request = {.target = "/x?y=1", .body = "hello", .headers = {{"X-Ask", "me"}}};
  const AsyncOutcome& outcome = asking.ask("first", request);
  ASSERT_TRUE(outcome.answer) << outcome.answer.error().text();
  EXPECT_EQ(outcome.answer->status, 200u);
  EXPECT_EQ(outcome.answer->body, "POST /x ?y=1 hello");
  EXPECT_EQ(outcome.answer->header("x-asked"), "me");
  EXPECT_EQ(outcome.answer->content_type, "text/plain");
  EXPECT_FALSE(outcome.streamed);
  EXPECT_EQ(asking.body("second", get_request("")), "GET / ? ");
  EXPECT_EQ(asking.body("third", {.method = "DELETE", .target = "/d"}), "DELETE /d ? ");
  EXPECT_EQ(asking.ask("fourth", get_request("/nothing")).answer->status, 204u);
  EXPECT_EQ(asking.ask("head", {.method = "HEAD", .target = "/d"}).answer->body, "");
  EXPECT_EQ(asking.body("after", get_request("/a")), "GET /a ? ");
  EXPECT_EQ(node.server->figures().connections_total, 1u);
  EXPECT_EQ(asking.client->figures().idle, 1u);
  EXPECT_EQ(asking.client->figures().active, 0u);
}

TEST(async_client, asks_a_thousand_times_at_once) {
  for (const bool tcp : {false, true}) {
    Node node(tcp ? on_tcp() : ServerOptions{}, !tcp);
    AsyncClientOptions options = {.connections_max = 64, .idle_max = 8};
    if (tcp) options.url = "http://" + node.server->addresses().front() + "/base";
    else options.unix_path = node.path();
    Asking asking(options);
    for (int i = 0; i < 1000; ++i)
      asking.send(std::to_string(i), {.target = i % 3 == 0 ? "/later" : "", .body = std::to_string(i)});
    EXPECT_EQ(asking.client->figures().active, 64u);
    EXPECT_EQ(asking.client->figures().waiting, 1000u - 64u);
    ASSERT_TRUE(asking.loop.until([&] { return asking.outcomes.size() == 1000; }));
    for (int i = 0; i < 1000; ++i) {
      const AsyncOutcome& outcome = asking.outcomes.at(std::to_string(i));
      ASSERT_TRUE(outcome.answer) << outcome.answer.error().text();
      const std::string path = i % 3 == 0 ? "/later" : tcp ? "/base" : "/";
      ASSERT_EQ(outcome.answer->body, "POST " + path + " ? " + std::to_string(i));
    }
    EXPECT_LE(node.server->figures().connections_total, 64u);
    EXPECT_LE(asking.client->figures().idle, 8u);
  }
}

TEST(async_client, sends_and_takes_much) {
  ServerLimits limits;
  limits.body_bytes = 32u << 20;
  Node node(with(limits));
  Asking asking(node);
  const std::string large(20'000'000, 'b');
  EXPECT_TRUE(asking.body("large", {.body = large, .answer_bytes_max = 32u << 20}) == "POST / ? " + large);
  const AsyncOutcome& refused = asking.ask("too large", {.target = "/big?2000000", .answer_bytes_max = 1'000'000});
  ASSERT_FALSE(refused.answer);
  EXPECT_EQ(refused.answer.error().code, "HTTP_BODY_TOO_LARGE");
  // A server that refuses what it has not read all of.
  const AsyncOutcome& told = asking.ask("refused", {.body = std::string(40u << 20, 'x')});
  ASSERT_TRUE(told.answer) << told.answer.error().text();
  EXPECT_EQ(told.answer->status, 413u);
  EXPECT_EQ(asking.body("after", get_request("/")), "GET / ? ");
}

TEST(async_client, reads_answers_of_every_shape) {
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  Script script({ok("abc"), "HTTP/1.1 200 OK\r\n\r\nto the end", chunked,
                 "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok("late"),
                 "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Type: text/event-stream\r\n"
                 "Content-Length: 4\r\n\r\nslow",
                 "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "nonsense\r\n\r\n",
                 "HTTP/1.1 200 OK\r\nX: " + std::string(80'000, 'x') + "\r\n\r\n", ""});
  Asking asking(AsyncClientOptions{.unix_path = script.path(), .idle_max = 0});
  EXPECT_EQ(asking.body("length", {}), "abc");
  EXPECT_EQ(asking.body("to the end", {}), "to the end");
  EXPECT_EQ(asking.body("chunked", {}), "abcde");
  EXPECT_EQ(asking.body("after others", {}), "late");
  const AsyncOutcome& slow = asking.ask("an error is no stream", {});
  ASSERT_TRUE(slow.answer);
  EXPECT_EQ(slow.answer->status, 429u);
  EXPECT_EQ(slow.answer->header("retry-after"), "7");
  EXPECT_EQ(slow.answer->body, "slow");
  EXPECT_FALSE(slow.streamed);
  for (const char* name : {"cut off", "no HTTP", "a head without end", "nothing at all"}) {
    const AsyncOutcome& outcome = asking.ask(name, {});
    EXPECT_FALSE(outcome.answer) << name;
    EXPECT_TRUE(outcome.sent) << name;
    EXPECT_EQ(outcome.answer.error().code, "") << name;
  }
}

TEST(async_client, refuses_what_it_may_not_send) {
  Node node;
  Asking asking(node);
  EXPECT_FALSE(asking.ask("header", {.headers = {{"X-Ask", "a\r\nX-Smuggled: b"}}}).answer);
  EXPECT_FALSE(asking.ask("name", {.headers = {{"X Ask", "a"}}}).answer);
  EXPECT_FALSE(asking.ask("type", {.body = "x", .content_type = "a\r\nb: c"}).answer);
  EXPECT_FALSE(asking.ask("method", {.method = "GET / HTTP/1.1\r\nX: y\r\n"}).answer);
  EXPECT_FALSE(asking.ask("target", get_request("/a b")).answer);
  const AsyncOutcome& outcome = asking.ask("no target", get_request("x"));
  EXPECT_FALSE(outcome.answer);
  EXPECT_FALSE(outcome.sent);
  EXPECT_EQ(node.server->figures().connections_total, 0u);
  EXPECT_FALSE(AsyncClient::make(asking.loop.context, {.url = "http://example.com/"}));  // plain, beyond this machine
  EXPECT_FALSE(AsyncClient::make(asking.loop.context, {.url = "ftp://localhost/"}));
  EXPECT_FALSE(AsyncClient::make(asking.loop.context, {.url = "https://localhost/", .ca_file = "/nowhere/ca.pem"}));
}

TEST(async_client, says_when_nobody_is_there) {
  Folder folder;
  Asking nowhere(AsyncClientOptions{.unix_path = folder.file("missing")});
  const AsyncOutcome& missing = nowhere.ask("missing", {});
  ASSERT_FALSE(missing.answer);
  EXPECT_EQ(missing.answer.error().code, "NODE_UNREACHABLE");
  EXPECT_FALSE(missing.sent);
  std::string address;
  {
    Node node(on_tcp(), false);
    address = node.server->addresses().front();
  }
  Asking refused(AsyncClientOptions{.url = "http://" + address});
  EXPECT_EQ(refused.ask("refused", {}).answer.error().code, "NODE_UNREACHABLE");
  EXPECT_FALSE(refused.outcomes.at("refused").sent);
  Asking longest(AsyncClientOptions{.unix_path = folder.file(std::string(200, 'x'))});
  EXPECT_FALSE(longest.ask("too long", {}).answer);
}

TEST(async_client, waits_while_the_listener_is_behind) {
  // Nobody accepts, and the queue takes two.
  Folder folder;
  const Descriptor listener(Raw::unix_socket());
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  folder.file("s").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  Asking asking(AsyncClientOptions{.unix_path = folder.file("s")});
  asking.send("late", {.timeout = milliseconds(100)});
  for (int i = 0; i < 4; ++i) asking.send(std::to_string(i), {});
  asking.loop.during(milliseconds(20));
  ASSERT_TRUE(asking.until("late"));
  EXPECT_EQ(asking.outcomes.at("late").answer.error().code, "HTTP_TIMEOUT");
  std::thread server([&] {
    while (true) {
      Raw raw(::accept(listener.get(), nullptr, nullptr));
      if (raw.socket() < 0) return;
      raw.send(ok("x"));  // perhaps to one that has gone
      raw.some();
    }
  });
  EXPECT_TRUE(asking.loop.until([&] { return asking.outcomes.size() == 5; }));
  ::shutdown(listener.get(), SHUT_RDWR);
  server.join();
}

// --- time, cancelling, closing ---------------------------------------------------------------------------------------

TEST(async_client, waits_no_longer_than_it_may) {
  Node node;
  Asking asking(AsyncClientOptions{.unix_path = node.path(), .connections_max = 1});
  asking.send("patient", get_request("/hold"));
  EXPECT_TRUE(asking.loop.until([&] { return node.held() == 1; }));
  AsyncRequest hasty = get_request("/");
  hasty.timeout = milliseconds(50);  // it does not even get a connection
  const AsyncOutcome& queued = asking.ask("queued", hasty);
  ASSERT_FALSE(queued.answer);
  EXPECT_EQ(queued.answer.error().code, "HTTP_TIMEOUT");
  EXPECT_FALSE(queued.sent);
  node.take_held()->respond({.body = "at last"});
  EXPECT_TRUE(asking.until("patient"));
  EXPECT_EQ(asking.outcomes.at("patient").answer->body, "at last");
  hasty.target = "/hold";
  const AsyncOutcome& held = asking.ask("held", hasty);
  ASSERT_FALSE(held.answer);
  EXPECT_EQ(held.answer.error().code, "HTTP_TIMEOUT");
  EXPECT_TRUE(held.sent);
  EXPECT_TRUE(eventually([&] { return node.gone == 1; }));  // the connection is closed
  EXPECT_EQ(asking.body("next", get_request("/")), "GET / ? ");
}

TEST(async_client, cancels) {
  Node node;
  Asking asking(AsyncClientOptions{.unix_path = node.path(), .connections_max = 2});
  const AsyncId first = asking.send("first", get_request("/hold"));
  asking.send("second", get_request("/hold"));
  const AsyncId third = asking.send("third", get_request("/"));
  asking.send("fourth", get_request("/"));
  EXPECT_TRUE(asking.loop.until([&] { return node.held() == 2; }));
  asking.client->cancel(third);  // which waited
  asking.client->cancel(first);  // which makes room
  asking.client->cancel(first);
  asking.client->cancel(12345);
  EXPECT_TRUE(asking.until("fourth"));
  EXPECT_TRUE(eventually([&] { return node.gone == 1; }));
  node.take_held();
  node.take_held()->respond({.body = "second"});
  EXPECT_TRUE(asking.until("second"));
  EXPECT_EQ(asking.outcomes.size(), 2u);
  // Before the loop has turned at all.
  asking.client->cancel(asking.send("never", get_request("/")));
  asking.client->cancel(asking.send("nor this", get_request("not a path")));
  asking.loop.during(milliseconds(30));
  EXPECT_EQ(asking.outcomes.size(), 2u);
  EXPECT_EQ(asking.client->figures().waiting + asking.client->figures().active, 0u);
}

TEST(async_client, may_be_let_go_by_what_it_calls) {
  Node node;
  Asking asking(node);
  int calls = 0;
  const auto events = [&]() -> AsyncEvents {
    return {[&](const AsyncOutcome&) {
      ++calls;
      asking.client.reset();
    }};
  };
  for (int i = 0; i < 3; ++i) asking.client->send(get_request("/"), events());
  EXPECT_TRUE(asking.loop.until([&] { return calls == 1; }));
  asking.loop.during(milliseconds(30));
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(eventually([&] { return node.server->figures().connections_open == 0; }));
}

TEST(async_client, answers_may_lead_to_further_requests) {
  Node node;
  Asking asking(AsyncClientOptions{.unix_path = node.path(), .connections_max = 1});
  int left = 200;
  std::function<void()> next = [&] {
    asking.client->send(get_request("/"), {[&](const AsyncOutcome& outcome) {
                          EXPECT_TRUE(outcome.answer);
                          if (--left > 0) next();
                        }});
  };
  next();
  EXPECT_TRUE(asking.loop.until([&] { return left == 0; }));
  EXPECT_EQ(node.server->figures().connections_total, 1u);
}

TEST(async_client, lets_idle_connections_go) {
  Node node;
  Asking asking(AsyncClientOptions{.unix_path = node.path(), .idle_time = milliseconds(50)});
  asking.body("one", get_request("/"));
  EXPECT_EQ(asking.client->figures().idle, 1u);
  EXPECT_TRUE(asking.loop.until([&] { return asking.client->figures().idle == 0; }));
  EXPECT_TRUE(eventually([&] { return node.server->figures().connections_open == 0; }));
  asking.body("two", get_request("/"));
  EXPECT_EQ(node.server->figures().connections_total, 2u);
}

TEST(async_client, makes_a_new_connection_when_the_server_closed_the_old) {
  ServerLimits limits;
  limits.idle_time = milliseconds(50);
  for (const bool tcp : {false, true}) {
    Node node(tcp ? on_tcp(limits) : with(limits), !tcp);
    AsyncClientOptions options;
    if (tcp) options.url = "http://" + node.server->addresses().front();
    else options.unix_path = node.path();
    Asking asking(options);
    asking.body("one", {.body = "1"});
    // It sees that by itself,
    EXPECT_TRUE(asking.loop.until([&] { return asking.client->figures().idle == 0; }));
    asking.body("two", {.body = "2"});
    // or, if its loop did not turn meanwhile, before anything is sent: what may not be repeated goes through.
    EXPECT_TRUE(eventually([&] { return node.server->figures().connections_open == 0; }));
    EXPECT_EQ(asking.client->figures().idle, 1u);
    EXPECT_EQ(asking.body("three", {.body = "3"}), "POST / ? 3");
    EXPECT_EQ(node.server->figures().requests_total, 3u);
  }
}

TEST(async_client, repeats_only_what_is_safe_to_repeat) {
  // Answers once and, asked again, closes: the server's end of a race nobody can win.
  const auto once = [](Raw& raw) {
    raw.until("\r\n\r\n");
    raw.send(ok("once"));
    raw.until("\r\n\r\n");
  };
  Partner peer({once, once, once, [](Raw& raw) {
                  raw.until("\r\n\r\n");
                  raw.send("HTTP/1.1 200 OK\r\nContent-");  // a byte came: not again
                }});
  Asking asking(peer.options());
  EXPECT_EQ(asking.body("one", {}), "once");
  const AsyncOutcome& lost = asking.ask("not safe", {});
  EXPECT_FALSE(lost.answer);
  EXPECT_TRUE(lost.sent);
  EXPECT_EQ(asking.client->figures().repeated_total, 0u);
  EXPECT_EQ(asking.body("two", {}), "once");
  EXPECT_EQ(asking.body("safe", {.safe_to_repeat = true}), "once");
  EXPECT_EQ(asking.client->figures().repeated_total, 1u);
  // Of a connection that is not new, and again of one that is: once is enough.
  EXPECT_FALSE(asking.ask("safe, but a byte came", {.safe_to_repeat = true}).answer);
  EXPECT_EQ(asking.client->figures().repeated_total, 2u);
  EXPECT_EQ(peer.accepted, 4);
}

TEST(async_client, tells_when_the_server_dies) {
  auto node = std::make_unique<Node>(on_tcp());
  Asking asking(AsyncClientOptions{.url = "http://" + node->server->addresses().front()});
  asking.body("before", get_request("/"));
  asking.send("held", get_request("/hold"));
  asking.send("stream", get_request("/stream"));
  EXPECT_TRUE(asking.loop.until([&] { return node->held() == 1 && asking.streams.contains("stream"); }));
  std::thread dying([&] { node->server.reset(); });
  EXPECT_TRUE(asking.until("held"));
  EXPECT_TRUE(asking.until("stream"));
  dying.join();
  node->let_go();
  EXPECT_FALSE(asking.outcomes.at("held").answer);
  EXPECT_TRUE(asking.outcomes.at("held").sent);
  EXPECT_EQ(asking.ask("after", get_request("/")).answer.error().code, "NODE_UNREACHABLE");
}

TEST(async_client, speaks_tls) {
  Folder folder, other;
  Node node(on_tls(folder), false);
  const std::string url = "https://" + node.server->addresses().front() + "/t";
  make_certificate(other.file("certificate.pem"), other.file("key.pem"));
  Asking asking(AsyncClientOptions{.url = url, .ca_file = folder.file("certificate.pem"), .connections_max = 8});
  for (int i = 0; i < 50; ++i) asking.send(std::to_string(i), {.body = std::to_string(i)});
  EXPECT_TRUE(asking.loop.until([&] { return asking.outcomes.size() == 50; }));
  for (const auto& [name, outcome] : asking.outcomes) {
    ASSERT_TRUE(outcome.answer) << outcome.answer.error().text();
    EXPECT_EQ(outcome.answer->body, "POST /t ? " + name);
  }
  EXPECT_LE(node.server->figures().connections_total, 8u);
  const std::string large(900'000, 'b');
  EXPECT_TRUE(asking.body("large", {.body = large}) == "POST /t ? " + large);
  asking.send("stream", get_request("/stream"));
  std::thread sending([&] {
    const auto stream = node.stream(0);
    for (int i = 0; i < 100; ++i) stream->send(bytes(sse_event("", "", std::to_string(i))));
    stream->close();
  });
  EXPECT_TRUE(asking.until("stream"));
  sending.join();
  EXPECT_EQ(asking.seen["stream"].size(), 100u);
  // One we do not trust.
  Asking distrusting(AsyncClientOptions{.url = url, .ca_file = other.file("certificate.pem")});
  const AsyncOutcome& refused = distrusting.ask("refused", {.body = "secret"});
  ASSERT_FALSE(refused.answer);
  EXPECT_FALSE(refused.sent);
  EXPECT_NE(refused.answer.error().reason.find("certificate"), std::string::npos) << refused.answer.error().reason;
}

// --- streams ---------------------------------------------------------------------------------------------------------

TEST(async_client, takes_a_stream_split_at_every_byte) {
  const std::vector<std::string> parts = {"id: 1\ndata: one\n\n: beat\n\n", "id: 2\r\nevent: x\r\nda",
                                          "ta: two\r\ndata: lines\r\n\r\n", "retry: 250\nid: 3\ndata:\n\n"};
  std::string text = kStreamHead, whole;
  for (const std::string& part : parts) {
    text += chunk(part);
    whole += part;
  }
  text += "0\r\n\r\n";
  const std::vector<SseEvent> want = {{"1", "message", "one"}, {"2", "x", "two\nlines"}, {"3", "message", ""}};
  // Each byte is sent when the one before was read.
  Partner peer({[&](Raw& raw) {
    raw.until("\r\n\r\n");
    for (const char c : text) {
      raw.send({&c, 1});
      eventually([&] {
        int unread = 0;
        return ::ioctl(raw.socket(), SIOCOUTQ, &unread) != 0 || unread == 0;
      });
    }
    raw.until("\r\n\r\n");  // and the connection is kept
    raw.send(ok("next"));
  }});
  Asking asking(peer.options());
  const AsyncOutcome& outcome = asking.ask("stream", {});
  ASSERT_TRUE(outcome.answer) << outcome.answer.error().text();
  EXPECT_EQ(asking.seen["stream"], want);
  EXPECT_EQ(asking.streams["stream"], 200u);
  EXPECT_TRUE(outcome.streamed);
  EXPECT_EQ(outcome.last_event_id, "3");
  EXPECT_EQ(outcome.retry_ms, 250);
  EXPECT_EQ(asking.body("next", {}), "next");
  EXPECT_EQ(peer.accepted, 1);
  // The reader of answers alone, in two pieces, wherever they meet.
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    std::string body;
    AnswerReader reader(false, 0, [&](const HttpAnswer& head) -> AnswerReader::Take {
      EXPECT_EQ(head.status, 200u);
      return [&](std::string_view part) {
        body += part;
        return true;
      };
    });
    const auto first = reader.put(std::string_view(text).substr(0, cut));
    ASSERT_TRUE(first);
    EXPECT_EQ(*first == AnswerReader::Progress::Done, cut == text.size());
    const auto second = reader.put(std::string_view(text).substr(cut));
    ASSERT_TRUE(second);
    EXPECT_EQ(*second, AnswerReader::Progress::Done);
    EXPECT_EQ(body, whole) << cut;
    EXPECT_TRUE(reader.keeps_alive());
  }
}

TEST(async_client, follows_streams_until_told_to_stop) {
  ServerLimits limits;
  limits.heartbeat = seconds(60);
  Node node(with(limits));
  Asking asking(node);
  AsyncRequest request = get_request("/stream");
  request.idle_timeout = milliseconds(100);
  const AsyncOutcome& silent = asking.ask("silent", request);
  ASSERT_FALSE(silent.answer);
  EXPECT_EQ(silent.answer.error().code, "HTTP_TIMEOUT");
  EXPECT_TRUE(silent.streamed);
  EXPECT_TRUE(eventually([&] { return node.closed == 1; }));
  // Silence that may last; events keep coming; the server ends it.
  request.idle_timeout = milliseconds(0);
  request.timeout = milliseconds(200);  // is for the head alone
  asking.send("endless", request);
  EXPECT_TRUE(asking.loop.until([&] { return asking.streams.contains("endless"); }));
  asking.loop.during(milliseconds(300));
  node.stream(1)->send(bytes(sse_event("9", "e", "late")));
  EXPECT_TRUE(asking.loop.until([&] { return asking.seen["endless"].size() == 1; }));
  EXPECT_FALSE(asking.outcomes.contains("endless"));
  node.stream(1)->close();
  EXPECT_TRUE(asking.until("endless"));
  EXPECT_TRUE(asking.outcomes.at("endless").answer);
  EXPECT_EQ(asking.outcomes.at("endless").last_event_id, "9");
  // We end it.
  const AsyncId id = asking.send("left", get_request("/stream"));
  EXPECT_TRUE(asking.loop.until([&] { return asking.streams.contains("left"); }));
  asking.client->cancel(id);
  EXPECT_TRUE(eventually([&] { return node.closed == 3; }));
  EXPECT_FALSE(asking.outcomes.contains("left"));
}

TEST(async_client, knows_a_stream_that_ended_from_one_that_broke_off) {
  const std::string event = "data: x\n\n";
  const std::string plain = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
  Script script({kStreamHead + chunk(event), plain + event, kStreamHead + chunk(event) + "0\r\n\r\n",
                 kStreamHead + chunk("data: " + std::string(2000, 'x') + "\n\n")});
  // No connection is reused: the script closes each one after its answer, and a request sent in that moment would be lost.
  Asking asking(AsyncClientOptions{.unix_path = script.path(), .idle_max = 0});
  const AsyncOutcome& broken = asking.ask("broken", {});
  EXPECT_FALSE(broken.answer);
  EXPECT_TRUE(broken.streamed);
  EXPECT_EQ(asking.seen["broken"].size(), 1u);
  EXPECT_TRUE(asking.ask("by its close", {}).answer);
  EXPECT_TRUE(asking.ask("by its last chunk", {}).answer);
  const AsyncOutcome& large = asking.ask("too large", {.event_bytes_max = 1000});
  ASSERT_FALSE(large.answer);
  EXPECT_EQ(large.answer.error().code, "HTTP_BODY_TOO_LARGE");
  EXPECT_TRUE(asking.seen["too large"].empty());
}

TEST(async_client, takes_json_lines_for_a_stream) {
  const auto answers = [](const std::vector<std::string>& pieces,
                          const std::string& head = "Transfer-Encoding: chunked") {
    return [pieces, head](Raw& raw) {
      raw.until("\r\n\r\n");
      raw.send("HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n" + head + "\r\n\r\n");
      for (const std::string& piece : pieces) raw.send(head.starts_with("Content") ? piece : chunk(piece));
      if (!head.starts_with("Content")) raw.send("0\r\n\r\n");
    };
  };
  const std::string first = R"({"a":{"b":"}\"{"}})", second = R"({"c":[]})";
  const std::string pretty = "{\n \"a\": {},\n \"b\": 1\n}\n";
  Partner partner(
      {answers({first.substr(0, 5), first.substr(5) + "\n\r\n" + second, "\r\n"}),
       answers({first + "\n" + second}),                                          // the last without its end
       answers({first}), answers({pretty}), answers({"{} {}\n"}), answers({""}),  // no streams
       answers({first + "\n" + second}, "Content-Length: " + std::to_string(first.size() + second.size() + 1)),
       answers({first + "\n" + second})});
  Asking asking(AsyncClientOptions{.unix_path = partner.path(), .idle_max = 0});
  const auto ask = [&](const std::string& name, bool takes_lines = true) {
    AsyncRequest request = get_request("/");
    request.takes_json_lines = takes_lines;
    const AsyncOutcome& outcome = asking.ask(name, std::move(request));
    EXPECT_TRUE(outcome.answer) << name;
    std::string lines;
    for (const SseEvent& event : asking.seen[name]) lines += event.data + "|";
    return outcome.streamed ? lines : "whole: " + (outcome.answer ? outcome.answer->body : "");
  };
  EXPECT_EQ(ask("in pieces"), first + "|" + second + "|");
  EXPECT_EQ(ask("without its end"), first + "|" + second + "|");
  EXPECT_EQ(ask("one line"), "whole: " + first);
  EXPECT_EQ(ask("several lines"), "whole: " + pretty);
  EXPECT_EQ(ask("two in a line"), "whole: {} {}\n");
  EXPECT_EQ(ask("nothing"), "whole: ");
  EXPECT_EQ(ask("with a length"), "whole: " + first + "\n" + second);
  EXPECT_EQ(ask("not asked for", false), "whole: " + first + "\n" + second);
}

TEST(async_client, takes_a_large_event) {
  const std::string data(50'000'000, 'd');
  Script script({kStreamHead + chunk("data: " + data + "\n\n") + "0\r\n\r\n"});
  Asking asking(AsyncClientOptions{.unix_path = script.path()});
  const AsyncOutcome& outcome = asking.ask("large", {.event_bytes_max = 64u << 20});
  ASSERT_TRUE(outcome.answer) << outcome.answer.error().text();
  ASSERT_EQ(asking.seen["large"].size(), 1u);
  EXPECT_TRUE(asking.seen["large"][0].data == data);
}

TEST(async_client, pauses_a_stream) {
  std::string events;
  for (int i = 0; i < 100'000; ++i) events += sse_event("", "", std::to_string(i));
  std::atomic<bool> sent = false;
  Partner peer({[&](Raw& raw) {
    raw.until("\r\n\r\n");
    raw.send(kStreamHead + chunk(events) + "0\r\n\r\n");
    sent = true;
  }});
  Asking asking(peer.options());
  AsyncId id = 0;
  AsyncEvents called = asking.events("stream");
  called.on_event = [&](SseEvent event) {
    auto& seen = asking.seen["stream"];
    seen.push_back(std::move(event));
    if (seen.size() == 10 || seen.size() == 100'000) asking.client->pause(id);
  };
  id = asking.client->send({.idle_timeout = seconds(1)}, called);
  EXPECT_TRUE(asking.loop.until([&] { return asking.seen["stream"].size() == 10; }));
  asking.loop.during(milliseconds(1200));  // longer than it may be silent
  EXPECT_EQ(asking.seen["stream"].size(), 10u);
  EXPECT_FALSE(sent);  // it is held back, and we hold none of it
  asking.in_call = true;
  asking.client->resume(id);
  asking.in_call = false;
  ASSERT_TRUE(asking.loop.until([&] { return asking.seen["stream"].size() == 100'000; }));
  asking.loop.during(milliseconds(30));
  EXPECT_FALSE(asking.outcomes.contains("stream"));  // nor does its end come
  asking.client->resume(id);
  EXPECT_TRUE(asking.until("stream"));
  EXPECT_TRUE(asking.outcomes.at("stream").answer);
  for (int i = 0; i < 100'000; ++i)
    ASSERT_EQ(asking.seen["stream"][static_cast<std::size_t>(i)].data, std::to_string(i));
}

}  // namespace
}  // namespace baton::net
