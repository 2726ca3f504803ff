// SPDX-License-Identifier: Apache-2.0
// Lines read from descriptors and written to them: framing, limits, back pressure, and ends of every kind.
#include "net/line_pipe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "child_process.h"
#include "net_loop.h"
#include "temporary_folder.h"

namespace baton::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Lines = std::vector<std::string>;

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reading = Descriptor(ends[0]);
    writing = Descriptor(ends[1]);
  }
  void send(std::string_view bytes) const { EXPECT_TRUE(write_all(writing.get(), bytes)); }
  Descriptor reading, writing;
};

// A reader and what it gave.
class Reading {
 public:
  Reading(Loop& loop, Descriptor from, std::size_t line_bytes_max = 1u << 20)
      : reader(std::in_place, loop.context, std::move(from), line_bytes_max, events()) {}

  LineReaderEvents events() {
    return {[this](std::string line) {
              lines.push_back(std::move(line));
              if (on_line) on_line();
            },
            [this](const LongLine& line) {
              heads.emplace_back(line.head);
              tails.emplace_back(line.tail);
              long_bytes.push_back(line.bytes);
            },
            [this](const std::optional<Failure>& why) {
              ++ends;
              failure = why;
            }};
  }

  std::function<void()> on_line;
  Lines lines, heads, tails;
  std::vector<std::uint64_t> long_bytes;
  int ends = 0;
  std::optional<Failure> failure;
  std::optional<LineReader> reader;
};

struct Writing {
  explicit Writing(Loop& loop, Descriptor to, LineWriterOptions options = {})
      : writer(std::in_place, loop.context, std::move(to), options,
               LineWriterEvents{[this] { ++full; }, [this] { ++drained; },
                                [this](const Failure& why) {
                                  ++failed;
                                  reason = why.reason;
                                },
                                [this] { ++ended; }}) {}
  int full = 0, drained = 0, failed = 0, ended = 0;
  std::string reason;
  std::optional<LineWriter> writer;
};

std::string read_all(int descriptor) {
  std::string all;
  char buffer[4096];
  for (ssize_t got; (got = ::read(descriptor, buffer, sizeof(buffer))) > 0;)
    all.append(buffer, static_cast<std::size_t>(got));
  return all;
}

std::string numbered(std::size_t number, std::size_t size) {
  std::string text = std::to_string(number) + ":";
  text.append(size, static_cast<char>('a' + number % 26));
  return text;
}

std::size_t peak_memory_bytes() {
  rusage used = {};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<std::size_t>(used.ru_maxrss) * 1024;
}

// --- reading ---------------------------------------------------------------------------------------------------------

TEST(line_reader, gives_lines_as_they_came_however_they_were_split) {
  const std::string text = "one\n\ntwo\r\n {\"a\":1} \nlast";
  const Lines want = {"one", "", "two\r", " {\"a\":1} ", "last"};
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Loop loop;
    Pipe pipe;
    Reading reading(loop, std::move(pipe.reading));
    pipe.send(text.substr(0, cut));
    loop.during(milliseconds(1));
    pipe.send(text.substr(cut));
    pipe.writing.reset();
    ASSERT_TRUE(loop.until([&] { return reading.ends == 1; }));
    EXPECT_EQ(reading.lines, want) << "cut at " << cut;
    EXPECT_FALSE(reading.failure);
  }
}

TEST(line_reader, keeps_only_the_ends_of_a_line_over_the_limit) {
  for (const std::size_t size : {10u, 11u, 4096u, 4097u, 8192u, 8193u, 70'000u, 200'000u}) {
    std::string line;
    for (std::size_t i = 0; line.size() < size; ++i) line += std::to_string(i) + ",";
    line.resize(size);
    Loop loop;
    Pipe pipe;
    Reading reading(loop, std::move(pipe.reading), 10);
    std::thread sender([&] {
      pipe.send("before\n" + line + "\nafter\n" + line);  // once with its end, once without
      pipe.writing.reset();
    });
    EXPECT_TRUE(loop.until([&] { return reading.ends == 1; }));
    sender.join();
    if (size == 10) {
      EXPECT_EQ(reading.lines, (Lines{"before", line, "after", line}));
      continue;
    }
    EXPECT_EQ(reading.lines, (Lines{"before", "after"}));
    ASSERT_EQ(reading.heads.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(reading.long_bytes[i], size);
      EXPECT_EQ(reading.heads[i], line.substr(0, kLongLineEndBytes));
      const std::size_t rest = size - reading.heads[i].size();
      EXPECT_EQ(reading.tails[i], line.substr(size - std::min(rest, kLongLineEndBytes)));
    }
  }
}

TEST(line_reader, passes_over_a_hundred_megabytes_without_holding_them) {
  Loop loop;
  Pipe pipe;
  Reading reading(loop, std::move(pipe.reading), 4u << 20);
  const std::size_t before = peak_memory_bytes();
  std::thread sender([&] {
    const std::string part(100'000, 'x');
    pipe.send("{\"id\":7");
    for (int i = 0; i < 1000; ++i) pipe.send(part);
    pipe.send("\"end\":8}\nnext\n");
  });
  EXPECT_TRUE(loop.until([&] { return !reading.lines.empty(); }));
  sender.join();
  EXPECT_EQ(reading.lines, Lines{"next"});
  ASSERT_EQ(reading.long_bytes, std::vector<std::uint64_t>{100'000'000 + 7 + 8});
  EXPECT_TRUE(reading.heads[0].starts_with("{\"id\":7xxx"));
  EXPECT_TRUE(reading.tails[0].ends_with("xxx\"end\":8}"));
  EXPECT_LT(peak_memory_bytes() - before, 40u << 20);
}

TEST(line_reader, takes_a_large_line_that_it_may) {
  Loop loop;
  Pipe pipe;
  Reading reading(loop, std::move(pipe.reading), 64u << 20);
  const std::string line(60'000'000, 'y');
  std::thread sender([&] { pipe.send(line + "\n"); });
  EXPECT_TRUE(loop.until([&] { return !reading.lines.empty(); }));
  sender.join();
  EXPECT_TRUE(reading.lines[0] == line);
  EXPECT_TRUE(reading.heads.empty());
}

TEST(line_reader, pauses_at_once) {
  Loop loop;
  Pipe pipe;
  Reading reading(loop, std::move(pipe.reading));
  reading.on_line = [&] { reading.reader->pause(); };
  pipe.send("one\ntwo\nthree\nwithout end");
  pipe.writing.reset();
  EXPECT_TRUE(loop.until([&] { return !reading.lines.empty(); }));
  for (std::size_t count = 1; count <= 4; ++count) {
    loop.during(milliseconds(10));
    EXPECT_EQ(reading.lines.size(), count);
    EXPECT_EQ(reading.ends, 0);
    EXPECT_TRUE(reading.reader->is_paused());
    reading.reader->resume();
    EXPECT_EQ(reading.lines.size(), count);  // not from within
    loop.until([&] { return reading.lines.size() > count || reading.ends > 0; });
  }
  EXPECT_EQ(reading.lines, (Lines{"one", "two", "three", "without end"}));
  EXPECT_EQ(reading.ends, 1);
}

TEST(line_reader, does_not_read_while_it_is_paused) {
  Loop loop;
  Pipe pipe;
  Reading reading(loop, std::move(pipe.reading));
  reading.reader->pause();
  ::fcntl(pipe.writing.get(), F_SETFL, O_NONBLOCK);
  const std::string line = std::string(999, 'x') + "\n";
  std::size_t sent = 0;
  for (int round = 0; round < 200; ++round) {
    if (::write(pipe.writing.get(), line.data(), line.size()) == 1000) ++sent;
    loop.during(milliseconds(0));
  }
  EXPECT_LE(sent, 70u);  // what a pipe holds
  EXPECT_TRUE(reading.lines.empty());
  reading.reader->resume();
  EXPECT_TRUE(loop.until([&] { return reading.lines.size() == sent; }));
}

TEST(line_reader, may_be_resumed_closed_and_let_go_by_what_it_calls) {
  Loop loop;
  Pipe first, second, third;
  Reading resumed(loop, std::move(first.reading));
  resumed.on_line = [&] {
    resumed.reader->pause();
    resumed.reader->resume();
  };
  first.send("a\nb\nc\n");
  EXPECT_TRUE(loop.until([&] { return resumed.lines.size() == 3; }));

  Reading closed(loop, std::move(second.reading));
  closed.on_line = [&] { closed.reader->close(); };
  second.send("a\nb\n");
  Reading gone(loop, std::move(third.reading));
  gone.on_line = [&] { gone.reader.reset(); };
  third.send("a\nb\n");
  third.writing.reset();
  EXPECT_TRUE(loop.until([&] { return !closed.lines.empty() && !gone.lines.empty(); }));
  loop.during(milliseconds(20));
  EXPECT_EQ(closed.lines, Lines{"a"});
  EXPECT_EQ(gone.lines, Lines{"a"});
  EXPECT_EQ(closed.ends + gone.ends, 0);
}

TEST(line_reader, reads_files_terminals_and_nothing) {
  Loop loop;
  const TemporaryFolder folder;
  const std::string path = folder.path() / "lines";
  std::string text;
  for (std::size_t i = 0; i < 50'000; ++i) text += numbered(i, 20) + "\n";
  std::ofstream(path) << text;
  Reading file(loop, Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
  Reading nothing(loop, Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
  Reading closed(loop, Descriptor());
  const Descriptor terminal(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(terminal);
  ASSERT_EQ(::grantpt(terminal.get()) + ::unlockpt(terminal.get()), 0);
  Reading typed(loop, Descriptor(::open(::ptsname(terminal.get()), O_RDONLY | O_NOCTTY | O_CLOEXEC)));
  ASSERT_TRUE(write_all(terminal.get(), "typed\nby hand\n"));
  EXPECT_TRUE(
      loop.until([&] { return file.ends == 1 && nothing.ends == 1 && closed.ends == 1 && typed.lines.size() == 2; }));
  EXPECT_EQ(file.lines.size(), 50'000u);
  EXPECT_EQ(file.lines.back(), numbered(49'999, 20));
  EXPECT_FALSE(nothing.failure);
  ASSERT_TRUE(closed.failure);
  EXPECT_EQ(closed.failure->doing, "reading messages");
  EXPECT_EQ(typed.lines, (Lines{"typed", "by hand"}));
}

// --- writing ---------------------------------------------------------------------------------------------------------

TEST(line_writer, writes_at_once_and_gathers_what_follows) {
  // Of a socket that keeps packets apart, each is one system call.
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const Descriptor reading(ends[0]);
  Loop loop;
  Writing writing(loop, Descriptor(ends[1]));
  const auto packet = [&]() -> std::string {
    char buffer[65536];
    const ssize_t got = ::recv(reading.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
    return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : "";
  };
  EXPECT_TRUE(writing.writer->write("first"));
  EXPECT_EQ(packet(), "first\n");  // the loop has not turned
  std::string want;
  for (std::size_t i = 0; i < 300; ++i) {
    EXPECT_TRUE(writing.writer->write(numbered(i, 10)));
    want += numbered(i, 10) + "\n";
  }
  EXPECT_EQ(packet(), "");
  EXPECT_EQ(writing.writer->backlog_bytes(), want.size());
  EXPECT_TRUE(loop.until([&] { return writing.writer->backlog_bytes() == 0; }));
  std::string got;
  int packets = 0;
  for (std::string one = packet(); !one.empty(); one = packet(), ++packets) got += one;
  EXPECT_EQ(got, want);
  EXPECT_EQ(packets, 1);
  EXPECT_TRUE(writing.writer->write(""));
  EXPECT_EQ(packet(), "\n");
  // A message is one line, whatever it was before.
  EXPECT_TRUE(loop.until([&] { return writing.writer->write("{\n\"a\":\n1}\n"); }));
  loop.during(milliseconds(1));
  EXPECT_EQ(packet(), "{ \"a\": 1} \n");
}

TEST(line_writer, waits_for_a_slow_reader_and_says_so) {
  Loop loop;
  Pipe pipe;
  Writing writing(loop, std::move(pipe.writing), {.full_bytes = 200'000, .backlog_bytes_max = 1'000'000});
  std::string want;
  std::size_t taken = 0;
  for (; writing.writer->write(numbered(taken, 1000 + taken % 7777)); ++taken) {
    want += numbered(taken, 1000 + taken % 7777) + "\n";
    if (taken % 10 == 0) loop.during(milliseconds(0));
  }
  EXPECT_TRUE(writing.writer->is_full());
  EXPECT_LE(writing.writer->backlog_bytes(), 1'000'000u);
  EXPECT_GT(writing.writer->backlog_bytes(), 980'000u);
  EXPECT_TRUE(loop.until([&] { return writing.full == 1; }));
  loop.during(milliseconds(20));
  EXPECT_EQ(writing.drained, 0);
  // Read a little at a time.
  std::string got;
  ::fcntl(pipe.reading.get(), F_SETFL, O_NONBLOCK);
  EXPECT_TRUE(loop.until([&] {
    char buffer[5000];
    const ssize_t size = ::read(pipe.reading.get(), buffer, sizeof(buffer));
    if (size > 0) got.append(buffer, static_cast<std::size_t>(size));
    EXPECT_TRUE(writing.drained == 0 || writing.writer->backlog_bytes() <= 100'000);
    return got.size() == want.size();
  }));
  EXPECT_TRUE(got == want);
  EXPECT_EQ(writing.full, 1);
  EXPECT_EQ(writing.drained, 1);
  EXPECT_FALSE(writing.writer->is_full());
  EXPECT_EQ(writing.writer->backlog_bytes(), 0u);
  EXPECT_TRUE(writing.writer->write("again"));
  // A message larger than the backlog goes when nothing waits, and fills.
  EXPECT_TRUE(loop.until([&] { return writing.writer->backlog_bytes() == 0; }));
  EXPECT_TRUE(writing.writer->write(std::string(2'000'000, 'z')));
  EXPECT_FALSE(writing.writer->write("no more"));
  EXPECT_TRUE(loop.until([&] { return writing.full == 2; }));
}

TEST(line_writer, reports_a_reader_that_has_gone) {
  Loop loop;
  Pipe pipe;
  Writing writing(loop, std::move(pipe.writing));
  pipe.reading.reset();
  writing.writer->write("into nothing");  // and the process lives
  EXPECT_EQ(writing.failed, 0);           // not from within
  EXPECT_FALSE(writing.writer->write("more"));
  EXPECT_TRUE(loop.until([&] { return writing.failed == 1; }));
  EXPECT_EQ(writing.reason, "Broken pipe");
  // While it waits.
  Pipe full;
  Writing blocked(loop, std::move(full.writing));
  EXPECT_TRUE(blocked.writer->write(std::string(1'000'000, 'x')));
  loop.during(milliseconds(5));
  full.reading.reset();
  EXPECT_TRUE(loop.until([&] { return blocked.failed == 1; }));
  blocked.writer->end();
  loop.during(milliseconds(5));
  EXPECT_EQ(blocked.ended, 0);
  EXPECT_EQ(blocked.failed, 1);
}

TEST(line_writer, ends_after_what_waits_and_closes_before) {
  Loop loop;
  Pipe pipe;
  Writing writing(loop, std::move(pipe.writing));
  const std::string large(500'000, 'x');
  EXPECT_TRUE(writing.writer->write(large));
  EXPECT_TRUE(writing.writer->write("last"));
  writing.writer->end();
  EXPECT_FALSE(writing.writer->write("too late"));
  std::string got;
  std::thread reader([&] { got = read_all(pipe.reading.get()); });
  EXPECT_TRUE(loop.until([&] { return writing.ended == 1; }));
  reader.join();  // its end is there
  EXPECT_TRUE(got == large + "\nlast\n");

  Pipe other;
  Writing closed(loop, std::move(other.writing));
  EXPECT_TRUE(closed.writer->write(large));
  closed.writer->close();
  EXPECT_LT(read_all(other.reading.get()).size(), large.size());
  Pipe third;
  Writing gone(loop, std::move(third.writing));
  EXPECT_TRUE(gone.writer->write("one"));
  EXPECT_TRUE(gone.writer->write("two"));
  gone.writer.reset();
  loop.during(milliseconds(5));
  EXPECT_EQ(read_all(third.reading.get()), "one\n");
  EXPECT_EQ(closed.ended + closed.failed + gone.ended + gone.failed, 0);
}

TEST(line_writer, writes_files) {
  Loop loop;
  const TemporaryFolder folder;
  const std::string path = folder.path() / "lines";
  Writing writing(loop, Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)));
  std::string want;
  for (std::size_t i = 0; i < 2000; ++i) {
    EXPECT_TRUE(writing.writer->write(numbered(i, 100)));
    want += numbered(i, 100) + "\n";
  }
  writing.writer->end();
  EXPECT_TRUE(loop.until([&] { return writing.ended == 1; }));
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_TRUE(text.str() == want);
}

// --- both ------------------------------------------------------------------------------------------------------------

TEST(line_pipe, relays_without_piling_up) {
  Loop loop;
  Pipe in, out;
  const std::size_t count = 100'000;
  Writing writing(loop, std::move(out.writing), {.full_bytes = 100'000, .backlog_bytes_max = 1'000'000});
  Reading reading(loop, std::move(in.reading));
  std::size_t highest = 0, lost = 0;
  bool paused = false;
  reading.on_line = [&] {
    if (!writing.writer->write(std::move(reading.lines.back()))) ++lost;
    reading.lines.clear();
    highest = std::max(highest, writing.writer->backlog_bytes());
    if (writing.writer->is_full()) {
      reading.reader->pause();
      paused = true;
    }
  };
  std::thread source([&] {
    for (std::size_t i = 0; i < count; ++i) in.send(numbered(i, 200) + "\n");
    in.writing.reset();
  });
  std::atomic<bool> done = false;
  std::string got;
  std::thread sink([&] {
    std::this_thread::sleep_for(milliseconds(50));
    got = read_all(out.reading.get());
    done = true;
  });
  int resumed = 0;
  EXPECT_TRUE(loop.until([&] {
    if (writing.drained > resumed) {
      ++resumed;
      reading.reader->resume();
    }
    if (reading.ends == 1) writing.writer->end();
    return done.load();
  }));
  source.join();
  sink.join();
  EXPECT_TRUE(paused);
  EXPECT_EQ(lost, 0u);
  EXPECT_LT(highest, 101'000u);
  std::string want;
  for (std::size_t i = 0; i < count; ++i) want += numbered(i, 200) + "\n";
  EXPECT_TRUE(got == want);
}

// What `with` leaves at 0 and 1, and what comes of it; in a process of its own.
TEST(line_pipe, takes_stdin_and_stdout_and_keeps_others_out) {
  Pipe in, out, error;
  ChildProcess process([&](const Channel&) {
    ::dup2(in.reading.get(), 0);
    ::dup2(out.writing.get(), 1);
    ::dup2(error.writing.get(), 2);
    in.writing.reset();
    out.reading.reset();
    auto streams = take_standard_streams();
    if (!streams) return 2;
    Loop loop;
    std::optional<LineWriter> writer(std::in_place, loop.context, std::move(streams->out));
    bool ended = false;
    LineReader reader(loop.context, std::move(streams->in), 1000,
                      {[&](std::string line) {
                         std::printf("noise\n");
                         std::fflush(stdout);
                         writer->write("echo " + line);
                       },
                       {},
                       [&](const std::optional<Failure>&) { ended = true; }});
    loop.until([&] { return ended; });
    char byte;
    return ::read(0, &byte, 1) == 0 ? 0 : 3;
  });
  const Descriptor shared(::fcntl(in.reading.get(), F_DUPFD_CLOEXEC, 3));
  in.reading.reset();
  Descriptor shared_out(::fcntl(out.writing.get(), F_DUPFD_CLOEXEC, 3));
  out.writing.reset();
  error.writing.reset();
  in.send("hello\n");
  pollfd wanted = {out.reading.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&wanted, 1, 30'000), 1);
  // Whoever shares the pipes with it is not put into non-blocking mode.
  EXPECT_EQ(::fcntl(shared.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(::fcntl(shared_out.get(), F_GETFL) & O_NONBLOCK, 0);
  in.send("you\n");
  in.writing.reset();
  EXPECT_EQ(process.wait(), 0);
  shared_out.reset();
  EXPECT_EQ(read_all(out.reading.get()), "echo hello\necho you\n");
  EXPECT_EQ(read_all(error.reading.get()), "noise\nnoise\n");
}

}  // namespace
}  // namespace baton::net
