// SPDX-License-Identifier: Apache-2.0
// Who is behind a process id, by the word of the kernel (/proc). Linux only.
//
// A process id is used again after its process has ended; with the time the process began it is not mistaken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
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

// What a stat line says. Pure; nothing when it is not one. The name in it may hold spaces and parentheses.
struct ProcessStat {
  ProcessId id;
  std::int64_t parent = 0;
};
std::optional<ProcessStat> parse_process_stat(std::string_view line);

}  // namespace baton::net
