// SPDX-License-Identifier: Apache-2.0
#include "cli/passphrase.h"

#include <unistd.h>

#include "base/limits.h"
#include "cli/input.h"
#include "cli/sealed_token.h"
#include "cli/terminal.h"

namespace baton::cli {
namespace {

constexpr const char* kDoing = "choosing a passphrase";
constexpr int kTries = 3;

}  // namespace

Result<std::string> new_passphrase(World& world, const PassphraseOptions& options) {
  if (options.none && !options.file.empty())
    return failure(kDoing, "--no-passphrase and --passphrase-file exclude each other; nothing was made");
  if (options.none) return std::string();
  if (!options.file.empty()) {
    auto text = read_document(world, options.file, limits::kPassphraseBytesMax);
    if (!text) return text;
    while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
    // Whoever names a file wants the token sealed: an empty one is a mistake, and the token would lie open because of it.
    if (text->empty()) return failure(kDoing, "the file that was named for it is empty; nothing was made");
    return text;
  }
  if (::isatty(world.in()) != 1 || !can_ask(world)) return std::string();
  for (int attempt = 0; attempt < kTries; ++attempt) {
    auto first = ask_secret(world, "Choose a passphrase for the operator's token: ");
    if (!first) return first;
    if (first->empty()) {
      world.print_error("  It proves that a person decides: " + std::string(kWithoutPassphrase) +
                        ".\n  `--no-passphrase` makes a token without one.\n");
      continue;
    }
    auto second = ask_secret(world, "Type the passphrase once more: ");
    if (!second) return second;
    const bool same = *first == *second;
    wipe(*second);
    if (!same) return failure(kDoing, "the two are not the same; nothing was made");
    return first;
  }
  return failure(kDoing, "no passphrase was typed; nothing was made. `--no-passphrase` makes a token without one");
}

}  // namespace baton::cli
