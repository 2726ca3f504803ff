// SPDX-License-Identifier: Apache-2.0
// Redirections, and the bodies of here-documents.
#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "shell/reader.h"

namespace baton::shell {

static bool is_delimiter_char(char c) { return is_alphanumeric(c) || c == '_' || c == '-' || c == '.'; }

void Reader::redirections_of(const Command& frame) {
  Command command = frame;
  for (blanks(); redirection(command); blanks()) {
  }
  if (!command.redirections.empty()) add(std::move(command));
}

bool Reader::redirection(Command& command) {
  std::size_t digits = 0;
  while (is_digit(peek(digits))) ++digits;
  const char c = peek(digits);
  if (c != '<' && c != '>' && !(digits == 0 && c == '&' && peek(1) == '>')) return false;
  if (digits == 0 && (sees("<(") || sees(">("))) return false;
  if (digits > 1) return stop(Opaque::Syntax), false;  // a word in dash and zsh
  // zsh reads the number in `2&>file` as that of the redirection, bash as a word.
  if (digits == 0 && c == '&' && at_ > 0 && is_digit(text_[at_ - 1])) out_.note(Opaque::Syntax);
  Redirection out;
  if (digits > 0) out.fd = std::stoi(std::string(text_.substr(at_, digits)));
  at_ += digits;
  for (const char* operation : {"<<<", "<<-", "<<", "<>", "<&", "<", "&>>", "&>", ">>", ">|", ">&", ">"}) {
    if (!takes(operation)) continue;
    out.operation = operation;
    break;
  }
  if (out.operation == "<<" || out.operation == "<<-") {
    if (!here_document_start(out, out.operation == "<<-")) return stop(Opaque::HereDocument), false;
  } else {
    blanks();
    if (at_word_end() && !sees("<(") && !sees(">(")) return stop(Opaque::Syntax), false;
    const std::size_t begin = at_;
    out.target = word();
    // zsh: `<1-9>` is a glob of numbers.
    if (out.operation == "<" && peek() == '>' && !at_end() &&
        text_.substr(begin, at_ - begin).find_first_not_of("0123456789-") == std::string_view::npos)
      out_.note(Opaque::Syntax);
    if (text_[begin] == '!') out_.note(Opaque::Syntax);  // zsh: `>! file`, also with a quoted name right behind it
  }
  // `>&-x` closes and leaves a word, `>&1-` moves.
  if ((out.operation == ">&" || out.operation == "<&") && out.target.text != "-" && !out.target.text.empty() &&
      (out.target.text.front() == '-' || is_digit(out.target.text.front())) &&
      !std::ranges::all_of(out.target.text, is_digit))
    out_.note(Opaque::Syntax);
  // bash expands a name behind `>&` twice: what quotes kept from it the first time runs the second time.
  if ((out.operation == ">&" || out.operation == "<&") &&
      (out.target.quoted || !out.target.is_literal() || out.target.text.find_first_of("$`\\") != std::string::npos))
    out_.note(Opaque::Syntax);
  command.redirections.push_back(std::move(out));
  return true;
}

// The delimiter: a plain word, or one that is quoted as a whole.
bool Reader::here_document_start(Redirection& out, bool strips_tabs) {
  // Where one ends inside a substitution differs: bash takes `EOF)` for the end.
  if (substitutions_ > 0) out_.note(Opaque::HereDocument);
  blanks();
  const char quote = peek() == '\'' || peek() == '"' || peek() == '\\' ? peek() : '\0';
  if (quote != '\0') ++at_;
  const std::size_t begin = at_;
  while (!at_end() && is_delimiter_char(peek())) ++at_;
  const std::string delimiter(text_.substr(begin, at_ - begin));
  if (delimiter.empty() || delimiter.front() == '-') return false;
  if ((quote == '\'' || quote == '"') && !takes(std::string_view(&quote, 1))) return false;
  if (!at_word_end() || peek() == '(') return false;
  out.target.text = delimiter;
  out.target.quoted = quote != '\0';
  pending_.push_back({delimiter, strips_tabs, quote != '\0'});
  return true;
}

void Reader::here_document_bodies() {
  std::vector<HereDocument> documents;
  std::swap(documents, pending_);
  for (const HereDocument& one : documents) {
    const std::size_t begin = at_;
    std::size_t end = at_;
    while (true) {
      if (at_end()) return stop(Opaque::HereDocument);  // the delimiter does not come
      end = at_;
      const std::size_t line_end = std::min(text_.find('\n', at_), text_.size());
      std::string_view line = text_.substr(at_, line_end - at_);
      at_ = std::min(line_end + 1, text_.size());
      if (one.strips_tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
      if (line == one.delimiter) break;
    }
    if (one.quoted) continue;
    const std::string_view body = text_.substr(begin, end - begin);
    // A line that is continued may make up the delimiter, or hide it.
    if (body.find("\\\n") != std::string_view::npos) return stop(Opaque::HereDocument);
    Reading reading = reading_;
    if (++reading.depth > limits::kShellDepthMax) return stop(Opaque::TooDeep);
    Reader(out_, body, reading).here_document();
  }
}

}  // namespace baton::shell
