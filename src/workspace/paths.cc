// SPDX-License-Identifier: Apache-2.0
#include "workspace/paths.h"

#include <algorithm>

#include "base/text.h"

namespace baton::workspace {
namespace {

constexpr std::uint32_t kGroupWrite = 020, kOthersWrite = 002, kSticky = 01000, kNotOwner = 077;

std::string_view name_of(PathRole role) {
  switch (role) {
    case PathRole::StoreFolder: return "the store folder";
    case PathRole::StoreFile: return "the store's file";
    case PathRole::Configuration: return "the configuration";
    case PathRole::KeyFolder: return "the key folder";
    case PathRole::Above: return "a folder above";
  }
  return "";
}

std::string octal(std::uint32_t mode) {
  std::string out;
  for (int shift = (mode & 07000) != 0 ? 9 : 6; shift >= 0; shift -= 3)
    out += static_cast<char>('0' + ((mode >> shift) & 7));
  return "0" + out;
}

// As a word of a command line.
std::string quoted(const std::string& path) {
  const auto is_plain = [](char c) {
    return is_alphanumeric(c) || std::string_view("/._-+,@%:=").find(c) != std::string_view::npos;
  };
  if (!path.empty() && path.front() != '-' && std::ranges::all_of(path, is_plain)) return path;
  std::string out = "'";
  for (const char c : path) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void check(const SeenPath& seen, std::int64_t own_uid, std::vector<Diagnostic>& out) {
  const std::string mode = octal(seen.mode);
  const bool is_above = seen.role == PathRole::Above;
  if (!is_above && seen.owner != own_uid && seen.owner != 0)
    out.push_back(report(Code::NODE_PATH_OWNER, {},
                         {{"what", name_of(seen.role)}, {"path", seen.path}, {"owner", std::to_string(seen.owner)}}));
  if (seen.role == PathRole::KeyFolder) {
    if ((seen.mode & kNotOwner) != 0)
      out.push_back(report(Code::NODE_KEYS_OPEN, {},
                           {{"path", seen.path}, {"mode", mode}, {"command", "chmod 700 " + quoted(seen.path)}}));
    return;
  }
  if ((seen.mode & (kGroupWrite | kOthersWrite)) == 0) return;
  if (is_above && (seen.mode & kSticky) != 0) return;
  out.push_back(report(Code::NODE_PATH_WRITABLE, {},
                       {{"what", name_of(seen.role)},
                        {"path", seen.path},
                        {"mode", mode},
                        {"command", "chmod go-w " + quoted(seen.path)}}));
}

}  // namespace

std::vector<Diagnostic> check_paths(std::span<const SeenPath> seen, std::int64_t own_uid) {
  std::vector<Diagnostic> out;
  for (const SeenPath& one : seen) check(one, own_uid, out);
  return out;
}

}  // namespace baton::workspace
