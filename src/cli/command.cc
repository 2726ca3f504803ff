// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <CLI/CLI.hpp>
#include <utility>

namespace baton::cli {

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
    return {Read::Wrong, error.what()};
  }
  return {};
}

}  // namespace baton::cli
