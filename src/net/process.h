// SPDX-License-Identifier: Apache-2.0
// Who is behind a process id, by the word of the kernel (/proc). Linux only.
//
// A process id is used again after its process has ended; with the time the process began it is not mistaken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace baton::net {

struct ProcessId {
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;  // after boot, in the kernel's clock ticks: field 22 of /proc/<pid>/stat

  bool operator==(const ProcessId&) const = default;
};

// Nothing when there is no such process, or its state cannot be read.
std::optional<ProcessId> process_id(std::int64_t pid);

// A process and those above it.
struct Ancestry {
  std::vector<ProcessId> processes;  // itself first
  // Was the last one the top (process 1, or one whose parent is outside this process namespace)? When not, a step could not
  // be read, a parent ended meanwhile, or there were more than 128 steps: what is above is unknown, and the caller must
  // take it for the worst.
  bool complete = false;

  bool contains(const ProcessId& process) const;
};
Ancestry ancestry(std::int64_t pid);

// The same for somebody who asks again and again about processes of one family, as a node does that is asked by hooks: a process is
// looked at each time, and so are those above it up to the first that is known and still has the same parent; what is above that one is
// remembered. A process further up that has ended meanwhile is still among them; one that was never above it cannot come in between,
// since orphans are given to one of their ancestors. So whoever was a descendant stays one. May be used by any thread.
class AncestryCache {
 public:
  Ancestry above(std::int64_t pid);

 private:
  struct Known {
    std::int64_t parent = 0;
    Ancestry ancestry;
  };
  std::mutex mutex_;
  std::unordered_map<std::int64_t, Known> known_;  // complete ones
};

// How much of the processor the processes of a group have used so far, those included that they have waited for; in the kernel's clock
// ticks. For telling one that works from one that does nothing: a process that ends takes its part with it, so the number may fall.
std::uint64_t group_processor_ticks(std::int64_t group);

// What a stat line says. Pure; nothing when it is not one. The name in it may hold spaces and parentheses.
struct ProcessStat {
  ProcessId id;
  std::int64_t parent = 0;
  std::int64_t group = 0;
  std::int64_t session = 0;           // the process id of its leader
  std::int64_t terminal = 0;          // the number of the controlling terminal; 0: there is none
  std::int64_t foreground = -1;       // the group in the foreground of that terminal
  std::uint64_t processor_ticks = 0;  // user and system, its own and those of children it has waited for
};
std::optional<ProcessStat> parse_process_stat(std::string_view line);

// A process with its command line. The command line is the process's own word, and empty where it may not be read.
struct RunningProcess {
  ProcessStat stat;
  std::vector<std::string> words = {};
};
// All processes that can be seen.
std::vector<RunningProcess> running_processes();

}  // namespace baton::net
