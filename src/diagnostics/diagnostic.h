// SPDX-License-Identifier: Apache-2.0
// Diagnostics: what is wrong with somebody's input, as data.
//
// A diagnostic is defined once, in catalogue.def; code elsewhere says report(Code::X, place, {{"name", value}}). All
// independent faults of an input are collected, in the order of the input's rules, and the same input always gives the
// same codes in the same order.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/document.h"

namespace baton {

enum class Severity { Error, Warning, Info };

enum class Code {
#define DIAGNOSTIC(code, severity, message, help) code,
#include "diagnostics/catalogue.def"
#undef DIAGNOSTIC
};

// One row of the catalogue.
struct CodeInfo {
  Code code;
  std::string_view name;  // "EXIT_PROTOCOL"
  Severity severity;
  std::string_view message;  // with arguments in braces
  std::string_view help;
};

// All of it, sorted by name within each family as it stands in the file.
const std::vector<CodeInfo>& catalogue();
const CodeInfo& info(Code code);
const CodeInfo* find_code(std::string_view name);

// A catalogue text for reading: its doubled braces are plain ones, arguments still stand in braces.
std::string plain_pattern(std::string_view pattern);

std::string_view severity_name(Severity severity);  // "error", "warning", "info"

// Where in an input: a JSON Pointer and, when the bytes are known, line and column (1-based; 0 is unknown).
struct Place {
  std::string pointer;
  std::size_t line = 0;
  std::size_t column = 0;
};

// The place of a node in its document.
Place place_of(json::Node node);
// The place of a byte of a text that did not become a document.
Place place_at(std::string_view text, std::size_t offset);
// A place known by its pointer only: something that is absent.
Place place_named(std::string pointer);
// A member that `parent` does not have: its own pointer, the parent's line.
Place place_of_absent(json::Node parent, std::string_view member);

struct Diagnostic {
  Code code;
  Severity severity;
  Place place;
  std::string message;  // arguments filled in, one line
  std::string help;
  std::string argument;  // what a wire form appends to the code, `PLAN_STATUS:<argument>`; see Report::argument
  bool has_argument = false;
};

using Argument = std::pair<std::string_view, std::string_view>;

// Makes a diagnostic: message and help from the catalogue, arguments filled in. Arguments are made one line (control
// characters escaped) and cut when very long, so that a message can never break its frame.
Diagnostic report(Code code, Place place, std::initializer_list<Argument> arguments = {});

// A failure of the environment that has a code, because callers tell it apart: its reason is the code's message.
tl::unexpected<Failure> failure_of(Code code, std::string doing, std::initializer_list<Argument> arguments = {});

// Is there an error (not only warnings)?
bool has_errors(const std::vector<Diagnostic>& diagnostics);

// --strict: warnings become errors. What is only information stays that.
void make_strict(std::vector<Diagnostic>& diagnostics);

}  // namespace baton
