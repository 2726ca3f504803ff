// SPDX-License-Identifier: Apache-2.0
// The HTTP client, server-sent events, and who is behind a process id.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>

#include "base/limits.h"
#include "http_fixture.h"
#include "net/process.h"
#include "net/sse.h"

namespace baton::net {
namespace {

// --- the client ------------------------------------------------------------------------------------------------------

TEST(http_client, keeps_its_connection_and_makes_a_new_one_when_it_was_closed) {
  Node node;
  HttpClient client;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client.send(node.request("GET", "/")));
  EXPECT_EQ(node.server->figures().connections_total, 1u);
  // A refusal closes the connection; the next request makes another.
  HttpRequest refused = node.request("GET", "/");
  refused.headers = {{"Origin", "http://evil.example"}};
  ASSERT_TRUE(client.send(refused));
  ASSERT_TRUE(client.send(node.request("GET", "/")));
  EXPECT_EQ(node.server->figures().connections_total, 2u);
  HttpClient moved = std::move(client);
  ASSERT_TRUE(moved.send(node.request("GET", "/")));
  EXPECT_EQ(node.server->figures().connections_total, 2u);
}

TEST(http_client, reconnects_when_the_server_closed_an_idle_connection) {
  ServerLimits limits;
  limits.idle_time = milliseconds(50);
  Node node(with(limits));
  HttpClient client;
  ASSERT_TRUE(client.send(node.request("GET", "/")));
  EXPECT_TRUE(eventually([&] { return node.server->figures().connections_open == 0; }));
  const auto again = client.send(node.request("POST", "/", "once"));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->body, "POST / ? once");
  EXPECT_EQ(node.server->figures().requests_total, 2u);
  EXPECT_EQ(node.server->figures().connections_total, 2u);
}

TEST(http_client, reconnects_once_when_no_byte_came) {
  // The first connection answers once and, asked again, closes: the server's end of a race nobody can win.
  Folder folder;
  const int listener = Raw::unix_socket();
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  folder.file("s").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listener, 4), 0);
  std::thread server([&] {
    const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
    Raw first(::accept(listener, nullptr, nullptr));
    first.until("\r\n\r\n");
    first.send(answer + "m1");
    first.until("\r\n\r\n");
    first.close();
    Raw second(::accept(listener, nullptr, nullptr));
    second.until("\r\n\r\n");
    second.send(answer + "m2");
    second.until("\r\n\r\n");
    second.send("HTTP/1.1 200 OK\r\nContent-");  // a byte came: not again
  });
  HttpClient client;
  const HttpRequest request = {.url = "http://localhost/", .timeout = kPatience, .unix_path = folder.file("s")};
  EXPECT_EQ(client.send(request)->body, "m1");
  EXPECT_EQ(client.send(request)->body, "m2");
  EXPECT_FALSE(client.send(request));
  server.join();
  ::close(listener);
  // Nobody accepts any more: that is said, not tried for ever.
  const auto refused = client.send(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "NODE_UNREACHABLE");
}

TEST(http_client, says_when_nobody_is_there) {
  Folder folder;
  HttpRequest request = {.url = "http://localhost/", .unix_path = folder.file("missing")};
  EXPECT_EQ(send(request).error().code, "NODE_UNREACHABLE");
  request.unix_path.clear();
  std::string address;
  {
    Node node(on_tcp(), false);
    address = node.server->addresses().front();
  }
  request.url = "http://" + address + "/";
  EXPECT_EQ(send(request).error().code, "NODE_UNREACHABLE");
  request.url = "http://example.com/";
  EXPECT_EQ(send(request).error().code, "");
  EXPECT_NE(send(request).error().reason.find("https"), std::string::npos);
  request.url = "http://localhost/";
  request.unix_path = folder.file(std::string(200, 'x'));
  EXPECT_FALSE(send(request));
}

TEST(http_client, reads_answers_of_every_shape) {
  Script script({"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 200 OK\r\n\r\nto the end",
                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
                 "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 404 Not "
                 "Found\r\nContent-Length: 1\r\n\r\nx",
                 "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
                 "nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n" + std::string(2'000'000, 'x'),
                 "HTTP/1.1 200 OK\r\nX: " + std::string(limits::kHttpAnswerHeadBytesMax, 'x') + "\r\n\r\n", ""});
  const auto ask = [&] { return send(script.request()); };
  EXPECT_EQ(ask()->body, "abc");
  EXPECT_EQ(ask()->body, "to the end");
  EXPECT_EQ(ask()->body, "abcde");
  const auto late = ask();
  ASSERT_TRUE(late) << late.error().text();
  EXPECT_EQ(late->status, 404u);
  EXPECT_EQ(late->body, "x");
  EXPECT_EQ(ask()->status, 204u);
  EXPECT_FALSE(ask());  // cut off
  EXPECT_FALSE(ask());  // no HTTP
  EXPECT_FALSE(ask());  // larger than answer_bytes_max
  EXPECT_FALSE(ask());  // a head without end
  EXPECT_FALSE(ask());  // nothing at all
}

TEST(http_client, waits_no_longer_than_it_may) {
  Node node;
  HttpRequest request = node.request("GET", "/hold");
  request.timeout = milliseconds(100);
  const auto answer = send(request);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, "HTTP_TIMEOUT");
  EXPECT_TRUE(eventually([&] { return node.gone == 1; }));
}

TEST(http_client, sends_no_header_that_breaks_its_line) {
  Node node;
  HttpRequest request = node.request("GET", "/");
  request.headers = {{"X-Ask", "a\r\nX-Smuggled: b"}};
  EXPECT_FALSE(send(request));
  request.headers = {{"X Ask", "a"}};
  EXPECT_FALSE(send(request));
  request = node.request("GET / HTTP/1.1\r\nX: y\r\n", "/");
  EXPECT_FALSE(send(request));
  EXPECT_EQ(node.server->figures().requests_total, 0u);
}

TEST(http_client, follows_until_told_to_stop) {
  ServerLimits limits;
  limits.heartbeat = seconds(60);
  Node node(with(limits));
  // Silence.
  const auto silent = follow(node.request("GET", "/stream"), [](std::string_view) { return true; }, milliseconds(100));
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code, "HTTP_TIMEOUT");
  // The server's end.
  std::thread closing([&] { node.stream(1)->close(); });
  EXPECT_TRUE(follow(node.request("GET", "/stream"), [](std::string_view) { return true; }, kPatience));
  closing.join();
  // An end in the middle.
  Script script({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"});
  std::string got;
  EXPECT_TRUE(follow(script.request(), [&](std::string_view part) {
    got += part;
    return true;
  }));
  EXPECT_EQ(got, "ab");
  // No stream.
  bool called = false;
  HttpRequest refused = node.request("GET", "/stream");
  refused.headers = {{"Origin", "x"}};
  const auto answer = follow(refused, [&](std::string_view) { return called = true; });
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->status, 403u);
  EXPECT_TRUE(answer->body.starts_with("HTTP_ORIGIN")) << answer->body;
  EXPECT_FALSE(called);
}

// --- server-sent events ----------------------------------------------------------------------------------------------

TEST(sse, reads_the_format_split_anywhere) {
  const std::string text =
      "\xEF\xBB\xBF: a comment\n\n"
      "data: first\n\n"
      "id: 7\r\nevent: entry\r\ndata: two\r\ndata:  lines\r\n\r\n"
      "event: nothing\n\n"
      "data\n\n"
      "id\rdata:x\r\r"
      "retry: 1500\nretry: soon\nunknown: y\ndata: last\n\n"
      "data: cut off";
  const std::vector<SseEvent> want = {{"", "message", "first"},
                                      {"7", "entry", "two\n lines"},
                                      {"7", "message", ""},
                                      {"", "message", "x"},
                                      {"", "message", "last"}};
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    SseParser parser;
    std::vector<SseEvent> events = parser.put(std::string_view(text).substr(0, cut));
    for (SseEvent& event : parser.put(std::string_view(text).substr(cut))) events.push_back(std::move(event));
    ASSERT_EQ(events, want) << "cut at " << cut;
    EXPECT_EQ(parser.retry_ms(), 1500);
  }
  SseParser bytewise;
  std::vector<SseEvent> events;
  for (const char c : text)
    for (SseEvent& event : bytewise.put({&c, 1})) events.push_back(std::move(event));
  EXPECT_EQ(events, want);
}

TEST(sse, keeps_the_last_id) {
  SseParser parser;
  parser.put("id: 5\ndata: a\n\ndata: b\n\n");
  EXPECT_EQ(parser.last_id(), "5");
  using namespace std::string_literals;
  parser.put("id: 6\0\ndata: c\n\n"s);  // an id with a NUL is ignored
  EXPECT_EQ(parser.last_id(), "5");
}

TEST(sse, reads_what_it_writes) {
  for (const std::string data :
       {"", "a", "{\"a\":1}", "two\nlines", "\n", " leading", "trailing\n", "colon: x", "\n\n"}) {
    SseParser parser;
    const auto events = parser.put(sse_event("12", "work.claimed", data));
    ASSERT_EQ(events.size(), 1u) << data;
    EXPECT_EQ(events[0], (SseEvent{"12", "work.claimed", data}));
  }
  EXPECT_EQ(sse_event("1", "e", "d"), "id: 1\nevent: e\ndata: d\n\n");
  EXPECT_EQ(sse_event("", "", "a\r\nb\rc"), "data: a\ndata: b\ndata: c\n\n");
  EXPECT_EQ(sse_event("1\ndata: x", "e\r\n", "d"), "id: 1data: x\nevent: e\ndata: d\n\n");
}

TEST(sse, bounds_an_event) {
  SseParser line;
  const std::string part(1000, 'x');
  for (std::size_t i = 0; i <= limits::kSseEventBytesMax / part.size() + 1; ++i) line.put(part);
  EXPECT_TRUE(line.too_large());
  EXPECT_TRUE(line.put("\n\ndata: x\n\n").empty());
  SseParser lines;
  for (std::size_t i = 0; i <= limits::kSseEventBytesMax / part.size() + 1; ++i) lines.put("data:" + part + "\n");
  EXPECT_TRUE(lines.too_large());
}

// --- processes -------------------------------------------------------------------------------------------------------

TEST(process, reads_a_stat_line_whatever_the_name) {
  const std::string rest = " S 41 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 22 33\n";
  for (const std::string name : {"(sh)", "(a b)", "(x) 1 (y)", "())", "(\n)", "()"}) {
    const auto stat = parse_process_stat("42 " + name + rest);
    ASSERT_TRUE(stat) << name;
    EXPECT_EQ(stat->id, (ProcessId{42, 987654}));
    EXPECT_EQ(stat->parent, 41);
  }
  const std::vector<std::string> others = {
      "", "42", "42 (sh)", "42 (sh) S", "42 (sh) S x 42", "x (sh)" + rest, "42 sh" + rest};
  for (const std::string& bad : others) EXPECT_FALSE(parse_process_stat(bad)) << bad;
}

TEST(process, remembers_what_is_above) {
  AncestryCache cache;
  const Ancestry first = cache.above(::getpid());
  EXPECT_EQ(first.processes, ancestry(::getpid()).processes);
  EXPECT_EQ(cache.above(::getpid()).processes, first.processes);
  EXPECT_TRUE(cache.above(0).processes.empty());
  // A child whose parent ends has another one from then on, and is looked at anew.
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t middle = ::fork();
  if (middle == 0) {
    const pid_t below = ::fork();
    if (below != 0 && ::write(told[1], &below, sizeof(below)) != sizeof(below)) ::_exit(1);
    for (;;) ::pause();
  }
  pid_t below = 0;
  ASSERT_EQ(::read(told[0], &below, sizeof(below)), static_cast<ssize_t>(sizeof(below)));
  const auto between = process_id(middle);
  ASSERT_TRUE(between);
  EXPECT_TRUE(cache.above(below).contains(*between));
  EXPECT_TRUE(cache.above(below).contains(*between)) << "from memory";
  // Who is known as somebody's parent is known when he asks himself, and the other way round.
  EXPECT_EQ(cache.above(middle).processes, ancestry(middle).processes);
  EXPECT_EQ(cache.above(below).processes, ancestry(below).processes);
  EXPECT_TRUE(cache.above(below).complete);
  ::kill(middle, SIGKILL);
  ASSERT_EQ(::waitpid(middle, nullptr, 0), middle);
  EXPECT_TRUE(eventually([&] { return !cache.above(below).contains(*between); }));
  ::kill(below, SIGKILL);
  for (const int end : told) ::close(end);
}

TEST(process, knows_itself_and_its_parents) {
  const auto self = process_id(::getpid());
  ASSERT_TRUE(self);
  EXPECT_EQ(self->pid, ::getpid());
  EXPECT_GT(self->start_ticks, 0u);
  EXPECT_EQ(process_id(::getpid()), self);
  const Ancestry above = ancestry(::getpid());
  EXPECT_TRUE(above.complete);
  ASSERT_GE(above.processes.size(), 2u);
  EXPECT_EQ(above.processes[0], *self);
  EXPECT_EQ(above.processes[1].pid, ::getppid());
  EXPECT_TRUE(above.contains(*self));
  EXPECT_FALSE(above.contains({self->pid, self->start_ticks + 1}));

  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte;
    ::close(gate[1]);
    ::_exit(static_cast<int>(::read(gate[0], &byte, 1)));
  }
  const Ancestry of_child = ancestry(child);
  EXPECT_TRUE(of_child.complete);
  ASSERT_GE(of_child.processes.size(), 2u);
  EXPECT_EQ(of_child.processes[0].pid, child);
  EXPECT_EQ(of_child.processes[1], *self);
  ::close(gate[0]);
  ::close(gate[1]);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(process_id(child));
  EXPECT_FALSE(ancestry(child).complete);
  EXPECT_TRUE(ancestry(child).processes.empty());
  EXPECT_FALSE(process_id(0));
  EXPECT_FALSE(process_id(-1));
}

}  // namespace
}  // namespace baton::net
