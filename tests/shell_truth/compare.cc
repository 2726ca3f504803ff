// SPDX-License-Identifier: Apache-2.0
#include "compare.h"

#include <algorithm>
#include <set>
#include <span>

namespace baton::shell {

namespace {

using Words = std::span<const Word>;
using Arguments = std::span<const std::string>;

bool begin_with(Arguments arguments, std::string_view text) {
  return std::ranges::all_of(arguments, [&](const std::string& one) { return one.starts_with(text); });
}

// Can these words become these arguments?
bool can_become(Words words, Arguments arguments) {
  if (words.empty()) return arguments.empty();
  const Word& word = words.front();
  if (word.is_literal())
    return !arguments.empty() && arguments.front() == word.text && can_become(words.subspan(1), arguments.subspan(1));
  const bool is_one = word.kind == Word::Kind::Unknown && !word.splits;
  if (is_one)
    return !arguments.empty() && arguments.front().starts_with(word.text) &&
           can_become(words.subspan(1), arguments.subspan(1));
  for (std::size_t count = 0; count <= arguments.size(); ++count) {
    // All that a pattern becomes begin with its text; of an expansion that is split, the first.
    const Arguments taken = arguments.first(word.kind == Word::Kind::Pattern ? count : std::min<std::size_t>(count, 1));
    if (begin_with(taken, word.text) && can_become(words.subspan(1), arguments.subspan(count))) return true;
  }
  return false;
}

bool is_command_of(const Parsed& parsed, const Ran& ran) {
  return std::ranges::any_of(parsed.commands, [&](const Command& command) {
    if (command.words.empty() || base_name(command.words.front().text) != ran.name) return false;
    return ran.is_cut || ran.arguments.size() > 30 || can_become(Words(command.words).subspan(1), ran.arguments);
  });
}

std::string shown(const Ran& ran) {
  std::string out = ran.name;
  for (const std::string& argument : ran.arguments) out += " [" + argument + "]";
  return out;
}

bool is_listed(const Effects& effects, const Change& change) {
  return std::ranges::any_of(effects.writes, [&](const std::string& written) {
    if (is_within(change.path, written)) return true;
    // `mkdir -p a/b` makes a, too. A folder in which something came and went has another time.
    const bool came_or_went = change.kind == Change::Kind::Created || change.kind == Change::Kind::Removed;
    if (change.is_folder && came_or_went) return is_within(written, change.path);
    return change.kind == Change::Kind::Touched && written.substr(0, written.rfind('/')) == change.path;
  });
}

std::string shown(const Change& change) {
  static constexpr const char* kKinds[] = {"created", "changed", "removed", "touched"};
  return kKinds[static_cast<std::size_t>(change.kind)] + std::string(" ") + change.path;
}

}  // namespace

Missed missed(const Parsed& parsed, const Effects& effects, const Observed& observed) {
  Missed out;
  std::set<std::string, std::less<>> listed;
  for (const std::string& program : programs_of(parsed)) listed.emplace(base_name(program));
  std::set<std::string> programs, commands;
  for (const Ran& ran : observed.ran) {
    if (!listed.contains(ran.name)) programs.insert(ran.name);
    else if (ran.name == "time") continue;  // a keyword or a program: what it runs is compared
    else if (!is_command_of(parsed, ran)) commands.insert(shown(ran));
  }
  out.programs.assign(programs.begin(), programs.end());
  out.commands.assign(commands.begin(), commands.end());
  if (!effects.writes_known) return out;
  // A hard link that is made and removed again touches the file behind it, but changes nothing.
  const bool makes_links = std::ranges::any_of(observed.ran, [](const Ran& ran) {
    return ran.name == "ln" || ran.name == "link" || ran.name == "cp" || ran.name == "mv";
  });
  for (const Change& change : observed.changes) {
    if (makes_links && change.kind == Change::Kind::Touched && !change.is_folder) continue;
    if (!is_listed(effects, change)) out.files.push_back(shown(change));
  }
  return out;
}

}  // namespace baton::shell
