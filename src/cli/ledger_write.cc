// SPDX-License-Identifier: Apache-2.0
// baton ledger append, seal, keys, erase: what changes a ledger, or what it is sealed with.
#include <memory>

#include "base/limits.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/input.h"
#include "cli/ledger.h"
#include "cli/stores.h"
#include "cli/terminal.h"
#include "cli/work.h"
#include "diagnostics/diagnostic.h"
#include "json/parse.h"
#include "ledger/note.h"
#include "runtime/notes.h"
#include "runtime/witness.h"
#include "store/tables.h"

namespace baton::cli {
namespace {

namespace tables = store::tables;

// --- by whom ------------------------------------------------------------------------------------------------------------

// A store with an operator is changed through its node, which asks for the operator's token and goes on writing meanwhile. One
// without has nobody to ask: a ledger by itself, as `baton ledger append` makes it.
Result<bool> goes_through_a_node(World& world, const NodeOptions& options) {
  if (!options.node.empty() || !world.environment("BATON_NODE").value_or("").empty()) return true;
  const Location location = locate_store(world, options.store.store);
  if (location.kind == LocationKind::ExportedFile) return false;  // opening it to write says why not
  return has_operator(world, location.text);
}

// What the ledger does not take is an answer; that it could not be asked is none.
int not_recorded(World& world, const Failure& failure) {
  const bool refused = failure.code == info(Code::LEDGER_DRAFT).name ||
                       failure.code == info(Code::LEDGER_SECRET).name ||
                       failure.code == info(Code::LEDGER_TOO_LARGE).name;
  could_not(world, failure);
  return refused ? kNo : kCouldNot;
}

// One change of the ledger: by the node, or in this process.
struct Change {
  std::string path;  // of the node
  json::Value body = json::Value::object();
  std::function<Result<runtime::Acknowledgement>(runtime::Ledger&)> directly;
  std::string what;     // "the key was rotated"
  bool beside = false;  // something else is what the command answers: said on standard error, and not in JSON
};

int change(World& world, const NodeOptions& options, const Change& change) {
  const auto by_node = goes_through_a_node(world, options);
  if (!by_node) return could_not(world, by_node.error());
  if (*by_node) {
    auto client = Client::open(world, options, Presents::Operator);
    if (!client) return could_not(world, client.error());
    const auto answer = client->post_once(change.path, change.body);
    if (change.beside && answer && answer->ok())
      return world.print_error(change.what + receipt_text(answer->root()) + "\n"), kYes;
    return tell(world, options, answer, [&](json::Node root) { world.print(change.what + receipt_text(root) + "\n"); });
  }
  const auto open = open_to_write(world, options.store, false);
  if (!open) return could_not(world, open.error());
  const auto done = change.directly(*open->ledger);
  if (!done) return not_recorded(world, done.error());
  const auto& entry = done->entries.back();
  const std::string said = change.what + ", recorded as entry " + std::to_string(entry.sequence) + "\n";
  if (change.beside) return world.print_error(said), kYes;
  if (!options.json()) return world.print(said), kYes;
  json::Value out = json::Value::object(), receipt = json::Value::object();
  receipt.set("sequence", entry.sequence);
  receipt.set("hash", hex(entry.hash));
  out.set("receipt", std::move(receipt));
  world.print(json::write(out) + "\n");
  return kYes;
}

// --- append -------------------------------------------------------------------------------------------------------------

struct AppendArguments {
  NodeOptions node;
  std::string stream, type = "note", file = "-";
};

void print_entry(World& world, const AppendArguments& arguments, std::uint64_t sequence, std::string_view hash) {
  if (!arguments.node.json()) return world.print("entry " + std::to_string(sequence) + "  " + std::string(hash) + "\n");
  json::Value out = json::Value::object();
  out.set("sequence", sequence);
  out.set("hash", hash);
  world.print(json::write(out) + "\n");
}

int append_by_node(World& world, const AppendArguments& arguments, std::string text) {
  auto client = Client::open(world, arguments.node, Presents::Operator);
  if (!client) return could_not(world, client.error());
  const auto answer = client->post_text(
      "/v1/ledger/notes?stream=" + url_part(arguments.stream) + "&type=" + url_part(arguments.type), std::move(text));
  if (!answer) return could_not(world, answer.error());
  if (!answer->ok()) return refused(world, arguments.node, *answer);
  for (const json::Node entry : (*answer)["entries"].elements()) {
    if (arguments.node.json()) world.print(json::write(entry) + "\n");
    else world.print("entry " + text_of(entry["sequence"]) + "  " + text_of(entry["hash"]) + "\n");
  }
  return kYes;
}

int append(World& world, const AppendArguments& arguments) {
  if (!runtime::is_note(arguments.type))
    return could_not(
        world, "--type takes `note` or a type that begins with `note.`: all others are recorded by what does them");
  auto text = read_document(world, arguments.file, limits::kCliDocumentBytesMax);
  if (!text) return could_not(world, text.error());
  // Everything is read and understood before anything is recorded.
  const auto notes = runtime::read_notes(*text);
  if (!notes) return could_not(world, source_name(arguments.file) + " " + notes.error().reason);
  const auto by_node = goes_through_a_node(world, arguments.node);
  if (!by_node) return could_not(world, by_node.error());
  if (*by_node) return append_by_node(world, arguments, std::move(*text));
  const auto open = open_to_write(world, arguments.node.store, true);
  if (!open) return could_not(world, open.error());
  const auto done = open->ledger->writer().run([&](runtime::Unit& unit) -> Result<void> {
    for (const json::Value& note : *notes)
      if (auto appended = unit.append({arguments.stream, arguments.type, operator_of(world), note}); !appended)
        return appended;
    return {};
  });
  if (!done) return not_recorded(world, done.error());
  for (const auto& entry : done->entries) print_entry(world, arguments, entry.sequence, hex(entry.hash));
  world.flush();  // it is recorded, whatever the witnesses take their time for
  for (const std::string& trouble : open->ledger->settle_witnesses()) world.print_error("warning: " + trouble + "\n");
  return kYes;
}

// --- seal ---------------------------------------------------------------------------------------------------------------

struct SealArguments {
  NodeOptions node;
  std::vector<std::string> add, remove;
};

int change_witness(World& world, const SealArguments& arguments, const std::string& witness, bool add) {
  Change wanted{.path = add ? "/v1/ledger/witnesses" : "/v1/ledger/witnesses/remove",
                .directly =
                    [&](runtime::Ledger& ledger) {
                      return add ? ledger.add_witness(operator_of(world), witness)
                                 : ledger.remove_witness(operator_of(world), witness);
                    },
                .what = "the witness " + printable(witness, 200) + (add ? "" : " is none any more"),
                .beside = true};
  wanted.body.set("witness", witness);
  return change(world, arguments.node, wanted);
}

int seal(World& world, const SealArguments& arguments) {
  for (const bool add : {true, false})
    for (const std::string& witness : add ? arguments.add : arguments.remove)
      if (const int status = change_witness(world, arguments, witness, add); status != kYes) return status;
  const auto store = open_to_read(world, arguments.node.store.store);
  if (!store) return could_not(world, store.error());
  const auto reader = (*store)->reader();
  if (!reader) return could_not(world, reader.error());
  const auto newest = (*reader)->newest_seal();
  if (!newest) return could_not(world, newest.error());
  if (!*newest) return could_not(world, "the ledger is empty: there is no seal yet"), kNo;
  json::Value told = json::Value::object(), kept_at = json::Value::array();
  told.set("size", (*newest)->size);
  told.set("seal", (*newest)->note);
  if (!arguments.node.json()) world.print((*newest)->note);
  int status = kYes;
  std::vector<std::string> witnesses;
  // A file says what it likes about witnesses; only a ledger of one's own is brought anywhere.
  if (locate_store(world, arguments.node.store.store).kind != LocationKind::ExportedFile) {
    const auto read = (*reader)->find({.table = tables::kLedgerWitnesses}, [&](const store::Row& row) {
      witnesses.push_back(std::get<std::string>(row[0]));
      return true;
    });
    if (!read) return could_not(world, read.error());
  }
  for (const std::string& witness : witnesses) {
    const auto kept = runtime::keep_seal(witness, (*newest)->note);
    json::Value one = json::Value::object();
    one.set("witness", witness);
    one.set("kept", kept.has_value());
    kept_at.push(std::move(one));
    if (!kept) could_not(world, kept.error()), status = kNo;
    else if (!arguments.node.json()) world.print_error("kept at " + printable(witness, 200) + "\n");
  }
  told.set("witnesses", std::move(kept_at));
  if (arguments.node.json()) world.print(json::write(told) + "\n");
  return status;
}

// --- keys ---------------------------------------------------------------------------------------------------------------

struct KeysArguments {
  NodeOptions node;
  bool pem = false;
  std::string file = "-", key_id;
};

int list_keys(World& world, const KeysArguments& arguments, bool only_public) {
  const auto store = open_to_read(world, arguments.node.store.store);
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
    } else if (arguments.node.json()) {
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
  return change(world, arguments.node,
                {.path = "/v1/ledger/keys/rotate",
                 .directly = [&](runtime::Ledger& ledger) { return ledger.rotate_key(operator_of(world)); },
                 .what = "the key was rotated"});
}

int request(World& world, const KeysArguments& arguments) {
  const Location location = locate_store(world, arguments.node.store.store);
  const auto place = ledger_place(world, arguments.node.store);
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
  const auto document = json::parse(trim(*text));
  if (!document || !document->root().is_object())
    return could_not(world,
                     source_name(arguments.file) + " is no admission request: an object with `key` and `signature`"),
           kNo;
  return change(world, arguments.node,
                {.path = "/v1/ledger/keys/admit",
                 .body = json::Value::copy(document->root()),
                 .directly = [&](runtime::Ledger& ledger) { return ledger.admit_key(operator_of(world), trim(*text)); },
                 .what = "the key was admitted"});
}

int retire(World& world, const KeysArguments& arguments) {
  return change(
      world, arguments.node,
      {.path = "/v1/ledger/keys/" + url_part(arguments.key_id) + "/retire",
       .directly = [&](runtime::Ledger& ledger) { return ledger.retire_key(operator_of(world), arguments.key_id); },
       .what = "the key was retired"});
}

// --- accept-restore -----------------------------------------------------------------------------------------------------

struct AcceptArguments {
  NodeOptions node;
  std::string note;
  bool yes = false;
};

// What the operator is to know before saying yes; nothing was kept that the store does not have: an empty list.
Result<json::Value> setbacks_of(World& world, const NodeOptions& options, bool by_node) {
  json::Value out = json::Value::array();
  if (by_node) {
    auto client = Client::open(world, options, Presents::Operator);
    if (!client) return tl::make_unexpected(client.error());
    const auto answer = client->get("/v1/status");
    if (!answer) return tl::make_unexpected(answer.error());
    if (!answer->ok())
      return failure("reading the node's status", "it answered with status " + std::to_string(answer->status));
    const json::Node behind = answer->root()["ledger"]["behind"];
    return behind.is_array() ? json::Value::copy(behind) : std::move(out);
  }
  const auto open = open_to_write(world, options.store, false);
  if (!open) return tl::make_unexpected(open.error());
  for (const runtime::Setback& setback : open->ledger->setbacks()) out.push(setback.to_json());
  return out;
}

int accept_restore(World& world, const AcceptArguments& arguments) {
  const auto by_node = goes_through_a_node(world, arguments.node);
  if (!by_node) return could_not(world, by_node.error());
  const auto setbacks = setbacks_of(world, arguments.node, *by_node);
  if (!setbacks) return could_not(world, setbacks.error());
  if (setbacks->elements().empty())
    return could_not(world, "nothing to accept: the store has all that was kept elsewhere"), kNo;
  for (const json::Value& one : setbacks->elements())
    if (const json::Value* problem = one.find("problem"); problem != nullptr && problem->is_string())
      world.print_error("the store was restored or cut: " + printable(problem->string(), 400) + "\n");
  if (!arguments.yes) {
    world.print_error(
        "What is missing is lost for good once this store is accepted: what was approved, revoked or used up in\n"
        "the missing entries is as if it had not happened.\n");
    const auto yes = ask_yes(world, "Accept this store as it is? [y/N] ");
    if (!yes) return could_not(world, yes.error());
    if (!*yes) return could_not(world, "not accepted; nothing was recorded"), kNo;
  }
  Change wanted{
      .path = "/v1/ledger/restore/accept",
      .directly = [&](runtime::Ledger& ledger) { return ledger.accept_restore(operator_of(world), arguments.note); },
      .what = "the store is accepted as it is"};
  wanted.body.set("note", arguments.note);
  return change(world, arguments.node, wanted);
}

// --- erase --------------------------------------------------------------------------------------------------------------

struct EraseArguments {
  NodeOptions node;
  std::string sha256, reason;
};

int erase(World& world, const EraseArguments& arguments) {
  Change wanted{.path = "/v1/ledger/blobs/" + url_part(arguments.sha256) + "/erase",
                .directly =
                    [&](runtime::Ledger& ledger) {
                      return ledger.erase_blob(operator_of(world), arguments.sha256, arguments.reason);
                    },
                .what = "the blob's content is gone"};
  wanted.body.set("reason", arguments.reason);
  return change(world, arguments.node, wanted);
}

}  // namespace

void add_ledger_append(Command& ledger, Action& chosen) {
  auto arguments = std::make_shared<AppendArguments>();
  Command* command = ledger.add_subcommand("append", "Record notes: one JSON object a line, all or none");
  command->add_option("FILE", arguments->file, "JSON lines; - or none reads standard input");
  command->add_option("--stream", arguments->stream, "What the notes are about, such as work/W-12")->required();
  command->add_option("--type", arguments->type, "note, or note.WORD")->capture_default_str();
  add_node_options(*command, arguments->node, Presents::Operator, Changes::Something);
  examples(
      *command,
      "  echo '{\"text\":\"deployed by hand\"}' | baton ledger append --stream deploy\n"
      "\nA store with an operator is changed through its node, and takes the operator's token. Where there is none,\n"
      "makes the store and its keys. Secrets are taken out before anything is recorded.\n"
      "Exit status: 0 recorded, 1 refused (nothing was recorded), 2 could not.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return append(world, *arguments); }; });
}

void add_ledger_seal(Command& ledger, Action& chosen) {
  auto arguments = std::make_shared<SealArguments>();
  Command* command =
      ledger.add_subcommand("seal", "The newest seal, a signed checkpoint; also brings it to the ledger's witnesses");
  add_node_options(*command, arguments->node, Presents::Operator, Changes::Nothing);
  command
      ->add_option("--add-witness", arguments->add, "Keep seals there from now on: folder:/path, git:/path, https://…")
      ->allow_extra_args(false);
  command->add_option("--remove-witness", arguments->remove, "No longer")->allow_extra_args(false);
  examples(*command,
           "  baton ledger seal > checkpoint.txt\n  baton ledger seal --add-witness folder:/mnt/elsewhere/baton\n"
           "\nExit status: 0 printed and kept by every witness, 1 not kept somewhere, refused or nothing to seal, 2 "
           "could not.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return seal(world, *arguments); }; });
}

void add_ledger_keys(Command& ledger, Action& chosen) {
  auto arguments = std::make_shared<KeysArguments>();
  Command* command =
      ledger.add_subcommand("keys", "The keys that seal the ledger: list, export, rotate, admit, retire");
  command->require_subcommand(0, 1);
  add_node_options(*command, arguments->node, Presents::Operator, Changes::Nothing);
  examples(*command,
           "  baton ledger keys                          all keys, also retired ones\n"
           "  baton ledger keys export > ledger.pub      the public key that verify and receipts are checked with\n"
           "  baton ledger keys rotate                   a new key takes the old one's place\n"
           "  baton ledger keys request > node2.json     on a new machine: ask for admission\n"
           "  baton ledger keys admit node2.json         on a machine whose key is admitted\n"
           "\nExit status: 0 done, 1 refused or no keys, 2 could not.");
  command->fallthrough();
  command->callback([arguments, &chosen, command] {
    if (!command->subcommand_given())
      chosen = [arguments](World& world) { return list_keys(world, *arguments, false); };
  });
  Command* exporting = command->add_subcommand("export", "The active public keys");
  exporting->add_flag("--pem", arguments->pem, "As PEM, for openssl and others");
  exporting->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return list_keys(world, *arguments, true); }; });
  Command* rotating = command->add_subcommand("rotate", "Make a new key; the entry is signed by both");
  rotating->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return rotate(world, *arguments); }; });
  Command* requesting = command->add_subcommand("request", "Make this node's key, and the request to admit it");
  requesting->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return request(world, *arguments); }; });
  Command* admitting = command->add_subcommand("admit", "Admit another node's key");
  admitting->add_option("FILE", arguments->file, "What `keys request` printed; - or none reads standard input");
  admitting->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return admit(world, *arguments); }; });
  Command* retiring = command->add_subcommand("retire", "A key of another node may not seal any more");
  retiring->add_option("KEY_ID", arguments->key_id, "As `baton ledger keys` lists it")->required();
  retiring->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return retire(world, *arguments); }; });
}

void add_ledger_accept_restore(Command& ledger, Action& chosen) {
  auto arguments = std::make_shared<AcceptArguments>();
  Command* command =
      ledger.add_subcommand("accept-restore", "Accept a store that was restored or cut; recording goes on");
  command->add_option("--note", arguments->note, "Why; recorded");
  command->add_flag("--yes", arguments->yes, "Do not ask at the terminal");
  add_node_options(*command, arguments->node, Presents::Operator, Changes::Nothing);
  examples(*command,
           "  baton ledger accept-restore --note 'disk failure, backup of Monday'\n"
           "  baton ledger accept-restore --yes --note 'restore drill'\n"
           "\nExit status: 0 accepted, 1 nothing to accept, refused or not confirmed, 2 could not.");
  command->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return accept_restore(world, *arguments); }; });
}

void add_ledger_erase(Command& ledger, Action& chosen) {
  auto arguments = std::make_shared<EraseArguments>();
  Command* command = ledger.add_subcommand("erase", "Erase the content of a blob; the chain stays whole and says so");
  command->add_option("SHA256", arguments->sha256, "The blob, as entries refer to it")->required();
  command->add_option("--reason", arguments->reason, "Why; recorded")->required();
  add_node_options(*command, arguments->node, Presents::Operator, Changes::Nothing);
  examples(*command,
           "  baton ledger erase 9f86d081… --reason 'request of the person it is about'\n"
           "\nExit status: 0 erased, 1 refused, 2 could not.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return erase(world, *arguments); }; });
}

}  // namespace baton::cli
