// SPDX-License-Identifier: Apache-2.0
// `./dev bench relay`: what it costs a message to go through us on its way to a child process and back, as lines
// (net/line_pipe.h), beside a relay that only moves bytes. What the rows mean: README.md
//
//   bench_relay [--benchmark_out=FILE]      (FILE: build/bench/relay.json)
//
// The program is all the parts itself: `bench_relay echo` gives back what it reads; `bench_relay bytes` and
// `bench_relay lines` start an echo and stand before it.
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/child.h"
#include "net/line_pipe.h"
#include "report.h"

namespace baton::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kBufferBytes = 64u << 10;

std::string own_path() {
  std::array<char, 4096> path;
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  return {path.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

// Gives back what it reads, as it comes.
int echo() {
  std::vector<char> buffer(kBufferBytes);
  for (ssize_t got; (got = ::read(0, buffer.data(), buffer.size())) > 0;)
    if (!write_all(1, {buffer.data(), static_cast<std::size_t>(got)})) return 1;
  return 0;
}

// Moves bytes between our stdin and stdout and an echo's: the least a process in between can do.
int relay_bytes() {
  boost::asio::io_context context(1);
  auto child = net::Child::start(context, {{own_path(), "echo"}, {}}, {});
  if (!child) return 1;
  const Descriptor to = (*child)->take_stdin(), from = (*child)->take_stdout();
  std::array<pollfd, 2> wanted = {{{0, POLLIN, 0}, {from.get(), POLLIN, 0}}};
  std::vector<char> buffer(kBufferBytes);
  for (;;) {
    if (::poll(wanted.data(), wanted.size(), -1) < 0) return 1;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i].revents == 0) continue;
      const ssize_t got = ::read(wanted[i].fd, buffer.data(), buffer.size());
      if (got <= 0) return 0;
      if (!write_all(i == 0 ? to.get() : 1, {buffer.data(), static_cast<std::size_t>(got)})) return 1;
    }
  }
}

// The same by messages, with limits and back pressure.
int relay_lines() {
  boost::asio::io_context context(1);
  auto child = net::Child::start(context, {{own_path(), "echo"}, {}}, {});
  auto streams = net::take_standard_streams();
  if (!child || !streams) return 1;
  std::optional<net::LineReader> from_client, from_server;
  const auto stop = [&] { context.stop(); };
  net::LineWriter to_server(
      context, (*child)->take_stdin(), {},
      {[&] { from_client->pause(); }, [&] { from_client->resume(); }, [&](const Failure&) { stop(); }});
  net::LineWriter to_client(
      context, std::move(streams->out), {},
      {[&] { from_server->pause(); }, [&] { from_server->resume(); }, [&](const Failure&) { stop(); }});
  const auto ended = [&](const std::optional<Failure>&) { stop(); };
  from_client.emplace(context, std::move(streams->in), 64u << 20,
                      net::LineReaderEvents{[&](std::string line) { to_server.write(std::move(line)); }, {}, ended});
  from_server.emplace(context, (*child)->take_stdout(), 64u << 20,
                      net::LineReaderEvents{[&](std::string line) { to_client.write(std::move(line)); }, {}, ended});
  context.run();
  return 0;
}

// A relay that was started, and this end of it.
class Peer {
 public:
  explicit Peer(const char* kind) {
    auto started = net::Child::start(context_, {{own_path(), kind}, {}}, {});
    if (!started) {
      std::fprintf(stderr, "%s\n", started.error().text().c_str());
      std::exit(1);
    }
    child_ = std::move(*started);
    to_ = child_->take_stdin();
    from_ = child_->take_stdout();
  }

  // Microseconds from a message to its return, one after the other: the median of so many.
  double round_trip_us(std::size_t bytes, std::size_t times) {
    const std::string message = std::string(bytes - 1, 'm') + "\n";
    std::vector<double> all;
    for (std::size_t i = 0; i < times; ++i) {
      const auto start = Clock::now();
      send(message);
      receive(message.size());
      all.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
    std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
    return all[all.size() / 2];
  }

  // Microseconds a message when as many are under way as the pipes take comfortably.
  double each_of_many_us(std::size_t bytes, std::size_t times) {
    const std::string message = std::string(bytes - 1, 'm') + "\n";
    const std::size_t burst = std::max<std::size_t>(1, 32'000 / bytes);
    std::string many;
    for (std::size_t i = 0; i < burst; ++i) many += message;
    const auto start = Clock::now();
    for (std::size_t sent = 0; sent < times; sent += burst) {
      send(many);
      receive(many.size());
    }
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / static_cast<double>(times);
  }

 private:
  void send(std::string_view bytes) {
    if (!write_all(to_.get(), bytes)) std::exit(1);
  }
  void receive(std::size_t bytes) {
    while (bytes > 0) {
      const ssize_t got = ::read(from_.get(), buffer_.data(), buffer_.size());
      if (got <= 0) std::exit(1);
      bytes -= static_cast<std::size_t>(got);
    }
  }

  boost::asio::io_context context_{1};
  std::unique_ptr<net::Child> child_;
  Descriptor to_, from_;
  std::vector<char> buffer_ = std::vector<char>(kBufferBytes);
};

int measure(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  Peer echo("echo"), bytes("bytes"), lines("lines");
  std::vector<Row> rows;
  const auto add = [&](const std::string& metric, auto take) {
    // In turns, so that what disturbs one disturbs all; the best round of each counts.
    std::array<std::vector<double>, 3> all;
    for (int round = 0; round < 9; ++round) {
      all[0].push_back(take(lines));
      all[1].push_back(take(bytes));
      all[2].push_back(take(echo));
    }
    for (std::vector<double>& one : all) std::ranges::sort(one);
    rows.push_back({.metric = metric,
                    .value = all[0].front(),
                    .unit = "us",
                    .peer = "bytes relayed",
                    .peer_value = all[1].front(),
                    .of = Row::Ratio::OursByPeer,
                    .median = all[0][4]});
    rows.push_back({.metric = metric + ", no relay", .value = all[2].front(), .unit = "us", .median = all[2][4]});
  };
  for (const std::size_t size : {200u, 4'000u, 60'000u})
    add("round trip of " + std::to_string(size) + " bytes", [&](Peer& peer) { return peer.round_trip_us(size, 2000); });
  add("a message of 200 bytes among many", [](Peer& peer) { return peer.each_of_many_us(200, 32'000); });
  print_table(rows);
  const std::string file = out_file(argc, argv);
  return file.empty() || write_json(rows, file) ? 0 : 1;
}

}  // namespace
}  // namespace baton::bench

int main(int argc, char** argv) {
  const std::string_view part = argc > 1 ? argv[1] : "";
  if (part == "echo") return baton::bench::echo();
  if (part == "bytes") return baton::bench::relay_bytes();
  if (part == "lines") return baton::bench::relay_lines();
  return baton::bench::measure(argc, argv);
}
