// SPDX-License-Identifier: Apache-2.0
// A child process: what it gets, what is heard of it, and how it ends.
#include "net/child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "child_process.h"
#include "net/line_pipe.h"
#include "net_loop.h"
#include "temporary_folder.h"

namespace baton::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::vector<std::string> kPath = {"PATH=/usr/bin:/bin"};

// Is there such a process, and is it more than a remainder that its parent did not reap?
bool is_running(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  if (!std::getline(file, stat)) return false;
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.at(name_end + 2) != 'Z';
}

// Does this process have a child, reaped or not?
bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD; }

class Running {
 public:
  explicit Running(ChildOptions options) {
    auto started = Child::start(loop.context, options,
                                {[this](std::string_view line) { errors.emplace_back(line); },
                                 [this](const ChildExit& how) {
                                   ++exits;
                                   exit = how;
                                 }});
    EXPECT_TRUE(started) << started.error().text();
    if (!started) return;
    child = std::move(*started);
    LineReaderEvents events;
    events.on_line = [this](std::string line) { lines.push_back(std::move(line)); };
    events.on_end = [this](const std::optional<Failure>&) { output_ended = true; };
    output.emplace(loop.context, child->take_stdout(), 1u << 20, events);
  }
  static Running shell(const std::string& script) { return Running({{"sh", "-c", script}, kPath}); }
  bool until_exit() {
    return loop.until([this] { return exit.has_value() && output_ended; });
  }

  Loop loop;
  std::vector<std::string> lines, errors;
  std::optional<ChildExit> exit;
  int exits = 0;
  bool output_ended = false;
  std::optional<LineReader> output;
  std::unique_ptr<Child> child;
};

TEST(child, is_spoken_to_by_pipes) {
  Running cat({{"cat"}, kPath});
  LineWriter input(cat.loop.context, cat.child->take_stdin());
  EXPECT_TRUE(input.write("one"));
  EXPECT_TRUE(input.write("two"));
  EXPECT_TRUE(cat.loop.until([&] { return cat.lines.size() == 2; }));
  EXPECT_EQ(cat.lines, (std::vector<std::string>{"one", "two"}));
  EXPECT_FALSE(cat.child->has_ended());
  input.end();
  ASSERT_TRUE(cat.until_exit());
  EXPECT_EQ(*cat.exit, (ChildExit{0, 0}));
  EXPECT_TRUE(cat.child->has_ended());
  EXPECT_EQ(cat.exits, 1);
  EXPECT_FALSE(has_children());
}

TEST(child, gets_its_arguments_variables_and_folder_and_nothing_else) {
  ::setenv("NET_CHILD_TEST_SECRET", "x", 1);
  Running variables({{"env"}, {"PATH=/usr/bin:/bin", "A=b c"}, "/"});
  ASSERT_TRUE(variables.until_exit());
  EXPECT_EQ(variables.lines, (std::vector<std::string>{"PATH=/usr/bin:/bin", "A=b c"}));

  Running arguments({{"printf", "%s\\n", "a b", "$HOME", "*", ""}, kPath});
  ASSERT_TRUE(arguments.until_exit());
  EXPECT_EQ(arguments.lines, (std::vector<std::string>{"a b", "$HOME", "*", ""}));

  const TemporaryFolder folder;
  std::ofstream(folder.path() / "run") << "#!/bin/sh\npwd -P\n";
  ::chmod((folder.path() / "run").c_str(), 0700);
  Running there({{"./run"}, kPath, folder.path()});
  ASSERT_TRUE(there.until_exit());
  EXPECT_EQ(there.lines, std::vector<std::string>{std::filesystem::canonical(folder.path())});
}

TEST(child, gets_no_descriptor_signal_or_group_of_ours) {
  const int leaked = ::fcntl(STDERR_FILENO, F_DUPFD, 90);  // without close-on-exec
  ASSERT_GE(leaked, 90);
  Running look({{"readlink", "/proc/self/fd/" + std::to_string(leaked)}, kPath});
  ASSERT_TRUE(look.until_exit());
  ::close(leaked);
  EXPECT_EQ(look.exit->status, 1);
  EXPECT_TRUE(look.lines.empty());

  const auto before = std::signal(SIGUSR2, SIG_IGN);
  sigset_t blocked, old;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &old);
  Running signals({{"grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"}, kPath});
  ASSERT_TRUE(signals.until_exit());
  EXPECT_EQ(signals.lines, (std::vector<std::string>{"SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"}));
  // And our own are as they were.
  sigset_t now;
  ::pthread_sigmask(SIG_SETMASK, &old, &now);
  EXPECT_EQ(::sigismember(&now, SIGUSR1), 1);
  EXPECT_EQ(::sigismember(&now, SIGTERM), 0);
  EXPECT_EQ(std::signal(SIGUSR2, before), SIG_IGN);

  Running cat({{"cat"}, kPath});
  EXPECT_EQ(::getpgid(cat.child->pid()), cat.child->pid());
}

TEST(child, that_cannot_be_started_says_why) {
  Loop loop;
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "plain") << "no program\n";
  const std::string plain = folder.path() / "plain";
  const auto why = [&](ChildOptions options) {
    const auto started = Child::start(loop.context, options, {});
    EXPECT_FALSE(started);
    return started ? "" : started.error().text();
  };
  EXPECT_EQ(why({{"/nowhere/at-all"}, kPath}), "starting /nowhere/at-all: No such file or directory");
  EXPECT_EQ(why({{"no-such-program-here"}, kPath}), "starting no-such-program-here: No such file or directory");
  EXPECT_EQ(why({{"cat"}, {}}), "starting cat: No such file or directory");  // it has no PATH; ours does not count
  EXPECT_EQ(why({{plain}, kPath}), "starting " + plain + ": Permission denied");
  // One that may not be run says more than one that is not there; and later folders are still looked at.
  EXPECT_EQ(why({{"plain"}, {"PATH=" + folder.path().string() + ":/bin"}}), "starting plain: Permission denied");
  EXPECT_EQ(why({{"cat"}, kPath, "/nowhere/at-all"}), "starting cat in /nowhere/at-all: No such file or directory");
  EXPECT_EQ(why({{}, kPath}), "starting a program: no program is named");
  using namespace std::string_literals;
  EXPECT_NE(why({{"cat", "a\0b"s}, kPath}).find("zero byte"), std::string::npos);
  ::chmod(plain.c_str(), 0700);
  EXPECT_EQ(why({{plain}, kPath}), "starting " + plain + ": Exec format error");  // a shell would run it
  EXPECT_FALSE(has_children());
}

TEST(child, tells_how_it_ended) {
  Running three = Running::shell("exit 3");
  ASSERT_TRUE(three.until_exit());
  EXPECT_EQ(*three.exit, (ChildExit{3, 0}));
  EXPECT_EQ(exit_text(*three.exit), "exit status 3");
  Running killed = Running::shell("kill -9 $$");
  ASSERT_TRUE(killed.until_exit());
  EXPECT_EQ(*killed.exit, (ChildExit{-1, 9}));
  EXPECT_EQ(exit_text(*killed.exit), "killed by signal 9 (Killed)");
  EXPECT_EQ(killed.exits, 1);
  // Where children are reaped by themselves, how they ended would be lost.
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  Running four = Running::shell("exit 4");
  ASSERT_TRUE(four.until_exit());
  EXPECT_EQ(*four.exit, (ChildExit{4, 0}));
  std::signal(SIGCHLD, before);
}

TEST(child, is_heard_to_the_last_line_of_its_stderr) {
  Running flood = Running::shell("yes 0123456789 | head -n 500000 >&2; printf 'the last' >&2; exit 1");
  ASSERT_TRUE(flood.until_exit());
  ASSERT_EQ(flood.errors.size(), 500001u);
  EXPECT_EQ(flood.errors.front(), "0123456789");
  EXPECT_EQ(flood.errors.back(), "the last");
  // A line without end is cut, and what comes after it still comes.
  Running longest = Running::shell("head -c 3000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo after >&2");
  ASSERT_TRUE(longest.until_exit());
  ASSERT_EQ(longest.errors.size(), 2u);
  EXPECT_EQ(longest.errors[0], std::string(4096, 'x'));
  EXPECT_EQ(longest.errors[1], "after");
}

TEST(child, is_ended_in_order) {
  // It goes when its stdin does.
  Running polite = Running::shell("cat; exit 5");
  polite.child->end(seconds(60), seconds(60));
  ASSERT_TRUE(polite.until_exit());
  EXPECT_EQ(*polite.exit, (ChildExit{5, 0}));
  // It goes when it is told to.
  Running told = Running::shell("trap 'exit 6' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(told.loop.until([&] { return !told.lines.empty(); }));
  told.child->end(milliseconds(50), seconds(60));
  ASSERT_TRUE(told.until_exit());
  EXPECT_EQ(*told.exit, (ChildExit{6, 0}));
  // It is made to go.
  Running deaf = Running::shell("trap '' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(deaf.loop.until([&] { return !deaf.lines.empty(); }));
  const auto began = std::chrono::steady_clock::now();
  deaf.child->end(milliseconds(100), milliseconds(100));
  ASSERT_TRUE(deaf.until_exit());
  EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(200));
  EXPECT_EQ(*deaf.exit, (ChildExit{-1, SIGKILL}));
  EXPECT_FALSE(has_children());
}

TEST(child, takes_its_group_along) {
  // What it started stays behind and holds on to the pipes.
  Running parent = Running::shell("sleep 1000 & echo $!");
  ASSERT_TRUE(parent.until_exit());
  ASSERT_EQ(parent.lines.size(), 1u);
  const pid_t left = std::stoi(parent.lines[0]);
  EXPECT_TRUE(parent.loop.until([&] { return !is_running(left); }));

  Running killed = Running::shell("sleep 1000 & echo $!; wait");
  ASSERT_TRUE(killed.loop.until([&] { return !killed.lines.empty(); }));
  const pid_t below = std::stoi(killed.lines[0]);
  EXPECT_TRUE(is_running(below));
  killed.child->kill();
  ASSERT_TRUE(killed.until_exit());
  EXPECT_TRUE(killed.loop.until([&] { return !is_running(below); }));
}

TEST(child, goes_with_the_object_that_stands_for_it) {
  Running running = Running::shell("trap '' TERM; sleep 1000 & echo $!; wait");
  ASSERT_TRUE(running.loop.until([&] { return !running.lines.empty(); }));
  const pid_t child = running.child->pid(), below = std::stoi(running.lines[0]);
  running.child.reset();
  EXPECT_FALSE(has_children());  // reaped already
  EXPECT_FALSE(is_running(child));
  EXPECT_TRUE(running.loop.until([&] { return !is_running(below); }));
  running.loop.during(milliseconds(50));
  EXPECT_EQ(running.exits, 0);
}

TEST(child, may_be_let_go_by_what_it_calls) {
  Loop loop;
  std::unique_ptr<Child> child;
  int exits = 0, lines = 0;
  auto started = Child::start(loop.context, {{"sh", "-c", "echo a >&2; echo b >&2"}, kPath},
                              {[&](std::string_view) { ++lines; },
                               [&](const ChildExit&) {
                                 ++exits;
                                 child.reset();
                               }});
  ASSERT_TRUE(started);
  child = std::move(*started);
  EXPECT_TRUE(loop.until([&] { return exits == 1; }));
  EXPECT_EQ(lines, 2);

  started = Child::start(loop.context, {{"sh", "-c", "echo a >&2; echo b >&2; cat"}, kPath},
                         {[&](std::string_view) {
                            ++lines;
                            child.reset();
                          },
                          [&](const ChildExit&) { ++exits; }});
  ASSERT_TRUE(started);
  child = std::move(*started);
  EXPECT_TRUE(loop.until([&] { return child == nullptr; }));
  loop.during(milliseconds(50));
  EXPECT_EQ(lines, 3);  // and no second line
  EXPECT_EQ(exits, 1);
  EXPECT_FALSE(has_children());
}

TEST(child, does_not_outlive_a_parent_that_is_killed) {
  ChildProcess parent([](const Channel& channel) {
    Loop loop;
    auto child = Child::start(loop.context, {{"sleep", "1000"}, kPath}, {});
    if (!child) return 1;
    channel.send(static_cast<std::uint64_t>((*child)->pid()));
    loop.during(seconds(60));
    return 0;
  });
  const auto pid = parent.channel().receive();
  ASSERT_TRUE(pid);
  EXPECT_TRUE(is_running(static_cast<pid_t>(*pid)));
  parent.end(SIGKILL);
  Loop loop;
  EXPECT_TRUE(loop.until([&] { return !is_running(static_cast<pid_t>(*pid)); }));
}

TEST(child, leaves_nothing_behind_when_there_were_many) {
  Loop loop;
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  // The loop opens what it needs for itself with the first.
  ASSERT_TRUE(Child::start(loop.context, {{"true"}, kPath}, {}));
  loop.during(milliseconds(10));
  const auto before = descriptors();
  {
    std::vector<std::unique_ptr<Child>> children;
    int exits = 0;
    for (int i = 0; i < 50; ++i) {
      auto started =
          Child::start(loop.context, {{i % 2 == 0 ? "true" : "cat"}, kPath}, {{}, [&](const ChildExit&) { ++exits; }});
      ASSERT_TRUE(started) << started.error().text();
      children.push_back(std::move(*started));
    }
    EXPECT_TRUE(loop.until([&] { return exits == 25; }));
  }
  loop.during(milliseconds(10));
  EXPECT_EQ(descriptors(), before);
  EXPECT_FALSE(has_children());
}

}  // namespace
}  // namespace baton::net
