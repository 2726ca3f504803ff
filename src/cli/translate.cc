// SPDX-License-Identifier: Apache-2.0
// baton translate: one dialect to another, with a report of what was lost and what had to be supplied.
#include "translate/translate.h"

#include "base/limits.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/render.h"
#include "json/parse.h"

namespace baton::cli {
namespace {

struct Arguments {
  std::string to, from = "auto", with, file = "-", now, format = "human", profile = "default";
  std::vector<std::string> set;
  bool strict = false, fixture = false;
};

int translate(World& world, const Arguments& arguments) {
  const auto now = time_option(world, arguments.now);
  if (!now) return kCouldNot;
  const auto text = read_document(world, arguments.file, limits::kCliDocumentBytesMax);
  if (!text) return could_not(world, text.error().text());

  checker::Options check_options;
  check_options.now = *now;
  check_options.profile = handoff_spec::find_profile(arguments.profile);
  check_options.fixture = arguments.fixture;
  if (arguments.from != "auto") check_options.dialect = find_dialect(arguments.from);
  checker::Report report = checker::check(*text, check_options);
  const std::string source = source_name(arguments.file);
  if (!report.valid()) {
    world.print_error(render_human(Shown{source, *text, report}, world.colour_errors));
    world.print_error("baton: only a valid handoff is translated\n");
    return report.dialect ? kNo : kCouldNot;
  }
  if (!report.handoff) return could_not(world, source + " is a valid packet, but hands nothing over");

  translate::Options options;
  options.to = *find_dialect(arguments.to);
  options.now = *now;
  options.strict = arguments.strict;
  options.profile = check_options.profile;
  if (!arguments.with.empty()) {
    const auto with = read_document(world, arguments.with, limits::kCliDocumentBytesMax);
    if (!with) return could_not(world, with.error().text());
    const auto document = json::parse(*with);
    if (!document || !document->root().is_object())
      return could_not(world, "--with takes a JSON object, " + arguments.with +
                                  (document ? " holds something else" : ": " + document.error().what));
    options.with = json::Value::copy(document->root());
  }
  for (const std::string& item : arguments.set) {
    auto member = assignment(world, item);
    if (!member) return kCouldNot;
    options.set.push_back(std::move(*member));
  }
  const translate::Translation translation = translate::translate(*report.handoff, options);
  if (arguments.format == "json") {
    json::Value out = json::Value::object();
    out.set("source", source);
    out.set("from", dialect_name(*report.dialect));
    out.set("to", arguments.to);
    out.set("source_digest", "sha256:" + report.handoff->digest);
    out.set("done", translation.done());
    json::Value diagnostics = json::Value::array();
    for (const Diagnostic& diagnostic : translation.diagnostics) {
      json::Value row = checker::to_json(redacted(diagnostic));
      if (diagnostic.has_argument) row.set("argument", redacted(diagnostic).argument);
      diagnostics.push(std::move(row));
    }
    out.set("diagnostics", std::move(diagnostics));
    out.set("document", translation.done() ? *translation.document : json::Value(nullptr));
    world.print(json::write(out) + "\n");
  } else {
    world.print_error(render_human(translation.diagnostics, source, {}, world.colour_errors));
    if (translation.done()) world.print(translation.text);
    else world.print_error("baton: not translated\n");
  }
  return translation.done() ? kYes : kNo;
}

}  // namespace

void add_translate(Command& app, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = app.add_subcommand("translate", "Translate a handoff into another dialect, listing what is lost");
  std::vector<std::string> dialects = dialect_names();
  command->add_option("--to", arguments->to, "The target dialect")->required()->one_of(dialects);
  dialects.insert(dialects.begin(), "auto");
  command->add_option("--from", arguments->from, "The source dialect; auto recognises it")
      ->one_of(dialects)
      ->capture_default_str();
  command->add_option("--set", arguments->set, "Supply a member the source does not have: /path=value")
      ->allow_extra_args(false);
  command->add_option("--with", arguments->with, "Supply members from a JSON file of the target's shape");
  command->add_option("--now", arguments->now, "Judge expiry at this UTC time instead of now");
  command->add_option("--profile", arguments->profile, "handoff-spec: which profile")
      ->one_of({"default", "raxx"})
      ->capture_default_str();
  command
      ->add_option("--format", arguments->format,
                   "human: the document, the report on standard error; json: both in one object")
      ->one_of({"human", "json"})
      ->capture_default_str();
  command->add_flag("--strict", arguments->strict, "Refuse a translation that loses something");
  command->add_flag("--fixture", arguments->fixture,
                    "uaix: accept the published fixture's placeholder checksum in the source");
  command->add_option("FILE", arguments->file, "A file; - or none reads standard input");
  examples(*command,
           "  baton translate --to agent-exit --set /phase_completed=REVIEW message.txt\n"
           "  baton translate --to agent-contract --set /agent_status/agent_id=a1b2c3 \\\n"
           "        --set '/agent_status/pending_steps=[]' --set '/agent_status/next_action=ask infra' blocked.json\n"
           "  baton translate --to uaix --with envelope.json --strict signal.json\n"
           "\nNothing is invented: what is missing has to be supplied, what has no place is listed.\n"
           "Exit status: 0 translated, 1 not, 2 could not.");
  command->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return translate(world, *arguments); }; });
}

}  // namespace baton::cli
