// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "secrets/detector.h"

namespace baton::cli {
namespace {

// How many letters are to be changed, added, left out or swapped with their neighbour.
std::size_t slips_between(std::string_view one, std::string_view other) {
  std::vector<std::vector<std::size_t>> least(one.size() + 1, std::vector<std::size_t>(other.size() + 1));
  for (std::size_t i = 0; i <= one.size(); ++i)
    for (std::size_t j = 0; j <= other.size(); ++j) {
      if (i == 0 || j == 0) {
        least[i][j] = i + j;
        continue;
      }
      least[i][j] = std::min(
          {least[i - 1][j] + 1, least[i][j - 1] + 1, least[i - 1][j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
        least[i][j] = std::min(least[i][j], least[i - 2][j - 2] + 1);
    }
  return least[one.size()][other.size()];
}

// A word of the command line, as it may be shown: one that stands in the wrong place may be a secret.
std::string as_typed(std::string_view word) { return "`" + printable(secrets::redact(word), 60) + "`"; }

constexpr std::size_t kNameLettersMax = 40;  // no name is longer, and nobody mistypes a longer one

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  if (word.size() > kNameLettersMax) return {};
  std::string nearest;
  std::size_t fewest = word.size() < 4 ? 2 : 3;  // as many, or more, make it another word
  for (const std::string& name : names)
    if (const std::size_t slips = slips_between(word, name); slips < fewest) {
      fewest = slips;
      nearest = name;
    }
  return nearest.empty() ? "" : "; did you mean `" + nearest + "`?";
}

std::vector<std::string> names_below(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; })) out.push_back(one->get_name());
  return out;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  return out;
}

// How many words it takes besides options.
std::size_t places_of(const CLI::App& app) {
  std::size_t out = 0;
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional()) out += static_cast<std::size_t>(std::max(0, option->get_items_expected_max()));
  return out;
}

const CLI::Option* positional_of(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional()) return option;
  return nullptr;
}

// CLI11 names the first word that is left over, which is often not the one that was mistyped. This goes through the words again, and
// says which of them is no command and no option; nothing when it is something else.
std::string wrong_word(const CLI::App& root, int argc, const char* const* argv) {
  const CLI::App* app = &root;
  std::string path = root.get_name(), argument;
  std::size_t arguments = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") break;
    if (word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9')) {
      const std::string name = word[1] == '-' ? word.substr(0, word.find('=')) : word.substr(0, 2);
      const CLI::Option* option = nullptr;
      for (const CLI::App* one = app; option == nullptr && one != nullptr; one = one->get_parent())
        option = one->get_option_no_throw(name);
      if (option == nullptr) {
        const CLI::Option* positional = positional_of(*app);
        const bool is_others = !argument.empty() && positional != nullptr && positional->get_name() == "COMMAND";
        return "`" + path + "` has no option " + as_typed(name) +
               (is_others ? "; what is for " + as_typed(argument) + " stands behind `--`"
                          : did_you_mean(name, options_of(*app)));
      }
      if (option->get_items_expected_max() > 0 && name == word) ++i;
      continue;
    }
    const std::vector<std::string> below = names_below(*app);
    if (argument.empty() && std::ranges::find(below, word) != below.end()) {
      app = app->get_subcommand(word);
      path += " " + word;
      continue;
    }
    if (!below.empty() && positional_of(*app) == nullptr)
      return "there is no command " + as_typed(path + " " + word) + did_you_mean(word, below);
    if (argument.empty()) argument = word;
    if (++arguments > places_of(*app))
      return "`" + path + "` has no place for " + as_typed(word) + "; what has blanks in it stands in quotes";
  }
  if (app->get_require_subcommand_min() == 0) return {};
  std::string out;
  for (const std::string& name : names_below(*app)) out += (out.empty() ? "" : ", ") + name;
  return "`" + path + "` needs a command: " + out;
}

}  // namespace

Option* Option::required() {
  option_.required();
  return this;
}

Option* Option::one_of(const std::vector<std::string>& words) {
  option_.check(CLI::IsMember(words));
  return this;
}

Option* Option::between(std::int64_t least, std::int64_t most) {
  option_.check(CLI::Range(least, most));
  return this;
}

Option* Option::between(std::uint64_t least, std::uint64_t most) {
  option_.check(CLI::Range(least, most));
  return this;
}

Option* Option::positive() {
  option_.check(CLI::PositiveNumber);
  return this;
}

Option* Option::allow_extra_args(bool allow) {
  option_.allow_extra_args(allow);
  return this;
}

Option* Option::capture_default_str() {
  option_.capture_default_str();
  return this;
}

Option* Option::needs(Option* other) {
  option_.needs(&other->option_);
  return this;
}

Option* Option::excludes(Option* other) {
  option_.excludes(&other->option_);
  return this;
}

Option* Option::hidden() {
  option_.group("");
  return this;
}

std::size_t Option::count() const { return option_.count(); }

Command* Command::add_subcommand(const std::string& name, const std::string& help) {
  return subcommands_.emplace_back(std::make_unique<Command>(*app_.add_subcommand(name, help))).get();
}

Option* Command::add_option(const std::string& name, std::string& value, const std::string& help) {
  return keep(app_.add_option(name, value, help));
}

Option* Command::add_option(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  return keep(app_.add_option(name, values, help));
}

Option* Command::add_option(const std::string& name, std::int64_t& value, const std::string& help) {
  return keep(app_.add_option(name, value, help));
}

Option* Command::add_option(const std::string& name, std::uint64_t& value, const std::string& help) {
  return keep(app_.add_option(name, value, help));
}

Option* Command::add_option(const std::string& name, std::uint32_t& value, const std::string& help) {
  return keep(app_.add_option(name, value, help));
}

Option* Command::add_option(const std::string& name, std::optional<int>& value, const std::string& help) {
  return keep(app_.add_option(name, value, help));
}

Option* Command::add_flag(const std::string& name, bool& value, const std::string& help) {
  return keep(app_.add_flag(name, value, help));
}

void Command::require_subcommand(std::size_t least, std::size_t most) { app_.require_subcommand(least, most); }

void Command::fallthrough() { app_.fallthrough(); }

void Command::footer(const std::string& text) { app_.footer(text); }

void Command::callback(std::function<void()> given) { app_.callback(std::move(given)); }

std::string Command::get_name() const { return app_.get_name(); }

bool Command::subcommand_given() const { return !app_.get_subcommands().empty(); }

std::vector<std::string> Command::option_names() const {
  std::vector<std::string> out;
  for (const CLI::Option* option : std::as_const(app_).get_options())
    for (const std::string& name : option->get_lnames()) out.push_back(name);
  return out;
}

Option* Command::keep(CLI::Option* option) { return options_.emplace_back(std::make_unique<Option>(*option)).get(); }

Program::Program(const std::string& name, const std::string& help, const std::string& version)
    : app_(std::make_unique<CLI::App>(help, name)), root_(std::make_unique<Command>(*app_)), version_(version) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(0, 1);
  app_->fallthrough(false);
}

Program::~Program() = default;

std::string Program::help() const { return app_->help(); }

Program::Reading Program::parse(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const CLI::App* shown = app_.get();
    std::string path;
    while (!shown->get_subcommands().empty()) {
      path += (path.empty() ? "" : " ") + shown->get_name();
      shown = shown->get_subcommands().front();
    }
    return {Read::Asked, shown == app_.get() ? app_->help() : shown->help(path)};
  } catch (const CLI::CallForVersion&) {
    return {Read::Asked, version_ + "\n"};
  } catch (const CLI::ParseError& error) {
    const bool left_over = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) ||
                           error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError);
    const std::string word = left_over ? wrong_word(*app_, argc, argv) : "";
    return {Read::Wrong, word.empty() ? error.what() : word};
  }
  return {};
}

}  // namespace baton::cli
