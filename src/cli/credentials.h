// SPDX-License-Identifier: Apache-2.0
// Tokens on this side: where they come from, and the files they are kept in.
//
// A token file is a plain file of mode 0600 that belongs to the user, with one line: the token, or the token sealed
// with a passphrase (cli/sealed_token.h). `baton init` keeps the operator's as `operator.token` in the user's
// configuration folder; that of a further store as `operator-<16 digits of its ledger's id>.token` beside it, which
// is looked for first. No message ever holds a token.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/world.h"

namespace baton::cli {

// The token in a file; asks for the passphrase when it is sealed. Failures: CREDENTIAL_FILE, CREDENTIAL_PASSPHRASE.
// `own_only`: refused unless it is the user's own and nobody else can read it.
Result<std::string> read_token_file(World& world, const std::filesystem::path& file, bool own_only);

// Is the token in the file sealed with a passphrase? Asks for nothing. Failure: CREDENTIAL_FILE.
Result<bool> is_sealed_token_file(const std::filesystem::path& file);

// A file that is about to be written: made at once under another name, so that what cannot be kept is noticed before
// it is there to keep; taken away again unless keep() was called.
class NewSecretFile {
 public:
  // Makes the folder (mode 0700) when it is missing.
  static Result<NewSecretFile> make(const std::filesystem::path& folder);
  ~NewSecretFile();
  NewSecretFile(NewSecretFile&& other) noexcept;
  NewSecretFile& operator=(NewSecretFile&&) = delete;

  // Writes one line, and gives the file its name; on disk when it returns. Refuses to write over a file that is
  // there.
  Result<void> keep(std::string_view name, std::string_view text);

 private:
  NewSecretFile(std::filesystem::path folder, std::filesystem::path draft, int descriptor)
      : folder_(std::move(folder)), draft_(std::move(draft)), descriptor_(descriptor) {}
  std::filesystem::path folder_, draft_;
  int descriptor_;
};

// The two together, for a token that somebody wants in a file of that name.
Result<void> write_token_file(const std::filesystem::path& file, std::string_view text);

// --- the operator's --------------------------------------------------------------------------------------------------

// XDG_CONFIG_HOME/baton, or ~/.config/baton; nothing when neither is known.
std::optional<std::filesystem::path> configuration_folder(World& world);

// `operator-0123456789abcdef.token` for a ledger's origin; `operator.token` when it is empty.
std::string operator_token_name(std::string_view origin);
// The file of a store's operator, by its ledger's origin; nothing when there is none.
std::optional<std::filesystem::path> find_operator_token(World& world, std::string_view origin);

}  // namespace baton::cli
