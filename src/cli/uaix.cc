// SPDX-License-Identifier: Apache-2.0
// baton uaix: making, sealing and verifying packets.
#include "dialects/uaix/packet.h"

#include "base/limits.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/render.h"
#include "json/parse.h"

namespace baton::cli {
namespace {

struct Arguments {
  std::string kind, with, now, file = "-", format = "human";
  std::vector<std::string> set;
  bool fixture = false, no_seal = false;
};

std::optional<json::Value> read_object(World& world, const std::string& path) {
  const auto text = read_document(world, path, limits::kCliDocumentBytesMax);
  if (!text) return could_not(world, text.error().text()), std::nullopt;
  json::ParseLimits limits;
  limits.depth_max = limits::kUaixDepthMax;
  const auto document = json::parse(*text, limits);
  if (!document) {
    const json::Position place = json::position_at(*text, document.error().offset);
    could_not(world, source_name(path) + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": " +
                         document.error().what);
    return std::nullopt;
  }
  if (!document->root().is_object()) return could_not(world, source_name(path) + " is not a JSON object"), std::nullopt;
  return json::Value::copy(document->root());
}

// Members of `from` over those of `into`, objects merged.
void lay_over(json::Value& into, const json::Value& from) {
  for (const auto& [name, value] : from.members()) {
    json::Value* present = into.find(name);
    if (present != nullptr && present->is_object() && value.is_object()) lay_over(*present, value);
    else into.set(name, value);
  }
}

void follow(json::Value& packet, std::string_view from, std::string_view to) {
  const json::Value* value = packet.find_at(from);
  if (value != nullptr && packet.find_at(to) == nullptr) packet.set_at(to, json::Value(*value));
}

int create(World& world, const Arguments& arguments) {
  const auto now = time_option(world, arguments.now);
  if (!now) return kCouldNot;
  const std::string profile = "uai.agent." + arguments.kind + ".v1";
  json::Value packet = uaix::skeleton(profile, *now, world.random);
  if (!arguments.with.empty()) {
    const auto with = read_object(world, arguments.with);
    if (!with) return kCouldNot;
    lay_over(packet, *with);
  }
  for (const std::string& item : arguments.set) {
    auto member = assignment(world, item);
    if (!member) return kCouldNot;
    if (!packet.set_at(member->first, std::move(member->second)))
      return could_not(world, "`" + member->first + "` cannot be set in a packet");
  }
  // What one member says of another need not be said twice.
  if (uaix::body_has(profile, "target_agent_id")) follow(packet, "/target/id", "/body/target_agent_id");
  follow(packet, "/source/id", "/provenance/agent_id");
  follow(packet, "/body/task_id", "/delivery/task_ref");
  if (uaix::body_has(profile, "task_id")) follow(packet, "/delivery/task_ref", "/body/task_id");
  follow(packet, "/conversation/sequence", "/delivery/sequence");
  follow(packet, "/delivery/sequence", "/conversation/sequence");
  for (const std::string_view place : {"/conversation/sequence", "/delivery/sequence"})
    if (packet.find_at(place) == nullptr) packet.set_at(place, 0);
  if (auto sealed = uaix::seal(packet)) packet = std::move(*sealed);
  const std::string text = json::write_pretty(packet) + "\n";
  uaix::Options options{.now = *now, .fixture = false, .known_extensions = {}, .seen = nullptr};
  uaix::Checked checked = uaix::check(text, options);
  if (!checked.valid()) {
    for (Diagnostic& diagnostic : checked.diagnostics)
      diagnostic.place.line = diagnostic.place.column = 0;  // of a text nobody has seen
    world.print_error(render_human(checked.diagnostics, "the new packet", {}, world.colour_errors));
    return could_not(
               world,
               "no packet was made: supply what is missing, mend what is wrong, with --set /path=value or --with FILE"),
           kNo;
  }
  world.print(text);
  return kYes;
}

int seal(World& world, const Arguments& arguments) {
  const auto packet = read_object(world, arguments.file);
  if (!packet) return kCouldNot;
  const auto sealed = uaix::seal(*packet);
  if (!sealed)
    return could_not(world, source_name(arguments.file) +
                                " cannot be sealed: it has no `integrity` object, or a number beyond doubles"),
           kNo;
  world.print(json::write_pretty(*sealed) + "\n");
  return kYes;
}

int verify(World& world, const Arguments& arguments) {
  const auto now = time_option(world, arguments.now);
  if (!now) return kCouldNot;
  const auto text = read_document(world, arguments.file, limits::kCliDocumentBytesMax);
  if (!text) return could_not(world, text.error().text());
  checker::Options options;
  options.dialect = Dialect::Uaix;
  options.now = *now;
  options.fixture = arguments.fixture;
  const Shown shown{source_name(arguments.file), *text, checker::check(*text, options)};
  world.print(arguments.format == "json" ? render_json(shown) : render_human(shown, world.colour));
  return shown.report.valid() ? kYes : kNo;
}

}  // namespace

void add_uaix(Command& app, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = app.add_subcommand("uaix", "Make, seal and verify UAIX packets");
  command->require_subcommand(1);
  examples(*command,
           "  baton uaix new handoff --with parties.json --set /body/task_id=task_release_12 > packet.json\n"
           "  baton uaix seal draft.json > packet.json\n"
           "  baton uaix verify packet.json");

  Command* make = command->add_subcommand(
      "new", "Make a sealed packet; ids, times and versions are filled in, the rest is yours to supply");
  make->add_option("KIND", arguments->kind, "handoff, ack or blocker; the other profiles on request")
      ->required()
      ->one_of(
          {"handoff", "ack", "blocker", "memory-proposal", "task-status", "final-report", "correction", "capability"});
  make->add_option("--set", arguments->set, "Supply a member: /path=value")->allow_extra_args(false);
  make->add_option("--with", arguments->with, "Supply members from a JSON file of the packet's shape");
  make->add_option("--now", arguments->now, "The time of issue, UTC, instead of now");
  examples(*make,
           "  baton uaix new ack --with parties.json --set /body/task_id=task_release_12 \\\n"
           "        --set /body/acknowledged_message_id=msg_relay_0042 --set /body/decision=accept \\\n"
           "        --set '/body/support_boundary=The runtime executes; this is a record.'\n"
           "\nWhat is missing is listed with its place, and nothing is printed. Exit status: 0 made, 1 not complete, 2 "
           "could not.");
  make->callback([arguments, &chosen] { chosen = [arguments](World& world) { return create(world, *arguments); }; });

  Command* seal_command = command->add_subcommand("seal", "Put the right checksum into a packet");
  seal_command->add_option("FILE", arguments->file, "A file; - or none reads standard input");
  examples(*seal_command, "  baton uaix seal draft.json > packet.json");
  seal_command->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return seal(world, *arguments); }; });

  Command* verify_command = command->add_subcommand("verify", "Check a packet: shape, times, texts, seal");
  verify_command->add_option("FILE", arguments->file, "A file; - or none reads standard input");
  verify_command->add_option("--now", arguments->now, "Judge expiry at this UTC time instead of now");
  verify_command->add_option("--format", arguments->format, "human or json")
      ->one_of({"human", "json"})
      ->capture_default_str();
  verify_command->add_flag("--fixture", arguments->fixture, "Accept the published fixture's placeholder checksum");
  examples(*verify_command,
           "  baton uaix verify packet.json\n  baton uaix verify --fixture fixture.json\n\nExit status: 0 valid, 1 "
           "not, 2 could not.");
  verify_command->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return verify(world, *arguments); }; });
}

}  // namespace baton::cli
