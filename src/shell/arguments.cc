// SPDX-License-Identifier: Apache-2.0
#include "shell/arguments.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/limits.h"
#include "base/text.h"
#include "shell/effects.h"
#include "shell/programs.h"

namespace baton::shell {

namespace {

using json::Value;

constexpr std::string_view kUnknownLine = "%?";  // no word is written so: a percent sign of its own is %25

bool is_text(std::string_view bytes) { return find_invalid_utf8(bytes) == bytes.size(); }

Value word_value(const Word& word) {
  return word.is_literal() && is_text(word.text) ? Value(word.text) : Value(nullptr);
}

Value list_of(const std::vector<std::string>& items) {
  Value out = Value::array();
  for (const std::string& item : items) out.push(is_text(item) ? Value(item) : Value(as_line(item)));
  return out;
}

std::string lines_of(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out.append(as_line(item)).push_back('\n');
  return out;
}

std::string line_of(const Command& command) {
  std::string out;
  for (const Word& word : command.words)
    out.append(out.empty() ? "" : " ").append(word.is_literal() ? as_line(word.text) : std::string(kUnknownLine));
  return out;
}

Value command_value(const Command& command) {
  Value out = Value::object();
  out.set("program", command.words.empty() ? Value(nullptr) : word_value(command.words.front()));
  Value arguments = Value::array();
  for (std::size_t at = 1; at < command.words.size(); ++at) arguments.push(word_value(command.words[at]));
  out.set("arguments", std::move(arguments));
  Value assignments = Value::object();
  for (const Assignment& one : command.assignments) assignments.set(one.name, word_value(one.value));
  out.set("assignments", std::move(assignments));
  Value redirections = Value::array();
  for (const Redirection& one : command.redirections) {
    Value shown = Value::object();
    shown.set("operator", one.operation);
    shown.set("target", word_value(one.target));
    if (one.fd >= 0) shown.set("fd", one.fd);
    redirections.push(std::move(shown));
  }
  out.set("redirections", std::move(redirections));
  out.set("pipeline", command.pipeline);
  if (!command.via.empty()) out.set("via", is_text(command.via) ? Value(command.via) : Value(nullptr));
  return out;
}

// `NAME=value`, as one line.
std::string line_of(const Assignment& one) {
  return as_line(one.name) + "=" +
         (one.value.is_literal() ? (one.value.text.empty() ? "" : as_line(one.value.text)) : std::string(kUnknownLine));
}

// `2> target`, as one line.
std::string line_of(const Redirection& one) {
  return (one.fd >= 0 ? std::to_string(one.fd) : "") + one.operation + " " +
         (one.target.is_literal() ? as_line(one.target.text) : std::string(kUnknownLine));
}

// bash connects to `/dev/tcp/host/port` when a redirection names it.
bool may_connect(const Redirection& one) {
  if (one.operation.starts_with("<<")) return false;
  const std::string_view text = one.target.text;
  for (const std::string_view place : {std::string_view("/dev/tcp/"), std::string_view("/dev/udp/")})
    if (one.target.is_literal() ? text.starts_with(place) : text.starts_with(place) || place.starts_with(text))
      return true;
  return false;
}

// Programs whose subcommands have subcommands of their own.
constexpr std::string_view kGroups[] = {"docker compose", "docker image", "podman image", "git remote",
                                        "git submodule"};

// `git`, `git push`, `git push --force`, `git push -f`; `git push ?` when a word may be an option that is not known.
class Uses {
 public:
  // A program and the words behind it.
  struct Run {
    std::string_view program;
    std::span<const Word> words;
  };
  void add(std::span<const Word> words);
  const std::set<std::string>& all() const { return all_; }
  bool are_too_many() const { return bytes_ > limits::kShellUsesBytesMax; }

 private:
  std::optional<Run> add(const Run& run);  // the program that it runs, when that is to be added, too
  void insert(std::string use) {
    if (are_too_many()) return;
    const std::size_t size = use.size();
    if (all_.insert(std::move(use)).second) bytes_ += size;
  }

  std::set<std::string> all_ = {};
  std::size_t bytes_ = 0;
};

// `-m pip install`, `-mpip`, `-Im pip`: the module that python runs, and its words.
std::optional<Uses::Run> module_of(std::span<const Word> words) {
  const std::string_view option = words.front().text;
  if (!words.front().is_literal() || option.starts_with("--")) return std::nullopt;
  const std::size_t letter = option.find_first_of("cmWX");  // the others have no value
  if (letter == option.npos || option[letter] != 'm') return std::nullopt;
  if (letter + 1 < option.size()) return Uses::Run{option.substr(letter + 1), words.subspan(1)};
  if (words.size() == 1 || !words[1].is_literal()) return std::nullopt;
  return Uses::Run{words[1].text, words.subspan(2)};
}

void Uses::add(std::span<const Word> words) {
  if (words.empty() || !words.front().is_literal()) return;
  std::optional<Run> next = Run{words.front().text, words.subspan(1)};
  while (next && !are_too_many()) next = add(*next);
}

std::optional<Uses::Run> Uses::add(const Run& run) {
  const std::string program = as_line(base_name(run.program));
  insert(program);
  // Where an option stands before it, the first word may be the option's value, and the second the subcommand.
  std::vector<std::string> names = {program};
  bool wants_subcommand = has_subcommands(program), options = true, may_be_value = false, in_group = false;
  std::set<std::string> flags;
  std::optional<Run> module;
  for (std::size_t at = 0; at < run.words.size() && !module; ++at) {
    const Word& word = run.words[at];
    const bool is_value = std::exchange(may_be_value, false);
    if (options && !word.is_literal() && (word.may_be_option() || wants_subcommand || in_group)) {
      flags.insert("?");
    } else if (options && word.is("--") && program != "find") {
      options = false;
    } else if (options && word.text.size() > 1 && word.text.front() == '-') {
      const std::string_view text = word.text;
      const std::size_t sign = text.find('=');
      flags.insert(as_line(text.substr(0, sign)));
      if (text[1] != '-')
        for (const char letter : text.substr(1, sign == text.npos ? text.npos : sign - 1))
          if (is_alphanumeric(letter)) flags.insert({'-', letter});
      if (program.starts_with("python")) module = module_of(run.words.subspan(at));
      // Before the subcommand some options of git have a value, which is not the subcommand.
      if (wants_subcommand && program == "git" &&
          (word.is("-C") || word.is("-c") || word.is("--git-dir") || word.is("--work-tree") || word.is("--namespace")))
        ++at;
      else may_be_value = sign == text.npos && program != "git";
    } else if (wants_subcommand && !(program == "cargo" && word.text.starts_with('+'))) {
      wants_subcommand = is_value;
      if (names.size() == 1)
        for (const std::string& flag : flags) insert(program + " " + flag);
      names.push_back(program + " " + as_line(word.text));
      insert(names.back());
      in_group = std::ranges::find(kGroups, names.back()) != std::end(kGroups);
    } else if (in_group) {
      in_group = is_value;
      if (word.is_literal()) insert(names.back() + " " + as_line(word.text));
    }
  }
  if (names.size() > 1) names.erase(names.begin());
  for (const std::string& name : names)
    for (const std::string& flag : flags) insert(name + " " + flag);
  return module;
}

// Kinds of things that people want to be asked about, by what is in `uses`: a program, or a program and its subcommand or option.
struct MayDo {
  std::string_view kind, by;  // with a semicolon between
};
constexpr MayDo kMayDo[] = {
    {"delete", "rm;rmdir;unlink;shred;truncate;git clean;git rm;find -delete"},
    {"escalate", "sudo;doas;su;pkexec;runuser;setpriv"},
    {"install",
     "apt install;apt-get install;dnf install;yum install;apk add;pacman -S;pacman --sync;brew install;snap install;"
     "dpkg -i;dpkg --install;npm "
     "install;npm "
     "i;npm ci;npm add;npm in;npm ins;npm inst;npm insta;npm instal;npm isnt;npm isnta;npm isntal;npm isntall;npm it;"
     "npm install-test;npm cit;npm clean-install;npm install-clean;npm ic;npm sit;pnpm install;pnpm i;pnpm add;yarn "
     "install;yarn add;bun install;bun add;pip install;pip3 "
     "install;pipx "
     "install;uv pip;uv add;uv sync;poetry install;poetry add;conda install;mamba install;cargo install;cargo add;go "
     "install;go get;gem install;bundle install;composer install;composer require;npx;uvx;bunx"},
    {"network",
     "curl;wget;ssh;scp;sftp;rsync;ftp;nc;ncat;netcat;telnet;socat;gh;glab;aws;gcloud;az;kubectl;git clone;git "
     "fetch;git "
     "pull;git push;git ls-remote;git remote update;git submodule update;docker compose push;docker compose pull;"
     "docker image push;docker image pull;openssl s_client;docker pull;docker push;podman pull;podman "
     "push;npx;uvx;bunx"},
    {"publish",
     "git push;git send-email;npm publish;pnpm publish;yarn publish;bun publish;cargo publish;gem push;twine "
     "upload;poetry publish;uv publish;docker push;docker image push;docker compose push;podman push;helm push;gh "
     "pr;gh release;gh api;glab mr;glab "
     "release;terraform apply;tofu apply;kubectl apply;kubectl delete;helm install;helm "
     "upgrade;vercel;netlify;wrangler;fly"},
};

// Each kind, always: true when the line uses one of its programs, or may, because not all of it was read.
Value may_of(const std::set<std::string>& uses, bool is_opaque, bool connects) {
  Value out = Value::object();
  for (const auto& [kind, by] : kMayDo) {
    const bool may =
        is_opaque || (connects && kind == "network") || std::ranges::any_of(split(by, ';'), [&](std::string_view name) {
          if (uses.contains(std::string(name))) return true;
          for (std::size_t blank = name.find(' '); blank != name.npos; blank = name.find(' ', blank + 1))
            if (uses.contains(std::string(name.substr(0, blank)) + " ?")) return true;
          return false;
        });
    out.set(kind, may);
  }
  return out;
}

}  // namespace

std::string as_line(std::string_view item) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (item.empty()) return "%0";
  std::string out;
  const auto escape = [&](char byte) {
    const auto value = static_cast<unsigned char>(byte);
    out.append({'%', kDigits[value >> 4], kDigits[value & 15]});
  };
  std::size_t valid_end = find_invalid_utf8(item);
  for (std::size_t at = 0; at < item.size();) {
    const auto byte = static_cast<unsigned char>(item[at]);
    if (byte <= ' ' || byte == 0x7f || byte == '%' || at >= valid_end) {
      escape(item[at]);
      ++at;
      if (at > valid_end) valid_end = at + find_invalid_utf8(item.substr(at));
      continue;
    }
    std::size_t end = at;
    const char32_t character = next_character(item, end);
    const bool is_unusual = is_blank(character) || is_control(character);
    for (; at < end; ++at) is_unusual ? escape(item[at]) : out.push_back(item[at]);
  }
  return out;
}

json::Value arguments_of(const Parsed& parsed, std::string_view cwd) {
  const Effects effects = effects_of(parsed, cwd);
  Uses uses;
  for (const Command& command : parsed.commands) uses.add(command.words);
  std::set<Opaque> because(effects.because.begin(), effects.because.end());
  if (uses.are_too_many()) because.insert(Opaque::TooLong);
  const bool is_opaque = !because.empty();

  Value out = Value::object();
  out.set("command", is_text(parsed.command) ? Value(parsed.command) : Value(as_line(parsed.command)));
  out.set("opaque", is_opaque);
  Value reasons = Value::array();
  for (const Opaque reason : because) reasons.push(name_of(reason));
  out.set("opaque_because", std::move(reasons));

  const std::vector<std::string> programs = programs_of(parsed);
  std::vector<std::string> lines;
  std::string assignment_lines, redirection_lines;
  bool connects = false;
  Value commands = Value::array();
  std::size_t running = 0;
  for (const Command& command : parsed.commands) {
    commands.push(command_value(command));
    if (!command.words.empty()) ++running, lines.push_back(line_of(command));
    for (const Assignment& one : command.assignments) assignment_lines.append(line_of(one)).push_back('\n');
    for (const Redirection& one : command.redirections) {
      redirection_lines.append(line_of(one)).push_back('\n');
      connects = connects || may_connect(one);
    }
  }
  if (running == 1 && programs.size() == 1 && !is_opaque) out.set("program", programs.front());
  out.set("programs", list_of(programs));
  out.set("program_count", programs.size());
  out.set("commands", std::move(commands));
  out.set("command_count", running);
  out.set("substitutions", parsed.substitutions);
  Value used = Value::object();
  for (const std::string& use : uses.all()) used.members().emplace_back(use, true);
  out.set("uses", std::move(used));
  out.set("may", may_of(uses.all(), is_opaque, connects));

  out.set("paths", list_of(effects.paths));
  out.set("paths_known", effects.paths_known);
  out.set("writes", list_of(effects.writes));
  out.set("writes_known", effects.writes_known);
  const std::string folder = normalised("", cwd);
  out.set("writes_outside_cwd",
          effects.has_unknown_write || std::ranges::any_of(effects.writes, [&](const std::string& path) {
            return folder.empty() || !is_within(path, folder);
          }));

  Value texts = Value::object();
  texts.set("programs", lines_of(programs));
  std::string command_lines;
  for (const std::string& line : lines) command_lines.append(line).push_back('\n');
  texts.set("commands", std::move(command_lines));
  texts.set("assignments", std::move(assignment_lines));
  texts.set("redirections", std::move(redirection_lines));
  texts.set("paths", lines_of(effects.paths));
  texts.set("writes", lines_of(effects.writes));
  out.set("lines", std::move(texts));
  return out;
}

}  // namespace baton::shell
