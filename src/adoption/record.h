// SPDX-License-Identifier: Apache-2.0
// What is kept of an adoption: which client of which project, what was asked for, and every file that Baton changed or made, as it was and as it became.
// `manifest.json` in the adoption's folder, with the texts beside it, each named by its SHA-256. Texts of settings may hold secrets of the client's
// servers: the folder is for nobody else.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adopt/adopt.h"
#include "base/result.h"
#include "json/document.h"
#include "json/value.h"

namespace baton::adoption {

enum class Of : std::uint8_t { Settings, Pack, Secret };

struct RecordedFile {
  Of of = Of::Settings;
  std::string place;  // of settings, as people are told: `.mcp.json`, `~/.claude.json`; of others empty
  std::string path;   // absolute, links followed
  bool existed = false;
  unsigned mode = 0644;
  std::string before, after;  // SHA-256 of the texts; `before` is empty when it was not there
};

struct Record {
  std::string id;  // `claude-0123456789ab`
  hooks::Client client = hooks::Client::Claude;
  adopt::Options options;            // without `wired`, which is `servers`
  std::string pack;                  // the folder
  std::vector<std::string> paths;    // where the client's files are, in the order of adopt::places_of
  std::vector<std::string> servers;  // behind the proxy: `FILE NAME`
  std::vector<RecordedFile> files;
  std::vector<std::string> folders;  // that were made, the outer ones first
  std::string by, at;                // who, and when
};

json::Value value_of(const Record& record);
std::optional<Record> record_of(json::Node manifest);

// Permission bits as people write them: `0644`.
std::string mode_text(unsigned mode);
unsigned mode_of(std::string_view octal);

// Of a client in a project's folder.
std::string id_of(hooks::Client client, std::string_view project);

}  // namespace baton::adoption
