// SPDX-License-Identifier: Apache-2.0
// A command of the command line, and its options: what the files of the commands see of CLI11, which stands behind it
// in command.cc alone. CLI11 is one header of thousands of lines whose classes are made anew in every file that touches
// them; half of the time that the commands took to compile was that.
//
// The words are CLI11's: NAME is an argument, `--name` an option, `-n,--name` one with a short form. What an option is
// read into is kept by reference and outlives the parsing; a Command and its Options live as long as the one they were
// added to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace baton::cli {

class Option {
 public:
  explicit Option(CLI::Option& option) : option_(option) {}
  Option(const Option&) = delete;

  Option* required();
  Option* one_of(const std::vector<std::string>& words);
  Option* between(std::int64_t least, std::int64_t most);
  Option* between(std::uint64_t least, std::uint64_t most);
  Option* positive();
  // False: each value has the option's name before it, so that a list does not take the arguments that follow.
  Option* allow_extra_args(bool allow);
  // The help says what it is when it is not given.
  Option* capture_default_str();
  Option* needs(Option* other);
  Option* excludes(Option* other);
  // Not in the help.
  Option* hidden();

  // How often it was given.
  std::size_t count() const;

 private:
  CLI::Option& option_;
};

class Command {
 public:
  explicit Command(CLI::App& app) : app_(app) {}
  Command(const Command&) = delete;

  Command* add_subcommand(const std::string& name, const std::string& help);

  Option* add_option(const std::string& name, std::string& value, const std::string& help);
  Option* add_option(const std::string& name, std::vector<std::string>& values, const std::string& help);
  Option* add_option(const std::string& name, std::int64_t& value, const std::string& help);
  Option* add_option(const std::string& name, std::uint64_t& value, const std::string& help);
  Option* add_option(const std::string& name, std::uint32_t& value, const std::string& help);
  Option* add_option(const std::string& name, std::optional<int>& value, const std::string& help);
  Option* add_flag(const std::string& name, bool& value, const std::string& help = "");

  // So many of its subcommands must be given; with two numbers, from so many to so many.
  void require_subcommand(std::size_t exactly) { require_subcommand(exactly, exactly); }
  void require_subcommand(std::size_t least, std::size_t most);
  // Its options are taken behind its subcommands, too.
  void fallthrough();
  // What stands at the end of its help.
  void footer(const std::string& text);
  // Called when it was given, after everything is read.
  void callback(std::function<void()> given);

  std::string get_name() const;
  // All there are, in the order in which they were added.
  const std::vector<std::unique_ptr<Command>>& subcommands() const { return subcommands_; }
  // One of them was given.
  bool subcommand_given() const;
  // The long names of its options, without the dashes, --help among them.
  std::vector<std::string> option_names() const;

 private:
  Option* keep(CLI::Option* option);

  CLI::App& app_;
  std::vector<std::unique_ptr<Command>> subcommands_;
  std::vector<std::unique_ptr<Option>> options_;
};

// The program: its commands are added to root(), then what it was called with is read.
class Program {
 public:
  Program(const std::string& name, const std::string& help, const std::string& version);
  ~Program();

  Command& root() { return *root_; }
  // The help of the program itself.
  std::string help() const;

  // Calls back the command that was given. `text` is what to say otherwise: the help or the version that was asked for, or
  // what is wrong.
  enum class Read { Given, Asked, Wrong };
  struct Reading {
    Read read = Read::Given;
    std::string text;
  };
  Reading parse(int argc, const char* const* argv);

 private:
  std::unique_ptr<CLI::App> app_;
  std::unique_ptr<Command> root_;
  std::string version_;
};

}  // namespace baton::cli
