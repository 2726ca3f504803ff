// SPDX-License-Identifier: Apache-2.0
// Runs a command line under a real shell where it can do no harm, and reports what it did.
//
// The sandbox is a user, mount, process, network and IPC namespace with a root of its own in memory. All that is there: the
// system's libraries (read-only), programs that log themselves (stub.cc), /dev/null, and a small tree of files in /home and
// /tmp that can be written. After each line all processes are killed and the tree is made as it was.
//
// Not thread safe; one for each process. Linux only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace baton::shell {

constexpr const char* kWorkFolder = "/home/u/p";  // in which every line is run

struct Ran {
  std::string name = {};
  std::vector<std::string> arguments = {};
  bool is_cut = false;  // some arguments are missing
};

struct Change {
  enum class Kind : std::uint8_t {
    Created,
    Changed,
    Removed,
    Touched
  };  // Touched: the time of a folder's change, or of a file's attributes
  std::string path = {};
  Kind kind = Kind::Changed;
  bool is_folder = false;
};

struct Observed {
  std::vector<Ran> ran = {};
  std::vector<Change> changes = {};
  bool timed_out = false;
};

// The shells that are installed, of bash, dash and zsh.
std::vector<std::string> installed_shells();

class Sandbox {
 public:
  // Calls `work` in a new process inside a sandbox and returns its exit status: 0 to 255, or 77 with a message on stderr when
  // this system allows no such namespaces. File descriptors that are open now stay open in it.
  static int in_new_one(const std::filesystem::path& stub, const std::function<int(Sandbox&)>& work);

  Observed run(const std::string& shell, const std::string& line);

 private:
  struct Entry {
    std::uint64_t inode = 0, links = 0, size = 0;
    std::uint32_t mode = 0, owner = 0, group = 0;
    std::int64_t modified = 0, changed = 0;  // in nanoseconds
    std::string target = {};                 // of a symbolic link
  };
  using Tree = std::map<std::string, Entry>;

  Sandbox();
  static void look(const std::string& folder, Tree& out);
  static Tree look();
  static std::vector<Change> changes(const Tree& before, const Tree& after);
  static void make_files();
  bool wait_for_all(int child);
  std::vector<Ran> read_log() const;

  int log_ = -1;
  bool is_clean_ = false;
  Tree files_ = {};
};

}  // namespace baton::shell
