// SPDX-License-Identifier: Apache-2.0
// Streamable HTTP in front of conversations, over real sockets. Behind each conversation is a script: a method says what becomes of
// the request, and the test may say more to the client at any time.
#include "proxy/http_front.h"

#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <set>
#include <thread>

#include "http_fixture.h"
#include "mcp/answers.h"
#include "mcp/message.h"
#include "net/sse.h"

namespace baton::proxy {
namespace {

using net::eventually;
using net::kPatience;
using net::Raw;

int number_of(json::Node node) { return std::stoi(std::string(mcp::text_of(node))); }

// A conversation that does what its requests are called.
class Script final : public Behind {
 public:
  explicit Script(Front& front) : front(front) {}

  void from_client(mcp::Stream stream, std::string text, Parameters parameters) override {
    heard.push_back(text);
    last_parameters = std::move(parameters);
    const mcp::Message message(text);
    if (message.kind() != mcp::Message::Kind::Request) return front.accepted(stream);
    const std::string id(message.id_text()), method(message.method());
    const auto answer = [&](const std::string& result) {
      front.to_client({stream, mcp::result_message(id, result), true});
    };
    if (method == "initialize") {
      agreed = mcp::find_revision(message.params()["protocolVersion"].string());
      if (agreed != nullptr) return answer(R"({"protocolVersion":")" + std::string(agreed->name) + R"("})");
      return front.to_client({stream, mcp::error_message(id, -32602, "no"), true, -32602});
    }
    if (method == "echo") return answer(R"({"echo":true})");
    if (method == "notes") {
      const int count = number_of(message.params()["count"]);
      for (int i = 1; i <= count; ++i) front.to_client({stream, note(i), false});
      return answer(R"({"done":true})");
    }
    if (method == "fail") {
      const int code = number_of(message.params()["code"]);
      return front.to_client({stream, mcp::error_message(id, code, "failed"), true, code});
    }
    open.emplace_back(stream, id);  // anything else waits for the test
  }
  void stream_gone(mcp::Stream stream) override { gone.push_back(stream); }
  void stream_back(mcp::Stream stream) override { came_back.push_back(stream); }
  void client_gone() override {
    ++client_gone_count;
    front.ended("the client is gone");
  }
  void front_drained() override { ++drained; }
  bool is_full() const override { return full; }
  const mcp::Revision* revision() const override { return agreed; }

  static std::string note(int number) {
    return mcp::notification("notifications/note", R"({"n":)" + std::to_string(number) + "}");
  }

  Front& front;
  const mcp::Revision* agreed = nullptr;
  std::vector<std::string> heard;
  Parameters last_parameters;
  std::vector<std::pair<mcp::Stream, std::string>> open;
  std::vector<mcp::Stream> gone, came_back;
  int client_gone_count = 0, drained = 0;
  bool full = false;
};

class World {
 public:
  explicit World(std::function<void(HttpFrontOptions&)> change = {}) : guard_(context_.get_executor()) {
    HttpFrontOptions options;
    options.listen = {{"127.0.0.1", 0}};
    options.limits.retry_ms = 50;
    if (change) change(options);
    options.without_token = options.tokens.empty();  // what is tested here is mostly the rest
    thread_ = std::thread([this] { context_.run(); });
    run([&] {
      auto started = HttpFront::start(context_, clock_, random_, options, [this](Front& front) {
        auto script = std::make_unique<Script>(front);
        scripts.push_back(script.get());
        return script;
      });
      EXPECT_TRUE(started) << started.error().text();
      if (started) front_ = std::move(*started);
    });
    address = front_->addresses().at(0);
  }
  ~World() {
    run([&] { front_.reset(); });
    guard_.reset();
    context_.stop();
    thread_.join();
  }

  // On the context's thread.
  template <class Work>
  auto run(Work work) -> decltype(work()) {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto done = task.get_future();
    boost::asio::post(context_, [&task] { task(); });
    return done.get();
  }
  HttpFront::Figures figures() {
    return run([&] { return front_->figures(); });
  }
  void stop(std::function<void()> done) {
    run([&] { front_->stop(std::move(done)); });
  }
  // The stream of the newest request that waits.
  std::pair<mcp::Stream, std::string> waiting(std::size_t conversation, std::size_t number = 0) {
    EXPECT_TRUE(eventually([&] {
      return run([&] { return scripts.size() > conversation && scripts[conversation]->open.size() > number; });
    }));
    return run([&] { return scripts.at(conversation)->open.at(number); });
  }
  void say(std::size_t conversation, mcp::Stream stream, std::string text, bool last = false) {
    run([&] { scripts.at(conversation)->front.to_client({stream, std::move(text), last}); });
  }
  void answer(std::size_t conversation, const std::pair<mcp::Stream, std::string>& request) {
    say(conversation, request.first, mcp::result_message(request.second, R"({"late":true})"), true);
  }

  std::string address;
  std::vector<Script*> scripts;  // as long as their conversations live

 private:
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  SystemClock clock_;
  SystemRandom random_;
  std::unique_ptr<HttpFront> front_;
  std::thread thread_;
};

using Headers = std::vector<net::Header>;
const net::Header kBoth = {"Accept", "application/json, text/event-stream"};

net::HttpAnswer ask(const World& world, const std::string& method, const std::string& body, Headers headers,
                    const std::string& type = "application/json", const std::string& path = "/mcp") {
  headers.push_back(kBoth);
  auto answer = net::send({.method = method,
                           .url = "http://" + world.address + path,
                           .body = body,
                           .content_type = type,
                           .timeout = kPatience,
                           .answer_bytes_max = 64u << 20,
                           .headers = std::move(headers)});
  EXPECT_TRUE(answer) << answer.error().text();
  return answer ? *answer : net::HttpAnswer{};
}

std::string request_text(std::string_view method, std::string_view params = "{}", int id = 1) {
  return mcp::request(std::to_string(id), method, params);
}

std::string begin(const World& world, std::string_view revision = "2025-11-25", const Headers& more = {}) {
  const auto answer =
      ask(world, "POST", request_text("initialize", R"({"protocolVersion":")" + std::string(revision) + R"("})"), more);
  EXPECT_EQ(answer.status, 200u) << answer.body;
  return std::string(answer.header("mcp-session-id").value_or(""));
}

net::HttpAnswer post(const World& world, const std::string& session, const std::string& body) {
  return ask(world, "POST", body, {{"Mcp-Session-Id", session}, {"MCP-Protocol-Version", "2025-11-25"}});
}

// A request as bytes, whose answer is read as it comes.
std::string raw_request(std::string_view method, const std::string& body, const Headers& headers,
                        std::string_view accept = "application/json, text/event-stream") {
  std::string text = std::string(method) +
                     " /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept: " + std::string(accept) +
                     "\r\n";
  for (const net::Header& header : headers) text += header.name + ": " + header.value + "\r\n";
  if (!body.empty())
    text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + body;
}

// The events of an answer that has come whole, or so far. Chunk sizes stand on lines of their own, which no event has.
std::vector<net::SseEvent> events_in(const std::string& answer) {
  std::string body;
  for (std::size_t at = answer.find("\r\n\r\n") + 4; at < answer.size();) {
    const std::size_t end = answer.find("\r\n", at);
    if (end == std::string::npos) break;
    const std::size_t size = std::stoul(answer.substr(at, end - at), nullptr, 16);
    body += answer.substr(end + 2, size);
    at = end + 2 + size + 2;
  }
  std::vector<net::SseEvent> found;
  net::SseParser parser;
  for (net::SseEvent& event : parser.put(body))
    if (!event.data.empty()) found.push_back(std::move(event));
  return found;
}

// --- the legacy era -----------------------------------------------------------------------------------------------------------------

TEST(mcp_http_front, a_session_from_beginning_to_end) {
  World world;
  const std::string session = begin(world);
  ASSERT_EQ(session.size(), 32u);
  EXPECT_EQ(world.figures().sessions, 1u);
  const auto accepted = post(world, session, R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  EXPECT_EQ(accepted.status, 202u);
  EXPECT_EQ(accepted.body, "");
  EXPECT_EQ(post(world, session, R"({"jsonrpc":"2.0","id":9,"result":{}})").status, 202u);
  const auto answer = post(world, session, request_text("echo"));
  EXPECT_EQ(answer.status, 200u);
  EXPECT_EQ(answer.content_type, "application/json");
  EXPECT_EQ(answer.body, R"({"jsonrpc":"2.0","id":1,"result":{"echo":true}})");
  EXPECT_FALSE(answer.header("mcp-session-id")) << "the id goes out once";
  EXPECT_EQ(ask(world, "POST", request_text("echo"), {{"Mcp-Session-Id", session}}, "application/json", "/").status,
            200u);

  EXPECT_EQ(ask(world, "DELETE", "", {{"Mcp-Session-Id", session}}).status, 200u);
  EXPECT_EQ(post(world, session, request_text("echo")).status, 404u);
  EXPECT_EQ(ask(world, "DELETE", "", {{"Mcp-Session-Id", session}}).status, 404u);
  EXPECT_TRUE(eventually([&] { return world.figures().conversations == 0; }));
}

TEST(mcp_http_front, what_is_no_request_of_a_session) {
  World world;
  const std::string session = begin(world);
  EXPECT_EQ(ask(world, "POST", request_text("echo"), {}).status, 400u) << "no session";
  EXPECT_EQ(post(world, std::string(32, '0'), request_text("echo")).status, 404u);
  EXPECT_EQ(post(world, session, request_text("initialize", R"({"protocolVersion":"2025-11-25"})")).status, 400u);
  EXPECT_EQ(post(world, std::string(32, '0'), request_text("initialize", R"({"protocolVersion":"2025-11-25"})")).status,
            404u);
  EXPECT_EQ(
      ask(world, "POST", request_text("echo"), {{"Mcp-Session-Id", session}, {"MCP-Protocol-Version", "2024-01-01"}})
          .status,
      400u);
  EXPECT_EQ(ask(world, "POST", request_text("echo"), {{"Mcp-Session-Id", session}}).status, 200u)
      << "without it is 2025-03-26";
  EXPECT_EQ(post(world, session, "{nonsense").status, 400u);
  EXPECT_EQ(ask(world, "POST", request_text("echo"), {{"Mcp-Session-Id", session}}, "text/plain").status, 415u);
  EXPECT_EQ(ask(world, "GET", "", {}).status, 400u);
  EXPECT_EQ(ask(world, "DELETE", "", {}).status, 400u);
  EXPECT_EQ(ask(world, "PUT", "", {{"Mcp-Session-Id", session}}).status, 405u);
  EXPECT_EQ(
      ask(world, "POST", request_text("echo"), {{"Mcp-Session-Id", session}}, "application/json", "/other").status,
      404u);
  const auto no_stream = net::send({.method = "POST",
                                    .url = "http://" + world.address + "/mcp",
                                    .body = request_text("echo"),
                                    .content_type = "application/json",
                                    .headers = {{"Mcp-Session-Id", session}, {"Accept", "application/json"}}});
  EXPECT_EQ(no_stream->status, 406u);
  const auto no_events = net::send({.method = "GET",
                                    .url = "http://" + world.address + "/mcp",
                                    .headers = {{"Mcp-Session-Id", session}, {"Accept", "application/json"}}});
  EXPECT_EQ(no_events->status, 406u);
}

TEST(mcp_http_front, no_session_where_nothing_was_agreed) {
  World world;
  const auto answer = ask(world, "POST", request_text("initialize", R"({"protocolVersion":"1999-01-01"})"), {});
  EXPECT_EQ(answer.status, 200u);
  EXPECT_FALSE(answer.header("mcp-session-id"));
  EXPECT_TRUE(eventually([&] { return world.figures().conversations == 0; }));
}

TEST(mcp_http_front, more_than_an_answer_is_a_stream) {
  World world;
  const std::string session = begin(world);
  Raw raw = Raw::tcp(world.address);
  raw.send(raw_request("POST", request_text("notes", R"({"count":2})"), {{"Mcp-Session-Id", session}}));
  const std::string all = raw.rest();
  EXPECT_TRUE(all.starts_with("HTTP/1.1 200 ")) << all;
  EXPECT_NE(all.find("Content-Type: text/event-stream\r\n"), std::string::npos);
  const auto events = events_in(all);
  ASSERT_EQ(events.size(), 3u) << all;
  EXPECT_EQ(events[0].data, Script::note(1));
  EXPECT_EQ(events[1].data, Script::note(2));
  EXPECT_EQ(events[2].data, R"({"jsonrpc":"2.0","id":1,"result":{"done":true}})");
  const std::size_t primed = all.find("data: \n"), first = all.find("data: {");
  EXPECT_LT(primed, first) << "an id to come back with before anything else";
  EXPECT_NE(all.find("retry: 50\n"), std::string::npos);
}

TEST(mcp_http_front, older_clients_get_no_event_without_a_message) {
  World world;
  const std::string session = begin(world, "2025-06-18");
  Raw raw = Raw::tcp(world.address);
  raw.send(raw_request("POST", request_text("notes", R"({"count":1})"), {{"Mcp-Session-Id", session}}));
  const std::string all = raw.rest();
  EXPECT_EQ(events_in(all).size(), 2u);
  EXPECT_EQ(all.find("data: \n"), std::string::npos) << all;
}

TEST(mcp_http_front, a_slow_answer_is_a_stream_that_can_be_resumed) {
  World world;
  const std::string session = begin(world);
  std::string id;
  {
    Raw raw = Raw::tcp(world.address);
    raw.send(raw_request("POST", request_text("slow"), {{"Mcp-Session-Id", session}}));
    const std::string head = raw.until("data: \n\n");
    id = head.substr(head.find("id: ") + 4);
    id = id.substr(0, id.find('\n'));
  }  // the connection breaks: no cancellation
  const auto request = world.waiting(0);
  world.say(0, request.first, Script::note(1));
  world.answer(0, request);
  Raw again = Raw::tcp(world.address);
  again.send(raw_request("GET", "", {{"Mcp-Session-Id", session}, {"Last-Event-ID", id}}));
  const auto events = events_in(again.rest());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].data, Script::note(1));
  EXPECT_NE(events[1].data.find(R"("late":true)"), std::string::npos);
  EXPECT_TRUE(world.run([&] { return world.scripts[0]->gone.empty(); }));
}

TEST(mcp_http_front, a_client_that_names_the_stream_first_gets_one) {
  World world;
  const auto answered_as = [&](std::string_view revision, std::string_view accept) {
    Raw raw = Raw::tcp(world.address);
    raw.send(raw_request("POST", request_text("echo"), {{"Mcp-Session-Id", begin(world, revision)}}, accept));
    const std::string all = raw.rest();
    EXPECT_NE(all.find(R"({"jsonrpc":"2.0","id":1,"result":{"echo":true}})"), std::string::npos) << all;
    return all.find("Content-Type: text/event-stream\r\n") != std::string::npos ? "stream" : "JSON";
  };
  EXPECT_STREQ(answered_as("2025-11-25", "text/event-stream, application/json"), "stream");
  EXPECT_STREQ(answered_as("2025-11-25", "application/json, text/event-stream"), "JSON");
  EXPECT_STREQ(answered_as("2025-11-25", "*/*"), "JSON");
  EXPECT_STREQ(answered_as("2025-11-25", "text/event-stream;q=0.5, application/json"), "JSON");
  EXPECT_STREQ(answered_as("2025-06-18", "text/event-stream, application/json"), "JSON") << "it could not be resumed";
}

TEST(mcp_http_front, a_stream_that_the_server_leaves_is_left_and_taken_up) {
  World world;
  const std::string session = begin(world);
  Raw first = Raw::tcp(world.address);
  first.send(raw_request("POST", request_text("slow"), {{"Mcp-Session-Id", session}}));
  const auto request = world.waiting(0);
  world.run([&] { world.scripts[0]->front.leave_off(request.first, 70); });
  const std::string left = first.rest();
  EXPECT_TRUE(left.ends_with("0\r\n\r\n")) << "in good order: " << left;
  EXPECT_NE(left.find("retry: 70\n"), std::string::npos) << left;
  EXPECT_TRUE(events_in(left).empty()) << left;
  world.say(0, request.first, Script::note(1));
  Raw again = Raw::tcp(world.address);
  again.send(
      raw_request("GET", "", {{"Mcp-Session-Id", session}, {"Last-Event-ID", std::to_string(request.first) + "-0"}}));
  again.until(Script::note(1));
  EXPECT_EQ(world.run([&] { return world.scripts[0]->came_back; }), std::vector{request.first});
  world.answer(0, request);
  EXPECT_NE(again.rest().find(R"("late":true)"), std::string::npos);
  EXPECT_TRUE(world.run([&] { return world.scripts[0]->gone.empty(); }));
}

TEST(mcp_http_front, who_could_not_come_back_is_kept) {
  World world;
  const std::string session = begin(world, "2025-06-18");
  Raw raw = Raw::tcp(world.address);
  raw.send(raw_request("POST", request_text("slow"), {{"Mcp-Session-Id", session}}));
  const auto request = world.waiting(0);
  world.run([&] {
    world.scripts[0]->front.leave_off(request.first, 70);
    world.scripts[0]->front.leave_off(mcp::kAside, 70);
    world.scripts[0]->front.leave_off(999, 70);
  });
  world.answer(0, request);
  EXPECT_NE(raw.rest().find(R"("late":true)"), std::string::npos);
}

TEST(mcp_http_front, resumed_after_every_event) {
  World world;
  const std::string session = begin(world);
  Raw raw = Raw::tcp(world.address);
  raw.send(raw_request("POST", request_text("notes", R"({"count":5})"), {{"Mcp-Session-Id", session}}));
  const auto all = events_in(raw.rest());
  // Beside it another stream, of which nothing may turn up.
  Raw other = Raw::tcp(world.address);
  other.send(raw_request("POST", request_text("notes", R"({"count":9})", 2), {{"Mcp-Session-Id", session}}));
  const auto others = events_in(other.rest());
  ASSERT_EQ(all.size(), 6u);
  ASSERT_EQ(others.size(), 10u);
  const std::string stream = all[0].id.substr(0, all[0].id.find('-'));
  for (std::size_t seen = 0; seen <= all.size(); ++seen) {
    Raw again = Raw::tcp(world.address);
    again.send(
        raw_request("GET", "", {{"Mcp-Session-Id", session}, {"Last-Event-ID", stream + "-" + std::to_string(seen)}}));
    EXPECT_EQ(events_in(again.rest()),
              std::vector<net::SseEvent>(all.begin() + static_cast<std::ptrdiff_t>(seen), all.end()))
        << "after " << seen;
  }
  const auto status = [&](const std::string& id) {
    return ask(world, "GET", "", {{"Mcp-Session-Id", session}, {"Last-Event-ID", id}}).status;
  };
  EXPECT_EQ(status("nonsense"), 400u);
  EXPECT_EQ(status(stream + "-7"), 410u) << "of the future";
  EXPECT_EQ(status("99-0"), 410u);
  const std::string elsewhere = begin(world);
  EXPECT_EQ(ask(world, "GET", "", {{"Mcp-Session-Id", elsewhere}, {"Last-Event-ID", stream + "-0"}}).status, 410u)
      << "of another session";
}

TEST(mcp_http_front, a_broken_connection_is_taken_over) {
  World world;
  const std::string session = begin(world);
  Raw first = Raw::tcp(world.address);
  first.send(raw_request("POST", request_text("slow"), {{"Mcp-Session-Id", session}}));
  const auto request = world.waiting(0);
  world.say(0, request.first, Script::note(1));
  first.until(Script::note(1));
  // The client knows that the connection is of no use; the server does not yet.
  Raw second = Raw::tcp(world.address);
  second.send(
      raw_request("GET", "", {{"Mcp-Session-Id", session}, {"Last-Event-ID", std::to_string(request.first) + "-0"}}));
  second.until(Script::note(1));
  world.answer(0, request);
  EXPECT_NE(second.rest().find(R"("late":true)"), std::string::npos);
  EXPECT_EQ(first.rest().find(R"("late":true)"), std::string::npos) << "never on two streams";
}

TEST(mcp_http_front, what_is_kept_is_bounded) {
  World world([](HttpFrontOptions& options) {
    options.limits.kept_streams = 2;
    options.limits.kept_events = 3;
    options.limits.kept_bytes = 10'000;
  });
  const std::string session = begin(world);
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    Raw raw = Raw::tcp(world.address);
    raw.send(raw_request("POST", request_text("notes", R"({"count":4})"), {{"Mcp-Session-Id", session}}));
    ids.push_back(events_in(raw.rest()).at(0).id);
  }
  const auto resume = [&](const std::string& id) {
    Raw again = Raw::tcp(world.address);
    again.send(raw_request("GET", "", {{"Mcp-Session-Id", session}, {"Last-Event-ID", id}}));
    return again.until("\r\n\r\n").starts_with("HTTP/1.1 410 ") ? 0 : events_in(again.rest()).size();
  };
  EXPECT_EQ(resume(ids[0]), 0u) << "the oldest stream is gone";
  const std::string stream = ids[2].substr(0, ids[2].find('-'));
  Raw again = Raw::tcp(world.address);
  again.send(raw_request("GET", "", {{"Mcp-Session-Id", session}, {"Last-Event-ID", stream + "-0"}}));
  EXPECT_EQ(events_in(again.rest()).size(), 3u) << "of a stream the newest, the answer among them";

  // An answer that is too large to be kept is not passed over in silence.
  Raw lost = Raw::tcp(world.address);
  lost.send(raw_request("POST", request_text("slow"), {{"Mcp-Session-Id", session}}));
  const auto request = world.waiting(0);
  world.say(0, request.first, Script::note(1));
  lost.until(Script::note(1));
  lost.close();
  world.say(0, request.first, mcp::result_message(request.second, "\"" + std::string(20'000, 'x') + "\""), true);
  EXPECT_EQ(
      ask(world, "GET", "", {{"Mcp-Session-Id", session}, {"Last-Event-ID", std::to_string(request.first) + "-1"}})
          .status,
      410u);
}

TEST(mcp_http_front, what_belongs_to_no_request_goes_to_the_stream_of_get) {
  World world;
  const std::string session = begin(world);
  world.say(0, mcp::kAside, Script::note(1));  // nobody listens yet
  Raw raw = Raw::tcp(world.address);
  raw.send(raw_request("GET", "", {{"Mcp-Session-Id", session}}));
  raw.until(Script::note(1));
  world.say(0, mcp::kAside, Script::note(2));
  const std::string more = raw.until(Script::note(2));
  EXPECT_EQ(more.find(Script::note(1)), std::string::npos);
  EXPECT_EQ(ask(world, "GET", "", {{"Mcp-Session-Id", session}}).status, 409u) << "there is one";
  raw.close();
  world.say(0, mcp::kAside, Script::note(3));
  // Once it is seen that the first has gone, a second one may come; it is given what nobody was given.
  std::string second;
  EXPECT_TRUE(eventually([&] {
    Raw next = Raw::tcp(world.address);
    next.send(raw_request("GET", "", {{"Mcp-Session-Id", session}}));
    second = next.until("\r\n\r\n");
    if (second.starts_with("HTTP/1.1 409 ")) return false;
    world.say(0, mcp::kAside, Script::note(4));
    second += next.until(Script::note(4));
    return true;
  }));
  EXPECT_EQ(second.find(Script::note(1)), std::string::npos) << second;
  // And one that says where it was is given what came after that.
  Raw resumed = Raw::tcp(world.address);
  resumed.send(raw_request("GET", "", {{"Mcp-Session-Id", session}, {"Last-Event-ID", "0-2"}}));
  const std::string after = resumed.until(Script::note(4));
  EXPECT_NE(after.find(Script::note(3)), std::string::npos);
  EXPECT_EQ(after.find(Script::note(2)), std::string::npos);
}

TEST(mcp_http_front, a_request_that_was_cancelled_ends_its_stream) {
  World world;
  const std::string session = begin(world);
  Raw quick = Raw::tcp(world.address), slow = Raw::tcp(world.address);
  slow.send(raw_request("POST", request_text("slow"), {{"Mcp-Session-Id", session}}));
  const auto request = world.waiting(0);
  slow.until("data: \n\n");
  world.run([&] { world.scripts[0]->front.accepted(request.first); });
  EXPECT_EQ(events_in("\r\n\r\n" + slow.rest()).size(), 0u);
}

TEST(mcp_http_front, two_hundred_sessions) {
  World world([](HttpFrontOptions& options) { options.limits.sessions = 200; });
  std::vector<std::string> sessions;
  for (int i = 0; i < 200; ++i) sessions.push_back(begin(world));
  EXPECT_EQ(std::set<std::string>(sessions.begin(), sessions.end()).size(), 200u);
  EXPECT_EQ(world.figures().sessions, 200u);
  const auto full = ask(world, "POST", request_text("initialize", R"({"protocolVersion":"2025-11-25"})"), {});
  EXPECT_EQ(full.status, 503u);
  EXPECT_TRUE(full.header("retry-after"));
  for (const std::string& session : sessions) EXPECT_EQ(post(world, session, request_text("echo")).status, 200u);
  // Each has a conversation of its own.
  EXPECT_TRUE(world.run(
      [&] { return std::ranges::all_of(world.scripts, [](const Script* one) { return one->heard.size() == 2; }); }));
  EXPECT_EQ(ask(world, "DELETE", "", {{"Mcp-Session-Id", sessions[0]}}).status, 200u);
  EXPECT_EQ(begin(world).size(), 32u) << "there is room again";
}

TEST(mcp_http_front, quiet_sessions_are_ended) {
  World world([](HttpFrontOptions& options) { options.limits.idle = std::chrono::milliseconds(400); });
  const std::string quiet = begin(world), busy = begin(world), listening = begin(world);
  Raw stream = Raw::tcp(world.address);
  stream.send(raw_request("GET", "", {{"Mcp-Session-Id", listening}}));
  stream.until("data: \n\n");
  Raw waits = Raw::tcp(world.address);
  waits.send(raw_request("POST", request_text("slow"), {{"Mcp-Session-Id", busy}}));
  EXPECT_TRUE(eventually([&] { return world.figures().sessions == 2; }));
  EXPECT_EQ(post(world, quiet, request_text("echo")).status, 404u);
  EXPECT_EQ(post(world, busy, request_text("echo")).status, 200u);
  EXPECT_EQ(post(world, listening, request_text("echo")).status, 200u);
}

// --- the modern era -----------------------------------------------------------------------------------------------------------------

std::string modern_text(std::string_view method, std::string_view params = "", int id = 1) {
  return request_text(
      method,
      "{" + std::string(params) + (params.empty() ? "" : ",") +
          R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}})",
      id);
}
Headers modern_headers(std::string_view method) {
  return {{"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Method", std::string(method)}};
}

TEST(mcp_http_front, modern_requests_need_no_session) {
  World world;
  const auto answer = ask(world, "POST", modern_text("echo"), modern_headers("echo"));
  EXPECT_EQ(answer.status, 200u);
  EXPECT_EQ(answer.content_type, "application/json");
  EXPECT_FALSE(answer.header("mcp-session-id"));
  Headers stray = modern_headers("echo");
  stray.push_back({"Mcp-Session-Id", "whatever"});
  stray.push_back({"Last-Event-ID", "1-1"});
  EXPECT_EQ(ask(world, "POST", modern_text("echo"), stray).status, 200u);
  EXPECT_EQ(world.figures().conversations, 1u) << "all of them share one";
  EXPECT_EQ(world.figures().sessions, 0u);
  EXPECT_EQ(ask(world, "GET", "", {{"MCP-Protocol-Version", "2026-07-28"}}).status, 405u);
  const auto end = ask(world, "DELETE", "", {{"MCP-Protocol-Version", "2026-07-28"}});
  EXPECT_EQ(end.status, 405u);
  EXPECT_EQ(end.header("allow").value_or(""), "POST");
  EXPECT_EQ(
      ask(world, "POST", R"({"jsonrpc":"2.0","method":"notifications/x"})", {{"MCP-Protocol-Version", "2026-07-28"}})
          .status,
      202u);
  // A legacy client beside it has a conversation of its own.
  begin(world);
  EXPECT_EQ(world.figures().conversations, 2u);
}

std::string naming(std::string_view token) {
  std::string text = modern_text("echo");
  return text.insert(text.find(R"("_meta":{)") + 9, R"("dev.baton/session":")" + std::string(token) + R"(",)");
}

TEST(mcp_http_front, modern_requests_share_a_conversation_by_the_session_that_they_name) {
  World world([](HttpFrontOptions& options) { options.limits.sessions = 3; });
  const auto status = [&](const std::string& body) { return ask(world, "POST", body, modern_headers("echo")).status; };
  EXPECT_EQ(status(modern_text("echo")), 200u);
  EXPECT_EQ(status(naming("one")), 200u);
  EXPECT_EQ(status(naming("two")), 200u);
  EXPECT_EQ(status(naming("one")), 200u);
  EXPECT_EQ(world.figures().conversations, 3u);
  EXPECT_EQ(world.run([&] { return world.scripts.at(1)->heard.size(); }), 2u);
  begin(world);
  EXPECT_EQ(status(naming("three")), 503u) << "they count like sessions";
  EXPECT_EQ(status(modern_text("echo")), 200u);
  // What cannot be joined is no conversation; the next that names it tries again.
  world.run([&] { world.scripts.at(2)->front.session_refused(); });
  EXPECT_TRUE(eventually([&] { return world.figures().conversations == 3; }));
  EXPECT_EQ(status(naming("two")), 200u);
  EXPECT_EQ(world.figures().conversations, 4u);
  const std::string wrong = R"({"jsonrpc":"2.0","id":1,"method":"echo","params":{"_meta":{"dev.baton/session":7}}})";
  EXPECT_EQ(status(wrong), 400u);
}

TEST(mcp_http_front, modern_errors_have_their_status) {
  World world;
  const auto status = [&](int code) {
    const auto answer =
        ask(world, "POST", modern_text("fail", R"("code":)" + std::to_string(code)), modern_headers("fail"));
    EXPECT_NE(answer.body.find(std::to_string(code)), std::string::npos);
    return answer.status;
  };
  EXPECT_EQ(status(-32601), 404u);
  EXPECT_EQ(status(-32022), 400u);
  EXPECT_EQ(status(-32021), 400u);
  EXPECT_EQ(status(-32603), 200u);
  const auto mismatch = ask(world, "POST", modern_text("echo"), modern_headers("other"));
  EXPECT_EQ(mismatch.status, 400u);
  EXPECT_NE(mismatch.body.find("-32020"), std::string::npos);
  // In the legacy era an error is an answer like any other.
  EXPECT_EQ(post(world, begin(world), request_text("fail", R"({"code":-32601})")).status, 200u);
}

TEST(mcp_http_front, modern_parameters_are_handed_on) {
  World world;
  Headers headers = modern_headers("echo");
  headers.push_back({"Mcp-Param-Region", "eu"});
  ASSERT_EQ(ask(world, "POST", modern_text("echo"), headers).status, 200u);
  EXPECT_EQ(world.run([&] { return world.scripts[0]->last_parameters; }),
            (mcp::ParameterHeaders{{"Mcp-Param-Region", "eu"}}));
}

TEST(mcp_http_front, modern_closing_is_cancelling) {
  World world;
  const auto gone = [&](mcp::Stream stream) {
    return eventually(
        [&] { return world.run([&] { return std::ranges::count(world.scripts[0]->gone, stream) == 1; }); });
  };
  {  // before anything was answered
    Raw raw = Raw::tcp(world.address);
    raw.send(raw_request("POST", modern_text("slow"), modern_headers("slow")));
    world.waiting(0);
  }
  EXPECT_TRUE(gone(world.waiting(0).first));
  {  // in the middle of a stream
    Raw raw = Raw::tcp(world.address);
    raw.send(raw_request("POST", modern_text("slow"), modern_headers("slow")));
    const auto request = world.waiting(0, 1);
    world.say(0, request.first, Script::note(1));
    const std::string begun = raw.until(Script::note(1));
    EXPECT_EQ(begun.find("id: "), std::string::npos) << "there is nothing to come back to";
  }
  EXPECT_TRUE(gone(world.waiting(0, 1).first));
  // One that was answered is not cancelled by its end.
  Raw raw = Raw::tcp(world.address);
  raw.send(raw_request("POST", modern_text("slow"), modern_headers("slow")));
  const auto request = world.waiting(0, 2);
  world.say(0, request.first, Script::note(1));
  world.answer(0, request);
  EXPECT_NE(raw.rest().find("late"), std::string::npos);
  raw.close();
  EXPECT_EQ(ask(world, "POST", modern_text("echo"), modern_headers("echo")).status, 200u);
  EXPECT_EQ(world.run([&] { return world.scripts[0]->gone.size(); }), 2u);
}

TEST(mcp_http_front, a_subscription_stays_open) {
  World world;
  Raw raw = Raw::tcp(world.address);
  raw.send(raw_request("POST", modern_text("subscriptions/listen"), modern_headers("subscriptions/listen")));
  const auto request = world.waiting(0);
  for (int i = 1; i <= 3; ++i) {
    world.say(0, request.first, Script::note(i));
    raw.until(Script::note(i));
  }
  world.say(0, mcp::kAside, Script::note(4));  // nobody's
  world.say(0, request.first, Script::note(5));
  EXPECT_EQ(raw.until(Script::note(5)).find(Script::note(4)), std::string::npos);
}

// --- who may call -------------------------------------------------------------------------------------------------------------------

TEST(mcp_http_front, hosts_and_origins) {
  World world([](HttpFrontOptions& options) {
    options.hosts = {"tools.example"};
    options.origins = {"https://app.example"};
  });
  const auto status = [&](const std::string& host, const std::string& origin) {
    Raw raw = Raw::tcp(world.address);
    const std::string body = modern_text("echo");
    raw.send("POST /mcp HTTP/1.1\r\nHost: " + host + "\r\n" + (origin.empty() ? "" : "Origin: " + origin + "\r\n") +
             "Accept: */*\r\nConnection: close\r\nContent-Type: application/json\r\nMCP-Protocol-Version: "
             "2026-07-28\r\nMcp-Method: echo\r\nContent-Length: " +
             std::to_string(body.size()) + "\r\n\r\n" + body);
    const std::string answer = raw.rest();
    const std::string code = answer.substr(9, 3);
    // The operator reads how to admit it.
    const bool is_host = origin.empty() || host == "evil.example";
    const std::string how = is_host ? "`baton mcp --host NAME` admits" : "`baton mcp --origin ORIGIN` admits";
    EXPECT_EQ(answer.find(how) != std::string::npos, code == "403") << answer;
    return code;
  };
  EXPECT_EQ(status("127.0.0.1:1234", ""), "200");
  EXPECT_EQ(status("localhost", "http://localhost:3000"), "200");
  EXPECT_EQ(status("tools.example", ""), "200");
  EXPECT_EQ(status("tools.example", "https://app.example"), "200");
  EXPECT_EQ(status("evil.example", ""), "403");
  EXPECT_EQ(status("evil.example", "http://evil.example"), "403");
  EXPECT_EQ(status("localhost", "http://evil.example"), "403");
  EXPECT_EQ(status("localhost", "null"), "403");
}

TEST(mcp_http_front, pages_that_are_named_may_read) {
  World world([](HttpFrontOptions& options) {
    options.origins = {"https://app.example"};
    options.tokens = {"a token of some length"};
  });
  const auto asked = ask(world, "OPTIONS", "",
                         {{"Origin", "https://app.example"}, {"Access-Control-Request-Headers", "mcp-session-id"}});
  EXPECT_EQ(asked.status, 204u);
  EXPECT_EQ(asked.header("access-control-allow-origin").value_or(""), "https://app.example");
  EXPECT_EQ(asked.header("access-control-allow-headers").value_or(""), "mcp-session-id");
  Headers headers = modern_headers("echo");
  headers.push_back({"Origin", "https://app.example"});
  EXPECT_EQ(ask(world, "POST", modern_text("echo"), headers).status, 401u);
  headers.push_back({"Authorization", "Bearer a token of some length"});
  const auto answer = ask(world, "POST", modern_text("echo"), headers);
  EXPECT_EQ(answer.status, 200u);
  EXPECT_EQ(answer.header("access-control-allow-origin").value_or(""), "https://app.example");
  // One of this machine may call, and gets no leave to read.
  const auto local = ask(world, "OPTIONS", "",
                         {{"Origin", "http://localhost:3000"}, {"Authorization", "Bearer a token of some length"}});
  EXPECT_EQ(local.status, 405u);
  EXPECT_FALSE(local.header("access-control-allow-origin"));
}

TEST(mcp_http_front, tokens) {
  World world(
      [](HttpFrontOptions& options) { options.tokens = {"first-token-0123456789", "second-token-0123456789"}; });
  const auto with = [&](const std::string& value) {
    Headers headers = modern_headers("echo");
    if (!value.empty()) headers.push_back({"Authorization", value});
    return ask(world, "POST", modern_text("echo"), headers);
  };
  const auto none = with("");
  EXPECT_EQ(none.status, 401u);
  EXPECT_EQ(none.header("www-authenticate").value_or(""), R"(Bearer realm="baton")");
  const auto wrong = with("Bearer first-token-0123456780");
  EXPECT_EQ(wrong.status, 401u);
  EXPECT_EQ(wrong.header("www-authenticate").value_or(""), R"(Bearer realm="baton", error="invalid_token")");
  EXPECT_EQ(with("Bearer ").status, 401u);
  EXPECT_EQ(with("Basic first-token-0123456789").status, 401u);
  EXPECT_EQ(world.figures().conversations, 0u);
  EXPECT_EQ(with("bearer first-token-0123456789").status, 200u);
  EXPECT_EQ(with("Bearer first-token-0123456789").status, 200u);
  EXPECT_EQ(world.figures().conversations, 1u);
  EXPECT_EQ(with("Bearer second-token-0123456789").status, 200u);
  EXPECT_EQ(world.figures().conversations, 2u) << "one for each credential";
  // What is handed on has no token in it.
  EXPECT_TRUE(world.run([&] {
    return std::ranges::all_of(world.scripts, [](const Script* one) {
      return std::ranges::all_of(one->heard,
                                 [](const std::string& text) { return text.find("token-0") == std::string::npos; });
    });
  }));

  const net::Header first = {"Authorization", "Bearer first-token-0123456789"},
                    second = {"Authorization", "Bearer second-token-0123456789"};
  const std::string session = begin(world, "2025-11-25", {first});
  EXPECT_EQ(ask(world, "POST", request_text("echo"), {{"Mcp-Session-Id", session}, first}).status, 200u);
  EXPECT_EQ(ask(world, "POST", request_text("echo"), {{"Mcp-Session-Id", session}, second}).status, 404u)
      << "somebody else's";
  EXPECT_EQ(ask(world, "DELETE", "", {{"Mcp-Session-Id", session}, second}).status, 404u);
  EXPECT_EQ(ask(world, "DELETE", "", {{"Mcp-Session-Id", session}}).status, 401u);
}

TEST(mcp_http_front, where_it_may_listen) {
  const auto problem = [](const std::string& host, bool tls, std::vector<std::string> tokens, bool without = false) {
    HttpFrontOptions options;
    options.listen = {{host, 0}};
    if (tls) options.certificate_file = options.key_file = "some.pem";
    options.tokens = std::move(tokens);
    options.without_token = without;
    return problem_with(options);
  };
  const std::string token = "a-token-of-some-length";
  EXPECT_EQ(problem("127.0.0.1", false, {token}), "");
  EXPECT_EQ(problem("localhost", false, {token}), "");
  EXPECT_EQ(problem("127.0.0.1", false, {}), "a token is required") << "on this machine too: it has other users";
  EXPECT_EQ(problem("127.0.0.1", false, {}, true), "");
  EXPECT_EQ(problem("::1", false, {}, true), "");
  EXPECT_NE(problem("127.0.0.1", false, {token}, true), "");
  EXPECT_NE(problem("0.0.0.0", true, {}, true), "");
  EXPECT_NE(problem("0.0.0.0", true, {token}, true), "");
  EXPECT_NE(problem("0.0.0.0", false, {}), "");
  EXPECT_NE(problem("0.0.0.0", true, {}), "");
  EXPECT_NE(problem("0.0.0.0", false, {token}), "");
  EXPECT_EQ(problem("0.0.0.0", true, {token}), "");
  EXPECT_NE(problem("127.0.0.1", false, {"short"}), "");
  EXPECT_NE(problem_with({}), "");
}

TEST(mcp_http_front, bodies_have_a_limit) {
  World world([](HttpFrontOptions& options) {
    options.client_bytes_max = 100'000;
    options.tokens = {"a-token-of-some-length"};
  });
  const auto status = [&](std::size_t size, bool known) {
    Headers headers = modern_headers("echo");
    if (known) headers.push_back({"Authorization", "Bearer a-token-of-some-length"});
    return ask(world, "POST", modern_text("echo", R"("pad":")" + std::string(size, 'x') + "\""), headers).status;
  };
  EXPECT_EQ(status(90'000, true), 200u);
  EXPECT_EQ(status(110'000, true), 413u);
  EXPECT_EQ(status(90'000, false), 401u);
}

TEST(mcp_http_front, rate) {
  World world([](HttpFrontOptions& options) {
    options.tokens = {"first-token-0123456789", "second-token-0123456789"};
    options.requests_per_second = 0.001;
    options.requests_at_once = 3;
  });
  const auto with = [&](const std::string& token) {
    Headers headers = modern_headers("echo");
    headers.push_back({"Authorization", "Bearer " + token});
    return ask(world, "POST", modern_text("echo"), headers);
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(with("first-token-0123456789").status, 200u);
  const auto over = with("first-token-0123456789");
  EXPECT_EQ(over.status, 429u);
  EXPECT_TRUE(over.header("retry-after"));
  EXPECT_EQ(with("second-token-0123456789").status, 200u) << "another credential has its own";
}

TEST(mcp_http_front, rate_without_tokens) {
  const auto status_from = [](const World& world, const std::string& address) {
    Raw raw = Raw::tcp(world.address, 0, address);
    raw.send(raw_request("POST", modern_text("echo"), modern_headers("echo")));
    return raw.rest().substr(9, 3);
  };
  World world([](HttpFrontOptions& options) {
    options.requests_per_second = 0.001;
    options.requests_at_once = 3;
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(status_from(world, "127.0.0.1"), "200");
  EXPECT_EQ(status_from(world, "127.0.0.1"), "429") << "from another port each time";
  EXPECT_EQ(status_from(world, "127.0.0.2"), "200") << "another address has its own";
  World unbounded([](HttpFrontOptions& options) {
    options.requests_per_second = 0;
    options.requests_at_once = 0;
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status_from(unbounded, "127.0.0.1"), "200");
}

// --- back pressure and the end ------------------------------------------------------------------------------------------------------

TEST(mcp_http_front, a_slow_reader_holds_the_servers_up) {
  World world([](HttpFrontOptions& options) { options.limits.unsent_bytes_max = 100'000; });
  const std::string session = begin(world);
  Raw raw = Raw::tcp(world.address, 4096);
  raw.send(raw_request("POST", request_text("slow"), {{"Mcp-Session-Id", session}}));
  const auto request = world.waiting(0);
  const auto is_full = [&] { return world.run([&] { return world.scripts[0]->front.is_full(); }); };
  EXPECT_FALSE(is_full());
  // Until it stays so: for a moment it is, too, when the kernel could take more and has not yet.
  const auto stays_full = [&] {
    for (int look = 0; look < 20; ++look, std::this_thread::sleep_for(std::chrono::milliseconds(5)))
      if (!is_full()) return false;
    return true;
  };
  int said = 0;
  for (; said < 2000 && !stays_full(); ++said)
    world.say(0, request.first, Script::note(said) + std::string(20'000, ' '));
  EXPECT_LT(said, 2000);
  const int drained_before = world.run([&] { return world.scripts[0]->drained; });
  world.answer(0, request);
  const auto events = events_in(raw.rest());
  EXPECT_EQ(events.size(), static_cast<std::size_t>(said) + 1) << "nothing is lost";
  EXPECT_TRUE(eventually([&] { return !is_full(); }));
  EXPECT_GT(world.run([&] { return world.scripts[0]->drained; }), drained_before);
}

TEST(mcp_http_front, one_that_reads_nothing_is_cut_off) {
  World world([](HttpFrontOptions& options) {
    options.limits.unsent_bytes_max = 100'000;
    options.write_time = std::chrono::milliseconds(200);
  });
  const std::string session = begin(world);
  Raw raw = Raw::tcp(world.address, 4096);
  raw.send(raw_request("POST", request_text("slow"), {{"Mcp-Session-Id", session}}));
  const auto request = world.waiting(0);
  const auto is_full = [&] { return world.run([&] { return world.scripts[0]->front.is_full(); }); };
  for (int i = 0; i < 2000 && !is_full(); ++i) world.say(0, request.first, Script::note(i) + std::string(20'000, ' '));
  EXPECT_TRUE(eventually([&] { return !is_full(); })) << "the servers go on";
  world.answer(0, request);
  // The answer is kept for when it comes back.
  Raw again = Raw::tcp(world.address);
  again.send(
      raw_request("GET", "", {{"Mcp-Session-Id", session}, {"Last-Event-ID", std::to_string(request.first) + "-1"}}));
  EXPECT_NE(again.rest().find(R"("late":true)"), std::string::npos);
}

TEST(mcp_http_front, requests_wait_for_a_server_that_does_not_read) {
  World world([](HttpFrontOptions& options) { options.limits.waiting_bytes_max = 300; });
  const std::string session = begin(world);
  world.run([&] { world.scripts[0]->full = true; });
  Raw raw = Raw::tcp(world.address);
  raw.send(raw_request("POST", request_text("echo", R"({"pad":")" + std::string(200, 'x') + R"("})"),
                       {{"Mcp-Session-Id", session}}));
  EXPECT_TRUE(eventually([&] {
    return post(world, session, request_text("echo", R"({"pad":")" + std::string(200, 'x') + R"("})")).status == 503u;
  }));
  EXPECT_EQ(world.run([&] { return world.scripts[0]->heard.size(); }), 1u) << "only initialize";
  world.run([&] {
    world.scripts[0]->full = false;
    world.scripts[0]->front.server_drained();
  });
  EXPECT_NE(raw.until(R"("echo":true)").find("200 OK"), std::string::npos);
}

TEST(mcp_http_front, a_conversation_that_ends_by_itself) {
  World world;
  const std::string session = begin(world);
  Raw raw = Raw::tcp(world.address);
  raw.send(raw_request("POST", request_text("slow"), {{"Mcp-Session-Id", session}}));
  world.waiting(0);
  world.run([&] { world.scripts[0]->front.ended("no more"); });
  EXPECT_TRUE(raw.until("no more").starts_with("HTTP/1.1 404 "));
  EXPECT_TRUE(eventually([&] { return world.figures().conversations == 0; }));
  EXPECT_EQ(post(world, session, request_text("echo")).status, 404u);
}

TEST(mcp_http_front, stopping_ends_everything) {
  World world;
  const std::string session = begin(world);
  ask(world, "POST", modern_text("echo"), modern_headers("echo"));
  Raw raw = Raw::tcp(world.address);
  raw.send(raw_request("GET", "", {{"Mcp-Session-Id", session}}));
  raw.until("data: \n\n");
  std::promise<void> stopped;
  world.stop([&] { stopped.set_value(); });
  EXPECT_EQ(stopped.get_future().wait_for(kPatience), std::future_status::ready);
  raw.rest();
  EXPECT_EQ(world.figures().conversations, 0u);
  EXPECT_EQ(ask(world, "POST", modern_text("echo"), modern_headers("echo")).status, 503u);
}

}  // namespace
}  // namespace baton::proxy
