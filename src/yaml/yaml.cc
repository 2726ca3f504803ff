// SPDX-License-Identifier: Apache-2.0
// libyaml's events, one after the other, written down as JSON with the place of each node; then json::parse makes the
// tree. Open containers are a list, so that nesting costs heap, not stack.
#include "yaml/yaml.h"

#include <yaml.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "json/pointer.h"
#include "yaml/scalar.h"

namespace baton::yaml {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
// U+0085, U+2028 and U+2029.
constexpr std::array<std::string_view, 3> kLineBreaksOfYaml11 = {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};

// Where a directive stands from `from` on, before anything but blank lines, comments and document ends (`...`); npos when
// something else comes first. libyaml compares every directive with all before it, so none is left to it.
std::size_t find_directive(std::string_view text, std::size_t from) {
  for (std::size_t at = from; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const bool is_whole_line = at == 0 || text[at - 1] == '\n' || text[at - 1] == '\r';
    if (is_whole_line && line.starts_with('%')) return at;
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string_view::npos && line[first] != '#' && !line.starts_with("..."))
      return std::string_view::npos;
    at = end + 1;
  }
  return std::string_view::npos;
}

// libyaml counts characters, places are bytes. Every so many characters the byte is remembered.
class ByteOffsets {
 public:
  explicit ByteOffsets(std::string_view text) : text_(text), ascii_(is_ascii(text)) {
    if (ascii_) return;
    std::size_t characters = 0;
    for (std::size_t at = 0; at < text.size(); next_character(text, at))
      if (characters++ % kStride == 0) marks_.push_back(at);
  }

  std::size_t of(std::size_t character) const {
    if (ascii_) return std::min(character, text_.size());
    if (character / kStride >= marks_.size()) return text_.size();
    std::size_t at = marks_[character / kStride];
    for (std::size_t left = character % kStride; left > 0 && at < text_.size(); --left) next_character(text_, at);
    return at;
  }

 private:
  static constexpr std::size_t kStride = 64;
  std::string_view text_;
  bool ascii_;
  std::vector<std::size_t> marks_;
};

// libyaml's two objects, freed whatever happens.
class LibraryParser {
 public:
  explicit LibraryParser(std::string_view text) {
    CHECK(yaml_parser_initialize(&parser_) == 1);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  LibraryParser(const LibraryParser&) = delete;
  LibraryParser& operator=(const LibraryParser&) = delete;
  ~LibraryParser() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }

  // False when the text is wrong.
  bool next() {
    yaml_event_delete(&event_);
    return yaml_parser_parse(&parser_, &event_) == 1;
  }
  const yaml_event_t& event() const { return event_; }
  const yaml_parser_t& state() const { return parser_; }

 private:
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

std::string_view view(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

class Reader {
 public:
  Reader(std::string_view text, const Limits& limits) : text_(text), limits_(limits) {}

  Parsed run() {
    if (is_readable() && follow() && !failed_) out_.document = document();
    return std::move(out_);
  }

 private:
  struct Open {
    bool is_mapping = false;
    bool awaits_key = false;  // a mapping, between members
    bool is_key = false;      // it stands where a key should
    std::size_t count = 0;    // of complete members or elements
    std::string key = {};     // of the member being read
    std::set<std::string> keys = {};
  };

  // --- faults ---

  void found(Code code, std::size_t offset, std::initializer_list<Argument> arguments = {}) {
    const bool error = info(code).severity == Severity::Error;
    // The first error is always said, however many warnings came before.
    if (out_.diagnostics.size() < limits::kDiagnosticsMax || (error && !failed_)) {
      Place place = place_at(text_, offset);
      place.pointer = pointer();
      out_.diagnostics.push_back(report(code, std::move(place), arguments));
    }
    failed_ |= error;
  }

  // Of the node being read; a key is named by the member it opens.
  std::string pointer() const {
    std::string out;
    for (const Open& open : open_) {
      if (!open.is_mapping) out += "/" + std::to_string(open.count);
      else if (!open.awaits_key) json::append_pointer_token(out, open.key);
    }
    return out;
  }

  // Where the text cannot be followed no node is being read that a pointer could name.
  void syntax(std::size_t offset, std::string_view what) {
    open_.clear();
    found(Code::YAML_SYNTAX, offset, {{"what", what}});
  }

  void library_fault(const yaml_parser_t& state) {
    if (state.problem == nullptr) return syntax(begin_, "there is no memory left to read it");
    std::string what = state.problem;
    if (state.context != nullptr) what += std::string(", ") + state.context;
    const std::size_t offset =
        state.error == YAML_READER_ERROR ? begin_ + state.problem_offset : offset_of(state.problem_mark);
    syntax(offset, what);
  }

  // --- the text as a whole ---

  bool is_readable() {
    if (text_.size() > limits_.bytes_max) {
      found(Code::YAML_TOO_LARGE, limits_.bytes_max,
            {{"bytes", std::to_string(text_.size())}, {"max", std::to_string(limits_.bytes_max)}});
      return false;
    }
    if (const std::size_t bad = find_invalid_utf8(text_); bad != text_.size())
      return syntax(bad, "invalid UTF-8"), false;
    if (text_.starts_with(kByteOrderMark)) begin_ = kByteOrderMark.size();
    if (text_.substr(begin_).starts_with(kByteOrderMark)) return syntax(begin_, "a second byte order mark"), false;
    std::size_t at = text_.size();
    for (const std::string_view character : kLineBreaksOfYaml11) at = std::min(at, text_.find(character));
    if (at != text_.size()) return syntax(at, "U+0085, U+2028 or U+2029 that is not escaped"), false;
    return true;
  }

  std::size_t offset_of(const yaml_mark_t& mark) const { return begin_ + offsets_.of(mark.index); }

  // False when the text could not be followed to its end.
  bool follow() {
    offsets_ = ByteOffsets(text_.substr(begin_));
    if (const std::size_t at = find_directive(text_.substr(begin_), 0); at != std::string_view::npos)
      return found(Code::YAML_DIRECTIVE, begin_ + at), false;
    LibraryParser library(text_.substr(begin_));
    do {
      if (!library.next()) return library_fault(library.state()), false;
      if (!take(library.event())) return false;
      // Nobody reads more of them, and each costs a walk to its place.
      if (failed_ && out_.diagnostics.size() >= limits::kDiagnosticsMax) return false;
    } while (library.event().type != YAML_STREAM_END_EVENT);
    return true;
  }

  json::Document document() {
    if (json_.empty()) {  // no document at all
      json_ = "null";
      places_.push_back(static_cast<std::uint32_t>(begin_));
    }
    const json::ParseLimits limits{SIZE_MAX, SIZE_MAX, SIZE_MAX};
    auto document = json::parse_owned(std::move(json_), limits);
    CHECK(document.has_value());
    document->set_source(std::string(text_), std::move(places_));
    return *std::move(document);
  }

  // --- events ---

  // False when nothing more is to be read.
  bool take(const yaml_event_t& event) {
    const std::size_t offset = offset_of(event.start_mark);
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT: return start_document(event, offset);
      case YAML_DOCUMENT_END_EVENT: return end_document(offset_of(event.end_mark));
      case YAML_ALIAS_EVENT: take_alias(event, offset); return true;
      case YAML_SCALAR_EVENT: take_scalar(event, offset); return true;
      case YAML_SEQUENCE_START_EVENT:
        check_properties(event.data.sequence_start.anchor, event.data.sequence_start.tag, offset);
        return open(false, offset);
      case YAML_MAPPING_START_EVENT:
        check_properties(event.data.mapping_start.anchor, event.data.mapping_start.tag, offset);
        return open(true, offset);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT: close(); return true;
      default: return true;
    }
  }

  bool start_document(const yaml_event_t& event, std::size_t offset) {
    const auto& start = event.data.document_start;
    if (documents_++ > 0) return found(Code::YAML_DOCUMENTS, offset), false;
    if (start.version_directive != nullptr || start.tag_directives.start != start.tag_directives.end)
      found(Code::YAML_DIRECTIVE, offset);
    return true;
  }

  // A directive after the document belongs to a second one.
  bool end_document(std::size_t offset) {
    const std::size_t at = find_directive(text_.substr(begin_), offset - begin_);
    if (at == std::string_view::npos) return true;
    return found(Code::YAML_DOCUMENTS, begin_ + at), false;
  }

  void check_properties(const yaml_char_t* anchor, const yaml_char_t* tag, std::size_t offset) {
    if (anchor != nullptr) found(Code::YAML_ANCHOR, offset, {{"name", view(anchor)}});
    if (tag != nullptr) found(Code::YAML_TAG, offset);
  }

  void take_alias(const yaml_event_t& event, std::size_t offset) {
    found(Code::YAML_ALIAS, offset, {{"name", view(event.data.alias.anchor)}});
    // What stands as a key is none; its value is read all the same, for the faults in it.
    if (is_key_next()) begin_member("");
    else end_value();
  }

  void take_scalar(const yaml_event_t& event, std::size_t offset) {
    const auto& data = event.data.scalar;
    const std::string_view value(reinterpret_cast<const char*>(data.value), data.length);
    const bool is_key = is_key_next();
    if (is_key) begin_member(value);
    check_properties(data.anchor, data.tag, offset);
    // libyaml drops the tag `!` of a scalar, but the scalar begins there.
    if (data.tag == nullptr && event.start_mark.index < event.end_mark.index && text_.substr(offset).starts_with('!'))
      found(Code::YAML_TAG, offset);
    const bool plain = data.style == YAML_PLAIN_SCALAR_STYLE;
    const Scalar scalar = plain ? resolve(value) : Scalar{};
    if (is_key) return take_key(value, plain, scalar, offset);

    warn(value, scalar.ambiguity, offset);
    if (!scalar.problem.empty()) found(Code::YAML_NUMBER, offset, {{"problem", scalar.problem}});
    begin_value(offset);
    if (scalar.kind == json::Kind::String) json::append_canonical_string(json_, value);
    else json_ += scalar.json;
    end_value();
  }

  void take_key(std::string_view value, bool plain, const Scalar& scalar, std::size_t offset) {
    Open& mapping = open_.back();
    if (plain && value == "<<") found(Code::YAML_MERGE, offset);
    else if (scalar.kind != json::Kind::String) found(Code::YAML_KEY, offset, {{"kind", json::kind_name(scalar.kind)}});
    else if (!mapping.keys.emplace(value).second) found(Code::YAML_DUPLICATE_KEY, offset, {{"key", value}});
    else warn(value, scalar.ambiguity, offset);
    if (mapping.count > 0) json_ += ',';
    json::append_canonical_string(json_, value);
    json_ += ':';
    places_.push_back(static_cast<std::uint32_t>(offset));
  }

  // A number is not quoted: digits that begin with a zero may be anything.
  void warn(std::string_view value, Ambiguity ambiguity, std::size_t offset) {
    if (ambiguity == Ambiguity::Word)
      found(Code::YAML_AMBIGUOUS, offset,
            {{"what", "`" + std::string(value) + "`"}, {"here", "is a string"}, {"there", "a boolean"}});
    if (ambiguity == Ambiguity::LeadingZero)
      found(Code::YAML_AMBIGUOUS, offset,
            {{"what", "a number with leading zeros"}, {"here", "is decimal"}, {"there", "octal or text"}});
  }

  // --- containers ---

  bool is_key_next() const { return !open_.empty() && open_.back().awaits_key; }

  void begin_member(std::string_view key) {
    open_.back().key = key;
    open_.back().awaits_key = false;
  }

  bool open(bool is_mapping, std::size_t offset) {
    if (open_.size() >= limits_.depth_max)
      return found(Code::YAML_TOO_DEEP, offset, {{"max", std::to_string(limits_.depth_max)}}), false;
    const bool is_key = is_key_next();
    if (is_key) {
      found(Code::YAML_KEY, offset, {{"kind", json::kind_name(is_mapping ? json::Kind::Object : json::Kind::Array)}});
      begin_member("");
    }
    begin_value(offset);
    json_ += is_mapping ? '{' : '[';
    open_.push_back({is_mapping, is_mapping, is_key});
    return true;
  }

  void close() {
    const bool was_key = open_.back().is_key;
    json_ += open_.back().is_mapping ? '}' : ']';
    open_.pop_back();
    if (!was_key) end_value();
  }

  void begin_value(std::size_t offset) {
    if (!open_.empty() && !open_.back().is_mapping && open_.back().count > 0) json_ += ',';
    places_.push_back(static_cast<std::uint32_t>(offset));
  }

  void end_value() {
    if (open_.empty()) return;
    ++open_.back().count;
    open_.back().awaits_key = open_.back().is_mapping;
  }

  std::string_view text_;
  Limits limits_;
  std::size_t begin_ = 0;  // just past the byte order mark
  ByteOffsets offsets_{{}};
  std::vector<Open> open_;
  std::size_t documents_ = 0;
  std::string json_;                   // means nothing once something failed
  std::vector<std::uint32_t> places_;  // of each node of `json_`, in order
  bool failed_ = false;
  Parsed out_;
};

}  // namespace

Parsed parse(std::string_view text, const Limits& limits) { return Reader(text, limits).run(); }

}  // namespace baton::yaml
