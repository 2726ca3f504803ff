// SPDX-License-Identifier: Apache-2.0
// baton replay: recorded sessions folded through another pack. What would it have decided otherwise?
#include <memory>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/pack.h"
#include "cli/stores.h"
#include "cli/table.h"
#include "runtime/replay.h"

namespace baton::cli {
namespace {

struct Arguments {
  StoreOptions store;
  std::string contracts, role, since;
  bool json = false;
};

json::Value value_of(const runtime::Replayed& replayed) {
  json::Value out = json::Value::object();
  out.set("sessions", replayed.sessions);
  out.set("decisions", replayed.decisions);
  out.set("changed", replayed.changed);
  out.set("not_replayable", replayed.not_replayable);
  json::Value reasons = json::Value::object();
  for (const auto& [reason, count] : replayed.by_reason) reasons.set(reason, count);
  out.set("by_reason", std::move(reasons));
  json::Value changes = json::Value::array();
  for (const runtime::Replayed::Change& change : replayed.changes) {
    json::Value one = json::Value::object();
    one.set("sequence", change.sequence);
    one.set("time", format_time(change.at));
    one.set("session_id", change.session_id);
    one.set("call_id", change.call_id);
    one.set("tool", change.tool);
    one.set("recorded", change.recorded);
    one.set("now", change.now);
    one.set("approved_by_person", change.approved_by_person);
    changes.push(std::move(one));
  }
  out.set("changes", std::move(changes));
  return out;
}

void print_human(World& world, const runtime::Replayed& replayed) {
  if (replayed.changed > 0) {
    Table table(world.colour);
    table.heading({"ENTRY", "SESSION", "TOOL", "WAS", "WOULD BE", ""});
    for (const runtime::Replayed::Change& change : replayed.changes)
      table.row({{std::to_string(change.sequence)},
                 {change.session_id, "2"},
                 {printable(change.tool, 40), "1"},
                 {change.recorded},
                 {change.now, change.now.starts_with("block") ? "31" : "33"},
                 {change.approved_by_person ? "a person had approved it" : "", "35"}});
    world.print(table.text());
    if (replayed.changes.size() < replayed.changed)
      world.print("... and " + std::to_string(replayed.changed - replayed.changes.size()) + " more\n");
    for (const auto& [reason, count] : replayed.by_reason)
      world.print("  " + std::to_string(count) + "  " + reason + "\n");
  }
  if (replayed.not_replayable > 0)
    world.print(std::to_string(replayed.not_replayable) + " depend on something that was recorded as a hash only: " +
                std::string(info(Code::not_replayable).help) + "\n");
  world.print(std::to_string(replayed.decisions) + " decisions of " + std::to_string(replayed.sessions) +
              " sessions: " + std::to_string(replayed.changed) + " would change" +
              (replayed.not_replayable > 0 ? ", " + std::to_string(replayed.not_replayable) + " cannot be told" : "") +
              "\n");
}

int replay(World& world, const Arguments& arguments) {
  runtime::ReplayOptions options;
  options.role = arguments.role;
  if (!arguments.since.empty()) {
    const auto since = parse_time(arguments.since).time;
    if (!since)
      return could_not(
          world, "--since takes a UTC time such as 2026-11-15T00:00:00Z, not `" + printable(arguments.since, 60) + "`");
    options.since = *since;
  }
  if (!arguments.contracts.empty()) {
    const auto plan = need_plan(world, arguments.contracts, arguments.role);
    if (!plan) return kCouldNot;
    options.rules = session::make_rules(plan);
  }
  const auto store = open_to_read(world, arguments.store.store);
  if (!store) return could_not(world, store.error());
  const auto reader = (*store)->reader();
  if (!reader) return could_not(world, reader.error());
  const auto replayed = runtime::replay(**reader, options);
  if (!replayed) return could_not(world, replayed.error());
  if (arguments.json) world.print(json::write(value_of(*replayed)) + "\n");
  else print_human(world, *replayed);
  return replayed->changed == 0 ? kYes : kNo;
}

}  // namespace

void add_replay(Command& app, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = app.add_subcommand("replay", "What would another pack have decided? Nothing is executed");
  command->add_option("--contracts", arguments->contracts, "The pack's folder; default: each session's own pack");
  command->add_option("--role", arguments->role, "Only sessions of this role; and of a workflow, its pack");
  command->add_option("--since", arguments->since, "Tell only of decisions from this UTC time on");
  command->add_flag("--json", arguments->json, "One JSON object");
  command->add_option("--store", arguments->store.store, "The store: a folder, or a postgres:// address");
  examples(*command,
           "  baton replay --contracts contracts/\n  baton replay --contracts contracts/ --since 2026-11-01T00:00:00Z "
           "--json\n"
           "\nReads the store itself. Exit status: 0 nothing would change, 1 something would, 2 could not:\nfit to "
           "hold up a pull request.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return replay(world, *arguments); }; });
}

}  // namespace baton::cli
