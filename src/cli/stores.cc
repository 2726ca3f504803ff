// SPDX-License-Identifier: Apache-2.0
#include "cli/stores.h"

#include "base/text.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "diagnostics/diagnostic.h"
#include "runtime/load_export.h"
#include "secrets/detector.h"

namespace baton::cli {
namespace {

namespace fs = std::filesystem;

bool is_url(const std::string& location) {
  return location.starts_with("postgresql://") || location.starts_with("postgres://");
}

}  // namespace

std::optional<fs::path> user_folder(World& world, const char* variable, const char* below_home) {
  const auto set = world.environment(variable);
  if (set && set->starts_with('/')) return fs::path(*set) / "baton";
  const auto home = world.environment("HOME");
  if (!home || home->empty()) return std::nullopt;
  return fs::path(*home) / below_home / "baton";
}

void add_store_options(Command& command, StoreOptions& options, bool with_keys) {
  command.add_option(
      "--store", options.store,
      "A folder or a postgresql:// URL; default: BATON_STORE, .baton here or above, the user's data folder");
  if (with_keys)
    command.add_option("--keys", options.keys,
                       "The folder of the private keys; default: BATON_KEYS, the user's configuration folder");
}

Location locate_store(World& world, const std::string& given) {
  std::string location = given;
  if (location.empty()) location = world.environment("BATON_STORE").value_or("");
  std::error_code ignored;
  if (location.empty()) {
    fs::path folder = fs::current_path(ignored);
    while (true) {
      if (fs::is_directory(folder / ".baton", ignored)) return {LocationKind::Folder, (folder / ".baton").string()};
      if (folder == folder.parent_path()) break;
      folder = folder.parent_path();
    }
    const auto data = user_folder(world, "XDG_DATA_HOME", ".local/share");
    location = data ? data->string() : ".baton";
  }
  if (is_url(location)) return {LocationKind::Url, location};
  return {fs::is_regular_file(location, ignored) ? LocationKind::ExportedFile : LocationKind::Folder, location};
}

Result<std::unique_ptr<store::Store>> open_to_read(World& world, const std::string& given) {
  const Location location = locate_store(world, given);
  if (location.kind != LocationKind::ExportedFile) return world.stores.open(location.text, Stores::Access::Read);
  auto store = world.stores.in_memory();
  runtime::ExportLoader loader(*store);
  auto read = read_stream(world, location.text, [&](std::string_view bytes) { loader.take(bytes); });
  if (!read) return tl::make_unexpected(read.error());
  if (auto finished = loader.finish(); !finished) return tl::make_unexpected(finished.error());
  return store;
}

Result<runtime::LedgerPlace> ledger_place(World& world, const StoreOptions& options) {
  runtime::LedgerPlace place;
  const Location location = locate_store(world, options.store);
  if (location.kind == LocationKind::Folder) place.store_folder = location.text;
  std::string keys = options.keys;
  if (keys.empty()) keys = world.environment("BATON_KEYS").value_or("");
  if (!keys.empty()) {
    place.keys = keys;
    return place;
  }
  const auto folder = user_folder(world, "XDG_CONFIG_HOME", ".config");
  if (!folder) return failure("looking for the keys", "neither --keys, BATON_KEYS nor HOME says where they are");
  place.keys = *folder / "keys";
  return place;
}

Result<OpenLedger> open_to_write(World& world, const StoreOptions& options, bool create) {
  const Location location = locate_store(world, options.store);
  if (location.kind == LocationKind::ExportedFile)
    return failure_of(Code::STORE_LOCATION, "opening the store",
                      {{"location", location.text}, {"problem", "an exported file is only read"}});
  if (world.environment("BATON_SESSION_TOKEN"))
    return failure_of(Code::NODE_IN_PROCESS, "opening the store",
                      {{"problem", "it carries a session's token, so it is an agent's"}});
  const auto place = ledger_place(world, options);
  if (!place) return tl::make_unexpected(place.error());
  OpenLedger open;
  auto store = world.stores.open(location.text, create ? Stores::Access::Create : Stores::Access::Write);
  if (!store) return tl::make_unexpected(store.error());
  open.store = std::move(*store);
  if (!create) {
    const auto reader = open.store->reader();
    const auto head = reader ? (*reader)->head() : tl::make_unexpected(reader.error());
    if (!head) return tl::make_unexpected(head.error());
    if (head->size == 0) return failure("opening the ledger of " + open.store->name(), "the store is empty");
  }
  auto ledger = runtime::Ledger::open(*open.store, world.clock, world.random, *place);
  if (!ledger) return tl::make_unexpected(ledger.error());
  open.ledger = std::move(*ledger);
  return open;
}

ledger::Actor operator_of(World& world) {
  const auto user = world.environment("USER");
  return {user && !user->empty() ? printable(*user, 64) : "operator", ledger::ActorKind::Operator};
}

int could_not(World& world, const Failure& failure) {
  std::string text = secrets::redact(failure.text());
  if (const CodeInfo* info = failure.code.empty() ? nullptr : find_code(failure.code))
    text += "\n  " + std::string(info->name) + ": " + plain_pattern(info->help);
  could_not(world, std::string_view(text));
  return failure.code.starts_with("ACCESS_") ? kNo : kCouldNot;
}

}  // namespace baton::cli
