// SPDX-License-Identifier: Apache-2.0
// baton completion SHELL: completions made from the commands themselves, so that they cannot fall behind.
#include "base/text.h"
#include "cli/commands.h"

namespace baton::cli {
namespace {

// One row a (sub)command: the words that lead to it, and what can follow.
struct Row {
  std::string path;  // "", "check", "uaix new"
  std::vector<std::string> words;
  bool is_group = false;  // commands follow, not files
};

void collect(const Command& app, const std::string& path, std::vector<Row>& rows) {
  Row row{path, {}};
  for (const auto& command : app.subcommands()) row.words.push_back(command->get_name());
  row.is_group = !row.words.empty();
  for (const std::string& name : app.option_names()) row.words.push_back("--" + name);
  rows.push_back(row);
  for (const auto& command : app.subcommands())
    collect(*command, path.empty() ? command->get_name() : path + " " + command->get_name(), rows);
}

std::string bash(const std::vector<Row>& rows) {
  std::string out =
      "# bash completion for baton; load with: source <(baton completion bash)\n"
      "_baton() {\n  local current=${COMP_WORDS[COMP_CWORD]} path= word\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n    case \"$word\" in -*) ;; *)\n      case "
      "\"${path:+$path }$word\" in\n";
  for (const Row& row : rows)
    if (!row.path.empty()) out += "        '" + row.path + "') path='" + row.path + "' ;;\n";
  out += "      esac ;;\n    esac\n  done\n  local words= group=\n  case \"$path\" in\n";
  for (const Row& row : rows)
    out += "    '" + row.path + "') words='" + join(row.words, " ") + "'" + (row.is_group ? " group=1" : "") + " ;;\n";
  out +=
      "  esac\n  if [[ $current == -* || -n $group ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
      "  else\n    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\"; compgen -f -- \"$current\")\n  "
      "fi\n}\ncomplete -o filenames -F _baton baton\n";
  return out;
}

std::string zsh(const std::vector<Row>& rows) {
  std::string out =
      "#compdef baton\n# zsh completion for baton; load with: source <(baton completion zsh)\n"
      "_baton() {\n  local chain= word\n  for word in \"${words[@]:1:$((CURRENT-2))}\"; do\n    [[ $word == -* ]] && "
      "continue\n    case \"${chain:+$chain }$word\" in\n";
  for (const Row& row : rows)
    if (!row.path.empty()) out += "      ('" + row.path + "') chain='" + row.path + "' ;;\n";
  out += "    esac\n  done\n  local -a candidates\n  case \"$chain\" in\n";
  for (const Row& row : rows) out += "    ('" + row.path + "') candidates=(" + join(row.words, " ") + ") ;;\n";
  out += "  esac\n  compadd -a candidates\n  [[ -n $chain ]] && _files\n}\ncompdef _baton baton\n";
  return out;
}

std::string fish(const std::vector<Row>& rows) {
  std::string out = "# fish completion for baton; load with: baton completion fish | source\n";
  for (const Row& row : rows) {
    std::string condition = "__fish_use_subcommand";
    if (!row.path.empty()) {
      condition.clear();
      for (const std::string_view word : split(row.path, ' '))
        condition += (condition.empty() ? "__fish_seen_subcommand_from " : "; and __fish_seen_subcommand_from ") +
                     std::string(word);
    }
    for (const std::string& word : row.words) {
      const bool option = word.starts_with("--");
      out += "complete -c baton -n '" + condition + "' " + (option ? "-l " + word.substr(2) : "-a " + word) + "\n";
    }
  }
  return out;
}

}  // namespace

void add_completion(Command& app, Action& chosen) {
  auto shell = std::make_shared<std::string>();
  Command* command = app.add_subcommand("completion", "Print completions for a shell");
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->one_of({"bash", "zsh", "fish"});
  examples(*command, "  source <(baton completion bash)\n  baton completion fish | source");
  command->callback([shell, &chosen, &app] {
    chosen = [shell, &app](World& world) {
      std::vector<Row> rows;
      collect(app, "", rows);
      world.print(*shell == "bash" ? bash(rows) : *shell == "zsh" ? zsh(rows) : fish(rows));
      return static_cast<int>(kYes);
    };
  });
}

}  // namespace baton::cli
