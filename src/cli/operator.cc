// SPDX-License-Identifier: Apache-2.0
// baton operator: what the person who owns a store does when the operator's passphrase is lost.
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "base/text.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/credentials.h"
#include "cli/nodes.h"
#include "cli/passphrase.h"
#include "cli/sealed_token.h"
#include "cli/stores.h"
#include "cli/terminal.h"

namespace baton::cli {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  StoreOptions store;
  PassphraseOptions passphrase;
  std::string actor;
};

int recover(World& world, const Arguments& arguments) {
  const Location location = locate_store(world, arguments.store.store);
  if (location.kind == LocationKind::ExportedFile) return could_not(world, "an exported file has no operator");
  const auto folder = configuration_folder(world);
  if (!folder) return could_not(world, "neither XDG_CONFIG_HOME nor HOME says where the operator's token can be kept");
  const auto place = ledger_place(world, arguments.store);
  if (!place) return could_not(world, place.error());
  const std::string origin = ledger_origin(world, location.text);
  if (origin.empty()) return could_not(world, "there is no ledger here; `baton init` makes one");
  // A person, at a terminal: this takes the place of the passphrase.
  const auto sure =
      ask_yes(world,
              "Make a new operator's token and revoke the older ones of this operator? The ledger records "
              "it. (yes/no) ");
  if (!sure) return could_not(world, sure.error());
  if (!*sure) return kNo;
  auto passphrase = new_passphrase(world, arguments.passphrase);
  if (!passphrase) return could_not(world, passphrase.error());
  auto file = NewSecretFile::make(*folder);
  if (!file) return could_not(world, file.error());
  std::error_code ignored;
  ServeOptions serve;
  serve.store = location.kind == LocationKind::Folder ? fs::absolute(location.text, ignored).lexically_normal().string()
                                                      : location.text;
  serve.keys = fs::absolute(place->keys, ignored).string();
  const std::string actor = arguments.actor.empty() ? operator_of(world).id : arguments.actor;
  auto recovered = world.nodes.recover_operator(world, serve, actor);
  if (!recovered) {
    if (recovered.error().code == "STORE_LOCKED") recovered.error().reason += "; end the node that runs there first";
    return could_not(world, recovered.error());
  }
  std::string text = std::move(recovered->token);
  const bool sealed = !passphrase->empty();
  if (sealed) {
    auto box = seal_token(text, *passphrase, world.random);
    wipe(*passphrase);
    if (!box) return could_not(world, box.error());
    std::swap(text, *box);
    wipe(*box);
  }
  // The file of the lost token stays under another name; what is in it is worth nothing any more.
  const auto old = find_operator_token(world, origin);
  const std::string name = old ? old->filename().string() : operator_token_name("");
  if (old) fs::rename(*old, old->string() + ".lost", ignored);
  const auto kept = file->keep(name, text);
  wipe(text);
  if (!kept) return could_not(world, kept.error());
  world.print("a new token for the operator " + printable(actor, 200) + ", in " +
              printable((*folder / name).string(), 400) + (sealed ? ", sealed with your passphrase" : "") +
              "\n  older tokens of this operator that were revoked: " + std::to_string(recovered->revoked) + "\n");
  return kYes;
}

}  // namespace

void add_operator(Command& app, Action& chosen) {
  Command* group = app.add_subcommand("operator", "Regain control of a store when the operator's passphrase is lost");
  group->require_subcommand(1);
  auto arguments = std::make_shared<Arguments>();
  Command* command = group->add_subcommand("recover", "Make a new operator's token and revoke the older ones");
  add_store_options(*command, arguments->store, true);
  command->add_option("--actor", arguments->actor, "The operator's name (default: USER)");
  command->add_option("--passphrase-file", arguments->passphrase.file,
                      "Seal the token with the line in this file (default: ask at the terminal)");
  command->add_flag(
      "--no-passphrase", arguments->passphrase.none,
      "Keep the token without a passphrase: every program that runs as you can then decide as the operator");
  examples(*command,
           "  baton operator recover\n\n"
           "Needs the ledger's seal key and a terminal, and no node running on the store. All older operator tokens\n"
           "of that name are revoked. The recovery is an entry of the ledger (operator.recovered).\n"
           "Exit status: 0 done, 1 not confirmed, 2 could not.");
  command->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return recover(world, *arguments); }; });
}

}  // namespace baton::cli
