// SPDX-License-Identifier: Apache-2.0
// The files that `baton adopt` reads and changes, one operation at a time. Behind an interface, so that a test can let any one of them fail, or be
// the last.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace baton::adoption {

struct Seen {
  bool exists = false;
  std::string text;
  unsigned mode = 0;        // the permission bits
  bool is_another = false;  // it belongs to another user
};

class Disk {
 public:
  virtual ~Disk() = default;
  // A plain file, through links; one that is not there is none that fails. Failures: no permission, not a file, too large.
  virtual Result<Seen> read(const std::string& path) = 0;
  // Where a path leads: links followed, also those of its folders. A link to nothing fails; what is not there stays as it is.
  virtual Result<std::string> real_path(const std::string& path) = 0;
  // A new file, on disk when it returns. What is there under the name is taken away: names of this kind are Baton's own.
  virtual Result<void> put(const std::string& path, const std::string& text, unsigned mode) = 0;
  // In one step, also over a file that is there; on disk when it returns.
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> remove(const std::string& path) = 0;  // what is not there is removed
  // False: it was there.
  virtual Result<bool> make_folder(const std::string& path, unsigned mode) = 0;
  // Unless there is something in it.
  virtual Result<void> remove_folder(const std::string& path) = 0;
  // The names in a folder, sorted; none when it is not there.
  virtual Result<std::vector<std::string>> list(const std::string& path) = 0;
  virtual bool can_execute(const std::string& path) = 0;
};

class RealDisk final : public Disk {
 public:
  Result<Seen> read(const std::string& path) override;
  Result<std::string> real_path(const std::string& path) override;
  Result<void> put(const std::string& path, const std::string& text, unsigned mode) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<bool> make_folder(const std::string& path, unsigned mode) override;
  Result<void> remove_folder(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  bool can_execute(const std::string& path) override;
};

}  // namespace baton::adoption
