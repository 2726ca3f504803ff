// SPDX-License-Identifier: Apache-2.0
#include "adoption/adopter.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/sha256.h"
#include "base/text.h"

namespace baton::adoption {
namespace {

namespace fs = std::filesystem;

constexpr int kLockTries = 200, kLockPauseMs = 50;
constexpr unsigned kOwnerMayWrite = 0200;
constexpr std::string_view kRules = "RULES.md";

std::string shown(const adopt::Place& place) {
  return (place.base == adopt::Base::Home ? "~/" : "") + std::string(place.path);
}

const RecordedFile* find_file(const std::optional<Record>& record, const std::string& path) {
  if (!record) return nullptr;
  const auto found = std::find_if(record->files.begin(), record->files.end(),
                                  [&](const RecordedFile& file) { return file.path == path; });
  return found == record->files.end() ? nullptr : &*found;
}

bool has_file(const Record& record, const std::string& path) {
  return std::any_of(record.files.begin(), record.files.end(),
                     [&](const RecordedFile& file) { return file.path == path; });
}

void put_file(Record& record, RecordedFile file) {
  for (RecordedFile& one : record.files)
    if (one.path == file.path) {
      one = std::move(file);
      return;
    }
  record.files.push_back(std::move(file));
}

// Nothing but brackets, blanks and comments: what is left of a file that Baton made.
bool is_hollow(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return std::string_view(" \t\r\n{}").find(c) != std::string_view::npos; });
}

}  // namespace

std::string path_of(const adopt::Place& place, const adopt::Options& options,
                    const std::function<std::optional<std::string>(const char*)>& environment) {
  if (place.base == adopt::Base::Project) return options.project + "/" + std::string(place.path);
  struct Moved {
    std::string_view front;
    const char* variable;
    std::string_view keeps;  // of the front, below the folder that the variable names
  };
  static constexpr Moved kMoved[] = {{".claude.json", "CLAUDE_CONFIG_DIR", ".claude.json"},
                                     {".claude/", "CLAUDE_CONFIG_DIR", ""},
                                     {".codex/", "CODEX_HOME", ""},
                                     {".copilot/", "COPILOT_HOME", ""},
                                     {".config/", "XDG_CONFIG_HOME", ""},
                                     {".gemini/", "GEMINI_CLI_HOME", ".gemini/"}};
  for (const Moved& one : kMoved) {
    if (!place.path.starts_with(one.front)) continue;
    const std::string folder = environment ? environment(one.variable).value_or("") : "";
    if (folder.starts_with('/'))
      return folder + "/" + std::string(one.keeps) + std::string(place.path.substr(one.front.size()));
  }
  return options.home + "/" + std::string(place.path);
}

Result<Lock> Lock::take(const std::string& store, For what) {
  const std::string folder = store + "/adopted", path = folder + "/.lock", doing = "locking " + folder;
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return failure(doing, std::generic_category().message(errno));
  Descriptor descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!descriptor) return failure(doing, std::generic_category().message(errno));
  for (int tries = 0; ::flock(descriptor.get(), (what == For::Changing ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK && errno != EINTR) return failure(doing, std::generic_category().message(errno));
    if (tries >= kLockTries) return failure(doing, "another `baton adopt` is at work");
    static_cast<void>(::poll(nullptr, 0, kLockPauseMs));
  }
  return Lock(std::move(descriptor));
}

std::string rules_text(hooks::Client client, const std::vector<std::string>& carried,
                       const std::vector<std::string>& not_carried, const std::vector<std::string>& left_alone) {
  std::string out = "# What became of the rules of " + std::string(hooks::client_name(client)) +
                    "\n\nMade by `baton adopt`. Rules of the client stay in its settings and in force there.\n";
  const auto list = [&](std::string_view title, const std::vector<std::string>& lines) {
    out += "\n## " + std::string(title) + "\n\n";
    if (lines.empty()) out += "None.\n";
    for (const std::string& line : lines) out += "- " + line + "\n";
  };
  list("Not carried", not_carried);
  list("Carried", carried);
  list("Not wired", left_alone);
  return out;
}

Result<std::vector<adopt::File>> Adopter::read_files(hooks::Client client, const std::vector<std::string>& paths) {
  std::vector<adopt::File> out;
  const std::vector<adopt::Place> places = adopt::places_of(client);
  for (std::size_t at = 0; at < places.size() && at < paths.size(); ++at) {
    auto seen = disk_.read(paths[at]);
    if (!seen) return tl::make_unexpected(seen.error());
    out.push_back({places[at], seen->exists, std::move(seen->text)});
  }
  return out;
}

Result<bool> Adopter::is_used(const Wanted& wanted) {
  std::vector<std::string> paths;
  for (const adopt::Place& place : adopt::places_of(wanted.client))
    paths.push_back(path_of(place, wanted.options, wanted.environment));
  const auto files = read_files(wanted.client, paths);
  if (!files) return tl::make_unexpected(files.error());
  return adopt::is_used(*files);
}

Result<std::vector<adopt::Server>> Adopter::servers(const Wanted& wanted) {
  std::vector<std::string> paths;
  for (const adopt::Place& place : adopt::places_of(wanted.client))
    paths.push_back(path_of(place, wanted.options, wanted.environment));
  const auto files = read_files(wanted.client, paths);
  if (!files) return tl::make_unexpected(files.error());
  adopt::Options options = wanted.options;
  options.secrets = "/";  // what would be written is not
  return adopt::adopt(wanted.client, *files, options).reached;
}

Result<Plan> Adopter::plan(const Wanted& wanted) {
  Plan plan;
  const std::string id = id_of(wanted.client, wanted.options.project);
  auto previous = folder_.find(id);
  if (!previous) return tl::make_unexpected(previous.error());
  Record& next = plan.next;
  if (*previous) next = **previous;
  plan.is_new = !*previous;
  next.id = id;
  next.client = wanted.client;
  next.options = wanted.options;
  if (*previous && !wanted.servers_asked) next.options.tools = (*previous)->options.tools;
  next.options.secrets = folder_.of(id) + "/headers";
  if (!wanted.pack.empty()) next.pack = wanted.pack;
  if (next.pack.empty())
    next.pack =
        store_ + "/packs/" + std::string(hooks::client_name(wanted.client)) + "-" + id.substr(id.rfind('-') + 1, 6);
  next.paths.clear();
  for (const adopt::Place& place : adopt::places_of(wanted.client)) {
    auto real = disk_.real_path(path_of(place, wanted.options, wanted.environment));
    if (!real) return tl::make_unexpected(real.error());
    next.paths.push_back(std::move(*real));
  }
  if (*previous && (*previous)->pack != next.pack)
    return failure("adopting " + std::string(hooks::client_name(wanted.client)),
                   "its pack is in " + (*previous)->pack + "; `--undo` first to have it elsewhere");
  const auto files = read_files(wanted.client, next.paths);
  if (!files) return tl::make_unexpected(files.error());

  adopt::Options options = next.options;
  options.wired = next.servers;
  const adopt::Adoption adoption = adopt::adopt(wanted.client, *files, options);
  const std::vector<std::string>& broken = adoption.unreadable.empty() ? adoption.unhooked : adoption.unreadable;
  if (!broken.empty())
    return failure("adopting " + std::string(hooks::client_name(wanted.client)),
                   join(broken, "; ") + "; nothing was changed");
  next.servers = adoption.servers;
  plan.lines = adoption.changes;
  plan.left_alone = adoption.left_alone;
  plan.carried = adoption.pack.carried;
  plan.not_carried = adoption.pack.not_carried;
  if (auto planned = plan_secrets(adoption, *previous, plan); !planned) return tl::make_unexpected(planned.error());
  if (auto planned = plan_settings(adoption, *previous, plan); !planned) return tl::make_unexpected(planned.error());
  if (auto planned = plan_pack(adoption, *previous, plan); !planned) return tl::make_unexpected(planned.error());
  if (!plan.is_nothing()) next.by = wanted.by, next.at = wanted.at;
  return plan;
}

Result<void> Adopter::plan_settings(const adopt::Adoption& adoption, const std::optional<Record>& previous,
                                    Plan& plan) {
  const std::vector<adopt::Place> places = adopt::places_of(plan.next.client);
  for (const adopt::Edit& edit : adoption.edits) {
    const std::string place = shown(edit.place);
    std::size_t at = 0;
    while (shown(places[at]) != place) ++at;
    const std::string& path = plan.next.paths[at];
    const auto seen = disk_.read(path);
    if (!seen) return tl::make_unexpected(seen.error());
    if (seen->exists && seen->is_another)
      return failure("changing " + path, "it belongs to another user; nothing was changed");
    if (seen->exists && (seen->mode & kOwnerMayWrite) == 0)
      return failure("changing " + path,
                     "it is read-only; nothing was changed. Let it be written (chmod u+w), or wire it by hand");
    RecordedFile file{.of = Of::Settings,
                      .place = place,
                      .path = path,
                      .existed = edit.existed,
                      .mode = seen->exists ? seen->mode : 0644u,
                      .before = {},
                      .after = sha256_hex(edit.after)};
    std::string before = edit.before;
    bool keeps_record = false;
    // Wired before: the original is what the file is now without our part, where that can be told; else what it was.
    if (const RecordedFile* old = find_file(previous, path)) {
      file.existed = old->existed;
      const auto old_before = old->before.empty() ? Result<std::string>("") : folder_.text(previous->id, old->before);
      const auto old_after = folder_.text(previous->id, old->after);
      if (!old_before) return tl::make_unexpected(old_before.error());
      if (!old_after) return tl::make_unexpected(old_after.error());
      if (!edit.existed) before = *old_before;
      else if (auto bare = adopt::undo({edit.place, true, *old_before, *old_after}, edit.before))
        before = std::move(*bare);
      else keeps_record = true;
    }
    if (!keeps_record) {
      if (file.existed) file.before = sha256_hex(before), plan.texts.push_back(std::move(before));
      plan.texts.push_back(edit.after);
      put_file(plan.next, file);
    }
    plan.changes.push_back({path, edit.existed ? std::optional(edit.before) : std::nullopt, edit.after, file.mode});
    if (!edit.existed)
      if (auto made = need_folders(path, plan); !made) return made;
  }
  return {};
}

Result<void> Adopter::plan_secrets(const adopt::Adoption& adoption, const std::optional<Record>& previous, Plan& plan) {
  for (const adopt::SecretFile& secret : adoption.secrets) {
    const auto seen = disk_.read(secret.path);
    if (!seen) return tl::make_unexpected(seen.error());
    if (seen->exists && find_file(previous, secret.path) == nullptr)
      return failure("writing " + secret.path, "it is there already");
    put_file(plan.next, {Of::Secret, {}, secret.path, false, 0600, {}, sha256_hex(secret.text)});
    if (seen->exists && seen->text == secret.text) continue;
    plan.texts.push_back(secret.text);
    plan.changes.push_back({secret.path, seen->exists ? std::optional(seen->text) : std::nullopt, secret.text, 0600});
    if (!seen->exists)
      if (auto made = need_folders(secret.path, plan); !made) return made;
  }
  return {};
}

Result<void> Adopter::plan_pack(const adopt::Adoption& adoption, const std::optional<Record>& previous, Plan& plan) {
  std::vector<std::pair<std::string, std::string>> files = adoption.pack.files;
  files.emplace_back(kRules, rules_text(plan.next.client, plan.carried, plan.not_carried, plan.left_alone));
  const auto there = disk_.list(plan.next.pack);
  if (!there) return tl::make_unexpected(there.error());
  if (!previous && !there->empty())
    return failure("writing the pack", plan.next.pack + " is not empty; name another folder with --pack");
  // Whoever changed a file of it, or took one out, or put one in, has taken it over.
  std::size_t ours = 0;
  if (previous)
    for (const RecordedFile& file : previous->files) {
      if (file.of != Of::Pack) continue;
      ++ours;
      const auto seen = disk_.read(file.path);
      if (!seen) return tl::make_unexpected(seen.error());
      if (!seen->exists || sha256_hex(seen->text) != file.after) plan.pack_kept = true;
    }
  if (previous && ours != there->size()) plan.pack_kept = true;
  if (plan.pack_kept) return {};
  std::vector<RecordedFile> kept;
  for (const RecordedFile& file : plan.next.files)
    if (file.of != Of::Pack) kept.push_back(file);
  plan.next.files = std::move(kept);
  for (const auto& [name, text] : files) {
    const std::string path = plan.next.pack + "/" + name;
    const auto seen = disk_.read(path);
    if (!seen) return tl::make_unexpected(seen.error());
    plan.next.files.push_back({Of::Pack, {}, path, false, 0644, {}, sha256_hex(text)});
    if (seen->exists && seen->text == text) continue;
    plan.texts.push_back(text);
    plan.changes.push_back({path, seen->exists ? std::optional(seen->text) : std::nullopt, text, 0644});
    if (auto made = need_folders(path, plan); !made) return made;
  }
  for (const std::string& name : *there) {
    const std::string path = plan.next.pack + "/" + name;
    if (has_file(plan.next, path)) continue;
    const auto seen = disk_.read(path);
    if (!seen) return tl::make_unexpected(seen.error());
    plan.changes.push_back({path, seen->text, std::nullopt, seen->mode});
  }
  return {};
}

Result<void> Adopter::need_folders(const std::string& path, Plan& plan) {
  std::vector<std::string> missing;
  for (fs::path folder = fs::path(path).parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
    // A Disk has no question for it: a folder that cannot be listed is met when the file is written.
    std::error_code error;
    if (fs::exists(folder, error)) break;
    missing.push_back(folder.string());
  }
  for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
    if (std::find(plan.new_folders.begin(), plan.new_folders.end(), *folder) != plan.new_folders.end()) continue;
    plan.new_folders.push_back(*folder);
    if (std::find(plan.next.folders.begin(), plan.next.folders.end(), *folder) == plan.next.folders.end())
      plan.next.folders.push_back(*folder);
  }
  return {};
}

Result<void> Adopter::carry_out(const Plan& plan) {
  return folder_.carry_out(plan.next.id, plan.changes, plan.next, plan.texts, plan.new_folders);
}

Result<UndoPlan> Adopter::plan_undo(const Record& record, bool force) {
  UndoPlan plan{.record = record, .changes = {}, .kept = {}, .conflicts = {}};
  const std::vector<adopt::Place> places = adopt::places_of(record.client);
  for (const RecordedFile& file : record.files) {
    const auto seen = disk_.read(file.path);
    if (!seen) return tl::make_unexpected(seen.error());
    const bool as_left = seen->exists && sha256_hex(seen->text) == file.after;
    if (!seen->exists) {
      // Whoever deleted it wanted it gone; what there was before it may be wanted back.
      if (file.existed && force) {
        auto before = folder_.text(record.id, file.before);
        if (!before) return tl::make_unexpected(before.error());
        plan.changes.push_back({file.path, std::nullopt, std::move(*before), file.mode});
      } else if (file.existed) {
        plan.kept.push_back(file.path + " was deleted since, and stays so; --force brings back what it was");
      }
      continue;
    }
    if (file.of != Of::Settings) {
      if (as_left || force || file.of == Of::Secret)
        plan.changes.push_back({file.path, seen->text, std::nullopt, seen->mode});
      else plan.kept.push_back(file.path + " was changed since, and stays");
      continue;
    }
    const auto before = file.before.empty() ? Result<std::string>("") : folder_.text(record.id, file.before);
    const auto after = folder_.text(record.id, file.after);
    if (!before) return tl::make_unexpected(before.error());
    if (!after) return tl::make_unexpected(after.error());
    const auto place =
        std::find_if(places.begin(), places.end(), [&](const adopt::Place& one) { return shown(one) == file.place; });
    if (place == places.end())
      return failure("undoing", "the manifest names " + file.place + ", which is no file of the client's");
    auto bare = adopt::undo({*place, file.existed, *before, *after}, seen->text);
    if (!bare && force) {
      plan.changes.push_back({file.path + ".before-undo", std::nullopt, seen->text, seen->mode});
      plan.kept.push_back(file.path + " was put back as it was; what it was before that is in " + file.path +
                          ".before-undo");
      bare = *before;
    }
    if (!bare) {
      plan.conflicts.push_back(file.path + ": " + bare.error());
      continue;
    }
    const bool goes = !file.existed && is_hollow(*bare);
    if (goes) plan.changes.push_back({file.path, seen->text, std::nullopt, seen->mode});
    else if (*bare != seen->text) plan.changes.push_back({file.path, seen->text, std::move(*bare), seen->mode});
    if (!goes && !file.existed) plan.kept.push_back(file.path + " stays with what others have put into it");
  }
  return plan;
}

Result<void> Adopter::carry_out(const UndoPlan& plan) {
  return folder_.carry_out(plan.record.id, plan.changes, std::nullopt, {}, {});
}

Look Adopter::look(const Record& record) {
  Look out;
  if (folder_.is_broken_off(record.id))
    out.findings.push_back(
        "a change was broken off half-way: `baton adopt` or `baton adopt --undo` takes it back first");
  std::vector<adopt::File> files;
  const std::vector<adopt::Place> places = adopt::places_of(record.client);
  for (std::size_t at = 0; at < places.size() && at < record.paths.size(); ++at) {
    auto seen = disk_.read(record.paths[at]);
    if (!seen) {
      out.unreadable.push_back(seen.error().text());
      // Nothing can be said of it; the others can.
      continue;
    }
    files.push_back({places[at], seen->exists, std::move(seen->text)});
  }
  adopt::Options options = record.options;
  options.wired = record.servers;
  out.findings = adopt::tampered(record.client, files, options);
  for (const std::string& program : {record.options.hook, record.options.baton})
    if (!disk_.can_execute(program)) out.findings.push_back("the program " + program + " cannot be started");
  for (const RecordedFile& file : record.files) {
    if (file.of != Of::Secret) continue;
    const auto seen = disk_.read(file.path);
    if (seen && !seen->exists) out.findings.push_back("the file " + file.path + " is gone");
  }
  return out;
}

}  // namespace baton::adoption
