// SPDX-License-Identifier: Apache-2.0
// baton explain CODE: what a diagnostic means and what to do about it. `--all` prints the reference page.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/commands.h"
#include "diagnostics/diagnostic.h"

namespace baton::cli {
namespace {

struct Arguments {
  std::string code;
  bool all = false;
};

constexpr auto kOfSessions = std::to_array<Code>({
#define DIAGNOSTIC(code, ...) Code::code,
#include "diagnostics/session.def"
#include "diagnostics/workflow.def"
#undef DIAGNOSTIC
});

// Checks of a pack and what is said of calls have names in lower case and no family.
std::string family_of(const CodeInfo& row) {
  if (!is_lower(row.name.front())) return std::string(row.name.substr(0, row.name.find('_')));
  return std::ranges::find(kOfSessions, row.code) == kOfSessions.end() ? "Checks of a whole pack"
                                                                       : "Calls of a session";
}

std::string reference_page() {
  std::string out =
      "# Diagnostics\n\nEvery code Baton reports. Codes are public: never renamed, never reused. `baton explain CODE` "
      "prints one.\n"
      "This page is made by `baton explain --all`.\n";
  std::string family;
  for (const CodeInfo& row : catalogue()) {
    if (family_of(row) != family) {
      family = family_of(row);
      out += "\n## " + family + "\n\n| code | severity | message | what to do |\n|---|---|---|---|\n";
    }
    const auto cell = [](std::string text) {
      for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, 1, '\\');
      return text;
    };
    out += "| `" + std::string(row.name) + "` | " + std::string(severity_name(row.severity)) + " | " +
           cell(plain_pattern(row.message)) + " | " + cell(plain_pattern(row.help)) + " |\n";
  }
  return out;
}

// Codes that share a word with what was asked for, for a slip of the pen.
std::vector<std::string> alike(const std::string& code) {
  std::vector<std::string> out;
  for (const CodeInfo& row : catalogue())
    if (code.size() >= 3 && row.name.find(code) != std::string_view::npos && out.size() < 8) out.emplace_back(row.name);
  return out;
}

int explain(World& world, const Arguments& arguments) {
  if (arguments.all) {
    world.print(reference_page());
    return kYes;
  }
  std::string name = arguments.code.substr(0, arguments.code.find(':'));
  const CodeInfo* row = find_code(name);
  for (char& c : name) c = is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c;
  if (row == nullptr) row = find_code(name);
  if (row == nullptr) row = find_code("HANDOFF_" + name);  // a wire name of agent-contract
  if (row == nullptr) {
    const auto candidates = alike(name);
    return could_not(world, "there is no code `" + printable(arguments.code, 60) + "`" +
                                (candidates.empty() ? "; `baton explain --all` lists them"
                                                    : "; did you mean " + join(candidates, ", ") + "?"));
  }
  world.print(std::string(row->name) + " (" + std::string(severity_name(row->severity)) + ")\n\n  " +
              plain_pattern(row->message) + "\n\n  What to do: " + plain_pattern(row->help) + "\n");
  return kYes;
}

}  // namespace

void add_explain(Command& app, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = app.add_subcommand("explain", "Say what a diagnostic code means and what to do about it");
  command->add_option("CODE", arguments->code, "A code, such as UAIX_EXPIRED, or a wire name, such as PLAN_STATUS");
  command->add_flag("--all", arguments->all, "The whole catalogue, as Markdown");
  examples(
      *command,
      "  baton explain EXIT_PHASE_MISMATCH\n  baton explain PLAN_STATUS:DONE\n  baton explain --all > diagnostics.md");
  command->callback([arguments, &chosen] {
    chosen = [arguments](World& world) {
      if (arguments->code.empty() && !arguments->all) return could_not(world, "name a code, or pass --all");
      return explain(world, *arguments);
    };
  });
}

}  // namespace baton::cli
