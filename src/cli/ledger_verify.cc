// SPDX-License-Identifier: Apache-2.0
// baton ledger verify, export, prove, and baton receipt verify: what a stranger can check.
#include <memory>

#include "base/limits.h"
#include "base/text.h"
#include "cli/input.h"
#include "cli/ledger.h"
#include "cli/render.h"
#include "cli/stores.h"
#include "ledger/export.h"
#include "ledger/receipt.h"
#include "runtime/ledger.h"
#include "runtime/rebuild.h"
#include "runtime/verify.h"

namespace baton::cli {
namespace {

std::string diagnostic_text(const Diagnostic& diagnostic, bool colour) {
  const bool error = diagnostic.severity == Severity::Error;
  const std::string word =
      std::string(severity_name(diagnostic.severity)) + "[" + std::string(info(diagnostic.code).name) + "]";
  return (colour ? (error ? "\x1b[1;31m" : "\x1b[1;33m") + word + "\x1b[0m" : word) + ": " + diagnostic.message +
         "\n  help: " + diagnostic.help + "\n";
}

json::Value diagnostic_json(const Diagnostic& diagnostic) {
  json::Value out = json::Value::object();
  out.set("code", info(diagnostic.code).name);
  out.set("severity", severity_name(diagnostic.severity));
  out.set("message", diagnostic.message);
  out.set("help", diagnostic.help);
  return out;
}

// One key in any form, or several verifier keys, one a line, as `keys export` prints them where there are several nodes.
Result<std::vector<ledger::VerifierKey>> read_public_keys(World& world, const std::string& file) {
  const auto text = read_document(world, file, limits::kWitnessNoteBytesMax);
  if (!text) return tl::make_unexpected(text.error());
  std::vector<ledger::VerifierKey> keys;
  for (const std::string_view line : split(*text, '\n'))
    if (const auto key = ledger::VerifierKey::parse(trim(line))) keys.push_back(*key);
  if (!keys.empty()) return keys;
  const auto key = ledger::VerifierKey::parse_file(*text);
  if (!key) return tl::make_unexpected(key.error());
  return std::vector{*key};
}

struct VerifyArguments {
  StoreOptions store;
  std::string location, public_key, format = "human";
  std::vector<std::string> checkpoints, witnesses;
  bool rebuild = false;
};

// What was found, from whichever source.
struct Verdict {
  runtime::VerifyReport report;
  std::optional<runtime::RebuildReport> rebuilt;

  bool holds() const { return !report.broken && !(rebuilt && rebuilt->difference); }
};

Result<Verdict> verify_file(World& world, const std::string& file, const runtime::VerifyOptions& options) {
  Verdict verdict;
  runtime::VerifyReport& report = verdict.report;
  ledger::ExportVerifier verifier;
  runtime::expect_kept(verifier, options.kept, report.warnings);
  for (const ledger::VerifierKey& key : options.public_keys) verifier.pin(key);
  if (options.public_keys.empty()) report.warnings.push_back(baton::report(Code::LEDGER_KEY_UNPINNED, {}));
  const auto read = read_stream(world, file, [&](std::string_view bytes) {
    if (report.broken) return;
    report.broken = verifier.feed(bytes);
    // How long the file is, nobody knows when it comes by a pipe.
    options.progress(verifier.verifier().size(), verifier.verifier().size());
  });
  if (!read) return tl::make_unexpected(read.error());
  if (!report.broken) report.broken = verifier.finish();
  report.entries = verifier.verifier().size();
  report.seals = verifier.seals();
  report.origin = verifier.verifier().keys().origin();
  report.checkpoint = {report.origin, report.entries, verifier.verifier().peaks().root()};
  return verdict;
}

// What the node of this user has kept of the ledger. Read before the store is, which goes on meanwhile.
std::optional<runtime::KeptCheckpoint> own_seal(World& world, const StoreOptions& options, store::Store& store) {
  const auto reader = store.reader();
  const auto origin = reader ? runtime::origin_of(**reader) : tl::make_unexpected(reader.error());
  const auto place = ledger_place(world, options);
  if (!origin || !*origin || !place) return std::nullopt;
  auto note = runtime::last_seal_of(*place, **origin);
  return note ? std::optional(runtime::KeptCheckpoint{"this node", std::move(*note)}) : std::nullopt;
}

Result<Verdict> verify_store(World& world, const VerifyArguments& arguments, runtime::VerifyOptions options) {
  const auto store = open_to_read(world, arguments.store.store);
  if (!store) return tl::make_unexpected(store.error());
  options.own = own_seal(world, arguments.store, **store);
  auto report = runtime::verify(**store, options);
  if (!report) return tl::make_unexpected(report.error());
  Verdict verdict{std::move(*report), {}};
  if (arguments.rebuild && !verdict.report.broken) {
    const auto scratch = world.stores.in_memory();
    Progress progress(world, "rebuilding");
    auto rebuilt = runtime::rebuild_and_compare(**store, *scratch, std::ref(progress));
    if (!rebuilt) return tl::make_unexpected(rebuilt.error());
    verdict.rebuilt = std::move(*rebuilt);
  }
  return verdict;
}

void print_json(World& world, const Verdict& verdict) {
  const runtime::VerifyReport& report = verdict.report;
  json::Value out = json::Value::object();
  out.set("valid", verdict.holds());
  out.set("entries", report.entries);
  out.set("seals", report.seals);
  out.set("blobs", report.blobs);
  out.set("erased_blobs", report.erased_blobs);
  out.set("origin", report.origin);
  out.set("root", ledger::base64(report.checkpoint.root));
  json::Value broken;
  if (report.broken) {
    broken = diagnostic_json(report.broken->diagnostic);
    broken.set("sequence", report.broken->sequence);
  } else if (verdict.rebuilt && verdict.rebuilt->difference) {
    broken = diagnostic_json(*verdict.rebuilt->difference);
    broken.set("sequence", nullptr);
  }
  out.set("broken", std::move(broken));
  json::Value warnings = json::Value::array();
  for (const Diagnostic& warning : report.warnings) warnings.push(diagnostic_json(warning));
  out.set("warnings", std::move(warnings));
  if (verdict.rebuilt) {
    out.set("rebuilt_rows", verdict.rebuilt->rows);
    out.set("older_rules", verdict.rebuilt->older_rules);
  }
  world.print(json::write(out) + "\n");
}

void print_human(World& world, const Verdict& verdict, std::int64_t nanoseconds) {
  const runtime::VerifyReport& report = verdict.report;
  std::string out;
  if (report.broken) out += diagnostic_text(report.broken->diagnostic, world.colour);
  if (verdict.rebuilt && verdict.rebuilt->difference)
    out += diagnostic_text(*verdict.rebuilt->difference, world.colour);
  for (const Diagnostic& warning : report.warnings) out += diagnostic_text(warning, world.colour);
  const std::string entries = with_commas(report.entries) + " entries and " + with_commas(report.seals) + " seals";
  if (report.broken)
    out += "broken at " + std::to_string(report.broken->sequence) + "; " + entries + " before it hold\n";
  else if (verdict.rebuilt && verdict.rebuilt->difference)
    out += entries + " hold, but the tables do not agree with them\n";
  else
    out += "whole: " + entries + (report.blobs != 0 ? ", " + with_commas(report.blobs) + " blobs" : "") + " hold" +
           (report.entries == 0 ? "" : ", root " + ledger::base64(report.checkpoint.root)) + "\n";
  if (verdict.rebuilt && !verdict.rebuilt->difference)
    out += "the tables agree: " + with_commas(verdict.rebuilt->rows) + " rows made again from the entries\n";
  if (verdict.rebuilt && verdict.rebuilt->older_rules != 0)
    out += "older_rules: " + with_commas(verdict.rebuilt->older_rules) +
           " decisions of sessions that were opened with older rules were not judged again\n";
  if (nanoseconds > kNanosecondsPerSecond / 10)
    out += "took " + std::to_string(nanoseconds / 1'000'000) + " ms, " +
           with_commas(static_cast<std::uint64_t>(static_cast<double>(report.entries) * 1e9 /
                                                  static_cast<double>(nanoseconds))) +
           " entries/s\n";
  world.print(out);
}

int verify(World& world, VerifyArguments& arguments) {
  if (!arguments.location.empty()) arguments.store.store = arguments.location;
  runtime::VerifyOptions options;
  if (!arguments.public_key.empty()) {
    auto keys = read_public_keys(world, arguments.public_key);
    if (!keys) return could_not(world, keys.error());
    options.public_keys = std::move(*keys);
  }
  options.witnesses = arguments.witnesses;
  for (const std::string& file : arguments.checkpoints) {
    const auto note = read_document(world, file, limits::kWitnessNoteBytesMax);
    if (!note) return could_not(world, note.error());
    const auto parsed = ledger::parse_note(*note);
    if (!parsed || !ledger::parse_checkpoint(parsed->text))
      return could_not(world, source_name(file) + " holds no checkpoint, as `baton ledger seal` prints it");
    options.kept.push_back({source_name(file), *note});
  }
  const std::int64_t started = world.clock.monotonic_ns();
  const bool is_file =
      arguments.location == "-" || locate_store(world, arguments.store.store).kind == LocationKind::ExportedFile;
  if (is_file && arguments.rebuild)
    return could_not(world, "--rebuild compares the tables of a store; an exported file has none");
  Result<Verdict> verdict = [&] {
    Progress progress(world, "verifying");
    options.progress = std::ref(progress);
    return is_file
               ? verify_file(world, arguments.location == "-" ? "-" : locate_store(world, arguments.store.store).text,
                             options)
               : verify_store(world, arguments, options);
  }();
  if (!verdict) return could_not(world, verdict.error());
  if (arguments.format == "json") print_json(world, *verdict);
  else print_human(world, *verdict, world.clock.monotonic_ns() - started);
  return verdict->holds() ? kYes : kNo;
}

struct ExportArguments {
  StoreOptions store;
};

int write_export(World& world, const ExportArguments& arguments) {
  const auto store = open_to_read(world, arguments.store.store);
  if (!store) return could_not(world, store.error());
  const auto reader = (*store)->reader();
  if (!reader) return could_not(world, reader.error());
  const auto written = ledger::write_export(**reader, [&](std::string_view text) -> Result<void> {
    world.print(text);
    return {};
  });
  if (!written) return could_not(world, written.error());
  return kYes;
}

struct ProveArguments {
  StoreOptions store;
  std::uint64_t sequence = 0, since = 0;
};

int prove(World& world, const ProveArguments& arguments) {
  if ((arguments.sequence == 0) == (arguments.since == 0))
    return could_not(world, "prove takes a SEQUENCE, or --since SIZE: one of the two");
  const auto store = open_to_read(world, arguments.store.store);
  if (!store) return could_not(world, store.error());
  const auto reader = (*store)->reader();
  if (!reader) return could_not(world, reader.error());
  const auto proof = arguments.sequence != 0 ? ledger::make_receipt(**reader, arguments.sequence)
                                             : ledger::make_consistency_proof(**reader, arguments.since);
  if (!proof) return could_not(world, proof.error());
  world.print(proof->ends_with('\n') ? *proof : *proof + "\n");
  return kYes;
}

struct ReceiptArguments {
  std::string file = "-", public_key, checkpoint, format = "human";
};

int verify_consistency_file(World& world, const ReceiptArguments& arguments, const std::string& text,
                            const std::vector<ledger::VerifierKey>& keys) {
  std::optional<ledger::Checkpoint> kept;
  if (!arguments.checkpoint.empty()) {
    const auto note = read_document(world, arguments.checkpoint, limits::kWitnessNoteBytesMax);
    if (!note) return could_not(world, note.error());
    const auto parsed = ledger::parse_note(*note);
    kept = parsed ? ledger::parse_checkpoint(parsed->text) : std::nullopt;
    if (!kept)
      return could_not(world,
                       source_name(arguments.checkpoint) + " holds no checkpoint, as `baton ledger seal` prints it");
  }
  ledger::ConsistencyVerdict verdict;
  for (const ledger::VerifierKey& key : keys)
    if (verdict = ledger::verify_consistency_proof(text, key, kept); verdict.diagnostics.empty()) break;
  const bool holds = verdict.diagnostics.empty();
  if (arguments.format == "json") {
    json::Value out = json::Value::object();
    out.set("source", source_name(arguments.file));
    out.set("valid", holds);
    out.set("old_size", holds ? json::Value(verdict.old_size) : json::Value());
    out.set("origin", holds ? json::Value(verdict.checkpoint.origin) : json::Value());
    out.set("size", holds ? json::Value(verdict.checkpoint.size) : json::Value());
    json::Value diagnostics = json::Value::array();
    for (const Diagnostic& diagnostic : verdict.diagnostics) diagnostics.push(diagnostic_json(redacted(diagnostic)));
    out.set("diagnostics", std::move(diagnostics));
    world.print(json::write(out) + "\n");
    return holds ? kYes : kNo;
  }
  for (const Diagnostic& diagnostic : verdict.diagnostics)
    world.print(diagnostic_text(redacted(diagnostic), world.colour));
  world.print(holds ? "holds: " + std::string(kept ? "the kept ledger" : "a ledger") + " of " +
                          with_commas(verdict.old_size) + " entries is the beginning of " +
                          printable(verdict.checkpoint.origin, 100) + " with " + with_commas(verdict.checkpoint.size) +
                          "\n"
                    : "does not hold\n");
  return holds ? kYes : kNo;
}

int verify_receipt(World& world, const ReceiptArguments& arguments) {
  const auto keys = read_public_keys(world, arguments.public_key);
  if (!keys) return could_not(world, keys.error());
  const auto text = read_document(world, arguments.file, limits::kCliDocumentBytesMax);
  if (!text) return could_not(world, text.error());
  if (ledger::is_consistency_proof(*text)) return verify_consistency_file(world, arguments, *text, *keys);
  ledger::ReceiptVerdict verdict;
  for (const ledger::VerifierKey& key : *keys)
    if (verdict = ledger::verify_receipt(*text, key); verdict.diagnostics.empty()) break;
  const bool holds = verdict.diagnostics.empty();
  if (arguments.format == "json") {
    json::Value out = json::Value::object();
    out.set("source", source_name(arguments.file));
    out.set("valid", holds);
    out.set("sequence", holds ? json::Value(verdict.entry.sequence) : json::Value());
    out.set("origin", holds ? json::Value(verdict.checkpoint.origin) : json::Value());
    out.set("size", holds ? json::Value(verdict.checkpoint.size) : json::Value());
    json::Value diagnostics = json::Value::array();
    for (const Diagnostic& diagnostic : verdict.diagnostics) diagnostics.push(diagnostic_json(redacted(diagnostic)));
    out.set("diagnostics", std::move(diagnostics));
    world.print(json::write(out) + "\n");
    return holds ? kYes : kNo;
  }
  std::string out;
  for (const Diagnostic& diagnostic : verdict.diagnostics) out += diagnostic_text(redacted(diagnostic), world.colour);
  if (holds)
    out += "holds: entry " + std::to_string(verdict.entry.sequence) + " is in the ledger " +
           printable(verdict.checkpoint.origin, 100) + " of " + with_commas(verdict.checkpoint.size) + " entries\n" +
           entry_whole(verdict.entry.row(), world.colour);
  else out += "does not hold\n";
  world.print(out);
  return holds ? kYes : kNo;
}

}  // namespace

void add_ledger_verify(Command& ledger, Action& chosen) {
  auto arguments = std::make_shared<VerifyArguments>();
  Command* command = ledger.add_subcommand("verify", "Is the ledger whole? Every entry, seal, tree row and blob");
  command->add_option("LOCATION", arguments->location,
                      "A store or an exported file, instead of --store; - reads an export");
  add_store_options(*command, arguments->store, true);
  command->add_option("--public-key", arguments->public_key, "A file with the ledger's public key, got another way");
  command
      ->add_option("--checkpoint", arguments->checkpoints,
                   "A file with a seal that was kept: nothing before it may be gone")
      ->allow_extra_args(false);
  command
      ->add_option("--witness", arguments->witnesses,
                   "A witness you know of, beside those the ledger names: folder:/path, ...")
      ->allow_extra_args(false);
  command->add_flag("--rebuild", arguments->rebuild, "Also make every table again from the entries and compare");
  command->add_option("--format", arguments->format, "human or json")->one_of({"human", "json"})->capture_default_str();
  examples(*command,
           "  baton ledger verify --public-key ledger.pub --checkpoint kept.txt\n"
           "  baton ledger verify export.jsonl\n  baton ledger verify --rebuild\n"
           "\nExit status: 0 whole, 1 broken (the first broken entry is named), 2 could not tell.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return verify(world, *arguments); }; });
}

void add_ledger_export(Command& ledger, Action& chosen) {
  auto arguments = std::make_shared<ExportArguments>();
  Command* command = ledger.add_subcommand("export", "All of it as JSON lines, for others to verify");
  add_store_options(*command, arguments->store, false);
  examples(*command,
           "  baton ledger export > ledger.jsonl\n  baton ledger verify ledger.jsonl\n"
           "\nThe format is written down in docs/formats/ledger.md; tools/verify_ledger.py checks it without Baton.");
  command->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return write_export(world, *arguments); }; });
}

void add_ledger_prove(Command& ledger, Action& chosen) {
  auto arguments = std::make_shared<ProveArguments>();
  Command* command = ledger.add_subcommand("prove", "A receipt: an entry, and the proof that it is in the ledger");
  command->add_option("SEQUENCE", arguments->sequence, "The entry")->positive();
  command->add_option("--since", arguments->since,
                      "Prove instead that the ledger of so many entries is this one's beginning");
  add_store_options(*command, arguments->store, false);
  examples(*command,
           "  baton ledger prove 42 > receipt.json\n  baton receipt verify receipt.json --public-key ledger.pub\n"
           "  baton ledger prove --since 1000");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return prove(world, *arguments); }; });
}

void add_receipt(Command& app, Action& chosen) {
  auto arguments = std::make_shared<ReceiptArguments>();
  Command* command = app.add_subcommand("receipt", "Proofs that an entry is in a ledger");
  command->require_subcommand(1);
  examples(*command, "  baton receipt verify receipt.json --public-key ledger.pub");
  Command* checking = command->add_subcommand("verify", "Does the receipt hold? Needs nothing but the public key");
  checking->add_option("FILE", arguments->file, "A receipt; - or none reads standard input");
  checking->add_option("--public-key", arguments->public_key, "A file with the ledger's public key")->required();
  checking->add_option("--checkpoint", arguments->checkpoint,
                       "For a proof of `prove --since`: a file with the older seal that was kept");
  checking->add_option("--format", arguments->format, "human or json")
      ->one_of({"human", "json"})
      ->capture_default_str();
  examples(*checking,
           "  baton receipt verify receipt.json --public-key ledger.pub\n"
           "  baton receipt verify since-1000.json --public-key ledger.pub --checkpoint kept.txt\n\nExit status: 0 "
           "holds, 1 does not, 2 could "
           "not tell.");
  checking->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return verify_receipt(world, *arguments); }; });
}

}  // namespace baton::cli
