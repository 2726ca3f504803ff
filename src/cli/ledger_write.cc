// SPDX-License-Identifier: Apache-2.0
// baton ledger append, seal, keys, erase: what changes a ledger, or what it is sealed with.
#include <memory>

#include "base/limits.h"
#include "base/text.h"
#include "cli/input.h"
#include "cli/ledger.h"
#include "cli/stores.h"
#include "json/parse.h"
#include "ledger/note.h"
#include "runtime/witness.h"
#include "store/tables.h"

namespace baton::cli {
namespace {

namespace tables = store::tables;

// "recorded as entry 12"
std::string recorded(const runtime::Acknowledgement& acknowledgement) {
  return "recorded as entry " + std::to_string(acknowledgement.entries.back().sequence);
}

// --- append -------------------------------------------------------------------------------------------------------------

struct AppendArguments {
  StoreOptions store;
  std::string stream, type = "note", file = "-", format = "human";
};

// Notes only: every other type is recorded by the use case that does what it says.
bool is_note(std::string_view type) { return type == "note" || type.starts_with("note."); }

int append(World& world, const AppendArguments& arguments) {
  if (!is_note(arguments.type))
    return could_not(
        world, "--type takes `note` or a type that begins with `note.`: all others are recorded by what does them");
  const auto text = read_document(world, arguments.file, limits::kCliDocumentBytesMax);
  if (!text) return could_not(world, text.error());
  // Everything is read and understood before anything is recorded.
  std::vector<runtime::Happening> happenings;
  std::size_t number = 0;
  for (const std::string_view line : split(*text, '\n')) {
    ++number;
    if (is_blank_text(line)) continue;
    const auto document = json::parse(line, {.depth_max = limits::kLedgerPayloadDepthMax});
    if (!document || !document->root().is_object())
      return could_not(world, source_name(arguments.file) + " line " + std::to_string(number) +
                                  (document ? " is no JSON object" : ": " + document.error().what) +
                                  "; nothing was recorded");
    happenings.push_back({arguments.stream, arguments.type, operator_of(world), json::Value::copy(document->root())});
  }
  if (happenings.empty())
    return could_not(world, source_name(arguments.file) + " holds no JSON object; nothing was recorded");
  const auto open = open_to_write(world, arguments.store, true);
  if (!open) return could_not(world, open.error());
  const auto done = open->ledger->writer().run([&](runtime::Unit& unit) -> Result<void> {
    for (const runtime::Happening& happening : happenings)
      if (auto appended = unit.append(happening); !appended) return appended;
    return {};
  });
  if (!done) {
    // What the ledger does not take is an answer; that it could not be asked is none.
    const bool refused = done.error().code.starts_with("LEDGER_");
    could_not(world, done.error());
    return refused ? kNo : kCouldNot;
  }
  for (const auto& entry : done->entries) {
    if (arguments.format == "json") {
      json::Value out = json::Value::object();
      out.set("sequence", entry.sequence);
      out.set("hash", hex(entry.hash));
      world.print(json::write(out) + "\n");
    } else {
      world.print("entry " + std::to_string(entry.sequence) + "  " + hex(entry.hash) + "\n");
    }
  }
  world.flush();  // it is recorded, whatever the witnesses take their time for
  for (const std::string& trouble : open->ledger->settle_witnesses()) world.print_error("warning: " + trouble + "\n");
  return kYes;
}

// --- seal ---------------------------------------------------------------------------------------------------------------

struct SealArguments {
  StoreOptions store;
  std::vector<std::string> add, remove;
  std::string out;
};

int seal(World& world, const SealArguments& arguments) {
  if (!arguments.add.empty() || !arguments.remove.empty()) {
    const auto open = open_to_write(world, arguments.store, false);
    if (!open) return could_not(world, open.error());
    for (const std::string& witness : arguments.add) {
      const auto done = open->ledger->add_witness(operator_of(world), witness);
      if (!done) return could_not(world, done.error());
      world.print_error("the witness " + printable(witness, 200) + ": " + recorded(*done) + "\n");
    }
    for (const std::string& witness : arguments.remove) {
      const auto done = open->ledger->remove_witness(operator_of(world), witness);
      if (!done) return could_not(world, done.error());
      world.print_error("the witness " + printable(witness, 200) + " is none any more: " + recorded(*done) + "\n");
    }
  }
  const auto store = open_to_read(world, arguments.store.store);
  if (!store) return could_not(world, store.error());
  const auto reader = (*store)->reader();
  if (!reader) return could_not(world, reader.error());
  const auto newest = (*reader)->newest_seal();
  if (!newest) return could_not(world, newest.error());
  if (!*newest) return could_not(world, "the ledger is empty: there is no seal yet"), kNo;
  world.print((*newest)->note);
  // A file says what it likes about witnesses; only a ledger of one's own is brought anywhere.
  if (locate_store(world, arguments.store.store).kind == LocationKind::ExportedFile) return kYes;
  int status = kYes;
  std::vector<std::string> witnesses;
  const auto read = (*reader)->find({.table = tables::kLedgerWitnesses}, [&](const store::Row& row) {
    witnesses.push_back(std::get<std::string>(row[0]));
    return true;
  });
  if (!read) return could_not(world, read.error());
  for (const std::string& witness : witnesses) {
    if (const auto kept = runtime::keep_seal(witness, (*newest)->note); kept)
      world.print_error("kept at " + printable(witness, 200) + "\n");
    else status = could_not(world, kept.error()), status = kNo;
  }
  return status;
}

// --- keys ---------------------------------------------------------------------------------------------------------------

struct KeysArguments {
  StoreOptions store;
  bool pem = false;
  std::string format = "human", file = "-", key_id;
};

int list_keys(World& world, const KeysArguments& arguments, bool only_public) {
  const auto store = open_to_read(world, arguments.store.store);
  if (!store) return could_not(world, store.error());
  const auto reader = (*store)->reader();
  if (!reader) return could_not(world, reader.error());
  std::size_t count = 0;
  std::string out;
  const auto read = (*reader)->find({.table = tables::kLedgerKeys}, [&](const store::Row& row) {
    const std::string id = std::get<std::string>(row[0]), text = std::get<std::string>(row[1]);
    const std::string state = std::get<std::string>(row[2]);
    const auto key = ledger::VerifierKey::parse(text);
    if (!key || (only_public && state != "active")) return true;
    ++count;
    if (only_public) {
      out += arguments.pem ? key->pem() : text + "\n";
    } else if (arguments.format == "json") {
      json::Value line = json::Value::object();
      line.set("key_id", id);
      line.set("state", state);
      line.set("key", text);
      line.set("pem", key->pem());
      out += json::write(line) + "\n";
    } else {
      out += id + "  " + state + std::string(state.size() < 8 ? 8 - state.size() : 0, ' ') + "  " + text + "\n";
    }
    return true;
  });
  if (!read) return could_not(world, read.error());
  if (count == 0) return could_not(world, "the ledger has no keys: it is empty"), kNo;
  world.print(out);
  return kYes;
}

int rotate(World& world, const KeysArguments& arguments) {
  const auto open = open_to_write(world, arguments.store, false);
  if (!open) return could_not(world, open.error());
  const auto done = open->ledger->rotate_key(operator_of(world));
  if (!done) return could_not(world, done.error());
  world.print("the key was rotated: " + recorded(*done) + "\n");
  return kYes;
}

int request(World& world, const KeysArguments& arguments) {
  const Location location = locate_store(world, arguments.store.store);
  const auto place = ledger_place(world, arguments.store);
  if (!place) return could_not(world, place.error());
  const auto store = world.stores.open(location.text, Stores::Access::Read);
  if (!store) return could_not(world, store.error());
  const auto made = runtime::make_admission_request(**store, world.random, *place);
  if (!made) return could_not(world, made.error());
  world.print(*made + "\n");
  return kYes;
}

int admit(World& world, const KeysArguments& arguments) {
  const auto text = read_document(world, arguments.file, limits::kWitnessNoteBytesMax);
  if (!text) return could_not(world, text.error());
  const auto open = open_to_write(world, arguments.store, false);
  if (!open) return could_not(world, open.error());
  const auto done = open->ledger->admit_key(operator_of(world), trim(*text));
  if (!done) return could_not(world, done.error());
  world.print("the key was admitted: " + recorded(*done) + "\n");
  return kYes;
}

int retire(World& world, const KeysArguments& arguments) {
  const auto open = open_to_write(world, arguments.store, false);
  if (!open) return could_not(world, open.error());
  const auto done = open->ledger->retire_key(operator_of(world), arguments.key_id);
  if (!done) return could_not(world, done.error());
  world.print("the key was retired: " + recorded(*done) + "\n");
  return kYes;
}

// --- erase --------------------------------------------------------------------------------------------------------------

struct EraseArguments {
  StoreOptions store;
  std::string sha256, reason;
};

int erase(World& world, const EraseArguments& arguments) {
  const auto open = open_to_write(world, arguments.store, false);
  if (!open) return could_not(world, open.error());
  const auto done = open->ledger->erase_blob(operator_of(world), arguments.sha256, arguments.reason);
  if (!done) return could_not(world, done.error());
  world.print("the blob's content is gone: " + recorded(*done) + "\n");
  return kYes;
}

}  // namespace

void add_ledger_append(CLI::App& ledger, Action& chosen) {
  auto arguments = std::make_shared<AppendArguments>();
  CLI::App* command = ledger.add_subcommand("append", "Record notes: one JSON object a line, all or none");
  command->add_option("FILE", arguments->file, "JSON lines; - or none reads standard input");
  command->add_option("--stream", arguments->stream, "What the notes are about, such as work/W-12")->required();
  command->add_option("--type", arguments->type, "note, or note.WORD")->capture_default_str();
  add_store_options(*command, arguments->store, true);
  command->add_option("--format", arguments->format, "human or json")
      ->check(CLI::IsMember({"human", "json"}))
      ->capture_default_str();
  examples(*command,
           "  echo '{\"text\":\"deployed by hand\"}' | baton ledger append --stream deploy\n"
           "\nMakes the store and its keys when there are none. Secrets are taken out before anything is recorded.\n"
           "Exit status: 0 recorded, 1 refused (nothing was recorded), 2 could not.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return append(world, *arguments); }; });
}

void add_ledger_seal(CLI::App& ledger, Action& chosen) {
  auto arguments = std::make_shared<SealArguments>();
  CLI::App* command =
      ledger.add_subcommand("seal", "The newest seal, a signed checkpoint; also brings it to the ledger's witnesses");
  add_store_options(*command, arguments->store, true);
  command
      ->add_option("--add-witness", arguments->add, "Keep seals there from now on: folder:/path, git:/path, https://…")
      ->allow_extra_args(false);
  command->add_option("--remove-witness", arguments->remove, "No longer")->allow_extra_args(false);
  examples(*command,
           "  baton ledger seal > checkpoint.txt\n  baton ledger seal --add-witness folder:/mnt/elsewhere/baton\n"
           "\nExit status: 0 printed and kept by every witness, 1 not kept somewhere or nothing to seal, 2 could not.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return seal(world, *arguments); }; });
}

void add_ledger_keys(CLI::App& ledger, Action& chosen) {
  auto arguments = std::make_shared<KeysArguments>();
  CLI::App* command =
      ledger.add_subcommand("keys", "The keys that seal the ledger: list, export, rotate, admit, retire");
  command->require_subcommand(0, 1);
  add_store_options(*command, arguments->store, true);
  command->add_option("--format", arguments->format, "human or json")
      ->check(CLI::IsMember({"human", "json"}))
      ->capture_default_str();
  examples(*command,
           "  baton ledger keys                          all keys, also retired ones\n"
           "  baton ledger keys export > ledger.pub      the public key that verify and receipts are checked with\n"
           "  baton ledger keys rotate                   a new key takes the old one's place\n"
           "  baton ledger keys request > node2.json     on a new machine: ask for admission\n"
           "  baton ledger keys admit node2.json         on a machine whose key is admitted");
  command->fallthrough();
  command->callback([arguments, &chosen, command] {
    if (command->get_subcommands().empty())
      chosen = [arguments](World& world) { return list_keys(world, *arguments, false); };
  });
  CLI::App* exporting = command->add_subcommand("export", "The active public keys");
  exporting->add_flag("--pem", arguments->pem, "As PEM, for openssl and others");
  exporting->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return list_keys(world, *arguments, true); }; });
  CLI::App* rotating = command->add_subcommand("rotate", "Make a new key; the entry is signed by both");
  rotating->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return rotate(world, *arguments); }; });
  CLI::App* requesting = command->add_subcommand("request", "Make this node's key, and the request to admit it");
  requesting->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return request(world, *arguments); }; });
  CLI::App* admitting = command->add_subcommand("admit", "Admit another node's key");
  admitting->add_option("FILE", arguments->file, "What `keys request` printed; - or none reads standard input");
  admitting->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return admit(world, *arguments); }; });
  CLI::App* retiring = command->add_subcommand("retire", "A key of another node may not seal any more");
  retiring->add_option("KEY_ID", arguments->key_id, "As `baton ledger keys` lists it")->required();
  retiring->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return retire(world, *arguments); }; });
}

void add_ledger_erase(CLI::App& ledger, Action& chosen) {
  auto arguments = std::make_shared<EraseArguments>();
  CLI::App* command = ledger.add_subcommand("erase", "Erase the content of a blob; the chain stays whole and says so");
  command->add_option("SHA256", arguments->sha256, "The blob, as entries refer to it")->required();
  command->add_option("--reason", arguments->reason, "Why; recorded")->required();
  add_store_options(*command, arguments->store, true);
  examples(*command, "  baton ledger erase 9f86d081… --reason 'request of the person it is about'");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return erase(world, *arguments); }; });
}

}  // namespace baton::cli
