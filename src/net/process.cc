// SPDX-License-Identifier: Apache-2.0
#include "net/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string>

#include "base/limits.h"
#include "base/text.h"

namespace baton::net {
namespace {

// Counted as proc(5) does: the process id is 1, the name in parentheses 2.
constexpr std::size_t kParentField = 4, kGroupField = 5, kSessionField = 6, kTerminalField = 7, kForegroundField = 8,
                      kFirstTicksField = 14, kLastTicksField = 17, kStartField = 22;

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<ProcessStat> read_stat(std::int64_t pid) {
  if (pid <= 0) return std::nullopt;
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::array<char, 4096> buffer;  // a line has some hundred bytes, and the kernel gives it in one read
  ssize_t size;
  do size = ::read(file, buffer.data(), buffer.size());
  while (size < 0 && errno == EINTR);
  ::close(file);
  if (size <= 0) return std::nullopt;
  auto stat = parse_process_stat({buffer.data(), static_cast<std::size_t>(size)});
  if (stat && stat->id.pid != pid) return std::nullopt;
  return stat;
}

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view line) {
  // The name may hold anything, `) 1 (` included: it ends at the last parenthesis.
  const std::size_t open = line.find(" ("), close = line.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  if (line.substr(close).size() < 2) return std::nullopt;
  std::string_view rest = line.substr(close + 2);
  while (rest.ends_with('\n')) rest.remove_suffix(1);
  const std::vector<std::string_view> fields = split(rest, ' ');  // from field 3 on
  ProcessStat stat;
  if (fields.size() <= kStartField - 3 || !read_number(line.substr(0, open), stat.id.pid) ||
      !read_number(fields[kParentField - 3], stat.parent) || !read_number(fields[kStartField - 3], stat.id.start_ticks))
    return std::nullopt;
  if (!read_number(fields[kGroupField - 3], stat.group) || !read_number(fields[kSessionField - 3], stat.session) ||
      !read_number(fields[kTerminalField - 3], stat.terminal) ||
      !read_number(fields[kForegroundField - 3], stat.foreground))
    return std::nullopt;
  for (std::size_t field = kFirstTicksField; field <= kLastTicksField; ++field) {
    std::uint64_t ticks = 0;
    if (read_number(fields[field - 3], ticks)) stat.processor_ticks += ticks;
  }
  return stat;
}

std::vector<RunningProcess> running_processes() {
  constexpr std::size_t kCommandLineMax = 4096;
  std::vector<RunningProcess> out;
  DIR* const folder = ::opendir("/proc");
  if (folder == nullptr) return out;
  while (const dirent* const entry = ::readdir(folder)) {
    std::int64_t pid = 0;
    if (!read_number(std::string_view(entry->d_name), pid)) continue;
    const auto stat = read_stat(pid);
    if (!stat) continue;
    RunningProcess process{*stat};
    const std::string path = "/proc/" + std::to_string(pid) + "/cmdline";
    if (const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC); file >= 0) {
      std::string text(kCommandLineMax, '\0');
      const ssize_t size = ::read(file, text.data(), text.size());
      ::close(file);
      text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
      for (const std::string_view word : split(text, '\0')) process.words.emplace_back(word);
    }
    out.push_back(std::move(process));
  }
  ::closedir(folder);
  return out;
}

std::uint64_t group_processor_ticks(std::int64_t group) {
  std::uint64_t ticks = 0;
  DIR* const folder = ::opendir("/proc");
  if (folder == nullptr) return 0;
  while (const dirent* const entry = ::readdir(folder)) {
    std::int64_t pid = 0;
    if (!read_number(std::string_view(entry->d_name), pid)) continue;
    if (const auto stat = read_stat(pid); stat && stat->group == group) ticks += stat->processor_ticks;
  }
  ::closedir(folder);
  return ticks;
}

std::optional<ProcessId> process_id(std::int64_t pid) {
  const auto stat = read_stat(pid);
  return stat ? std::optional(stat->id) : std::nullopt;
}

bool Ancestry::contains(const ProcessId& process) const {
  return std::ranges::find(processes, process) != processes.end();
}

Ancestry ancestry(std::int64_t pid) {
  Ancestry found;
  while (found.processes.size() < limits::kProcessStepsMax) {
    const auto stat = read_stat(pid);
    // A parent that began after its child is another process that was given the number meanwhile.
    if (!stat || (!found.processes.empty() && stat->id.start_ticks > found.processes.back().start_ticks)) return found;
    found.processes.push_back(stat->id);
    if (pid == 1 || stat->parent == 0) {
      found.complete = true;
      return found;
    }
    pid = stat->parent;
  }
  return found;
}

Ancestry AncestryCache::above(std::int64_t pid) {
  constexpr std::size_t kKnownMax = 1024;
  std::vector<ProcessStat> read;  // from below, up to the first that is known
  Ancestry found;
  while (read.size() < limits::kProcessStepsMax) {
    const auto stat = read_stat(pid);
    if (!stat || (!read.empty() && stat->id.start_ticks > read.back().id.start_ticks)) break;
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = known_.find(pid); known != known_.end() && known->second.parent == stat->parent &&
                                               known->second.ancestry.processes.front() == stat->id) {
        found = known->second.ancestry;
        break;
      }
    }
    read.push_back(*stat);
    if (pid == 1 || stat->parent == 0) {
      found.complete = true;
      break;
    }
    pid = stat->parent;
  }
  // Put together from above, and kept at each step: who asks next may be another child of one of these.
  const bool is_long = found.processes.size() + read.size() > limits::kProcessStepsMax;
  if (is_long) found.complete = false;
  const std::lock_guard lock(mutex_);
  for (auto stat = read.rbegin(); stat != read.rend(); ++stat) {
    found.processes.insert(found.processes.begin(), stat->id);
    if (!found.complete) continue;
    if (known_.size() >= kKnownMax) known_.clear();
    known_.insert_or_assign(stat->id.pid, Known{stat->parent, found});
  }
  return found;
}

}  // namespace baton::net
