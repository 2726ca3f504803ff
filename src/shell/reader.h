// SPDX-License-Identifier: Apache-2.0
// Inside the parser: reads one text by the grammar of the shell (parse.cc) and its words (words.cc).
//
// What it cannot read it notes as opaque. `stop` also ends the reading: what follows could be anything.
#pragma once

#include <optional>

#include "shell/parse.h"
#include "shell/variables.h"

namespace baton::shell {

// How a text that is found in a command line is to be read.
struct Reading {
  std::size_t depth = 0;
  bool repeats = false, runs_again = false;  // see Command
  bool in_other_folder = false;
  bool at_end = false;
  std::string via = {};
};

// Reads `text` as commands and adds what is in it to `out`.
void read_commands(Parsed& out, std::string_view text, const Reading& reading);

// Adds the command, and the commands behind it when it is a launcher.
void add_command(Parsed& out, Command command, std::size_t depth);

constexpr bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_name_char(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }
bool is_name(std::string_view text);

// Notes what a word is of which `raw` is the whole text: `$?`, `$NAME`, `$((...))` (see Word).
void what_it_is_alone(Word& out, std::string_view raw);

class Reader {
 public:
  Reader(Parsed& out, std::string_view text, const Reading& reading) : out_(out), text_(text), reading_(reading) {}

  void commands();       // the whole text
  void here_document();  // the whole text is the body of one whose delimiter is not quoted: only expansions count

 private:
  struct HereDocument {
    std::string delimiter;
    bool strips_tabs, quoted;
  };

  // --- grammar (parse.cc)
  void list();  // until something that ends lists, which is not consumed
  void and_or(std::size_t list_number);
  // Was it one simple command, not negated?
  bool pipeline(std::size_t list_number, Command::After after, Step::Joined joined);
  bool command(Command frame);  // was it a simple one?
  bool compound(std::string_view reserved, const Command& frame);
  void simple(Command frame);
  void function_body(const Command& frame);
  void loop_over_words();
  void case_of();
  void conditional();  // [[ ]]
  void redirections_of(const Command& frame);
  bool redirection(Command& command);
  bool here_document_start(Redirection& out, bool strips_tabs);
  void here_document_bodies();
  void expect(std::string_view reserved);
  void expect_close();
  void add(Command command);

  // --- words (words.cc)
  Word word();
  void single_quoted(Word& out);
  void double_quoted(Word& out);
  void ansi_quoted(Word& out);
  void dollar(Word& out, bool in_quotes);
  void braced(Word& out, bool in_quotes);
  void arithmetic(Word& out);
  void substitution(Word& out, bool in_quotes);
  bool
  message_document();  // the one here-document that is understood in a substitution; false: it is none, nothing was read
  void process_substitution(Word& out);
  void backquotes(Word& out, bool in_quotes);
  void inner_list();        // up to the closing bracket, which is consumed
  void substituted_list();  // the same of a substitution
  static void make_unknown(Word& out, bool splits);

  void blanks();    // and comments
  void newlines();  // and blanks; bodies of here-documents that begin there
  bool at_end() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool sees(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  bool takes(std::string_view what);
  bool at_word_end() const;             // at a blank, an operator or the end
  std::string_view plain_word() const;  // the word here if nothing in it is quoted or expanded; else empty
  std::string_view character_here();    // consumed
  bool ends_list() const;
  bool enter();  // one level deeper; false: that is too deep, and reading has ended
  void stop(Opaque reason);

  Parsed& out_;
  std::string_view text_;
  Reading reading_;
  std::size_t at_ = 0;
  bool stopped_ = false;
  std::size_t substitutions_ = 0;  // in how many $( ) of this text the reader is
  std::vector<HereDocument> pending_ = {};
};

}  // namespace baton::shell
