// SPDX-License-Identifier: Apache-2.0
// baton json: strict JSON and its canonical form.
#include "base/limits.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/render.h"
#include "json/canonical.h"
#include "json/parse.h"

namespace baton::cli {
namespace {

struct Arguments {
  std::vector<std::string> files;
  std::string file = "-", format = "human", numbers = "rfc8785";
};

Code code_of(json::Fault fault) {
  switch (fault) {
    case json::Fault::DuplicateKey: return Code::JSON_DUPLICATE_KEY;
    case json::Fault::TooDeep: return Code::JSON_TOO_DEEP;
    case json::Fault::TooLarge:
    case json::Fault::TooManyMembers: return Code::JSON_TOO_LARGE;
    case json::Fault::BadUtf8: return Code::JSON_UTF8;
    default: return Code::JSON_SYNTAX;
  }
}

void show(World& world, const Arguments& arguments, const std::string& source, std::string_view text,
          const std::vector<Diagnostic>& diagnostics) {
  if (arguments.format == "json") {
    json::Value out = json::Value::object();
    out.set("source", source);
    out.set("valid", diagnostics.empty());
    json::Value list = json::Value::array();
    for (const Diagnostic& diagnostic : diagnostics) list.push(checker::to_json(redacted(diagnostic)));
    out.set("diagnostics", std::move(list));
    world.print(json::write(out) + "\n");
  } else {
    world.print(render_human(diagnostics, source, text, world.colour));
    world.print(source + (diagnostics.empty() ? ": valid JSON\n" : ": not valid JSON\n"));
  }
}

int check(World& world, const Arguments& arguments) {
  int status = kYes;
  const std::vector<std::string> files = arguments.files.empty() ? std::vector<std::string>{"-"} : arguments.files;
  for (const std::string& file : files) {
    const auto text = read_document(world, file, limits::kJsonBytesMax);
    if (!text) {
      status = could_not(world, text.error().text());
      continue;
    }
    const auto document = json::parse(*text);
    std::vector<Diagnostic> diagnostics;
    if (!document)
      diagnostics.push_back(report(code_of(document.error().fault), place_at(*text, document.error().offset),
                                   {{"what", document.error().what}}));
    show(world, arguments, source_name(file), *text, diagnostics);
    if (!document) status = std::max<int>(status, kNo);
  }
  return status;
}

int canon(World& world, const Arguments& arguments) {
  const auto text = read_document(world, arguments.file, limits::kJsonBytesMax);
  if (!text) return could_not(world, text.error().text());
  const std::string source = source_name(arguments.file);
  const auto fail = [&](Code code, std::size_t offset, std::string_view what) {
    world.print_error(
        render_human({report(code, place_at(*text, offset), {{"what", what}})}, source, *text, world.colour_errors));
    return kNo;
  };
  const auto document = json::parse(*text);
  if (!document) return fail(code_of(document.error().fault), document.error().offset, document.error().what);
  const auto written =
      json::canonical(document->root(), arguments.numbers == "exact" ? json::Numbers::Exact : json::Numbers::Rfc8785);
  if (!written) return fail(find_code(written.error().code)->code, written.error().offset, "");
  world.print(*written);  // to the byte: no line end of ours
  return kYes;
}

}  // namespace

void add_json(Command& app, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = app.add_subcommand("json", "Strict JSON: verdicts and canonical form");
  command->require_subcommand(1);
  examples(*command, "  baton json check file.json\n  baton json canon file.json | sha256sum");

  Command* check_command = command->add_subcommand("check", "Is this strict JSON (RFC 8259, each key once, UTF-8)?");
  check_command->add_option("--format", arguments->format, "human or json")
      ->one_of({"human", "json"})
      ->capture_default_str();
  check_command->add_option("FILE", arguments->files, "Files; - or none reads standard input");
  examples(*check_command, "  baton json check *.json\n\nExit status: 0 all are, 1 one is not, 2 could not read.");
  check_command->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return check(world, *arguments); }; });

  Command* canon_command = command->add_subcommand("canon", "Print the canonical form (RFC 8785), without a line end");
  canon_command->add_option("--numbers", arguments->numbers, "rfc8785: as doubles; exact: every digit kept")
      ->one_of({"rfc8785", "exact"})
      ->capture_default_str();
  canon_command->add_option("FILE", arguments->file, "A file; - or none reads standard input");
  examples(*canon_command,
           "  baton json canon packet.json | sha256sum\n  baton json canon --numbers exact ledger-entry.json");
  canon_command->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return canon(world, *arguments); }; });
}

}  // namespace baton::cli
