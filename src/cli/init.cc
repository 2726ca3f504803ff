// SPDX-License-Identifier: Apache-2.0
// baton init: a store, its ledger, its keys, and the first operator.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/limits.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/credentials.h"
#include "cli/input.h"
#include "cli/nodes.h"
#include "cli/passphrase.h"
#include "cli/sealed_token.h"
#include "cli/stores.h"
#include "cli/table.h"
#include "runtime/work_rows.h"
#include "secrets/detector.h"
#include "store/tables.h"

namespace baton::cli {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  StoreOptions store;
  PassphraseOptions passphrase;
  std::string actor, format = "human";
};

// Every member with its default. A file of nothing but comments is an empty one.
constexpr std::string_view kConfig =
    R"(# What this workspace has decided. Read when a node starts: `baton stop` after a change, the next command starts it again.
# Everything has a default, which is what stands here; take the `# ` away to change it.

# Are exit signals acted on? AGENT_EXIT_PROTOCOL_ENABLED, where the node runs, wins over this.
# exit_protocol: false

# How long a claim lasts without a renewal, and how long an item may wait for a person.
# lease:
#   ttl: 10m
#   max_parked: 7d

# After so many sessions that ended without a handoff an item is BLOCKED.
# max_attempts: 3

# May whoever implemented an item also review and merge it? And is REVIEW for operators alone (`operator`)?
# allow_self_review: false
# review_by: anyone

# Who takes which phases, and which sections of the context they read and write.
# roles:
#   agent:
#     phases: [DRAFT, IMPLEMENTATION, CI_PENDING, READY_FOR_REVIEW, REVIEW, READY_FOR_MERGE, COMPLETED, BLOCKED]
#     reads: ['*']
#     writes: ['*']

# The checks of CI that must be `success` before CI_PENDING ends; none: any workflow run or check suite counts.
# required_checks: []

# Where GitHub's webhooks come from, and where events are sent. A secret file has at least 32 bytes.
# webhooks:
#   in:
#     - repository: owner/name
#       secret_file: github.secret
#   out:
#     - name: chat
#       url: https://hooks.example.org/baton
#       secret_file: chat.secret
#       types: ['work.*']

# Where seals of the ledger are kept beside it: folder:/path, git:/path or https://...
# witness: []

# How many approvals may wait for a decision: of one session, and of all.
# approvals:
#   per_session: 3
#   per_workspace: 500

# What a node holds its clients to. With less free space than disk_free_bytes the node begins no work; 0: it does not look.
# per_actor is for everyone but operators; 0: no limit.
# limits:
#   body_bytes: 1048576
#   connections: 8192
#   waiting_claims: 4096
#   wait_seconds: 600
#   disk_free_bytes: 268435456
#   per_actor:
#     items: 10000
#     approvals: 500
#     bytes_per_hour: 17179869184
#     requests_per_second: 20000
)";

constexpr std::string_view kIgnored =
    "# Made by `baton init`: the store stays on this machine, what the workspace decided may be "
    "committed.\n*\n!.gitignore\n"
    "!config.yaml\n";

// Writes a file, mode 0600, unless it is there.
Result<bool> write_new(const fs::path& file, std::string_view text) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    if (errno == EEXIST) return false;
    return failure("writing " + file.string(), std::generic_category().message(errno));
  }
  std::FILE* out = ::fdopen(descriptor, "w");
  if (out == nullptr) {
    ::close(descriptor);
    return failure("writing " + file.string(), std::generic_category().message(errno));
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if (std::fclose(out) != 0 || !written)
    return failure("writing " + file.string(), std::generic_category().message(errno));
  return true;
}

// Where the new store goes: what was given, else BATON_STORE, else `.baton` here, whatever lies above.
Location new_store(World& world, const std::string& given) {
  if (!given.empty() || !world.environment("BATON_STORE").value_or("").empty()) return locate_store(world, given);
  std::error_code ignored;
  return {LocationKind::Folder, (fs::current_path(ignored) / ".baton").string()};
}

// A URL may hold a password.
std::string name_of_store(const std::string& store) { return secrets::redact(store); }

struct Made {
  std::string store, origin, actor;
  fs::path keys, token_file;
  bool folder = false, sealed = false, config = false;
};

void print_made(World& world, const Arguments& arguments, const Made& made) {
  if (arguments.format == "json") {
    json::Value out = json::Value::object();
    out.set("store", name_of_store(made.store));
    out.set("origin", made.origin);
    out.set("keys", made.keys.string());
    out.set("actor", made.actor);
    out.set("token_file", made.token_file.string());
    out.set("sealed", made.sealed);
    return world.print(json::write(out) + "\n");
  }
  const auto name = [&](std::string_view text) { return painted(fitted(text, 10), "2", world.colour); };
  std::string out = painted("made", "32", world.colour) + " a store: what is recorded in it can be proved\n";
  out += "  " + name("store") + printable(name_of_store(made.store), 400) + "\n";
  out += "  " + name("ledger") + made.origin + "\n";
  out += "  " + name("keys") + printable(made.keys.string(), 400) + "\n";
  out += "  " + name("operator") + printable(made.actor, 200) + ", token in " +
         printable(made.token_file.string(), 400) +
         (made.sealed ? std::string(", sealed with your passphrase")
                      : ", not sealed: " + std::string(kWithoutPassphrase)) +
         "\n";
  if (made.config)
    out += "  " + name("settings") + printable((fs::path(made.store) / "config.yaml").string(), 400) +
           ": all are defaults; exit signals are not acted on before `exit_protocol: true` stands there\n";
  out +=
      "\nnext\n"
      "  baton contract new my-pack --for claude                      what an agent may do; change it, then\n"
      "  baton contract activate my-pack                              hold agents to it\n"
      "  baton work create 'Something to be done' --phase IMPLEMENTATION\n"
      "  baton run -- COMMAND ARGS...                                 an agent takes it, inside that contract\n"
      "  baton token create --actor reviewer --token-out r.token      another agent, who may review what the first "
      "did\n"
      "  baton work board                                             who has what\n";
  world.print(out);
}

int already_there(World& world, const Arguments& arguments, const std::string& store) {
  world.flush();
  const std::string origin = ledger_origin(world, store);
  const auto token = find_operator_token(world, origin);
  if (arguments.format == "json") {
    json::Value out = json::Value::object();
    out.set("made", false);
    out.set("store", name_of_store(store));
    out.set("origin", origin);
    out.set("token_file", token ? json::Value(token->string()) : json::Value());
    world.print(json::write(out) + "\n");
    return kNo;
  }
  world.print_error("baton: a store with an operator is there already, and nothing was changed\n  store     " +
                    printable(name_of_store(store), 400) + "\n  ledger    " + origin + "\n  token     " +
                    (token ? printable(token->string(), 400) : "none of yours: ask whoever made the store") + "\n");
  return kNo;
}

int init(World& world, const Arguments& arguments) {
  const Location location = new_store(world, arguments.store.store);
  if (location.kind == LocationKind::ExportedFile)
    return could_not(world,
                     "`" + printable(location.text, 400) + "` is a file; a store is a folder or a PostgreSQL URL");
  const auto folder = configuration_folder(world);
  if (!folder) return could_not(world, "neither XDG_CONFIG_HOME nor HOME says where the operator's token can be kept");
  StoreOptions options = arguments.store;
  options.store = location.text;
  const auto place = ledger_place(world, options);
  if (!place) return could_not(world, place.error());

  std::error_code ignored;
  Made made;
  made.folder = location.kind == LocationKind::Folder;
  made.store = made.folder ? fs::absolute(location.text, ignored).lexically_normal().string() : location.text;
  made.actor = arguments.actor.empty() ? operator_of(world).id : arguments.actor;
  if (has_operator(world, made.store).value_or(false)) return already_there(world, arguments, made.store);

  // Everything that can be refused is refused before anything is made.
  auto passphrase = new_passphrase(world, arguments.passphrase);
  if (!passphrase) return could_not(world, passphrase.error());
  auto file = NewSecretFile::make(*folder);
  if (!file) return could_not(world, file.error());
  ServeOptions serve;
  serve.store = made.store;
  serve.keys = fs::absolute(place->keys, ignored).string();
  auto token = world.nodes.create_first_operator(world, serve, made.actor);
  if (!token) {
    if (token.error().code == "ACCESS_OPERATOR_EXISTS") return already_there(world, arguments, made.store);
    if (token.error().code == "STORE_LOCKED") token.error().reason += "; if a node runs there, `baton stop` ends it";
    return could_not(world, token.error());
  }
  made.origin = ledger_origin(world, made.store);
  made.keys = fs::path(serve.keys) / made.origin.substr(made.origin.rfind('/') + 1);
  made.sealed = !passphrase->empty();
  if (made.sealed) {
    auto sealed = seal_token(*token, *passphrase, world.random);
    wipe(*passphrase);
    // A token that cannot be sealed is kept as it is: without it the store would have an operator whom nobody can be.
    if (sealed) std::swap(*token, *sealed);
    else could_not(world, sealed.error()), made.sealed = false;
  }
  // `operator.token` is that of the first store; a further one's is named after its ledger.
  const bool first = !fs::exists(fs::symlink_status(*folder / operator_token_name(""), ignored));
  const std::string name = operator_token_name(first ? "" : made.origin);
  const auto kept = file->keep(name, *token);
  wipe(*token);
  if (!kept) return could_not(world, kept.error());
  made.token_file = *folder / name;
  if (made.folder) {
    for (const auto& [file_name, text] : {std::pair{"config.yaml", kConfig}, std::pair{".gitignore", kIgnored}})
      if (auto written = write_new(fs::path(made.store) / file_name, text); !written)
        return could_not(world, written.error());
    made.config = true;
  }
  print_made(world, arguments, made);
  return kYes;
}

}  // namespace

void add_init(Command& app, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = app.add_subcommand("init", "Make a store here, its ledger and keys, and the first operator");
  command->add_option("--store", arguments->store.store,
                      "A folder or a postgresql:// URL; default: BATON_STORE, .baton in this folder");
  command->add_option("--keys", arguments->store.keys,
                      "The folder of the private keys; default: BATON_KEYS, the user's configuration folder");
  command->add_option("--actor", arguments->actor, "Who the operator is; default: USER");
  command->add_option("--passphrase-file", arguments->passphrase.file,
                      "Seal the operator's token with the line in this file (default: ask at the terminal)");
  command->add_flag(
      "--no-passphrase", arguments->passphrase.none,
      "Keep the token without a passphrase: every program that runs as you can then decide as the operator");
  command->add_option("--format", arguments->format, "human or json")->one_of({"human", "json"})->capture_default_str();
  examples(*command,
           "  baton init\n  baton init --store postgresql://baton@db/ledger --actor ines\n"
           "\nNothing that is there is written over. Exit status: 0 made, 1 it is there already, 2 could not.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return init(world, *arguments); }; });
}

}  // namespace baton::cli
