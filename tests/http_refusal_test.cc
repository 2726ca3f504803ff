// SPDX-License-Identifier: Apache-2.0
// What the HTTP server does not take: too much, too slow, from another host or page, and what is not HTTP.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "http_fixture.h"
#include "net/http_rules.h"
#include "net/url.h"

namespace baton::net {
namespace {

// --- limits ----------------------------------------------------------------------------------------------------------

TEST(http_server, refuses_a_body_that_is_too_large) {
  ServerLimits limits;
  limits.body_bytes = 1000;
  Node node(on_tcp(limits));
  const auto refused = [&](const std::string& request) {
    Raw raw = Raw::tcp(node.server->addresses().front());
    raw.send(request);
    const std::string answer = raw.rest();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 413 ")) << answer;
    EXPECT_NE(answer.find("HTTP_BODY_TOO_LARGE"), std::string::npos) << answer;
    EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
  };
  refused("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n");  // before any of it came
  refused("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999999999\r\n\r\n");
  refused("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n" + std::string(3'000'000, 'x'));
  std::string chunks = "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 11; ++i) chunks += "64\r\n" + std::string(100, 'x') + "\r\n";
  refused(chunks);
  EXPECT_EQ(node.server->figures().refused_total, 4u);
  EXPECT_EQ(node.server->figures().requests_total, 0u);
  const auto fits = send(node.request("POST", "/", std::string(1000, 'x')));
  ASSERT_TRUE(fits) << fits.error().text();
  EXPECT_EQ(fits->status, 200u);
}

TEST(http_server, refuses_a_head_that_is_too_large) {
  ServerLimits limits;
  limits.header_bytes = 4096;
  Node node(with(limits));
  const auto refused = [&](const std::function<void(Raw&)>& send) {
    Raw raw = node.raw();
    send(raw);
    const std::string answer = raw.rest();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 431 ")) << answer;
    EXPECT_NE(answer.find("HTTP_HEADER_TOO_LARGE"), std::string::npos) << answer;
  };
  refused([](Raw& raw) { raw.send(get("/", "X: " + std::string(5000, 'x') + "\r\n")); });
  refused([](Raw& raw) { raw.send("GET /" + std::string(5000, 'x')); });
  refused([](Raw& raw) { raw.send(std::string(5000, 'x')); });
  // Line by line and a byte more, so that each line is parsed before the next is there.
  refused([](Raw& raw) {
    raw.send("GET / HTTP/1.1\r\nX");
    for (int i = 0; i < 600 && raw.send("-Header: 0123456789\r\nX"); ++i)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
  });
  // Before a chunk, and after the last.
  const std::string chunked = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  refused([&](Raw& raw) { raw.send(chunked + "1;" + std::string(5000, 'x')); });
  refused([&](Raw& raw) { raw.send(chunked + "0\r\nX: " + std::string(5000, 'x')); });
  Raw fits = node.raw();
  fits.send(get("/fits", "X: " + std::string(3900, 'x') + "\r\n"));
  fits.until("GET /fits ? ");
}

TEST(http_server, cuts_off_a_slow_client) {
  ServerLimits limits;
  limits.read_time = milliseconds(150);
  Node node(with(limits));
  for (const std::string request :
       {"G", "GET / HTTP/1.1\r\nHost: x\r\nX-Slo", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabc"}) {
    Raw raw = node.raw();
    ASSERT_TRUE(raw.send(request));
    const std::string answer = raw.rest();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 408 ")) << answer;
    EXPECT_NE(answer.find("HTTP_TIMEOUT"), std::string::npos) << answer;
  }
  // One byte now and then does not help: the time is that of the whole request.
  Raw dripping = node.raw();
  std::string answer;
  for (int i = 0; i < 2000 && answer.empty(); ++i) {
    dripping.send("x");
    std::this_thread::sleep_for(milliseconds(10));
    char buffer[4096];
    const ssize_t got = ::recv(dripping.socket(), buffer, sizeof(buffer), MSG_DONTWAIT);
    if (got > 0) answer.assign(buffer, static_cast<std::size_t>(got));
  }
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 408 ")) << answer;
  // A request that is being answered takes as long as it takes.
  HttpClient client;
  std::thread later([&] {
    const auto exchange = node.take_held();
    std::this_thread::sleep_for(milliseconds(400));
    exchange->respond({.body = "worth it"});
  });
  const auto held = client.send(node.request("GET", "/hold"));
  later.join();
  ASSERT_TRUE(held) << held.error().text();
  EXPECT_EQ(held->body, "worth it");
}

TEST(http_server, closes_an_idle_connection) {
  ServerLimits limits;
  limits.idle_time = milliseconds(150);
  Folder folder;
  Node node(on_tls(folder, limits));
  Raw silent = node.raw();
  EXPECT_EQ(silent.rest(), "");
  Raw once = node.raw();
  ASSERT_TRUE(once.send(get("/")));
  EXPECT_TRUE(once.rest().starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(eventually([&] { return node.server->figures().connections_open == 0; }));
}

TEST(http_server, closes_a_handshake_that_does_not_end) {
  ServerLimits limits;
  limits.read_time = milliseconds(150);
  Folder folder;
  Node node(on_tls(folder, limits), false);
  Raw silent = Raw::tcp(node.server->addresses().front());
  EXPECT_EQ(silent.rest(), "");
}

TEST(http_server, cuts_off_a_client_that_does_not_read) {
  ServerLimits limits;
  limits.write_time = milliseconds(200);
  Node node(on_tcp(limits));
  Raw raw = Raw::tcp(node.server->addresses().front(), 4096);
  ASSERT_TRUE(raw.send(get("/big?30000000")));
  EXPECT_TRUE(eventually([&] { return node.server->figures().requests_total == 1; }));
  EXPECT_TRUE(eventually([&] { return node.server->figures().connections_open == 0; }));
  Raw local = node.raw();
  ASSERT_TRUE(local.send(get("/big?30000000")));
  EXPECT_TRUE(eventually([&] { return node.server->figures().requests_total == 2; }));
  EXPECT_TRUE(eventually([&] { return node.server->figures().connections_open == 0; }));
}

TEST(http_server, without_a_socket_tcp_has_every_place) {
  ServerLimits limits;
  limits.connections = 2;
  Node node(on_tcp(limits), false);
  const std::string address = node.server->addresses().front();
  std::vector<Raw> all;
  for (int i = 0; i < 2; ++i) {
    all.push_back(Raw::tcp(address));
    ASSERT_TRUE(all.back().send(get("/")));
    all.back().until("GET / ? ");
  }
}

// A server that reads large bodies of those alone who say `X-Known: yes`, and tells what it got.
std::unique_ptr<HttpServer> choosy(std::atomic<int>& asked) {
  ServerOptions options;
  options.listen = {{.host = "127.0.0.1", .port = 0}};
  auto started = start_http_server(
      options,
      [](std::shared_ptr<Exchange> exchange) {
        const ServerRequest& request = exchange->request();
        const std::string got = request.body_left_out ? "left out" : std::to_string(request.body.size()) + " bytes";
        exchange->respond({.status = 200, .content_type = "text/plain", .body = got});
      },
      nullptr,
      [&asked](const ServerRequest& head) {
        ++asked;
        return head.header("X-Known") == "yes";
      });
  EXPECT_TRUE(started) << started.error().text();
  return std::move(*started);
}

TEST(http_server, does_not_read_what_its_owner_does_not_want) {
  std::atomic<int> asked = 0;
  const auto server = choosy(asked);
  const std::string address = server->addresses().front();
  const auto post = [&](std::string_view headers, std::string_view body) {
    Raw raw = Raw::tcp(address);
    EXPECT_TRUE(raw.send("POST / HTTP/1.1\r\nHost: localhost\r\n" + std::string(headers) + "\r\n" + std::string(body)));
    return raw.rest();
  };
  // The answer is there before the body was sent, and the connection ends with it: where the next request begins nobody knows.
  const std::string stranger = post("Content-Length: 900000\r\nExpect: 100-continue\r\n", "");
  EXPECT_TRUE(stranger.starts_with("HTTP/1.1 200 ")) << stranger;
  EXPECT_TRUE(stranger.ends_with("left out")) << stranger;
  EXPECT_EQ(asked, 1);
  const std::string large(900'000, 'x');
  const std::string close = "Connection: close\r\nContent-Length: ";
  EXPECT_TRUE(post(close + "900000\r\nX-Known: yes\r\n", large).ends_with("900000 bytes"));
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(post(close + "16384\r\n", std::string_view(large).substr(0, 16384)).ends_with("16384 bytes"));
  EXPECT_EQ(asked, 2) << "a small one is read of everybody";
  // Of unknown length: up to the same bound.
  const std::string chunked = "Connection: close\r\nTransfer-Encoding: chunked\r\n";
  EXPECT_TRUE(post(chunked, "4\r\nabcd\r\n0\r\n\r\n").ends_with("4 bytes"));
  const std::string chunk = "4001\r\n" + large.substr(0, 0x4001) + "\r\n0\r\n\r\n";
  EXPECT_TRUE(post(chunked, chunk).starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(post(chunked + "X-Known: yes\r\n", chunk).ends_with("16385 bytes"));
}

TEST(http_server, turns_away_who_comes_beyond_the_limit) {
  ServerLimits limits;
  limits.connections = 4;
  Node node(on_tcp(limits));
  const std::string address = node.server->addresses().front();
  std::vector<Raw> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(Raw::tcp(address));
    ASSERT_TRUE(all.back().send(get("/")));
    all.back().until("GET / ? ");
  }
  for (int i = 0; i < 5; ++i) {
    Raw beyond = Raw::tcp(address);
    const std::string answer = beyond.rest();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
    EXPECT_NE(answer.find("HTTP_CONNECTIONS"), std::string::npos) << answer;
  }
  EXPECT_EQ(node.server->figures().connections_open, 3u);
  EXPECT_EQ(node.server->figures().refused_total, 5u);
  // The last place is the socket's; beyond it nobody comes in there either.
  Raw local = node.raw();
  ASSERT_TRUE(local.send(get("/")));
  local.until("GET / ? ");
  EXPECT_TRUE(node.raw().rest().starts_with("HTTP/1.1 503 "));
  local.close();
  all.pop_back();
  EXPECT_TRUE(eventually([&] { return node.server->figures().connections_open == 2; }));
  const auto answer = send({.url = "http://" + address + "/"});
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->status, 200u);
}

TEST(http_server, outlives_a_lack_of_descriptors) {
#ifdef __clang__
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "the sanitizers need descriptors themselves, and take the lack of them for a fault";
#endif
#endif
  Node node;
  std::vector<Raw> waiting;
  for (int i = 0; i < 20; ++i) waiting.push_back(Raw(Raw::unix_socket()));
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(waiting.back().socket()) + 4;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  for (Raw& raw : waiting) {
    EXPECT_TRUE(Raw::connect_unix(raw.socket(), node.path()));
    raw.send(get("/"));
  }
  EXPECT_TRUE(eventually([&] { return node.server->figures().connections_total >= 2; }));
  std::this_thread::sleep_for(milliseconds(150));
  const std::uint64_t came_in = node.server->figures().connections_total;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_LT(came_in, waiting.size());
  for (Raw& raw : waiting) raw.until("GET / ? ");
}

// --- who may ask -----------------------------------------------------------------------------------------------------

TEST(http_server, refuses_a_host_that_is_not_its_own) {
  ServerOptions options = on_tcp();
  options.hosts = {"baton.Example"};
  Node node(options);
  const std::string address = node.server->addresses().front();
  const auto status = [&](const std::string& head) {
    Raw raw = Raw::tcp(address);
    raw.send("GET / HTTP/1.1\r\n" + head + "Connection: close\r\n\r\n");
    const std::string answer = raw.rest();
    EXPECT_EQ(answer.starts_with("HTTP/1.1 421 "), answer.find("HTTP_HOST") != std::string::npos) << answer;
    return answer.substr(9, 3);
  };
  for (const char* host :
       {"localhost", "LocalHost:1", "127.0.0.1", "127.8.9.1:80", "[::1]:7070", "baton.example", "BATON.example:443"})
    EXPECT_EQ(status("Host: " + std::string(host) + "\r\n"), "200") << host;
  for (const char* host :
       {"example.com", "example.com:80", "localhost.example.com", "baton.example.evil", "127.0.0.1.nip.io", "10.0.0.1",
        "[::2]", "user@localhost", "localhost:x", "localhost:", "local host", "localhost/"})
    EXPECT_EQ(status("Host: " + std::string(host) + "\r\n"), "421") << host;
  EXPECT_EQ(status("Host:\r\n"), "421");
  EXPECT_EQ(status(""), "400");
  EXPECT_EQ(status("Host: localhost\r\nHost: localhost\r\n"), "400");
  // On every request of a connection, not only the first.
  Raw raw = Raw::tcp(address);
  raw.send(get("/first") + "GET /second HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  const std::string both = raw.rest();
  EXPECT_NE(both.find("GET /first ? "), std::string::npos);
  EXPECT_NE(both.find("HTTP/1.1 421 "), std::string::npos);
  // The absolute form names the host as well.
  Raw absolute = Raw::tcp(address);
  absolute.send("GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(absolute.rest().starts_with("HTTP/1.1 421 "));
  Raw own = Raw::tcp(address);
  own.send("GET HTTP://localhost/path?q HTTP/1.1\r\nHost: localhost\r\n\r\n");
  own.until("GET /path ?q ");
  // By the unix socket any name will do.
  Raw local = node.raw();
  local.send("GET / HTTP/1.1\r\nHost: anything\r\n\r\n");
  local.until("GET / ? ");
}

TEST(http_server, refuses_another_origin) {
  ServerOptions options = on_tcp();
  options.hosts = {"baton.example"};
  Node node(options);
  const std::string address = node.server->addresses().front();
  const auto status = [&](const std::string& host, const std::string& origin) {
    Raw raw = Raw::tcp(address);
    raw.send("POST / HTTP/1.1\r\nHost: " + host + "\r\nOrigin: " + origin +
             "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    const std::string answer = raw.rest();
    EXPECT_EQ(answer.starts_with("HTTP/1.1 403 "), answer.find("HTTP_ORIGIN") != std::string::npos) << answer;
    return answer.substr(9, 3);
  };
  EXPECT_EQ(status("localhost:7070", "http://localhost:7070"), "200");
  EXPECT_EQ(status("baton.example", "https://baton.example"), "200");
  EXPECT_EQ(status("localhost:7070", "http://localhost:7071"), "403");
  EXPECT_EQ(status("localhost:7070", "http://localhost"), "403");
  EXPECT_EQ(status("localhost:7070", "http://127.0.0.1:7070"), "403");
  EXPECT_EQ(status("localhost:7070", "http://evil.example"), "403");
  EXPECT_EQ(status("localhost:7070", "null"), "403");
  EXPECT_EQ(status("localhost:7070", ""), "403");
  EXPECT_EQ(status("localhost:7070", "http://localhost:7070\r\nOrigin: http://localhost:7070"), "403");
  Raw local = node.raw();
  local.send(get("/", "Origin: http://localhost\r\n"));
  EXPECT_TRUE(local.rest().starts_with("HTTP/1.1 403 "));
}

TEST(http_rules, further_origins) {
  const auto refused = [](const std::string& origin, const OriginRules& rules) {
    const std::vector<Header> headers = {{"Host", "127.0.0.1:7070"}, {"Origin", origin}};
    const auto refusal = check_head({"/", true, headers, false}, {}, rules);
    return refusal ? refusal->status : 0;
  };
  ServerOptions named;
  named.origins = {"https://App.example:8443"};
  EXPECT_EQ(refused("https://app.example:8443", origin_rules(named)), 0u);
  EXPECT_EQ(refused("https://app.example", origin_rules(named)), 403u);
  EXPECT_EQ(refused("http://localhost:3000", origin_rules(named)), 403u);
  const OriginRules loopback{{}, true};
  EXPECT_EQ(refused("http://localhost:3000", loopback), 0u);
  EXPECT_EQ(refused("https://[::1]:3000", loopback), 0u);
  EXPECT_EQ(refused("http://localhost.evil.example", loopback), 403u);
  EXPECT_EQ(refused("http://evil.example", loopback), 403u);
  EXPECT_EQ(refused("ftp://localhost", loopback), 403u);
  EXPECT_EQ(refused("null", loopback), 403u);
}

TEST(http_rules, same_origin) {
  EXPECT_TRUE(is_same_origin("http://localhost", "localhost:80"));
  EXPECT_TRUE(is_same_origin("https://a.example", "A.example:443"));
  EXPECT_TRUE(is_same_origin("http://[::1]:70", "[::1]:70"));
  EXPECT_FALSE(is_same_origin("https://a.example", "a.example:80"));
  EXPECT_FALSE(is_same_origin("ftp://localhost", "localhost"));
  EXPECT_FALSE(is_same_origin("http://localhost/", "localhost"));
  EXPECT_FALSE(is_same_origin("http://user@localhost", "localhost"));
  EXPECT_FALSE(is_same_origin("http://localhost http://localhost", "localhost"));
}

TEST(http_rules, targets) {
  EXPECT_EQ(parse_target("/a?b?c")->path, "/a");
  EXPECT_EQ(parse_target("/a?b?c")->query, "b?c");
  EXPECT_EQ(parse_target("*")->path, "*");
  EXPECT_EQ(parse_target("http://h?q")->path, "/");
  EXPECT_EQ(parse_target("https://h:1/p")->authority, "h:1");
  for (const char* bad : {"", "a", "?q", "h:443", "http://", "http:///p", "/a#b", "ftp://h/"})
    EXPECT_FALSE(parse_target(bad)) << bad;
}

TEST(http_rules, addresses) {
  EXPECT_EQ(parse_url("http://Host")->host, "host");
  EXPECT_EQ(parse_url("https://h")->port, "443");
  EXPECT_EQ(parse_url("http://[::1]:8/x?y")->host, "::1");
  EXPECT_EQ(parse_url("http://h?x")->target, "/?x");
  for (const char* bad : {"h", "http://", "http://u@h/", "http://h/#f", "http://h:/", "http://h:123456/",
                          "http://h/a b", "http://[::1/", "http://h:1:2/", "http://[::1]x/", "unix:/x"})
    EXPECT_FALSE(parse_url(bad)) << bad;
}

// --- what is not HTTP ------------------------------------------------------------------------------------------------

TEST(http_server, refuses_what_is_malformed) {
  Node node;
  const auto status = [&](const std::string& request) {
    Raw raw = node.raw();
    raw.send(request);
    const std::string answer = raw.rest();
    EXPECT_NE(answer.find("HTTP_MALFORMED"), std::string::npos) << request << answer;
    return answer.substr(9, 3);
  };
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n";
  EXPECT_EQ(status("\x16\x03\x01 hello"), "400");  // TLS where there is none
  EXPECT_EQ(status("GET\r\n\r\n"), "400");
  EXPECT_EQ(status("GET / HTTP/1.1\r\nno colon\r\n\r\n"), "400");
  EXPECT_EQ(status("GET / HTTP/1.1\r\nName : x\r\n\r\n"), "400");
  EXPECT_EQ(status("GET / HTTP/1.1\r\nX: a" + std::string(1, '\0') + "b\r\n\r\n"), "400");
  EXPECT_EQ(status("GET evil HTTP/1.1\r\nHost: x\r\n\r\n"), "400");
  EXPECT_EQ(status("CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n"), "400");
  EXPECT_EQ(status("GET / HTTP/2.0\r\n\r\n"), "505");
  EXPECT_EQ(status(post + "Content-Length: -1\r\n\r\n"), "400");
  EXPECT_EQ(status(post + "Content-Length: 1, 2\r\n\r\n"), "400");
  EXPECT_EQ(status(post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n"), "400");
  EXPECT_EQ(status(post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"), "400");
  EXPECT_EQ(status(post + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n"), "400");
  EXPECT_EQ(status(post + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n"), "400");
  EXPECT_EQ(status(post + "Transfer-Encoding: gzip\r\n\r\n"), "501");
  EXPECT_EQ(status(post + "Transfer-Encoding: gzip, chunked\r\n\r\n"), "501");
  EXPECT_EQ(status(post + "Transfer-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"), "501");
  EXPECT_EQ(status(post + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"), "501");
  EXPECT_EQ(status("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), "400");
  EXPECT_EQ(node.server->figures().requests_total, 0u);
}

}  // namespace
}  // namespace baton::net
