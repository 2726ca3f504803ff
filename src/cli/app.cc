// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include "base/text.h"
#include "json/parse.h"
#include "secrets/detector.h"

namespace baton::cli {

int could_not(World& world, std::string_view what) {
  world.flush();
  world.print_error("baton: " + std::string(what) + "\n");
  return kCouldNot;
}

std::optional<Time> time_option(World& world, const std::string& text) {
  if (text.empty()) return world.clock.now();
  const auto time = parse_time(text).time;
  if (!time) could_not(world, "--now takes a UTC time such as 2026-11-15T00:00:00Z, not `" + printable(text, 60) + "`");
  return time;
}

std::optional<std::pair<std::string, json::Value>> assignment(World& world, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || !text.starts_with('/')) {
    could_not(world,
              "--set takes /path=value, a JSON Pointer and what to put there, not `" + printable(text, 60) + "`");
    return std::nullopt;
  }
  const std::string value = text.substr(equals + 1);
  const auto document = json::parse(value);
  return std::pair{text.substr(0, equals), document ? json::Value::copy(document->root()) : json::Value(value)};
}

void examples(Command& command, std::string_view text) { command.footer("\nExamples:\n" + std::string(text)); }

const std::vector<std::string>& dialect_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Dialect dialect : kDialects) out.emplace_back(dialect_name(dialect));
    return out;
  }();
  return names;
}

int run(World& world, int argc, const char* const* argv) {
  Program program(
      "baton",
      "Baton holds AI agents to their contracts and takes the work safely from their hands into the next ones'.",
      std::string("baton ") + BATON_VERSION);
  Command& app = program.root();
  examples(app,
           "  baton init                                 a store in this folder, and you as its operator\n"
           "  baton contract activate my-pack            what agents are held to; `baton contract new` writes one\n"
           "  baton work create 'Mend the gate' --phase IMPLEMENTATION --text-file task.md\n"
           "  baton run -- claude -p 'Do what the item says.' --output-format stream-json --verbose\n"
           "  baton approvals list                       what waits for your yes or no\n"
           "  baton ledger verify --rebuild              does the record hold?\n"
           "  baton check handoff.json                   is this handoff valid? 0 yes, 1 no, 2 could not tell\n"
           "  baton explain UAIX_EXPIRED                 what a code means and what to do about it\n"
           "  baton COMMAND --help                       more about one command");
  Action chosen;
  // In the order of their use: who works and what is decided, what is handed over, the record, the node.
  add_init(app, chosen);
  add_work(app, chosen);
  add_contract(app, chosen);
  add_session(app, chosen);
  add_workflow(app, chosen);
  add_handoff(app, chosen);
  add_approvals(app, chosen);
  add_mcp(app, chosen);
  add_run(app, chosen);
  add_adopt(app, chosen);
  add_replay(app, chosen);
  add_check(app, chosen);
  add_find(app, chosen);
  add_translate(app, chosen);
  add_uaix(app, chosen);
  add_json(app, chosen);
  add_ledger(app, chosen);
  add_receipt(app, chosen);
  add_serve(app, chosen);
  add_status(app, chosen);
  add_doctor(app, chosen);
  add_stop(app, chosen);
  add_token(app, chosen);
  add_unlock(app, chosen);
  add_operator(app, chosen);
  add_context(app, chosen);
  add_events(app, chosen);
  add_explain(app, chosen);
  add_completion(app, chosen);
  const Program::Reading reading = program.parse(argc, argv);
  if (reading.read == Program::Read::Wrong)
    return could_not(world, secrets::redact(reading.text) + "\nrun `baton --help`, or `baton COMMAND --help`");
  if (reading.read == Program::Read::Asked) {
    world.print(reading.text);
    return world.flush() ? kYes : kCouldNot;
  }
  if (!chosen) {
    world.print(program.help());
    world.flush();
    return kCouldNot;
  }
  const int status = chosen(world);
  return world.flush() ? status : kCouldNot;
}

}  // namespace baton::cli
