// SPDX-License-Identifier: Apache-2.0
// Changes several files, all of them or none.
//
// Before anything is touched, a journal with what every file is and is to be lies in the adoption's folder, with the texts. A change that
// fails is taken back at once; one that was broken off (the process was killed, the power went) is taken back by whoever comes next. A file that
// somebody else has changed in between is left as it is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "adoption/disk.h"
#include "adoption/record.h"

namespace baton::adoption {

struct FileChange {
  std::string path;                     // absolute, links followed
  std::optional<std::string> from, to;  // the texts; nothing: it is not there
  unsigned mode = 0644;
};

class Folder {
 public:
  // `path`: the folder of all adoptions of a store.
  Folder(Disk& disk, std::string path) : disk_(disk), path_(std::move(path)) {}

  std::string of(const std::string& id) const { return path_ + "/" + id; }

  // Takes back what was broken off, and clears away what nothing refers to. The ids of those that were.
  Result<std::vector<std::string>> recover();

  // Is there something to be taken back?
  bool is_broken_off(const std::string& id);

  Result<std::vector<Record>> all();
  Result<std::optional<Record>> find(const std::string& id);
  // A text of an adoption; a Failure when it is not there or is another one.
  Result<std::string> text(const std::string& id, const std::string& sha256);

  // `next`: the record afterwards; nothing: there is none any more. `texts` are kept for it, beside those of the changes.
  Result<void> carry_out(const std::string& id, const std::vector<FileChange>& changes,
                         const std::optional<Record>& next, const std::vector<std::string>& texts,
                         const std::vector<std::string>& new_folders);

 private:
  Result<void> apply(const std::string& id, const std::vector<FileChange>& changes, const std::optional<Record>& next,
                     const std::vector<std::string>& new_folders, const std::vector<std::string>& old_folders);
  Result<void> write(const std::string& path, const std::string& text, unsigned mode);
  Result<void> keep(const std::string& id, const std::string& text);
  // By its journal, if there is one. False: there was none.
  Result<bool> take_back(const std::string& id);
  Result<void> tidy(const std::string& id);

  Disk& disk_;
  const std::string path_;
};

}  // namespace baton::adoption
