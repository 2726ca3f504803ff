// SPDX-License-Identifier: Apache-2.0
// Inside protection: which paths are protected, by their names and by where they are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protection/protection.h"
#include "protection/spelling.h"

namespace baton::protection {

enum class Guard : std::uint8_t { None, Fixed, Secret };

class Guarded {
 public:
  // `cwd`: where relative paths are taken; empty: in each folder that holds a store, and at home. A path of several names, such as
  // `contracts/x.yaml`, is then also taken beside what is protected.
  Guarded(const Paths& paths, std::string_view cwd);

  // Of one path as it is spelled, in every folder where it may be taken. Links are followed. `dots`: wildcards fit a dot at the beginning too.
  struct Found {
    Guard guard = Guard::None;
    bool holds_secret = false, holds = false;  // something protected lies in it
    bool holds_by_name = false;                // a folder of settings, wherever it lies
    std::string path;                          // absolute, where that is known
  };
  // `folders`: where a relative path is taken instead.
  // A path over kPathBytesMax touches each protected name that begins anywhere in it; with wildcards in it, it exhausts the work of the call.
  Found find(std::string_view path, const std::vector<std::string>* folders = nullptr);
  // The same for each spelling of a text: the gravest. Both find nothing more once the work of the call is exhausted.
  Found find_any(std::string_view text, const std::vector<std::string>* folders = nullptr);

  // Does a protected name stand in the text? Begins: whatever follows it. AsPath: a folder's name counts with a slash behind it.
  enum class Mention : std::uint8_t { Whole, Begins, AsPath };
  Guard mentioned(std::string_view text, Mention how) const;
  // Does the name of a folder that holds protected files end a path in the text?
  bool mentions_folder(std::string_view text, Mention how = Mention::Whole) const;
  // Does a statement of a text that is run do something to such a folder as a whole? The text counts as work.
  bool handles_folder(std::string_view text);
  // May a pattern of git's, whose wildcards fit slashes and dots as well, be a protected path in one of the folders?
  bool fits_tracked(std::string_view pattern, const std::vector<std::string>& folders) const;
  // Is it a project with a store of its own, or in one?
  bool is_in_project(std::string_view folder) const;

  // The caller refuses the call then.
  bool is_exhausted() const { return lookups_ > kLookupsMax || work_ > kWorkMax; }
  // Counts bytes that the caller reads itself against the work of the call.
  void count_work(std::size_t bytes) { work_ += bytes; }
  void exhaust() { work_ = kWorkMax + 1; }
  const std::vector<std::string>& folders() const { return folders_; }
  const std::string& home() const { return home_; }
  bool dots = false;  // wildcards fit a dot at the beginning (`dotglob`)

 private:
  static constexpr std::size_t kLookupsMax = 5000;   // of paths in the file system
  static constexpr std::size_t kWorkMax = 8u << 20;  // of a call: bytes of paths, each as often as it is compared
  static constexpr std::size_t kBesideMax = 4;
  struct Place {
    Parts parts;
    std::string text;  // folded, with slashes between
    Guard guard;
  };

  Found find_in_long(std::string_view path);
  void judge(const Parts& parts, Found& found) const;
  void follow(const std::string& path, Found& found);
  void judge_pattern(const std::vector<std::string>& names, bool is_absolute, Found& found) const;

  const Links* links_;
  const std::string home_;
  std::vector<std::string> folders_, projects_, beside_;
  std::vector<Place> places_;
  std::size_t lookups_ = 0, work_ = 0;
};

}  // namespace baton::protection
