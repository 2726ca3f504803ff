// SPDX-License-Identifier: Apache-2.0
// Event streams of the HTTP server, and how it stops.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <fstream>

#include "http_fixture.h"
#include "net/outgoing.h"
#include "net/sse.h"

namespace baton::net {
namespace {

// --- event streams ---------------------------------------------------------------------------------------------------

TEST(outgoing, gives_the_same_bytes_however_they_are_taken) {
  for (const std::size_t room : {1u, 7u, 64u, 100'000u})
    for (const std::size_t step : {1u, 3u, 50u, 100'000u}) {
      Outgoing out;
      std::vector<char> scratch(room);
      std::string written;
      std::size_t events = 0, next = 0;
      // A reader that is always a little behind: something is added before all is gone.
      while (next < 200 || !out.empty()) {
        for (int i = 0; i < 3 && next < 200; ++i, ++next)
          out.add({bytes(std::string(next % 40 + 1, 'x')), next != 100, next != 100 && next % 2 == 0});
        const std::string_view part = out.next(scratch).substr(0, step);
        ASSERT_FALSE(part.empty());
        written += part;
        events += out.advance(part.size());
      }
      std::string want;
      std::size_t want_events = 0;
      for (std::size_t n = 0; n < 200; ++n) {
        char size[20];
        std::snprintf(size, sizeof(size), "%zx\r\n", n % 40 + 1);
        want += n == 100 ? std::string(n % 40 + 1, 'x') : size + std::string(n % 40 + 1, 'x') + "\r\n";
        if (n != 100 && n % 2 == 0) want_events += n % 40 + 1;
      }
      EXPECT_EQ(written, want) << room << " " << step;
      EXPECT_EQ(events, want_events);
    }
}

TEST(http_server, streams_events_from_another_thread_in_order) {
  Node node;
  constexpr int kEvents = 3000;
  std::thread sender([&] {
    const auto stream = node.stream(0);
    for (int i = 1; i <= kEvents; ++i)
      ASSERT_TRUE(stream->send(bytes(sse_event(std::to_string(i), "entry", "{\"n\":" + std::to_string(i) + "}"))));
  });
  SseParser parser;
  std::vector<SseEvent> events;
  const auto answer = follow(
      node.request("GET", "/stream"),
      [&](std::string_view part) {
        for (SseEvent& event : parser.put(part)) events.push_back(std::move(event));
        return events.size() < kEvents;
      },
      kPatience);
  sender.join();
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->status, 200u);
  EXPECT_EQ(answer->content_type, "text/event-stream");
  EXPECT_EQ(answer->header("cache-control"), "no-store");
  EXPECT_EQ(answer->header("x-further"), "yes");
  EXPECT_EQ(answer->header("transfer-encoding"), "chunked");
  ASSERT_EQ(events.size(), static_cast<std::size_t>(kEvents));
  for (int i = 0; i < kEvents; ++i) {
    const std::string number = std::to_string(i + 1);
    EXPECT_EQ(events[static_cast<std::size_t>(i)], (SseEvent{number, "entry", "{\"n\":" + number + "}"}));
  }
  // The client has left: the stream ends, once, and takes nothing more.
  EXPECT_TRUE(eventually([&] { return node.closed == 1; }));
  EXPECT_FALSE(node.stream(0)->send(bytes("data: x\n\n")));
  EXPECT_EQ(node.server->figures().streams_open, 0u);
  std::atomic<bool> told{false};
  node.stream(0)->on_closed([&] { told = true; });
  EXPECT_TRUE(eventually([&] { return told.load(); }));
}

TEST(http_server, ends_a_stream_that_the_handler_closes) {
  Node node;
  Raw raw = node.raw();
  ASSERT_TRUE(raw.send(get("/stream", "Connection: close\r\n") + get("/ignored")));
  const auto stream = node.stream(0);
  EXPECT_TRUE(stream->send(bytes("data: 1\n\n")));
  EXPECT_TRUE(stream->send(bytes("")));
  EXPECT_TRUE(stream->send(bytes("data: 2\n\n")));
  stream->close();
  EXPECT_FALSE(stream->send(bytes("data: 3\n\n")));
  const std::string all = raw.rest();
  EXPECT_TRUE(all.ends_with("0\r\n\r\n")) << all;
  EXPECT_EQ(dechunked(body_of(all)), "data: 1\n\ndata: 2\n\n");
  raw.close();
  EXPECT_TRUE(eventually([&] { return node.closed == 1; }));

  Raw head = node.raw();
  ASSERT_TRUE(head.send("HEAD /stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  const std::string only_head = head.rest();
  EXPECT_TRUE(only_head.ends_with("\r\n\r\n")) << only_head;
  EXPECT_EQ(body_of(only_head), "");
}

TEST(http_server, keeps_the_connection_after_a_stream) {
  Node node;
  Raw raw = node.raw();
  for (std::size_t number = 0; number < 3; ++number) {
    // The second brings the next request with it, before its stream has ended.
    ASSERT_TRUE(raw.send(get("/stream") + (number == 1 ? get("/ahead") : "")));
    const auto stream = node.stream(number);
    EXPECT_TRUE(stream->send(bytes("data: 1\n\n")));
    raw.until("data: 1\n\n");
    EXPECT_EQ(node.server->figures().streams_open, 1u);
    stream->close();
    const std::string rest = raw.until(number == 1 ? "/ahead" : "0\r\n\r\n");
    EXPECT_EQ(rest.find("Connection: close"), std::string::npos) << rest;
    EXPECT_TRUE(eventually([&] { return node.closed == static_cast<int>(number) + 1; }));
    EXPECT_EQ(node.server->figures().streams_open, 0u);
  }
  EXPECT_EQ(node.server->figures().connections_total, 1u);
  // Without chunks there is nothing else that ends a stream.
  Raw old = node.raw();
  ASSERT_TRUE(old.send("GET /stream HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n"));
  const auto stream = node.stream(3);
  EXPECT_TRUE(stream->send(bytes("data: 1\n\n")));
  stream->close();
  EXPECT_TRUE(old.rest().ends_with("\r\n\r\ndata: 1\n\n"));
}

TEST(http_server, sends_heartbeats_on_an_idle_stream_and_notices_its_end) {
  ServerLimits limits;
  limits.heartbeat = milliseconds(50);
  Node node(on_tcp(limits));
  Raw raw = Raw::tcp(node.server->addresses().front());
  ASSERT_TRUE(raw.send(get("/stream")));
  const std::string all = raw.until("3\r\n:\n\n\r\n", 3);
  EXPECT_NE(all.find("text/event-stream"), std::string::npos);
  raw.reset();
  EXPECT_TRUE(eventually([&] { return node.closed == 1; }));
  Raw other = Raw::tcp(node.server->addresses().front());
  ASSERT_TRUE(other.send(get("/stream")));
  node.stream(1);
  other.end_writing();
  EXPECT_TRUE(eventually([&] { return node.closed == 2; }));
}

TEST(http_server, cuts_off_a_stream_that_falls_behind) {
  ServerLimits limits;
  limits.stream_backlog_bytes = 100'000;
  Node node(with(limits));
  Raw raw = node.raw();
  ASSERT_TRUE(raw.send(get("/stream")));
  const auto stream = node.stream(0);
  const auto event = bytes("data: " + std::string(10'000, 'x') + "\n\n");
  int taken = 0;
  while (taken < 10'000 && stream->send(event)) {
    ++taken;
    if (taken % 16 == 0) std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_GE(taken, 9);
  EXPECT_LT(taken, 10'000);
  EXPECT_FALSE(stream->send(bytes("x")));
  EXPECT_TRUE(eventually([&] { return node.closed == 1; }));
  EXPECT_FALSE(raw.rest().ends_with("0\r\n\r\n"));  // it can tell that something is missing
}

TEST(http_server, cuts_off_a_stream_that_is_not_read) {
  ServerLimits limits;
  limits.write_time = milliseconds(200);
  limits.stream_backlog_bytes = 64u << 20;
  Node node(with(limits));
  Raw raw = node.raw();
  ASSERT_TRUE(raw.send(get("/stream")));
  const auto stream = node.stream(0);
  ASSERT_TRUE(stream->send(bytes("data: " + std::string(20'000'000, 'x') + "\n\n")));
  EXPECT_TRUE(eventually([&] { return node.closed == 1; }));
}

TEST(http_server, a_slow_reader_that_reads_stays) {
  ServerLimits limits;
  limits.write_time = seconds(10);
  limits.heartbeat = milliseconds(20);
  limits.stream_backlog_bytes = 8u << 20;
  Node node(on_tcp(limits));
  Raw raw = Raw::tcp(node.server->addresses().front(), 4096);
  ASSERT_TRUE(raw.send(get("/stream", "Connection: close\r\n")));
  const auto stream = node.stream(0);
  std::string want;
  for (int i = 0; i < 400; ++i) {
    const std::string event = "data: " + std::to_string(i) + std::string(10'000, '.') + "\n\n";
    want += event;
    ASSERT_TRUE(stream->send(bytes(event)));
  }
  std::this_thread::sleep_for(milliseconds(100));
  stream->close();
  std::string got = dechunked(body_of(raw.rest()));
  for (std::size_t at; (at = got.find(":\n\n")) != std::string::npos && got.substr(at - 2, 2) == "\n\n";)
    got.erase(at, 3);
  if (got.starts_with(":\n\n")) got.erase(0, 3);
  EXPECT_EQ(got.size(), want.size());
  EXPECT_TRUE(got == want);
}

TEST(http_server, opens_no_more_streams_than_it_takes) {
  ServerLimits limits;
  limits.streams = 1;
  Node node(with(limits));
  Raw first = node.raw();
  ASSERT_TRUE(first.send(get("/stream")));
  first.until("text/event-stream");
  Raw second = node.raw();
  ASSERT_TRUE(second.send(get("/stream")));
  const std::string answer = second.rest();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
  EXPECT_TRUE(eventually([&] { return node.closed == 1; }));
  EXPECT_FALSE(node.stream(1)->send(bytes("data: x\n\n")));
  EXPECT_TRUE(node.stream(0)->send(bytes("data: y\n\n")));
  first.until("data: y");
}

std::size_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  in >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(http_server, an_idle_stream_costs_little) {
  constexpr std::size_t kStreams = 1000;
  rlimit files;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_cur < 2 * kStreams + 200) {
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, 2 * kStreams + 200);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  }
  if (files.rlim_cur < 2 * kStreams + 200) GTEST_SKIP() << "too few descriptors";
  Node node;
  std::vector<Raw> clients;
  clients.reserve(kStreams + 100);
  const auto open_one = [&] {
    clients.push_back(node.raw());
    // A request with what browsers send, so that there is something to let go of.
    ASSERT_TRUE(clients.back().send(get("/stream", "X-Filler: " + std::string(4000, 'f') + "\r\n")));
    clients.back().until("\r\n\r\n");
  };
  for (int i = 0; i < 100; ++i) open_one();
  // What other tests left is used first and hides the cost from the resident size; what the heap gave out shows it.
  const std::size_t before = resident_bytes(), heap_before = ::mallinfo2().uordblks;
  for (std::size_t i = 0; i < kStreams; ++i) open_one();
  const std::size_t after = resident_bytes(), heap_after = ::mallinfo2().uordblks;
  const std::size_t resident = after > before ? (after - before) / kStreams : 0;
  const std::size_t heap = heap_after > heap_before ? (heap_after - heap_before) / kStreams : 0;
  const std::size_t each = std::max(resident, heap);
  std::printf("an idle event stream: %zu bytes of resident memory, %zu of the heap\n", resident, heap);
  RecordProperty("bytes_per_stream", static_cast<int>(each));
  EXPECT_EQ(node.server->figures().streams_open, kStreams + 100);
  EXPECT_LT(each, kSanitized ? 1u << 20 : 8u << 10);
  // One event to all, in one copy.
  const auto event = bytes("data: all\n\n");
  for (const auto& stream : node.all_streams()) EXPECT_TRUE(stream->send(event));
  for (Raw& client : clients) client.until("data: all");
  EXPECT_TRUE(eventually([&] { return event.use_count() == 1; }));
}

TEST(http_server, streams_over_tls) {
  Folder folder;
  const ServerOptions options = on_tls(folder);
  Node node(options, false);
  std::string all;
  std::thread sender([&] {
    const auto stream = node.stream(0);
    for (int i = 0; i < 2000; ++i)
      ASSERT_TRUE(stream->send(
          bytes("data: " + std::to_string(i) + std::string(static_cast<std::size_t>(i % 300), '.') + "\n\n")));
    stream->close();
  });
  const auto answer = follow(
      {.url = "https://" + node.server->addresses().front() + "/stream", .ca_file = options.certificate_file},
      [&](std::string_view part) {
        all += part;
        return true;
      },
      kPatience);
  sender.join();
  ASSERT_TRUE(answer) << answer.error().text();
  SseParser parser;
  const auto events = parser.put(all);
  ASSERT_EQ(events.size(), 2000u);
  for (std::size_t i = 0; i < events.size(); ++i)
    EXPECT_TRUE(events[i].data.starts_with(std::to_string(i))) << events[i].data;
}

// --- the end ---------------------------------------------------------------------------------------------------------

TEST(http_server, stops_when_what_is_being_answered_is_done) {
  ServerOptions options;
  options.threads = 2;
  Node node(options);
  Raw idle = node.raw(), reading = node.raw(), streaming = node.raw(), answered = node.raw();
  ASSERT_TRUE(idle.send(get("/")));
  idle.until("GET / ? ");
  ASSERT_TRUE(reading.send("GET / HT"));
  ASSERT_TRUE(streaming.send(get("/stream")));
  ASSERT_TRUE(answered.send(get("/hold") + get("/not-any-more")));
  ASSERT_TRUE(node.stream(0)->send(bytes("data: last\n\n")));
  const auto exchange = node.take_held();
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(100));
    exchange->respond({.body = "in time"});
  });
  std::thread stopping([&] { node.server->stop(kPatience); });
  EXPECT_EQ(idle.rest(), "");
  EXPECT_EQ(reading.rest(), "");
  const std::string last = streaming.rest();
  EXPECT_TRUE(last.ends_with("0\r\n\r\n")) << last;
  EXPECT_NE(last.find("data: last"), std::string::npos) << last;
  const std::string answer = answered.rest();
  EXPECT_NE(answer.find("in time"), std::string::npos) << answer;
  EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
  EXPECT_EQ(answer.find("not-any-more"), std::string::npos) << answer;
  streaming.close();
  answered.close();
  later.join();
  stopping.join();
  EXPECT_EQ(node.closed, 1);
  EXPECT_EQ(node.gone, 0);
  EXPECT_EQ(node.server->figures().connections_open, 0u);
  const auto refused = send(node.request("GET", "/"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "NODE_UNREACHABLE");
}

TEST(http_server, does_not_wait_longer_than_its_grace) {
  Node node;
  Raw waiting = node.raw(), streaming = node.raw();
  ASSERT_TRUE(waiting.send(get("/hold")));
  ASSERT_TRUE(streaming.send(get("/stream")));
  const auto exchange = node.take_held();
  const auto stream = node.stream(0);
  node.server->stop(milliseconds(50));
  EXPECT_EQ(node.gone, 1);
  EXPECT_EQ(node.closed, 1);
  EXPECT_EQ(waiting.rest(), "");
  // What the handler still holds outlives the server.
  node.server.reset();
  exchange->respond({.body = "to nobody"});
  EXPECT_FALSE(stream->send(bytes("data: to nobody\n\n")));
  stream->close();
}

TEST(http_server, an_exchange_may_outlive_the_server) {
  std::shared_ptr<Exchange> kept, dropped;
  {
    Node node;
    Raw one = node.raw(), two = node.raw();
    ASSERT_TRUE(one.send(get("/hold")));
    kept = node.take_held();
    ASSERT_TRUE(two.send(get("/hold")));
    dropped = node.take_held();
    node.server.reset();
  }
  dropped.reset();
  const auto stream = kept->stream();
  EXPECT_FALSE(stream->send(bytes("x")));
  bool told = false;
  stream->on_closed([&] { told = true; });
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace baton::net
