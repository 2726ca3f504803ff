// SPDX-License-Identifier: Apache-2.0
// `baton-hook CLIENT [EVENT] [--store DIR | --socket PATH] [--node-key KEY] [--session ID] [--role ROLE] [--proxied SERVER,...]
// [--deadline-ms N]`
//
// Started by a coding agent for every event of its hooks, with the event as JSON on standard input. It has no rules: the node is asked
// (POST /v1/hooks/CLIENT), and what the node says is printed. Whatever goes wrong, before a tool it refuses, in the way that the
// client keeps to (hooks/write.h). With --node-key it believes only an answer that this key has signed (hook/trust.h). It has a deadline of its own, well below the one it is registered with, because clients let the
// tool run when that is over.
//
// Reference: docs/reference/hooks.md
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/own_process.h"
#include "hook/asking.h"
#include "hook/trust.h"
#include "hooks/signed_answer.h"
#include "hooks/write.h"

extern char** environ;

namespace {

namespace hook = baton::hook;
namespace hooks = baton::hooks;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kInputBytesMax = 8u << 20;
// A handoff is at most 256 KiB, and a few lines may follow it; with the event it is to be less than a node takes (1 MiB).
constexpr std::size_t kTranscriptTailBytes = 640u << 10;
constexpr long kDeadlineMs = 5'000, kDeadlineMsMost = 60'000;
// Beyond the deadline nothing waits any more, whatever hangs: a write that nobody reads, a file system that does not answer.
constexpr long kLastResortMs = 500;
constexpr milliseconds kStartPause{10};
constexpr milliseconds kTranscriptPatience{2'000};

struct Arguments {
  std::string client, event, store, socket, node_key, session, role, proxied;
  long deadline_ms = kDeadlineMs;
};

// What is said when there is nothing from the node. Of a client that nobody knows: what most of them keep to.
hooks::Written failing(const Arguments& arguments, std::string_view reason) {
  const std::string why = "Denied by Baton: " + std::string(reason) + "; nothing goes ahead while it cannot be decided";
  if (const auto client = hooks::client_named(arguments.client))
    return hooks::write_failure(*client, arguments.event, why);
  return {{}, why + "\n", 2};
}

// The text of a member of the client's JSON, without reading all of it: the node does that. Empty: there is none, more than one that
// differ, or one with escapes.
std::string member_in(std::string_view input, std::string_view name) {
  const std::string quoted = '"' + std::string(name) + '"';
  std::string found;
  for (std::size_t at = input.find(quoted); at != std::string_view::npos; at = input.find(quoted, at + 1)) {
    std::size_t begin = input.find_first_not_of(" \t\r\n", at + quoted.size());
    if (begin == std::string_view::npos || input[begin] != ':') continue;
    begin = input.find_first_not_of(" \t\r\n", begin + 1);
    if (begin == std::string_view::npos || input[begin] != '"') return {};
    const std::size_t end = input.find('"', begin + 1);
    if (end == std::string_view::npos) return {};
    const std::string_view one = input.substr(begin + 1, end - begin - 1);
    if (one.find('\\') != std::string_view::npos || (!found.empty() && found != one)) return {};
    found = one;
  }
  return found;
}

// `"NAME":123`, as it stands in a JSON without blanks; empty: there is no such member.
std::string number_member(std::string_view input, std::string_view name) {
  const std::string mark = '"' + std::string(name) + '"';
  const std::size_t at = input.find(mark);
  if (at == std::string_view::npos) return {};
  std::size_t begin = input.find_first_not_of(" \t\r\n", at + mark.size());
  if (begin == std::string_view::npos || input[begin] != ':') return {};
  begin = input.find_first_not_of(" \t\r\n", begin + 1);
  if (begin == std::string_view::npos) return {};
  const std::size_t end = std::min(input.find_first_not_of("0123456789", begin), input.size());
  return end == begin ? std::string() : mark + ':' + std::string(input.substr(begin, end - begin));
}

// For the signal's handler: made before it can come.
hooks::Written last_word;

void put(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor, bytes.data(), bytes.size());
    if (put > 0) bytes.remove_prefix(static_cast<std::size_t>(put));
    else if (put < 0 && errno == EAGAIN) {
      pollfd waits = {descriptor, POLLOUT, 0};
      static_cast<void>(::poll(&waits, 1, 100));
    } else if (put < 0 && errno != EINTR) return;
  }
}

extern "C" void time_is_over(int) {
  static_cast<void>(::write(STDERR_FILENO, last_word.err.data(), last_word.err.size()));
  static_cast<void>(::write(STDOUT_FILENO, last_word.out.data(), last_word.out.size()));
  ::_exit(last_word.exit);
}

[[noreturn]] void say(const hooks::Written& said) {
  put(STDERR_FILENO, said.err);
  put(STDOUT_FILENO, said.out);
  ::_exit(said.exit);
}

std::string environment(const char* name) {
  const char* text = ::getenv(name);
  return text == nullptr ? std::string() : std::string(text);
}

bool is_folder(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// As every command finds it: the option, BATON_STORE, .baton here or above, the user's data folder.
std::string find_store(const Arguments& arguments) {
  if (!arguments.store.empty()) return arguments.store;
  if (std::string given = environment("BATON_STORE"); !given.empty()) return given;
  char buffer[PATH_MAX];
  if (::getcwd(buffer, sizeof buffer) != nullptr) {
    std::string folder = buffer;
    while (true) {
      const std::string here = (folder == "/" ? "" : folder) + "/.baton";
      if (is_folder(here)) return here;
      if (folder == "/" || folder.empty()) break;
      folder.resize(std::max<std::size_t>(folder.rfind('/'), 1));
    }
  }
  if (const std::string data = environment("XDG_DATA_HOME"); data.starts_with('/')) return data + "/baton";
  if (const std::string home = environment("HOME"); !home.empty()) return home + "/.local/share/baton";
  return {};
}

std::string find_socket(const Arguments& arguments, const std::string& store) {
  constexpr std::string_view kUnix = "unix:";
  if (!arguments.socket.empty()) return arguments.socket;
  if (const std::string node = environment("BATON_NODE"); node.starts_with(kUnix)) return node.substr(kUnix.size());
  return store.empty() ? std::string() : store + "/node.sock";
}

// Any command that needs a node starts one; this one is `baton` beside us, and says nothing.
void start_node(const std::string& store) {
  char self[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof self - 1);
  if (size <= 0) return;
  std::string program(self, static_cast<std::size_t>(size));
  program.resize(program.rfind('/') + 1);
  program += "baton";
  std::vector<std::string> texts = {program, "session", "list", "--store", store};
  std::vector<char*> argv;
  for (std::string& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  static_cast<void>(::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ));
  ::posix_spawn_file_actions_destroy(&actions);
}

void append_query(std::string& target, char mark, std::string_view name, std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  ((target += mark) += name) += '=';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    if (plain) target += c;
    else ((target += '%') += kDigits[byte >> 4]) += kDigits[byte & 15];
  }
}

// The end of a file of the client's; empty: it is none, or cannot be read.
std::string tail_of(const std::string& path) {
  std::string out;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return out;
  struct stat status = {};
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    const auto size = static_cast<std::size_t>(status.st_size);
    const std::size_t wanted = std::min(size, kTranscriptTailBytes);
    out.resize(wanted);
    std::size_t got = 0;
    while (got < wanted) {
      const ssize_t piece = ::pread(file, out.data() + got, wanted - got, static_cast<off_t>(size - wanted + got));
      if (piece <= 0) break;
      got += static_cast<std::size_t>(piece);
    }
    out.resize(got);
  }
  ::close(file);
  return out;
}

// The end of the client's transcript, behind the event, where only that has what the model wrote last (hooks/transcript.h): a file that
// the user's own programs may read, and the node may not. How many bytes.
//
// The client writes that file when it finds the time. It has written what was said before this stop when it has written that it asks this
// hook, which it does with the same time; before that the last message there is an earlier one, and none is better than that.
std::size_t append_transcript(const Arguments& arguments, std::string& body, hook::Deadline deadline) {
  // Gemini CLI has written its file when it asks.
  if (arguments.client == "gemini" && arguments.event == "AfterAgent") {
    const std::string tail = tail_of(member_in(body, "transcript_path"));
    body += tail;
    return tail.size();
  }
  if (arguments.client != "copilot" || arguments.event != "agentStop") return 0;
  const std::string path = member_in(body, "transcriptPath"), asked = number_member(body, "timestamp");
  if (path.empty() || asked.empty()) return 0;
  deadline = std::min(deadline, steady_clock::now() + kTranscriptPatience);
  while (true) {
    const std::string tail = tail_of(path);
    if (tail.find(asked) != std::string::npos) {
      body += tail;
      return tail.size();
    }
    if (steady_clock::now() + kStartPause >= deadline) return 0;
    ::poll(nullptr, 0, static_cast<int>(kStartPause.count()));
  }
}

// What the node answers: `EXIT OUT_BYTES ERR_BYTES`, a line feed, and that many bytes of each.
bool read_answer(const std::string& body, hooks::Written& said) {
  const std::size_t end = body.find('\n');
  if (end == std::string::npos) return false;
  unsigned exit = 0;
  std::size_t out = 0, err = 0;
  const char* at = body.data();
  const char* const last = body.data() + end;
  const auto number = [&](auto& to) {
    const auto [next, error] = std::from_chars(at, last, to);
    if (error != std::errc()) return false;
    at = next;
    return true;
  };
  const auto blank = [&] { return at < last && *at++ == ' '; };
  if (!number(exit) || !blank() || !number(out) || !blank() || !number(err) || at != last || exit > 255) return false;
  if (out > body.size() || err > body.size() || end + 1 + out + err != body.size()) return false;
  said.exit = static_cast<int>(exit);
  said.out = body.substr(end + 1, out);
  said.err = body.substr(end + 1 + out);
  return true;
}

bool read_arguments(int argc, char** argv, Arguments& out) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    std::string* to = argument == "--store"      ? &out.store
                      : argument == "--socket"   ? &out.socket
                      : argument == "--node-key" ? &out.node_key
                      : argument == "--session"  ? &out.session
                      : argument == "--role"     ? &out.role
                      : argument == "--proxied"  ? &out.proxied
                                                 : nullptr;
    std::string number;
    if (argument == "--deadline-ms") to = &number;
    if (to != nullptr) {
      if (++i >= argc) return false;
      *to = argv[i];
      // What is no key proves nothing: an empty one must not count as none.
      if (to == &out.session && out.session.empty()) return false;
      if (to == &out.node_key && !hooks::is_hex_of(out.node_key, hooks::kAnswerKeyBytes)) return false;
      if (to != &number) continue;
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), out.deadline_ms);
      if (error != std::errc() || end != number.data() + number.size() || out.deadline_ms < 1 ||
          out.deadline_ms > kDeadlineMsMost)
        return false;
    } else if (argument.starts_with("--")) {
      return false;
    } else if (out.client.empty()) {
      out.client = argument;
    } else if (out.event.empty()) {
      out.event = argument;
    } else {
      return false;
    }
  }
  // It becomes a part of what is sent.
  for (const char c : out.client)
    if (!(c >= 'a' && c <= 'z') && c != '-') return false;
  return !out.client.empty();
}

void arm_last_resort(const Arguments& arguments) {
  last_word = failing(arguments, "the node did not answer in time");
  struct sigaction action = {};
  action.sa_handler = time_is_over;
  ::sigaction(SIGALRM, &action, nullptr);
  const long after = arguments.deadline_ms + kLastResortMs;
  const itimerval timer = {{0, 0}, {after / 1000, after % 1000 * 1000}};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  baton::guard_memory();
  const baton::OwnCredentials credentials;
  Arguments arguments;
  const bool understood = read_arguments(argc, argv, arguments);
  const auto deadline = steady_clock::now() + milliseconds(arguments.deadline_ms);
  const auto fail = [&](std::string_view reason) { say(failing(arguments, reason)); };
  arm_last_resort(arguments);
  if (!understood)
    fail(
        "baton-hook takes CLIENT [EVENT] [--store DIR] [--socket PATH] [--node-key KEY] [--session ID] [--role ROLE] "
        "[--proxied SERVERS] [--deadline-ms N]");

  hook::Asked asked;
  const bool is_whole = hook::read_all(STDIN_FILENO, asked.body, kInputBytesMax, deadline);
  if (arguments.event.empty()) {
    arguments.event = member_in(asked.body, "hook_event_name");
    arm_last_resort(arguments);
  }
  if (!is_whole) fail("the event on standard input did not come, or is too long");

  const std::string store = find_store(arguments);
  asked.socket = find_socket(arguments, store);
  if (asked.socket.empty()) fail("it is not known where the store is");
  asked.target = "/v1/hooks/" + arguments.client;
  append_query(asked.target, '?', "event", arguments.event);
  if (!arguments.session.empty()) append_query(asked.target, '&', "session", arguments.session);
  if (!arguments.role.empty()) append_query(asked.target, '&', "role", arguments.role);
  if (!arguments.proxied.empty()) append_query(asked.target, '&', "proxied", arguments.proxied);
  if (const std::size_t bytes = append_transcript(arguments, asked.body, deadline); bytes != 0)
    append_query(asked.target, '&', "transcript_bytes", std::to_string(bytes));
  asked.session_token = credentials.environment("BATON_SESSION_TOKEN").value_or("");
  for (const char c : asked.session_token)
    if (c <= ' ' || c > '~') fail("BATON_SESSION_TOKEN holds what no token does");

  if (!arguments.node_key.empty()) {
    asked.nonce = hook::fresh_nonce();
    if (asked.nonce.empty()) fail("there are no random numbers to ask the node with");
  }

  hook::Heard heard = hook::ask(asked, deadline);
  if (heard.kind == hook::Heard::Kind::NobodyThere && arguments.socket.empty() && !store.empty() && is_folder(store)) {
    start_node(store);
    while (heard.kind == hook::Heard::Kind::NobodyThere && steady_clock::now() + kStartPause < deadline) {
      ::poll(nullptr, 0, static_cast<int>(kStartPause.count()));
      heard = hook::ask(asked, deadline);
    }
  }
  if (heard.kind != hook::Heard::Kind::Answered) fail(heard.problem);
  if (heard.status != 200) fail("the node answered with status " + std::to_string(heard.status));
  if (!arguments.node_key.empty() && !hook::is_signed(asked, heard, arguments.node_key))
    fail("node_not_trusted: the answer is not signed with the key of the node that this hook was registered for");
  hooks::Written said;
  if (!read_answer(heard.body, said)) fail("the node's answer is none");
  say(said);
}
