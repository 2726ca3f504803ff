// SPDX-License-Identifier: Apache-2.0
// What a listening proxy (`baton mcp --listen`) leaves in the user's runtime folder while it runs: the token that it made, and a note
// that says where it listens and whether it requires a token. `baton doctor` reads the notes.
//
// The folder is XDG_RUNTIME_DIR/baton, else the user's data folder. It belongs to the user and only they can write it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/world.h"

namespace baton::cli {

// 256 random bits.
std::string new_listen_token(World& world);

// How clients of a listening proxy are admitted.
enum class ListenToken : std::uint8_t { Given, Made, None };

// The files of one proxy that listens; taken away when this goes.
class ListenFiles {
 public:
  // `address` is the first one that it listens on, with the real port. A `token` that was made is written to a file of mode 0600.
  static Result<ListenFiles> keep(World& world, std::string_view address, ListenToken kind, std::string_view token);
  ~ListenFiles();
  ListenFiles(ListenFiles&& other) noexcept = default;
  ListenFiles& operator=(ListenFiles&&) = delete;

  // Of the token that was made; empty: none was.
  const std::filesystem::path& token_file() const { return token_file_; }

 private:
  ListenFiles() = default;
  std::vector<std::filesystem::path> files_;
  std::filesystem::path token_file_;
};

// The proxies of this user that listen now.
struct ListeningProxy {
  std::string address;
  std::int64_t pid = 0;
  bool without_token = false;
};
std::vector<ListeningProxy> listening_proxies(World& world);

}  // namespace baton::cli
