// SPDX-License-Identifier: Apache-2.0
// The HTTP server over real sockets, on loopback and in a temporary folder: round trips, TLS, keep-alive, handlers.
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fstream>

#include "http_fixture.h"

namespace baton::net {
namespace {

// --- round trips -----------------------------------------------------------------------------------------------------

TEST(http_server, answers_on_a_unix_socket_and_knows_the_peer) {
  Node node;
  struct stat file;
  ASSERT_EQ(::stat(node.path().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);

  HttpRequest request = node.request("POST", "/a/b?c=d&e", "hello");
  request.headers = {{"X-Ask", "this"}};
  const auto answer = send(request);
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->status, 200u);
  EXPECT_EQ(answer->body, "POST /a/b ?c=d&e hello");
  EXPECT_EQ(answer->content_type, "text/plain");
  EXPECT_EQ(answer->header("x-asked"), "this");
  EXPECT_EQ(answer->header("x-peer"), std::to_string(::getpid()) + "/" + std::to_string(::getuid()));
  EXPECT_EQ(answer->header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(answer->header("Content-Length"), std::to_string(answer->body.size()));
  EXPECT_FALSE(answer->header("x-smuggled"));
  EXPECT_FALSE(answer->header("x-broken"));
  EXPECT_EQ(node.server->figures().requests_total, 1u);

  const std::string path = node.path();
  node.server->stop(milliseconds(0));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(http_server, peer_pid_is_the_client_process) {
  Node node;
  int channel[2];
  ASSERT_EQ(::pipe(channel), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // Only plain system calls: the parent has threads.
    const int socket = Raw::unix_socket();
    const std::string_view text = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    char buffer[4096];
    if (Raw::connect_unix(socket, node.path()) && ::write(socket, text.data(), text.size()) > 0)
      for (ssize_t got; (got = ::read(socket, buffer, sizeof(buffer))) > 0;)
        if (::write(channel[1], buffer, static_cast<std::size_t>(got)) < 0) break;
    ::_exit(0);
  }
  ::close(channel[1]);
  std::string heard;
  char buffer[4096];
  for (ssize_t got; (got = ::read(channel[0], buffer, sizeof(buffer))) > 0;)
    heard.append(buffer, static_cast<std::size_t>(got));
  ::close(channel[0]);
  ::waitpid(child, nullptr, 0);
  EXPECT_NE(heard.find("X-Peer: " + std::to_string(child) + "/"), std::string::npos) << heard;
}

TEST(http_server, replaces_a_stale_socket_but_no_living_one) {
  Folder folder;
  ServerOptions options;
  options.unix_path = folder.file("s");
  const auto start = [&] { return start_http_server(options, [](auto exchange) { exchange->respond({}); }, nullptr); };
  {
    const int stale = Raw::unix_socket();
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    options.unix_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(::bind(stale, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ::close(stale);
  }
  auto first = start();
  ASSERT_TRUE(first) << first.error().text();
  const auto second = start();
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text().find(options.unix_path), std::string::npos);
  EXPECT_TRUE(send({.url = "http://localhost/", .unix_path = options.unix_path}));
  first->reset();

  std::ofstream(options.unix_path) << "precious";
  EXPECT_FALSE(start());
  EXPECT_TRUE(std::filesystem::is_regular_file(options.unix_path));

  options.unix_path = folder.file("missing/s");
  EXPECT_FALSE(start());
  options.unix_path = folder.file(std::string(200, 'x'));
  EXPECT_FALSE(start());
  options.unix_path.clear();
  EXPECT_FALSE(start());
}

TEST(http_server, has_a_second_socket_for_a_group) {
  Folder folder;
  ServerOptions options;
  options.unix_path = folder.file("own");
  options.agents = GroupSocket{folder.file("agents"), ::getegid()};
  const auto answer = [](std::shared_ptr<Exchange> exchange) {
    const Peer peer = exchange->request().peer;
    exchange->respond({.status = 200,
                       .content_type = "text/plain",
                       .body = std::string(peer.local ? "local " : "") + (peer.for_agents ? "agent " : "own ") +
                               std::to_string(peer.pid) + " " + std::to_string(peer.uid)});
  };
  const auto start = [&] { return start_http_server(options, answer, nullptr); };
  const auto body = [](const std::string& path) {
    const auto heard = send({.url = "http://localhost/", .unix_path = path});
    return heard ? heard->body : heard.error().text();
  };
  const std::string who = std::to_string(::getpid()) + " " + std::to_string(::getuid());
  {
    // Whatever the process lets others do by default.
    const mode_t before = ::umask(0);
    auto server = start();
    ::umask(before);
    ASSERT_TRUE(server) << server.error().text();
    struct stat own = {}, agents = {};
    ASSERT_EQ(::stat(options.unix_path.c_str(), &own), 0);
    ASSERT_EQ(::stat(options.agents->path.c_str(), &agents), 0);
    EXPECT_EQ(own.st_mode & 07777, 0600u);
    EXPECT_EQ(agents.st_mode & 07777, 0660u);
    EXPECT_EQ(agents.st_gid, ::getegid());
    EXPECT_EQ(body(options.unix_path), "local own " + who);
    EXPECT_EQ(body(options.agents->path), "local agent " + who);
    EXPECT_FALSE(start()) << "somebody listens there";
  }
  EXPECT_FALSE(std::filesystem::exists(options.agents->path));

  // Where others can write, they could put a socket of theirs in its place.
  const std::string open = folder.file("open");
  ASSERT_EQ(::mkdir(open.c_str(), 0700), 0);
  ASSERT_EQ(::mkdir((open + "/in").c_str(), 0700), 0);
  for (const mode_t mode : {0720u, 0702u, 0777u, 01777u}) {
    ASSERT_EQ(::chmod(open.c_str(), mode), 0);
    options.agents->path = open + "/s";
    const auto refused = start();
    ASSERT_FALSE(refused) << mode;
    EXPECT_NE(refused.error().text().find("could replace the socket"), std::string::npos) << refused.error().text();
    EXPECT_FALSE(std::filesystem::exists(options.agents->path));
    // The same above it, unless each may only move what is theirs.
    options.agents->path = open + "/in/s";
    EXPECT_EQ(static_cast<bool>(start()), (mode & S_ISVTX) != 0) << mode;
  }
  options.agents->path = folder.file("missing/s");
  EXPECT_FALSE(start());
}

TEST(http_server, an_agents_socket_that_is_full_leaves_room_for_its_own_user) {
  Folder folder;
  ServerOptions options;
  options.unix_path = folder.file("own");
  options.agents = GroupSocket{folder.file("agents"), ::getegid()};
  options.limits.connections = 4;
  auto server = start_http_server(options, [](auto exchange) { exchange->respond({}); }, nullptr);
  ASSERT_TRUE(server) << server.error().text();
  std::vector<Raw> taken;
  for (int i = 0; i < 8; ++i) taken.push_back(Raw::unix(options.agents->path));
  EXPECT_TRUE(
      eventually([&] { return (*server)->figures().connections_open + (*server)->figures().refused_total >= 8; }));
  EXPECT_LT((*server)->figures().connections_open, 4u);
  EXPECT_TRUE(send({.url = "http://localhost/", .unix_path = options.unix_path}));
}

TEST(http_server, answers_on_tcp) {
  ServerOptions options = on_tcp();
  options.listen.push_back({"localhost", 0});
  options.threads = 2;
  Node node(options, false);
  const auto addresses = node.server->addresses();
  ASSERT_GE(addresses.size(), 2u);
  for (const std::string& address : addresses) {
    const auto answer = send({.url = "http://" + address + "/x"});
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->body, "GET /x ? ");
    EXPECT_TRUE(answer->header("x-peer")->starts_with(address.substr(0, address.rfind(':')))) << address;
  }
  ServerOptions taken;
  taken.listen = {
      {"127.0.0.1", static_cast<std::uint16_t>(std::stoi(addresses[0].substr(addresses[0].rfind(':') + 1)))}};
  const auto second = start_http_server(taken, [](auto) {}, nullptr);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text().find(addresses[0]), std::string::npos);
  taken.listen = {{"example.com", 1}};
  EXPECT_FALSE(start_http_server(taken, [](auto) {}, nullptr));
}

TEST(http_server, answers_on_ipv6) {
  ServerOptions options;
  options.listen = {{"::1", 0}};
  auto server = start_http_server(options, [](auto exchange) { exchange->respond({.body = "six"}); }, nullptr);
  if (!server) GTEST_SKIP() << "no IPv6 here: " << server.error().text();
  const auto answer = send({.url = "http://" + (*server)->addresses().front() + "/"});
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->body, "six");
}

TEST(http_server, large_bodies_go_both_ways) {
  ServerLimits limits;
  limits.body_bytes = 8u << 20;
  Node node(on_tcp(limits));
  HttpRequest request = node.request("PUT", "/", std::string(5'000'000, 'y'));
  const auto local = send(request);
  ASSERT_TRUE(local) << local.error().text();
  EXPECT_EQ(local->body, "PUT / ? " + request.body);
  request.unix_path.clear();
  request.url = "http://" + node.server->addresses().front() + "/";
  const auto remote = send(request);
  ASSERT_TRUE(remote) << remote.error().text();
  EXPECT_EQ(remote->body, local->body);
}

// --- TLS -------------------------------------------------------------------------------------------------------------

TEST(http_server, speaks_tls) {
  Folder folder;
  ServerLimits limits;
  limits.body_bytes = 8u << 20;
  const ServerOptions options = on_tls(folder, limits);
  Node node(options);
  const std::string address = node.server->addresses().front();
  HttpRequest request = {.method = "POST",
                         .url = "https://" + address + "/t",
                         .body = std::string(3'000'000, 'z'),
                         .timeout = kPatience,
                         .answer_bytes_max = 8u << 20,
                         .ca_file = options.certificate_file};
  const auto answer = send(request);
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->body, "POST /t ? " + request.body);
  EXPECT_TRUE(answer->header("x-peer")->ends_with(" tls"));

  HttpClient client;
  request.body = "small";
  for (int i = 0; i < 3; ++i) {
    const auto again = client.send(request);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->body, "POST /t ? small");
  }
  EXPECT_EQ(node.server->figures().connections_total, 2u);

  request.ca_file.clear();
  const auto distrusted = send(request);
  ASSERT_FALSE(distrusted);
  EXPECT_NE(distrusted.error().reason.find("certificate"), std::string::npos) << distrusted.error().reason;

  // The unix socket beside it is plain.
  EXPECT_TRUE(send(node.request("GET", "/")));

  // Plain text to a TLS port gets no answer in plain text.
  Raw raw = Raw::tcp(address);
  raw.send(get("/"));
  EXPECT_EQ(raw.rest().find("HTTP/"), std::string::npos);
}

TEST(http_server, takes_no_tls_below_1_2) {
  Folder folder;
  Node node(on_tls(folder), false);
  const auto shakes_hands = [&](int version) {
    SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_security_level(context, 0);
    SSL_CTX_set_min_proto_version(context, version);
    SSL_CTX_set_max_proto_version(context, version);
    Raw raw = Raw::tcp(node.server->addresses().front());
    SSL* const tls = SSL_new(context);
    SSL_set_fd(tls, raw.socket());
    const bool done = SSL_connect(tls) == 1;
    SSL_free(tls);
    SSL_CTX_free(context);
    return done;
  };
  EXPECT_FALSE(shakes_hands(TLS1_1_VERSION));
  EXPECT_TRUE(shakes_hands(TLS1_2_VERSION));
  EXPECT_TRUE(shakes_hands(TLS1_3_VERSION));
}

TEST(http_server, needs_a_certificate_and_its_key) {
  Folder folder, other;
  const ServerOptions good = on_tls(folder), stranger = on_tls(other);
  const auto fails = [](const ServerOptions& options) { return !start_http_server(options, [](auto) {}, nullptr); };
  ServerOptions options = good;
  options.key_file.clear();
  EXPECT_TRUE(fails(options));
  options.key_file = stranger.key_file;
  EXPECT_TRUE(fails(options));
  options.key_file = folder.file("missing.pem");
  EXPECT_TRUE(fails(options));
  options = good;
  options.certificate_file = good.key_file;
  EXPECT_TRUE(fails(options));
  EXPECT_FALSE(fails(good));
}

// --- one connection, several requests --------------------------------------------------------------------------------

TEST(http_server, answers_pipelined_requests_in_order) {
  Node node;
  Raw raw = node.raw();
  ASSERT_TRUE(raw.send(get("/later?1") + get("/2") + "POST /3 HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody" +
                       get("/later?4") + get("/5", "Connection: close\r\n")));
  const std::string all = raw.rest();
  std::size_t at = 0;
  for (const std::string_view text : {"GET /later ?1 ", "GET /2 ? ", "POST /3 ? body", "GET /later ?4 ", "GET /5 ? "}) {
    const std::size_t found = all.find(text, at);
    ASSERT_NE(found, std::string::npos) << text << " in " << all;
    at = found;
  }
  EXPECT_NE(all.find("Connection: close", all.find("GET /later ?4 ")), std::string::npos);
  EXPECT_EQ(node.server->figures().connections_total, 1u);
  EXPECT_EQ(node.server->figures().requests_total, 5u);
}

TEST(http_server, answers_what_was_sent_before_the_client_ended_its_side) {
  Node node;
  Raw raw = node.raw();
  ASSERT_TRUE(raw.send(get("/later?1") + get("/2")));
  raw.end_writing();
  const std::string all = raw.rest();
  EXPECT_NE(all.find("GET /later ?1 "), std::string::npos) << all;
  EXPECT_NE(all.find("GET /2 ? "), std::string::npos) << all;
}

TEST(http_server, takes_a_request_in_any_pieces) {
  Node node;
  const std::string request =
      "\r\nPOST /p?q HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\nX-Ask: yes\r\n\r\n"
      "3;ext=1\r\nabc\r\n0a\r\n0123456789\r\n0\r\nX-Ask: trailer\r\n\r\n";
  Raw raw = node.raw();
  for (std::size_t cut = 1; cut < request.size(); cut += 3) {
    ASSERT_TRUE(raw.send(request.substr(0, cut)));
    if (cut % 2 == 0) std::this_thread::sleep_for(milliseconds(1));
    ASSERT_TRUE(raw.send(request.substr(cut)));
    const std::string answer = raw.until("POST /p ?q abc0123456789");
    EXPECT_NE(answer.find("X-Asked: yes"), std::string::npos) << answer;
  }
  for (const char c : request) ASSERT_TRUE(raw.send({&c, 1}));
  raw.until("POST /p ?q abc0123456789");
}

TEST(http_server, answers_head_and_204_without_a_body) {
  Node node;
  Raw raw = node.raw();
  ASSERT_TRUE(
      raw.send("HEAD /big?1000 HTTP/1.1\r\nHost: x\r\n\r\n" + get("/nothing") + get("/end", "Connection: close\r\n")));
  const std::string all = raw.rest();
  EXPECT_NE(all.find("Content-Length: 1000\r\n"), std::string::npos) << all;
  EXPECT_EQ(all.find("xxxx"), std::string::npos) << all;
  const std::size_t second = all.find("HTTP/1.1 204 No Content\r\n");
  ASSERT_NE(second, std::string::npos) << all;
  EXPECT_EQ(all.substr(second, all.find("\r\n\r\n", second) - second).find("Content-"),
            all.substr(second).find("Content-Type-Options"));
  EXPECT_NE(all.find("GET /end ? "), std::string::npos) << all;

  const auto head = send(node.request("HEAD", "/big?10"));
  ASSERT_TRUE(head) << head.error().text();
  EXPECT_EQ(head->body, "");
  EXPECT_EQ(head->header("content-length"), "10");
}

TEST(http_server, speaks_http_1_0) {
  Node node;
  Raw once = node.raw();
  ASSERT_TRUE(once.send("GET /old HTTP/1.0\r\n\r\n"));
  EXPECT_NE(once.rest().find("GET /old ? "), std::string::npos);
  Raw kept = node.raw();
  ASSERT_TRUE(kept.send("GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
  EXPECT_NE(kept.until("GET /old ? ").find("Connection: keep-alive"), std::string::npos);
  ASSERT_TRUE(kept.send("GET /stream HTTP/1.0\r\n\r\n"));
  ASSERT_TRUE(node.stream(0)->send(bytes("data: 1\n\n")));
  node.stream(0)->close();
  const std::string all = kept.rest();
  EXPECT_EQ(all.find("chunked"), std::string::npos) << all;
  EXPECT_EQ(body_of(all), "data: 1\n\n");
}

TEST(http_server, honours_expect_100_continue) {
  ServerLimits limits;
  limits.body_bytes = 100;
  Node node(with(limits));
  const std::string head = "POST /e HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ";
  Raw raw = node.raw();
  ASSERT_TRUE(raw.send(head + "4\r\n\r\n"));
  EXPECT_EQ(raw.until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(raw.send("body"));
  EXPECT_TRUE(raw.until("POST /e ? body").starts_with("HTTP/1.1 200 OK\r\n"));
  // A client that does not wait is not told to go on.
  ASSERT_TRUE(raw.send(head + "4\r\n\r\nbody"));
  EXPECT_TRUE(raw.until("POST /e ? body").starts_with("HTTP/1.1 200 OK\r\n"));
  ASSERT_TRUE(raw.send(head + "101\r\n\r\n"));
  EXPECT_TRUE(raw.rest().starts_with("HTTP/1.1 413 "));

  Raw other = node.raw();
  ASSERT_TRUE(other.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\nContent-Length: 1\r\n\r\n"));
  EXPECT_TRUE(other.rest().starts_with("HTTP/1.1 417 "));
}

// --- handlers --------------------------------------------------------------------------------------------------------

TEST(http_server, answers_for_a_handler_that_does_not) {
  Node node;
  for (const char* path : {"/drop", "/throw"}) {
    const auto answer = send(node.request("GET", path));
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->status, 500u);
    EXPECT_TRUE(answer->body.starts_with("HTTP_UNANSWERED")) << answer->body;
  }
}

TEST(http_server, tells_the_handler_that_the_client_has_gone) {
  Node node(on_tcp());
  const auto goes = [&](Raw raw, const std::function<void(Raw&)>& go) {
    const int before = node.gone;
    ASSERT_TRUE(raw.send(get("/hold") + "sent ahead"));
    const auto exchange = node.take_held();
    go(raw);
    EXPECT_TRUE(eventually([&] { return node.gone == before + 1; }));
    // Whoever asks afterwards is told at once, and an answer does no harm.
    bool told = false;
    exchange->on_gone([&] { told = true; });
    EXPECT_TRUE(told);
    exchange->respond({.body = "too late"});
  };
  goes(node.raw(), [](Raw& raw) { raw.close(); });
  goes(Raw::tcp(node.server->addresses().front()), [](Raw& raw) { raw.close(); });
  goes(Raw::tcp(node.server->addresses().front()), [](Raw& raw) { raw.reset(); });
  EXPECT_TRUE(eventually([&] { return node.server->figures().connections_open == 0; }));

  // Who was answered has not gone.
  HttpClient client;
  std::thread later([&] { node.take_held()->respond({}); });
  EXPECT_TRUE(client.send(node.request("GET", "/hold")));
  later.join();
  EXPECT_EQ(node.gone, 3);
}

TEST(http_server, serves_many_clients_on_several_threads) {
  ServerOptions options = on_tcp();
  options.threads = 3;
  Node node(options);
  std::vector<std::thread> clients;
  std::atomic<int> right{0};
  for (int c = 0; c < 6; ++c)
    clients.emplace_back([&, c] {
      HttpClient client;
      HttpRequest request = node.request("POST", "/", "");
      if (c % 2 == 0) {
        request.unix_path.clear();
        request.url = "http://" + node.server->addresses().front() + "/";
      }
      for (int i = 0; i < 150; ++i) {
        request.body = std::to_string(c) + "/" + std::to_string(i);
        const auto answer = client.send(request);
        if (answer && answer->body == "POST / ? " + request.body) ++right;
      }
    });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(right, 900);
  EXPECT_EQ(node.server->figures().connections_total, 6u);
}

}  // namespace
}  // namespace baton::net
