// SPDX-License-Identifier: Apache-2.0
#include "protection/harmless.h"

#include <algorithm>

#include "protection/programs.h"

namespace baton::protection {

using shell::Command;
using shell::Word;

ToldWords::ToldWords(const Command& command) : command_(command), program_(program_of(command)) {
  const auto is_ignore_file = [](const shell::Redirection& one) {
    return one.target.is_literal() && one.target.text.ends_with("ignore");
  };
  fills_ignore_files_ = (program_ == "echo" || program_ == "printf") && !command.redirections.empty() &&
                        std::ranges::all_of(command.redirections, is_ignore_file);
  is_plain_search_ = program_ == "find" && std::ranges::none_of(command.words, [](const Word& word) {
                       return !word.is_literal() || is_one_of(word.text, "-o -or , ( )");
                     });
}

bool ToldWords::has(std::size_t at) const {
  const auto is = [&](std::size_t place, std::string_view words) {
    return place < at && command_.words[place].is_literal() && is_one_of(command_.words[place].text, words);
  };
  // The word before the option is no option that would take it for its value.
  const auto behind = [&](std::string_view options) {
    return at > 2 && is(at - 1, options) &&
           (!command_.words[at - 2].text.starts_with('-') ||
            is(at - 2, "-a -s -q -v --amend --no-verify --signoff --draft --fill --web -d"));
  };
  if (program_ == "git") return is(1, "commit tag merge notes") && behind("-m -am --message");
  if (program_ == "gh")
    return is(1, "pr issue release") && behind("-t --title -b --body -n --notes -c --comment") &&
           (!is(at - 1, "-n -c") || is(2, "create close edit"));
  if (program_ == "echo" || program_ == "printf") return fills_ignore_files_;
  if (program_ == "grep") return at > 1 && is(at - 1, "--exclude-dir --exclude");
  if (program_ == "ls" || program_ == "tree") return at > 1 && is(at - 1, "-I --ignore");
  if (program_ == "find" && is(at - 1, "-path -wholename -ipath -iwholename")) {
    // `-not -path ./.baton/*`: kept out, where nothing takes the `not` back.
    if (at > 3 && is(at - 2, "-not !") && !is(at - 3, "-not !")) return is_plain_search_;
    return at + 2 < command_.words.size() && command_.words[at + 1].is("-prune") &&
           (command_.words[at + 2].is("-o") || command_.words[at + 2].is("-or"));
  }
  return false;
}

bool only_reads(const Command& command) {
  if (command.words.size() < 2) return false;
  if (program_of(command) == "baton")
    return command.words.size() > 2 && command.words[1].is("contract") &&
           is_one_of(command.words[2].text, "check diff test show explain");
  if (program_of(command) != "git") return false;
  const std::string_view what = command.words[1].text;
  const std::span<const Word> rest = std::span(command.words).subspan(2);
  const auto begins = [&](std::string_view front) {
    return std::ranges::any_of(rest, [&](const Word& word) { return word.text.starts_with(front) || word.splits; });
  };
  if (what == "reset") return !begins("--h") && !begins("--m") && !begins("--k") && !begins("--p") && !begins("-p");
  if (what == "restore" || what == "rm") return only_indexes(what, rest);
  return is_one_of(what, "add diff show log blame status ls-files shortlog commit") && !begins("--ou");
}

bool clears_leftovers(const Command& command) {
  const auto word = [&](std::size_t at) -> std::string_view {
    return at < command.words.size() && command.words[at].is_literal() ? std::string_view(command.words[at].text) : "?";
  };
  std::size_t at = 1;
  while (at < command.words.size() && !word(at).starts_with('-') && !is_one_of(word(at), "? ( ) ! ,")) ++at;
  bool names = false;
  for (; at < command.words.size(); ++at) {
    if (is_one_of(word(at), "-name -type -maxdepth -mindepth -mtime -mmin -size")) {
      names = names || (word(at) == "-name" && is_one_of(word(at + 1), kLeftovers));
      ++at;
    } else if (word(at) == "-exec" && names && word(at + 1) == "rm") {
      for (at += 2; word(at).starts_with('-');) ++at;
      if (word(at) != "{}" || !is_one_of(word(++at), "+ ;")) return false;
    } else if (!is_one_of(word(at), "-print -print0 -depth -prune") && (word(at) != "-delete" || !names)) {
      return false;
    }
  }
  return names;
}

// The word behind -e is no option.
bool only_shows_clean(std::span<const Word> rest) {
  bool shows = false;
  for (std::size_t at = 0; at < rest.size(); ++at) {
    const std::string_view text = rest[at].text;
    if (text == "--") break;
    if (!rest[at].is_literal() || text.starts_with("--no")) return false;
    shows = shows || text == "--dry-run";
    if (text.starts_with("--e")) at += text.find('=') == text.npos ? 1 : 0;
    if (!text.starts_with('-') || text.starts_with("--")) continue;
    const std::size_t value = text.find('e');
    shows = shows || text.substr(0, value).find('n') != text.npos;
    if (value + 1 == text.size()) ++at;
  }
  return shows;
}

bool only_shows_patch(std::span<const Word> rest) {
  bool shows = false;
  for (const Word& word : rest) {
    shows = shows || is_one_of(word.text, "--check --stat --numstat --summary");
    if (!word.is_literal() || (word.text.starts_with('-') &&
                               !is_one_of(word.text,
                                          "--check --stat --numstat --summary -v --verbose -p0 -p1 -p2 -R --reverse "
                                          "--index --cached -3 --3way -")))
      return false;
  }
  return shows;
}

bool only_indexes(std::string_view what, std::span<const Word> rest) {
  bool index = false;
  for (const Word& word : rest) {
    if (word.is("--")) break;
    if (!word.is_literal()) return false;
    if (!word.text.starts_with('-')) continue;
    if (what == "restore" ? word.is("--staged") || word.is("-S") : word.is("--cached")) index = true;
    else if (!is_one_of(word.text, what == "restore" ? "-q --quiet" : "-q --quiet -r -f -rf -n --ignore-unmatch"))
      return false;
  }
  return index && (what == "restore" || what == "rm");
}

}  // namespace baton::protection
