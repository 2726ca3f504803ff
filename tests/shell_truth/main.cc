// SPDX-License-Identifier: Apache-2.0
// The truth about command lines is in the shells: lines that are written down, and lines that are drawn (lines.h), are run by
// bash, dash and zsh in a sandbox (sandbox.h) and compared with what the parser says (compare.h).
//
// Opaque lines are not run: they promise nothing. What is counted are lines that were read, and run by each shell.
//
//   shell_truth --stub PROGRAM [--lines FILE] [--seed N] [--count N]             one after the other; the test
//   shell_truth --stub PROGRAM [--lines FILE] --state FOLDER --shards N [--count N] [--jobs N] [--require-shells]
//       the soak: shard i has the seed 1000 + i and N lines. FOLDER/state has the shards that are done: a run that was
//       stopped goes on there. FOLDER/misses.jsonl has the misses, made small.
//   shell_truth --stub PROGRAM --line TEXT                                       what each shell does, and what is listed
//
// Exit status: 0 nothing missed, 1 something missed, 2 wrong use, 77 no sandbox or no bash here.
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "compare.h"
#include "json/parse.h"
#include "lines.h"
#include "sandbox.h"

namespace baton::shell {
namespace {

namespace fs = std::filesystem;

struct Options {
  fs::path stub = {}, lines = {}, state = {};
  std::uint64_t seed = 1, count = 1000, shards = 0, jobs = 1;
  bool requires_shells = false, shows = false;
  std::string line = {};
};

struct Count {
  std::uint64_t drawn = 0, opaque = 0, run = 0, ran = 0, files = 0, timeouts = 0, missed = 0;

  void add(const Count& other) {
    drawn += other.drawn, opaque += other.opaque, run += other.run, ran += other.ran, files += other.files;
    timeouts += other.timeouts, missed += other.missed;
  }
  std::string text() const {
    std::ostringstream out;
    out << drawn << ' ' << opaque << ' ' << run << ' ' << ran << ' ' << files << ' ' << timeouts << ' ' << missed;
    return out.str();
  }
  static Count of(std::istream& in) {
    Count out;
    in >> out.drawn >> out.opaque >> out.run >> out.ran >> out.files >> out.timeouts >> out.missed;
    return out;
  }
};

// A byte above 127 is written as the character of that number: a damaged line need not be UTF-8.
std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte >= 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", byte);
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string json_list(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const std::string& item : items) out += (out.size() > 1 ? ", " : "") + json_string(item);
  return out + "]";
}

// --- one line ---------------------------------------------------------------------------------------------------------

struct Seen {
  Parsed parsed = {};
  Effects effects = {};

  // A line that only writes to an unknown place is compared, too: its programs must be listed.
  bool is_left_out() const { return parsed.opaque() || effects.runs_written; }
};

Seen seen(const std::string& line) {
  Seen out;
  out.parsed = parse(line);
  out.effects = effects_of(out.parsed, kWorkFolder);
  return out;
}

constexpr int kRunsMax = 300;      // to make one line small
constexpr int kMadeSmallMax = 20;  // lines, of one seed

// Leaves out ever smaller parts as long as the same kind of thing is missed.
std::string made_small(Sandbox& sandbox, const std::string& shell, std::string line, const Missed& like) {
  const auto still = [&](const std::string& candidate) {
    const Seen one = seen(candidate);
    if (one.is_left_out()) return false;
    const Missed now = missed(one.parsed, one.effects, sandbox.run(shell, candidate));
    return now.any() && now.is_like(like);
  };
  int runs = 0;
  for (std::size_t size = std::max<std::size_t>(line.size() / 2, 1);; size = size / 2) {
    bool changed = true;
    while (changed && runs < kRunsMax) {
      changed = false;
      for (std::size_t at = 0; at < line.size() && runs < kRunsMax;) {
        std::string candidate = line;
        candidate.erase(at, size);
        ++runs;
        if (still(candidate)) line = candidate, changed = true;
        else at += size;
      }
    }
    if (size <= 1) return line;
  }
}

class Comparison {
 public:
  Comparison(Sandbox& sandbox, std::vector<std::string> shells) : sandbox_(sandbox), shells_(std::move(shells)) {}

  // Do the sandbox and the stubs report what they should?
  bool checks_itself() {
    bool holds = true;
    for (const std::string& shell : shells_) {
      const Observed one =
          sandbox_.run(shell, "foo 'a\\b' && env -i no || rm b; touch d/n; sh -c 'mv c ../q' & chmod 600 /tmp/t");
      std::set<std::string> programs, changes;
      for (const Ran& ran : one.ran) programs.insert(ran.name);
      for (const Change& change : one.changes) changes.insert(change.path);
      const bool is_right =
          programs == std::set<std::string>{"foo", "env", "no", "rm", "touch", "sh", "mv", "chmod"} &&
          changes == std::set<std::string>{"/home/u/p/b", "/home/u/p/d/n", "/home/u/p/c", "/home/u/q/c", "/tmp/t"};
      if (is_right) continue;
      holds = false;
      std::fprintf(stderr, "%s: the sandbox does not report what a line does:", shell.c_str());
      for (const std::string& name : programs) std::fprintf(stderr, " %s", name.c_str());
      for (const std::string& path : changes) std::fprintf(stderr, " %s", path.c_str());
      std::fprintf(stderr, "\n");
    }
    return holds;
  }

  // Was nothing missed? `where` is JSON members that say which line it is.
  bool compare(const std::string& line, const std::string& where, Count& count, bool makes_small) {
    ++count.drawn;
    const Seen one = seen(line);
    if (one.is_left_out()) return ++count.opaque, true;
    ++count.run;
    bool ran = false, in_time = true, holds = true, wrote = false;
    std::string small;
    for (const std::string& shell : shells_) {
      const Observed observed = sandbox_.run(shell, line);
      ran = ran || !observed.ran.empty() || !observed.changes.empty();
      wrote = wrote || (!observed.changes.empty() && one.effects.writes_known);
      in_time = in_time && !observed.timed_out;
      const Missed misses = missed(one.parsed, one.effects, observed);
      if (!misses.any()) continue;
      holds = false;
      // Once for all shells, and not for ever.
      if (small.empty() && makes_small && ++made_small_ <= kMadeSmallMax)
        small = made_small(sandbox_, shell, line, misses);
      report(where, shell, line, misses, small.empty() ? line : small);
    }
    if (ran) ++count.ran;
    if (wrote) ++count.files;
    if (!in_time) ++count.timeouts;
    if (!holds) ++count.missed;
    return holds;
  }

  std::string misses = {};  // one JSON object in each line

 private:
  void report(const std::string& where, const std::string& shell, const std::string& line, Missed misses_of_line,
              const std::string& small) {
    Seen one = seen(small);
    if (small != line) {
      const Missed again = missed(one.parsed, one.effects, sandbox_.run(shell, small));
      if (!again.any()) return report(where, shell, line, std::move(misses_of_line), line);  // only for another shell
      misses_of_line = again;
    }
    misses += "{" + where + ", \"shell\": " + json_string(shell) + ", \"small\": " + json_string(small) +
              ", \"programs\": " + json_list(misses_of_line.programs) +
              ", \"commands\": " + json_list(misses_of_line.commands) +
              ", \"files\": " + json_list(misses_of_line.files) +
              ", \"listed\": " + json_list(programs_of(one.parsed)) + ", \"writes\": " + json_list(one.effects.writes) +
              ", \"line\": " + json_string(line) + "}\n";
  }

  Sandbox& sandbox_;
  std::vector<std::string> shells_;
  int made_small_ = 0;
};

// --- many lines -------------------------------------------------------------------------------------------------------

bool write_all(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(to, text.data(), text.size());
    if (size <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

// Draws until `options.count` lines were run; the numbers in one line, then the misses.
int run_drawn(Sandbox& sandbox, const Options& options, const std::vector<std::string>& shells, std::uint64_t seed,
              int to) {
  Comparison comparison(sandbox, shells);
  if (!comparison.checks_itself()) return 1;
  Count count;
  for (std::uint64_t index = 0; count.run < options.count && count.drawn < 20 * options.count; ++index) {
    const std::string line = drawn_line(seed, index);
    if (options.shows)
      std::fprintf(stderr, "%llu %s\n", static_cast<unsigned long long>(index), json_string(line).c_str());
    comparison.compare(line, "\"seed\": " + std::to_string(seed) + ", \"index\": " + std::to_string(index), count,
                       true);
  }
  return write_all(to, count.text() + "\n" + comparison.misses) ? 0 : 1;
}

int run_written(Sandbox& sandbox, const std::vector<std::string>& lines, const std::vector<std::string>& shells,
                int to) {
  Comparison comparison(sandbox, shells);
  if (!comparison.checks_itself()) return 1;
  Count count;
  for (const std::string& line : lines) comparison.compare(line, "\"written\": true", count, false);
  return write_all(to, count.text() + "\n" + comparison.misses) ? 0 : 1;
}

// Starts `work` in a sandbox in a process of its own; what it writes can be read from `from`.
struct Worker {
  pid_t process = -1;
  int from = -1;
  std::uint64_t shard = 0;
  std::string text = {};
};

Worker started(const fs::path& stub, std::uint64_t shard, const std::function<int(Sandbox&, int)>& work) {
  int pipe[2] = {-1, -1};
  if (::pipe2(pipe, O_CLOEXEC) != 0) std::perror("pipe"), std::exit(1);
  std::fflush(nullptr);
  const pid_t process = ::fork();
  if (process < 0) std::perror("fork"), std::exit(1);
  if (process == 0) {
    ::close(pipe[0]);
    ::_exit(Sandbox::in_new_one(stub, [&](Sandbox& sandbox) { return work(sandbox, pipe[1]); }));
  }
  ::close(pipe[1]);
  return {process, pipe[0], shard};
}

// Waits for the first of them to end; its exit status.
int ended(std::vector<Worker>& workers, Worker& out) {
  for (;;) {
    std::vector<pollfd> all;
    for (const Worker& one : workers) all.push_back({one.from, POLLIN, 0});
    if (::poll(all.data(), all.size(), -1) < 0) continue;
    for (std::size_t at = 0; at < all.size(); ++at) {
      if (all[at].revents == 0) continue;
      char buffer[4096];
      const ssize_t size = ::read(all[at].fd, buffer, sizeof(buffer));
      if (size > 0) {
        workers[at].text.append(buffer, static_cast<std::size_t>(size));
        continue;
      }
      ::close(all[at].fd);
      int status = 0;
      ::waitpid(workers[at].process, &status, 0);
      out = std::move(workers[at]);
      workers.erase(workers.begin() + static_cast<std::ptrdiff_t>(at));
      return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
    }
  }
}

struct Result {
  int status = 0;
  Count count = {};
  std::string misses = {};
};

Result result_of(int status, const std::string& text) {
  Result out{status};
  std::istringstream in(text);
  out.count = Count::of(in);
  if (const std::size_t end = text.find('\n'); end != std::string::npos) out.misses = text.substr(end + 1);
  else if (status == 0) out.status = 1;
  return out;
}

Result run_alone(const fs::path& stub, const std::function<int(Sandbox&, int)>& work) {
  std::vector<Worker> workers{started(stub, 0, work)};
  Worker worker;
  const int status = ended(workers, worker);
  return result_of(status, worker.text);
}

void print(const char* what, const Count& count) {
  std::printf(
      "%s: %llu lines read and run, of %llu (%llu opaque); %llu ran or wrote something (%.0f %%), %llu of them with "
      "known writes; "
      "%llu timed out; %llu missed\n",
      what, static_cast<unsigned long long>(count.run), static_cast<unsigned long long>(count.drawn),
      static_cast<unsigned long long>(count.opaque), static_cast<unsigned long long>(count.ran),
      count.drawn == 0 ? 0.0 : 100.0 * static_cast<double>(count.ran) / static_cast<double>(count.drawn),
      static_cast<unsigned long long>(count.files), static_cast<unsigned long long>(count.timeouts),
      static_cast<unsigned long long>(count.missed));
  std::fflush(stdout);
}

// A comparison in which little is read, or little runs, would hold for ever.
bool shows_something(const Options& options, const Count& count) {
  if (options.count < 1000 || count.ran * 3 >= count.drawn) return true;
  std::fprintf(stderr, "too few of the lines are read and do something: a third is wanted\n");
  return false;
}

// --- the soak ---------------------------------------------------------------------------------------------------------

// Of this program as it was built: results of another parser or other lines do not count.
std::string identity(const Options& options, const std::vector<std::string>& shells) {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  std::uint64_t hash = 0xcbf29ce484222325ull;
  char buffer[65536];
  while (in.read(buffer, sizeof(buffer)) || in.gcount() > 0) {
    for (std::streamsize at = 0; at < in.gcount(); ++at)
      hash = (hash ^ static_cast<unsigned char>(buffer[at])) * 0x100000001b3ull;
    if (in.gcount() < static_cast<std::streamsize>(sizeof(buffer))) break;
  }
  std::string out = "program " + std::to_string(hash) + " count " + std::to_string(options.count) + " shells";
  for (const std::string& shell : shells) out += " " + shell;
  return out;
}

constexpr std::uint64_t kFirstSeed = 1000;

class Soak {
 public:
  Soak(const Options& options, std::vector<std::string> shells) : options_(options), shells_(std::move(shells)) {}

  bool run() {
    fs::create_directories(options_.state);
    resume();
    std::vector<Worker> workers;
    const auto began = std::chrono::steady_clock::now();
    const std::uint64_t before = total_.run;
    std::uint64_t next = 0;
    bool holds = true;
    while (holds && (next < options_.shards || !workers.empty())) {
      while (next < options_.shards && workers.size() < options_.jobs) {
        const std::uint64_t shard = next++;
        if (done_.contains(shard)) continue;
        workers.push_back(started(options_.stub, shard, [&, shard](Sandbox& sandbox, int to) {
          return run_drawn(sandbox, options_, shells_, kFirstSeed + shard, to);
        }));
      }
      if (workers.empty()) break;
      Worker worker;
      const int status = ended(workers, worker);
      const Result result = result_of(status, worker.text);
      if (result.status != 0) {
        std::fprintf(stderr, "shard %llu ended with status %d\n", static_cast<unsigned long long>(worker.shard),
                     result.status);
        holds = false;
        continue;
      }
      keep(worker.shard, result);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
      std::printf("%zu of %llu shards, %llu lines, %.0f lines/s, %llu missed\n", done_.size(),
                  static_cast<unsigned long long>(options_.shards), static_cast<unsigned long long>(total_.run),
                  static_cast<double>(total_.run - before) / took.count(),
                  static_cast<unsigned long long>(total_.missed));
      std::fflush(stdout);
    }
    print("all", total_);
    if (total_.missed > 0) std::fprintf(stderr, "the misses are in %s\n", (options_.state / "misses.jsonl").c_str());
    return holds && total_.missed == 0 && shows_something(options_, total_);
  }

 private:
  void resume() {
    const std::string mine = identity(options_, shells_);
    std::ifstream in(options_.state / "state");
    std::string line;
    if (std::getline(in, line) && line == mine) {
      while (std::getline(in, line)) {
        std::istringstream fields(line);
        std::uint64_t shard = 0;
        fields >> shard;
        const Count count = Count::of(fields);
        if (!fields || shard >= options_.shards || !done_.insert(shard).second)
          continue;  // stopped while it was written
        total_.add(count);
      }
      std::printf("going on: %zu of %llu shards are done\n", done_.size(),
                  static_cast<unsigned long long>(options_.shards));
    } else {
      std::ofstream(options_.state / "state") << mine << "\n";
      std::ofstream(options_.state / "misses.jsonl", std::ios::trunc);
    }
  }
  void keep(std::uint64_t shard, const Result& result) {
    std::ofstream(options_.state / "misses.jsonl", std::ios::app) << result.misses;
    std::ofstream(options_.state / "state", std::ios::app) << shard << ' ' << result.count.text() << std::endl;
    std::fputs(result.misses.c_str(), stderr);
    done_.insert(shard);
    total_.add(result.count);
  }

  const Options& options_;
  std::vector<std::string> shells_;
  std::set<std::uint64_t> done_ = {};
  Count total_ = {};
};

// --- the program --------------------------------------------------------------------------------------------------------

int show_line(Sandbox& sandbox, const std::string& line, const std::vector<std::string>& shells) {
  const Seen one = seen(line);
  std::printf("%s\n", json_string(line).c_str());
  for (const Opaque reason : one.effects.because) std::printf("  opaque: %s\n", std::string(name_of(reason)).c_str());
  std::printf("  listed: %s\n  writes%s: %s\n", json_list(programs_of(one.parsed)).c_str(),
              one.effects.writes_known ? "" : " (not known)", json_list(one.effects.writes).c_str());
  for (const std::string& shell : shells) {
    const Observed observed = sandbox.run(shell, line);
    std::printf("  %s%s\n", shell.c_str(), observed.timed_out ? " (timed out)" : "");
    for (const Ran& ran : observed.ran)
      std::printf("    ran %s %s\n", ran.name.c_str(), json_list(ran.arguments).c_str());
    for (const Change& change : observed.changes)
      std::printf("    %s %s\n",
                  change.kind == Change::Kind::Created   ? "created"
                  : change.kind == Change::Kind::Removed ? "removed"
                  : change.kind == Change::Kind::Touched ? "touched"
                                                         : "changed",
                  change.path.c_str());
    const Missed misses = missed(one.parsed, one.effects, observed);
    std::printf("    missed: programs %s, commands %s, files %s\n", json_list(misses.programs).c_str(),
                json_list(misses.commands).c_str(), json_list(misses.files).c_str());
  }
  return 0;
}

std::uint64_t number(const char* text) { return std::strtoull(text, nullptr, 10); }

bool read_options(int argc, char** argv, Options& out) {
  for (int at = 1; at < argc; ++at) {
    const std::string_view option = argv[at];
    if (option == "--require-shells") out.requires_shells = true;
    else if (option == "--show") out.shows = true;
    else if (at + 1 >= argc) return false;
    else if (option == "--stub") out.stub = argv[++at];
    else if (option == "--lines") out.lines = argv[++at];
    else if (option == "--state") out.state = argv[++at];
    else if (option == "--seed") out.seed = number(argv[++at]);
    else if (option == "--count") out.count = number(argv[++at]);
    else if (option == "--shards") out.shards = number(argv[++at]);
    else if (option == "--jobs") out.jobs = std::max<std::uint64_t>(number(argv[++at]), 1);
    else if (option == "--line") out.line = argv[++at];
    else return false;
  }
  return !out.stub.empty() && (out.state.empty() || out.shards > 0);
}

bool read_lines(const fs::path& file, std::vector<std::string>& out) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const auto document = json::parse_owned(text.str());
  if (!document) return false;
  for (const json::Node line : document->root()["lines"].elements()) out.emplace_back(line.string());
  return true;
}

int run(int argc, char** argv) {
  Options options;
  if (!read_options(argc, argv, options)) return std::fprintf(stderr, "wrong use; main.cc says how\n"), 2;
  const std::vector<std::string> shells = installed_shells();
  for (const char* name : {"bash", "dash", "zsh"})
    if (std::ranges::find(shells, name) == shells.end()) {
      std::fprintf(stderr, "%s is not installed: it is not compared\n", name);
      if (options.requires_shells) return 1;
    }
  if (std::ranges::find(shells, "bash") == shells.end()) return 77;
  if (!options.line.empty())
    return Sandbox::in_new_one(options.stub,
                               [&](Sandbox& sandbox) { return show_line(sandbox, options.line, shells); });
  bool holds = true;
  if (!options.lines.empty()) {
    std::vector<std::string> written;
    if (!read_lines(options.lines, written)) return std::fprintf(stderr, "%s is not JSON\n", options.lines.c_str()), 2;
    const Result result =
        run_alone(options.stub, [&](Sandbox& sandbox, int to) { return run_written(sandbox, written, shells, to); });
    if (result.status == 77) return options.requires_shells ? 1 : 77;
    print("written", result.count);
    std::fputs(result.misses.c_str(), stderr);
    holds = result.status == 0 && result.count.missed == 0;
  }
  if (!options.state.empty()) {
    Soak soak(options, shells);
    return soak.run() && holds ? 0 : 1;
  }
  if (options.count > 0) {
    const auto began = std::chrono::steady_clock::now();
    const Result result = run_alone(
        options.stub, [&](Sandbox& sandbox, int to) { return run_drawn(sandbox, options, shells, options.seed, to); });
    if (result.status == 77) return options.requires_shells ? 1 : 77;
    print("drawn", result.count);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::printf("%.0f lines/s\n", static_cast<double>(result.count.run) / took.count());
    std::fputs(result.misses.c_str(), stderr);
    holds = holds && result.status == 0 && result.count.missed == 0 && shows_something(options, result.count);
  }
  return holds ? 0 : 1;
}

}  // namespace
}  // namespace baton::shell

int main(int argc, char** argv) { return baton::shell::run(argc, argv); }
