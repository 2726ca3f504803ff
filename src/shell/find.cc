// SPDX-License-Identifier: Apache-2.0
#include "shell/find.h"

#include <algorithm>

#include "base/text.h"
#include "shell/programs.h"

namespace baton::shell {

namespace {

constexpr std::string_view kAlone =
    "-empty -nouser -nogroup -readable -writable -executable -prune -print -print0 -ls -quit -depth -d -mount -xdev "
    "-follow -not -o -or -a -and -true -false -daystart -warn -nowarn -ignore_readdir_race -noignore_readdir_race "
    "-noleaf -help -version --help --version ( ) ! ,";
constexpr std::string_view kWithValue =
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -maxdepth -mindepth -size "
    "-mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -perm -user -group -uid -gid -links -inum -samefile "
    "-printf -lname -ilname -fstype -used -context";

// -newerXY
bool is_newer(std::string_view text) {
  return text.size() == 8 && text.starts_with("-newer") &&
         std::string_view("aBcmt").find(text[6]) != std::string_view::npos &&
         std::string_view("aBcmt").find(text[7]) != std::string_view::npos;
}

class FindReader {
 public:
  explicit FindReader(const std::vector<Word>& words) : words_(words) {}

  FindLine read() {
    options();
    while (at_ < words_.size() && !is_expression(words_[at_])) {
      out_.is_certain = out_.is_certain && !may_be_expression(words_[at_]);
      out_.starts.push_back(words_[at_++]);
    }
    while (at_ < words_.size()) expression();
    if (out_.starts.empty()) out_.starts.push_back({"."});
    return std::move(out_);
  }

 private:
  static bool is_expression(const Word& word) {
    return word.is_literal() &&
           (word.text.starts_with('-') || word.is("(") || word.is(")") || word.is("!") || word.is(","));
  }
  static bool may_be_expression(const Word& word) { return !word.is_literal() && word.may_be_option(); }
  // May an expansion make exactly this of the word?
  static bool may_be(const Word& word, std::string_view text) {
    return !word.is_literal() && !word.is_number && !word.is_process && text.starts_with(word.text);
  }

  void options() {
    for (; at_ < words_.size() && words_[at_].is_literal(); ++at_) {
      const Word& word = words_[at_];
      if (word.is("-D")) ++at_;
      else if (!word.is("-H") && !word.is("-L") && !word.is("-P") && !word.is("--") && !word.text.starts_with("-O"))
        return;
      out_.follows = out_.follows || word.is("-L");
    }
  }

  // The next word, as a value of the expression before it.
  const Word* value() {
    if (at_ >= words_.size()) return nullptr;
    if (words_[at_].splits) out_.is_certain = false;
    return &words_[at_++];
  }

  void expression() {
    const Word& word = words_[at_++];
    const std::string_view text = word.text;
    if (!word.is_literal()) {
      out_.is_certain = out_.is_certain && !may_be_expression(word);
    } else if (text == "-exec" || text == "-execdir" || text == "-ok" || text == "-okdir") {
      command(text);
    } else if (text == "-fprint" || text == "-fprint0" || text == "-fls" || text == "-fprintf") {
      if (const Word* file = value()) out_.written.push_back(*file);
      if (text == "-fprintf") value();
    } else if (text == "-follow") {
      out_.follows = true;
    } else if (text == "-delete") {
      out_.deletes = true;
    } else if (text == "-files0-from") {
      value();
      out_.starts = {{{}, Word::Kind::Unknown, true}};
    } else if (is_listed(kWithValue, text) || is_newer(text)) {
      value();
    } else if (text.starts_with('-') && !is_listed(kAlone, text)) {
      out_.is_certain = false;  // it may have a value, which looks like an action, or be one
    }
  }

  // Up to `;`, or to `{} +` where files are collected. A word that may turn out to be one of these may end the command: what follows may be
  // an action.
  void command(std::string_view action) {
    FindCommand found;
    found.in_folder = action.ends_with("dir");
    const bool collects = action.starts_with("-exec");
    for (; at_ < words_.size() && !words_[at_].is(";"); ++at_) {
      if (collects && words_[at_].is("+") && !found.words.empty() && found.words.back().is("{}")) {
        found.takes_several = true;
        break;
      }
      if (words_[at_].splits || may_be(words_[at_], ";")) out_.is_certain = false;
      if (collects && !found.words.empty()) {
        const Word& before = found.words.back();
        const bool is_end = words_[at_].is("+") || may_be(words_[at_], "+");
        if (is_end && (before.is("{}") || may_be(before, "{}"))) out_.is_certain = false;
      }
      found.words.push_back(words_[at_]);
    }
    if (at_ >= words_.size()) out_.is_certain = false;
    ++at_;
    out_.commands.push_back(std::move(found));
  }

  const std::vector<Word>& words_;
  std::size_t at_ = 1;
  FindLine out_ = {};
};

}  // namespace

FindLine find_line(const Command& command) { return FindReader(command.words).read(); }

}  // namespace baton::shell
