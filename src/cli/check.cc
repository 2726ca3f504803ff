// SPDX-License-Identifier: Apache-2.0
// baton check: is this handoff valid, and if not, where, why and what to do.
#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/render.h"
#include "dialects/agent_contract/contract.h"
#include "json/parse.h"

namespace baton::cli {
namespace {

struct Arguments {
  std::string dialect = "auto", format = "human", now, envelope_file, profile = "default";
  std::vector<std::string> writable, files;
  bool fixture = false, strict = false, batch = false;
};

class Check {
 public:
  Check(World& world, const Arguments& arguments)
      : world_(world), arguments_(arguments), format_(*find_format(arguments.format)) {}

  int run() {
    const auto now = time_option(world_, arguments_.now);
    if (!now) return kCouldNot;
    options_.now = *now;
    if (arguments_.dialect != "auto") options_.dialect = find_dialect(arguments_.dialect);
    options_.strict = arguments_.strict;
    options_.fixture = arguments_.fixture;
    options_.profile = handoff_spec::find_profile(arguments_.profile);
    for (const std::string& list : arguments_.writable)
      for (const std::string_view name : split(list, ',')) options_.writable.emplace_back(name);
    if (!arguments_.envelope_file.empty() && !read_envelope()) return kCouldNot;
    if (arguments_.batch && format_ != Format::Human && format_ != Format::Json)
      return could_not(world_, "--batch answers in JSON lines; it has no other format");

    const std::vector<std::string> files = arguments_.files.empty() ? std::vector<std::string>{"-"} : arguments_.files;
    for (const std::string& file : files) worst(arguments_.batch ? check_batch(file) : check_file(file));
    if (format_ == Format::Sarif && !arguments_.batch) world_.print(render_sarif(sarif_));
    return status_;
  }

 private:
  // "Could not" outranks "no", which outranks "yes".
  void worst(int status) { status_ = std::max(status_, status); }

  bool read_envelope() {
    auto text = read_document(world_, arguments_.envelope_file, limits::kCliDocumentBytesMax);
    if (!text) return could_not(world_, text.error().text()), false;
    auto document = json::parse_owned(std::move(*text));
    if (!document || !document->root().is_object())
      return could_not(world_, "the input envelope " + arguments_.envelope_file + " is not a JSON object" +
                                   (document ? "" : ": " + document.error().what)),
             false;
    envelope_ = std::move(*document);
    options_.input_envelope = envelope_->root();
    return true;
  }

  int check_file(const std::string& file) {
    // What is too large to be a document may still be an output with a handoff in it.
    std::string text;
    checker::Locator locator(options_.dialect);
    const auto whole = read_document_or_stream(world_, file, limits::kCliDocumentBytesMax, text,
                                               [&](std::string_view piece) { locator.feed(piece); });
    if (!whole) return could_not(world_, whole.error().text());
    if (*whole) return show(file, text, checker::check(text, options_));
    auto located = locator.end();
    if (!located) return could_not(world_, source_name(file) + " is larger than any handoff, and none was found in it");
    return show(file, {}, checker::check_located(std::move(*located), options_));
  }

  int show(const std::string& file, std::string_view text, checker::Report report) {
    const Shown shown{source_name(file), text, std::move(report)};
    switch (format_) {
      case Format::Human: world_.print(render_human(shown, world_.colour)); break;
      case Format::Json: world_.print(render_json(shown)); break;
      case Format::Github: world_.print(render_github(shown.report.diagnostics, shown.source)); break;
      case Format::Sarif: sarif_.push_back({shown.source, std::string(text), shown.report.diagnostics}); break;
    }
    if (!shown.report.dialect) return kCouldNot;
    return shown.report.valid() ? kYes : kNo;
  }

  // One JSON object a line in, one a line out, in order, each with its id; a broken line is answered like any other.
  int check_batch(const std::string& file) {
    int status = kYes;
    std::string line;
    bool too_long = false;
    const auto answer = [&] {
      if (!line.empty() || too_long) status = std::max(status, check_line(line, too_long));
      line.clear();
      too_long = false;
    };
    const auto read = read_stream(world_, file, [&](std::string_view piece) {
      while (!piece.empty()) {
        const std::size_t end = piece.find('\n');
        const std::string_view part = piece.substr(0, end);
        if (line.size() + part.size() > limits::kCliBatchLineBytesMax) too_long = true;
        else line += part;
        if (end == std::string_view::npos) break;
        answer();
        piece.remove_prefix(end + 1);
      }
      world_.flush();  // whoever writes the lines may wait for the answers
    });
    if (!read) return could_not(world_, read.error().text());
    answer();
    return status;
  }

  int check_line(const std::string& line, bool too_long) {
    const auto broken = [&](json::Value id, std::string_view problem) {
      checker::Report report;
      report.diagnostics.push_back(baton::report(Code::BATCH_LINE, {}, {{"problem", problem}}));
      print_answer(std::move(id), report);
      return kCouldNot;
    };
    if (too_long) return broken(nullptr, "is longer than 16 MiB");
    const auto document = json::parse(line);
    if (!document)
      return broken(nullptr, "is not strict JSON: " + document.error().what + " at byte " +
                                 std::to_string(document.error().offset + 1));
    const json::Node row = document->root();
    if (!row.is_object()) return broken(nullptr, "is not a JSON object");
    json::Value id = row["id"] ? json::Value::copy(row["id"]) : json::Value(nullptr);

    checker::Options options = options_;
    if (const auto problem = checker::read_options(row, options)) return broken(std::move(id), *problem);
    const json::Node text = row["text"], value = row["document"];
    if (static_cast<bool>(text) == static_cast<bool>(value) || (text && !text.is_string()))
      return broken(std::move(id), "needs either `text` (a string) or `document`");
    std::string content = text ? std::string(text.string()) : json::write(value);
    // A contract given as a value has no message around it.
    if (value && options.dialect.value_or(Dialect::AgentContract) == Dialect::AgentContract &&
        agent_contract::recognise(value))
      content = agent_contract::in_fence(content);
    const checker::Report report = checker::check(content, options);
    print_answer(std::move(id), report);
    if (!report.dialect) return kCouldNot;
    return report.valid() ? kYes : kNo;
  }

  void print_answer(json::Value id, const checker::Report& report) {
    json::Value out = json::Value::object();
    out.set("id", std::move(id));
    const json::Value answer = redacted(checker::to_json(report, "batch"));
    for (const auto& [name, value] : answer.members()) out.set(name, value);
    world_.print(json::write(out) + "\n");
  }

  World& world_;
  const Arguments& arguments_;
  Format format_;
  checker::Options options_;
  std::optional<json::Document> envelope_;
  std::vector<SarifDocument> sarif_;
  int status_ = kYes;
};

}  // namespace

void add_check(Command& app, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command =
      app.add_subcommand("check", "Check handoffs: exit signals, contract blocks, UAIX packets, handoff specs");
  std::vector<std::string> dialects = dialect_names();
  dialects.insert(dialects.begin(), "auto");
  command->add_option("--dialect", arguments->dialect, "Which dialect; auto recognises it")
      ->one_of(dialects)
      ->capture_default_str();
  command->add_option("--format", arguments->format, "How to answer")
      ->one_of({"human", "json", "sarif", "github"})
      ->capture_default_str();
  command->add_option("--now", arguments->now, "Judge expiry at this UTC time instead of now");
  command->add_option("--input-envelope", arguments->envelope_file,
                      "agent-contract: the INPUT envelope the agent was given, a JSON file");
  command
      ->add_option("--writable", arguments->writable, "agent-contract: context sections the agent may write (a,b,...)")
      ->allow_extra_args(false);
  command->add_option("--profile", arguments->profile, "handoff-spec: tool sets, defaults and caps")
      ->one_of({"default", "raxx"})
      ->capture_default_str();
  command->add_flag("--fixture", arguments->fixture, "uaix: accept the published fixture's placeholder checksum");
  command->add_flag("--strict", arguments->strict, "Warnings are errors");
  command->add_flag("--batch", arguments->batch,
                    "Read JSON lines {\"id\",\"text\"|\"document\",...}, answer each with one line");
  command->add_option("FILE", arguments->files, "Files; - or none reads standard input");
  examples(*command,
           "  baton check signal.json                          one file, the dialect recognised\n"
           "  claude -p \"...\" | baton check                    what an agent printed: its last handoff is checked\n"
           "  baton check --dialect uaix --format json p.json  one JSON object a document\n"
           "  baton check --profile raxx --now 2026-06-21T12:00:00Z handoff-spec.json\n"
           "  baton check --batch < lines.jsonl                many at once, one answer a line\n"
           "\nExit status: 0 all valid, 1 something is not, 2 could not tell.");
  command->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return Check(world, *arguments).run(); }; });
}

}  // namespace baton::cli
