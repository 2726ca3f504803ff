// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share: taking an input apart, saying which promise was broken, and the promises that hold for
// every dialect.
//
// A target treats its input as a few choices (the first bytes) and a text (the rest). The text is never copied before it
// is read, so that the address sanitizer sees a read of one byte too many.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "diagnostics/diagnostic.h"
#include "handoff/handoff.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "json/value.h"

namespace baton::fuzz {

// A broken promise that was forgiven: the input is given up, the run goes on.
struct Forgiven {};

// Ends the run with the promise that was broken and what shows it. To look behind a defect that is known, name what is to
// be forgiven: FUZZ_FORGIVE='pieces do not matter;...' (whole promises).
[[noreturn]] inline void broken(std::string_view promise, std::string_view shown = {}) {
  if (const char* forgiven = std::getenv("FUZZ_FORGIVE"))
    for (const std::string_view one : split(forgiven, ';'))
      if (one == promise) throw Forgiven();
  std::fprintf(stderr, "\nbroken promise: %.*s\n", static_cast<int>(promise.size()), promise.data());
  if (!shown.empty()) std::fprintf(stderr, "%s\n", printable(shown, 4096).c_str());
  std::abort();
}

inline void require(bool holds, std::string_view promise, std::string_view shown = {}) {
  if (!holds) broken(promise, shown);
}

// The body of a target's entry point.
template <class Run>
int fuzz_one(Run run) {
  try {
    run();
  } catch (const Forgiven&) {
  }
  return 0;
}

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  // The next choice; 0 when there are none left.
  std::uint8_t choice() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return byte;
  }
  // Everything up to the next 0x1f, a byte that no JSON text holds; then everything after it, and so on.
  std::string_view part() {
    const std::size_t end = rest_.find('\x1f');
    const std::string_view part = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return part;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// Long texts from short inputs, for one choice in sixteen: 0x1e, a character and n stand for 256 * n of that character.
inline std::string expanded(std::string_view text, std::uint8_t choice) {
  if (choice < 0xf0) return std::string(text);
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\x1e' && at + 2 < text.size()) {
      out.append(256u * static_cast<unsigned char>(text[at + 2]), text[at + 1]);
      at += 2;
    } else {
      out.push_back(text[at]);
    }
  }
  return out;
}

// Secrets in the seeds are broken by U+27E6 U+27E7, so that no scanner takes them for real; this takes the breaks out. A
// vector, because its buffer ends where the text ends, and reading beyond it is seen.
inline std::vector<char> mended(std::string_view text) {
  static constexpr std::string_view kBreak = "\xe2\x9f\xa6\xe2\x9f\xa7";
  std::vector<char> out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::string_view plain = text.substr(0, text.find(kBreak));
    out.insert(out.end(), plain.begin(), plain.end());
    text.remove_prefix(std::min(text.size(), plain.size() + kBreak.size()));
  }
  out.shrink_to_fit();
  return out;
}

// Gives `text` to `feed` in pieces that `choice` picks: whole, byte by byte, equal pieces, or pieces of many sizes.
template <class Feed>
void feed_in_pieces(std::string_view text, std::uint8_t choice, Feed feed) {
  std::uint32_t state = choice * 2654435761u + 1;
  while (!text.empty()) {
    std::size_t size = text.size();
    if (choice % 4 == 1) size = 1;
    if (choice % 4 == 2) size = 1 + choice / 4;
    if (choice % 4 == 3) {
      state = state * 1664525u + 1013904223u;
      size = (state >> 16) % 24;  // also none
    }
    const std::string_view piece = text.substr(0, size);
    feed(piece);
    text.remove_prefix(piece.size());
  }
}

// --- diagnostics ----------------------------------------------------------------------------------------------------

// Every diagnostic is fit to be shown: one line that says something, and UTF-8, because it goes into JSON.
inline void require_presentable(const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics) {
    const std::string_view name = info(diagnostic.code).name;
    for (const std::string_view text : {std::string_view(diagnostic.message), std::string_view(diagnostic.help)}) {
      require(find_invalid_utf8(text) == text.size(), "a diagnostic is UTF-8", name);
      for (std::size_t at = 0; at < text.size();)
        require(!is_control(next_character(text, at)), "a diagnostic holds no control character", name);
    }
    require(!diagnostic.message.empty(), "a diagnostic has a message", name);
    require(find_invalid_utf8(diagnostic.place.pointer) == diagnostic.place.pointer.size(), "a place is UTF-8", name);
  }
}

inline std::string codes(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) {
    out += info(diagnostic.code).name;
    out += diagnostic.severity == Severity::Error ? " " : "(warning) ";
  }
  return out;
}

inline void require_same_codes(const std::vector<Diagnostic>& left, const std::vector<Diagnostic>& right,
                               std::string_view promise) {
  const std::string a = codes(left), b = codes(right);
  require(a == b, promise, a + " -- " + b);
}

// --- documents ------------------------------------------------------------------------------------------------------

inline json::Document parsed(std::string text, std::string_view promise) {
  json::ParseLimits limits;
  limits.depth_max = limits::kJsonBytesMax;
  const std::string shown = text;
  auto document = json::parse_owned(std::move(text), limits);
  if (!document) broken(promise, document.error().what + ": " + shown);
  return std::move(*document);
}

// The same text in JSON, every character as an escape.
inline void append_all_escaped(std::string& out, std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcDEF";
  const auto unit = [&](char32_t value) {
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out.push_back(kDigits[value >> shift & 15]);
  };
  out.push_back('"');
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c < 0x10000) unit(c);
    else unit(0xd800 + ((c - 0x10000) >> 10)), unit(0xdc00 + ((c - 0x10000) & 0x3ff));
  }
  out.push_back('"');
}

// The same value in another spelling: all characters escaped, white space wherever it may stand.
inline void append_respelled(std::string& out, json::Node node) {
  if (node.is_string()) {
    append_all_escaped(out, node.string());
  } else if (node.is_array()) {
    const char* before = "[ ";
    for (const json::Node element : node.elements()) {
      out += before;
      append_respelled(out, element);
      before = " ,\n";
    }
    out += node.size() == 0 ? "[\t]" : " ]";
  } else if (node.is_object()) {
    const char* before = "{\r\n";
    for (const json::Member member : node.members()) {
      out += before;
      append_all_escaped(out, member.name());
      out += " : ";
      append_respelled(out, member.value);
      before = "\t, ";
    }
    out += node.size() == 0 ? "{ }" : " }";
  } else {
    out += json::write(node);
  }
}

inline std::string respelled(json::Node root) {
  std::string out;
  append_respelled(out, root);
  return out;
}

// What came back from a Handoff is the document that went in.
inline void require_same_document(json::Node root, const json::Value& back) {
  const std::string text = json::write(back);
  const json::Document document = parsed(text, "what a handoff is written to is JSON");
  require(json::equal(root, document.root()), "a document goes through the Handoff and back", text);
  const auto before = json::canonical(root, json::Numbers::Exact),
             after = json::canonical(document.root(), json::Numbers::Exact);
  require(before.has_value() == after.has_value() && (!before || *before == *after),
          "a document goes through the Handoff and back, canonically", text);
}

// The handoff itself can be shown.
inline void require_showable(const Handoff& handoff) {
  parsed(json::write(handoff.to_json()), "a handoff is shown as JSON");
}

}  // namespace baton::fuzz
