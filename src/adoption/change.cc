// SPDX-License-Identifier: Apache-2.0
#include "adoption/change.h"

#include <algorithm>
#include <set>

#include "base/sha256.h"
#include "json/parse.h"

namespace baton::adoption {
namespace {

using json::Node;
using json::Value;

constexpr std::string_view kManifest = "manifest.json", kJournal = "journal.json";
// What a file is called while it is written.
constexpr std::string_view kDraft = ".baton-new";

std::string text_of(Node node) { return node.is_string() ? std::string(node.string()) : std::string(); }
bool is_sha256(std::string_view name) { return name.size() == 64; }

Value reference(const std::optional<std::string>& text) { return text ? Value(sha256_hex(*text)) : Value(); }

}  // namespace

Result<void> Folder::write(const std::string& path, const std::string& text, unsigned mode) {
  const std::string draft = path + std::string(kDraft);
  if (auto put = disk_.put(draft, text, mode); !put) return put;
  auto renamed = disk_.rename(draft, path);
  if (!renamed) static_cast<void>(disk_.remove(draft));
  return renamed;
}

Result<void> Folder::keep(const std::string& id, const std::string& text) {
  const std::string path = of(id) + "/" + sha256_hex(text);
  const auto there = disk_.read(path);
  if (there && there->exists && there->text == text) return {};
  return write(path, text, 0600);
}

Result<std::string> Folder::text(const std::string& id, const std::string& sha256) {
  const std::string path = of(id) + "/" + sha256;
  auto seen = disk_.read(path);
  if (!seen) return tl::make_unexpected(seen.error());
  if (!seen->exists || sha256_hex(seen->text) != sha256)
    return failure("reading " + path, seen->exists ? "it is not what was kept there" : "it is not there");
  return std::move(seen->text);
}

Result<std::optional<Record>> Folder::find(const std::string& id) {
  const std::string path = of(id) + "/" + std::string(kManifest);
  const auto seen = disk_.read(path);
  if (!seen) return tl::make_unexpected(seen.error());
  if (!seen->exists) return std::optional<Record>();
  const auto document = json::parse_owned(seen->text);
  auto record = document ? record_of(document->root()) : std::nullopt;
  if (!record || record->id != id) return failure("reading " + path, "it is no manifest of an adoption");
  return record;
}

bool Folder::is_broken_off(const std::string& id) {
  const auto journal = disk_.read(of(id) + "/" + std::string(kJournal));
  return !journal || journal->exists;
}

Result<std::vector<Record>> Folder::all() {
  std::vector<Record> out;
  const auto names = disk_.list(path_);
  if (!names) return tl::make_unexpected(names.error());
  for (const std::string& name : *names) {
    if (name.starts_with('.')) continue;
    auto record = find(name);
    if (!record) return tl::make_unexpected(record.error());
    if (*record) out.push_back(std::move(**record));
  }
  return out;
}

Result<std::vector<std::string>> Folder::recover() {
  std::vector<std::string> out;
  const auto names = disk_.list(path_);
  if (!names) return tl::make_unexpected(names.error());
  for (const std::string& name : *names) {
    if (name.starts_with('.')) continue;  // the lock
    const auto taken = take_back(name);
    if (!taken) return tl::make_unexpected(taken.error());
    if (*taken) out.push_back(name);
    if (auto tidied = tidy(name); !tidied) return tl::make_unexpected(tidied.error());
  }
  return out;
}

Result<void> Folder::carry_out(const std::string& id, const std::vector<FileChange>& changes,
                               const std::optional<Record>& next, const std::vector<std::string>& texts,
                               const std::vector<std::string>& new_folders) {
  auto previous = find(id);
  if (!previous) return tl::make_unexpected(previous.error());
  for (const std::string& folder : {path_, of(id)})
    if (auto made = disk_.make_folder(folder, 0700); !made) return tl::make_unexpected(made.error());
  Value journal = Value::object(), list = Value::array(), folders = Value::array();
  for (const FileChange& change : changes) {
    for (const auto& text : {change.from, change.to})
      if (text)
        if (auto kept = keep(id, *text); !kept) return kept;
    Value one = Value::object();
    one.set("path", change.path);
    one.set("from", reference(change.from));
    one.set("to", reference(change.to));
    one.set("mode", mode_text(change.mode));
    list.push(std::move(one));
  }
  for (const std::string& text : texts)
    if (auto kept = keep(id, text); !kept) return kept;
  for (const std::string& folder : new_folders) folders.push(folder);
  journal.set("previous", *previous ? value_of(**previous) : Value());
  journal.set("changes", std::move(list));
  journal.set("folders", std::move(folders));
  if (auto written = write(of(id) + "/" + std::string(kJournal), json::write_pretty(journal) + "\n", 0600); !written)
    return written;
  const std::vector<std::string> old_folders = *previous && !next ? (*previous)->folders : std::vector<std::string>();
  auto applied = apply(id, changes, next, new_folders, old_folders);
  if (applied) {
    static_cast<void>(tidy(id));  // what is left over harms nobody, and is taken away the next time
    return applied;
  }
  if (const auto taken = take_back(id); !taken) {
    Failure both = applied.error();
    both.reason += "; and what was done could not all be taken back (" + taken.error().text() +
                   "): that is done by the next `baton adopt` or `baton adopt --undo`";
    return tl::make_unexpected(std::move(both));
  }
  static_cast<void>(tidy(id));
  return applied;
}

Result<void> Folder::apply(const std::string& id, const std::vector<FileChange>& changes,
                           const std::optional<Record>& next, const std::vector<std::string>& new_folders,
                           const std::vector<std::string>& old_folders) {
  for (const std::string& folder : new_folders)
    if (auto made = disk_.make_folder(folder, 0755); !made) return tl::make_unexpected(made.error());
  for (const FileChange& change : changes) {
    const auto now = disk_.read(change.path);
    if (!now) return tl::make_unexpected(now.error());
    if (now->exists != change.from.has_value() || (change.from && now->text != *change.from))
      return failure("changing " + change.path, "somebody else has just changed it");
    if (auto done = change.to ? write(change.path, *change.to, change.mode) : disk_.remove(change.path); !done)
      return done;
  }
  for (auto folder = old_folders.rbegin(); folder != old_folders.rend(); ++folder)
    if (auto removed = disk_.remove_folder(*folder); !removed) return removed;
  const std::string manifest = of(id) + "/" + std::string(kManifest);
  if (auto kept = next ? write(manifest, json::write_pretty(value_of(*next)) + "\n", 0600) : disk_.remove(manifest);
      !kept)
    return kept;
  return disk_.remove(of(id) + "/" + std::string(kJournal));  // from here on it is done
}

Result<bool> Folder::take_back(const std::string& id) {
  const std::string path = of(id) + "/" + std::string(kJournal), manifest = of(id) + "/" + std::string(kManifest);
  const auto seen = disk_.read(path);
  if (!seen) return tl::make_unexpected(seen.error());
  if (!seen->exists) return false;
  const auto journal = json::parse_owned(seen->text);
  if (!journal) return failure("reading " + path, "it is no journal of a change");
  const Node root = journal->root();
  const auto previous = record_of(root["previous"]);
  if (previous)
    for (const std::string& folder : previous->folders)
      if (auto made = disk_.make_folder(folder, 0755); !made) return tl::make_unexpected(made.error());
  std::vector<Node> changes;
  for (const Node change : root["changes"].elements()) changes.push_back(change);
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    const std::string file = text_of((*change)["path"]), from = text_of((*change)["from"]),
                      to = text_of((*change)["to"]);
    if (auto removed = disk_.remove(file + std::string(kDraft)); !removed) return tl::make_unexpected(removed.error());
    const auto now = disk_.read(file);
    if (!now) return tl::make_unexpected(now.error());
    // As it was before, or somebody's in between: theirs.
    if (now->exists ? sha256_hex(now->text) != to : !to.empty()) continue;
    if (from.empty()) {
      if (auto removed = disk_.remove(file); !removed) return tl::make_unexpected(removed.error());
      continue;
    }
    const auto before = text(id, from);
    if (!before) return tl::make_unexpected(before.error());
    if (auto written = write(file, *before, mode_of(text_of((*change)["mode"]))); !written)
      return tl::make_unexpected(written.error());
  }
  if (auto kept =
          previous ? write(manifest, json::write_pretty(value_of(*previous)) + "\n", 0600) : disk_.remove(manifest);
      !kept)
    return tl::make_unexpected(kept.error());
  std::vector<std::string> folders;
  for (const Node folder : root["folders"].elements()) folders.push_back(text_of(folder));
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder)
    if (auto removed = disk_.remove_folder(*folder); !removed) return tl::make_unexpected(removed.error());
  if (auto removed = disk_.remove(path); !removed) return tl::make_unexpected(removed.error());
  return true;
}

Result<void> Folder::tidy(const std::string& id) {
  const auto record = find(id);
  if (!record) return tl::make_unexpected(record.error());
  std::set<std::string> wanted;
  if (*record)
    for (const RecordedFile& file : (*record)->files) wanted.insert({file.before, file.after});
  const auto names = disk_.list(of(id));
  if (!names) return tl::make_unexpected(names.error());
  for (const std::string& name : *names) {
    const bool is_ours = is_sha256(name) || name.ends_with(kDraft);
    if (!is_ours || wanted.count(name) != 0) continue;
    if (auto removed = disk_.remove(of(id) + "/" + name); !removed) return removed;
  }
  return *record ? Result<void>() : disk_.remove_folder(of(id));
}

}  // namespace baton::adoption
