// SPDX-License-Identifier: Apache-2.0
#include "adopt/toml.h"

#include <optional>

#include "base/text.h"
#include "json/parse.h"
#include "json/value.h"

namespace baton::adopt {
namespace {

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  return at;
}

// The string at `at`, which is moved behind it. Nothing: none, or one over several lines.
std::optional<std::string> string_at(std::string_view text, std::size_t& at) {
  if (at >= text.size() || (text[at] != '"' && text[at] != '\'')) return std::nullopt;
  const char quote = text[at];
  if (text.substr(at).starts_with(std::string(3, quote))) return std::nullopt;
  const std::size_t begin = at++;
  while (at < text.size() && text[at] != quote && text[at] != '\n') at += quote == '"' && text[at] == '\\' ? 2 : 1;
  if (at >= text.size() || text[at] != quote) return std::nullopt;
  ++at;
  const std::string_view whole = text.substr(begin, at - begin);
  if (quote == '\'') return std::string(whole.substr(1, whole.size() - 2));
  const auto parsed = json::parse(whole);  // a basic string, but for \e, \x and \U, is one of JSON
  if (!parsed) return std::nullopt;
  return std::string(parsed->root().string());
}

// A list of strings; `at` is moved behind it.
std::optional<std::vector<std::string>> list_at(std::string_view text, std::size_t& at) {
  if (at >= text.size() || text[at] != '[') return std::nullopt;
  std::vector<std::string> out;
  bool comma = true;
  for (++at; at < text.size();) {
    if (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r') ++at;
    else if (text[at] == '#') at = std::min(text.find('\n', at), text.size());
    else if (text[at] == ']') return ++at, out;
    else if (text[at] == ',' && !comma) comma = true, ++at;
    else if (auto one = comma ? string_at(text, at) : std::nullopt) out.push_back(std::move(*one)), comma = false;
    else return std::nullopt;
  }
  return std::nullopt;
}

// The dotted key from `at` to before `end`.
std::optional<std::vector<std::string>> key_at(std::string_view text, std::size_t& at, char end) {
  std::vector<std::string> out;
  while (at < text.size() && text[at] != '\n') {
    at = skip_blanks(text, at);
    if (auto quoted = string_at(text, at)) {
      out.push_back(std::move(*quoted));
    } else {
      const std::size_t begin = at;
      while (at < text.size() && (is_alphanumeric(text[at]) || text[at] == '_' || text[at] == '-')) ++at;
      if (at == begin) return std::nullopt;
      out.emplace_back(text.substr(begin, at - begin));
    }
    at = skip_blanks(text, at);
    if (at >= text.size()) return std::nullopt;
    if (text[at] == end) return ++at, out;
    if (text[at] != '.') return std::nullopt;
    ++at;
  }
  return std::nullopt;
}

class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  TomlServers run() {
    while (at_ < text_.size()) line();
    return std::move(out_);
  }

 private:
  void line() {
    at_ = skip_blanks(text_, at_);
    if (at_ < text_.size() && text_[at_] == '[') header();
    else if (at_ < text_.size() && text_[at_] != '#' && text_[at_] != '\n' && text_[at_] != '\r') entry();
    end_line();
  }

  void end_line() {
    const std::size_t end = text_.find('\n', at_);
    at_ = end == std::string_view::npos ? text_.size() : end + 1;
  }

  void header() {
    table_.clear();
    if (text_.substr(at_).starts_with("[[")) return;
    ++at_;
    if (auto key = key_at(text_, at_, ']')) table_ = std::move(*key);
    if (table_.empty() || table_[0] != "mcp_servers") return;
    if (table_.size() == 2) {
      out_.servers.push_back({});
      out_.servers.back().name = table_[1];
      const std::size_t end = text_.find('\n', at_);
      out_.servers.back().end = end == std::string_view::npos ? text_.size() : end;
    }
  }

  TomlServer* server() {
    if (table_.size() < 2 || table_[0] != "mcp_servers") return nullptr;
    for (TomlServer& one : out_.servers)
      if (one.name == table_[1]) return &one;
    return nullptr;
  }

  void entry() {
    const auto key = key_at(text_, at_, '=');
    if (!key) return skip_value();
    at_ = skip_blanks(text_, at_);
    std::vector<std::string> whole = table_;
    whole.insert(whole.end(), key->begin(), key->end());
    TomlServer* one = server();
    if (whole.size() >= 2 && whole[0] == "mcp_servers" && (!one || (table_.size() == 2 && key->size() > 1)))
      out_.not_understood.push_back("the MCP server `" + whole[1] + "` is not in a table of its own");
    if (one && table_.size() == 2 && key->size() == 1) return member(*one, key->front());
    if (one && table_.size() == 3 && table_[2] == "env" && key->size() == 1) one->environment.push_back(key->front());
    if (one && table_.size() == 3 && table_[2].ends_with("headers")) one->has_headers = true;
    skip_value();
  }

  void member(TomlServer& one, const std::string& name) {
    const std::size_t begin = at_;
    if (name == "command" || name == "url") {
      auto text = string_at(text_, at_);
      if (!text) return not_understood(one, name);
      (name == "command" ? one.command_text : one.url_text) = std::move(*text);
      (name == "command" ? one.command : one.url) = {begin, at_ - begin};
    } else if (name == "args") {
      auto list = list_at(text_, at_);
      if (!list) return not_understood(one, name);
      one.arguments = std::move(*list);
      one.args = {begin, at_ - begin};
    } else if (name == "env" && at_ < text_.size() && text_[at_] == '{') {
      for (++at_; at_ < text_.size() && text_[at_] != '}' && text_[at_] != '\n';) {
        const auto key = key_at(text_, at_, '=');
        at_ = skip_blanks(text_, at_);
        if (!key || key->size() != 1 || !string_at(text_, at_)) return not_understood(one, name);
        one.environment.push_back(key->front());
        at_ = skip_blanks(text_, at_);
        if (at_ < text_.size() && text_[at_] == ',') at_ = skip_blanks(text_, at_ + 1);
      }
    } else {
      if (name.ends_with("headers") || name == "bearer_token_env_var") one.has_headers = true;
      skip_value();
    }
    const std::size_t end = text_.find('\n', at_);
    one.end = end == std::string_view::npos ? text_.size() : end;
  }

  void not_understood(TomlServer& one, const std::string& name) {
    one.not_understood = "`" + name + "` is written in a way that is not understood";
    skip_value();
  }

  // Over a value that nobody reads: also over strings of several lines, in which a line could look like a table.
  void skip_value() {
    std::size_t depth = 0;
    while (at_ < text_.size() && (text_[at_] != '\n' || depth > 0)) {
      for (const std::string_view quotes : {"\"\"\"", "'''"})
        if (text_.substr(at_).starts_with(quotes)) {
          const std::size_t close = text_.find(quotes, at_ + 3);
          at_ = close == std::string_view::npos ? text_.size() : close + 3;
        }
      if (at_ >= text_.size()) return;
      if (text_[at_] == '"' || text_[at_] == '\'') {
        if (std::size_t after = at_; string_at(text_, after)) {
          at_ = after;
          continue;
        }
      }
      if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      if (text_[at_] == '[' || text_[at_] == '{') ++depth;
      if ((text_[at_] == ']' || text_[at_] == '}') && depth > 0) --depth;
      if (text_[at_] == '\n' && depth == 0) return;
      ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> table_;
  TomlServers out_;
};

}  // namespace

TomlServers toml_servers(std::string_view text) { return Scan(text).run(); }

std::string toml_quoted(std::string_view text) { return json::write(json::Value(text)); }

}  // namespace baton::adopt
