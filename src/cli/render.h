// SPDX-License-Identifier: Apache-2.0
// Diagnostics for readers: people at a terminal, programs (JSON lines), code scanners (SARIF), GitHub's annotations.
//
// Everything shown passes the secret detector first, and what somebody else wrote is shown as escaped plain text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checker/checker.h"
#include "diagnostics/diagnostic.h"

namespace baton::cli {

enum class Format { Human, Json, Sarif, Github };
std::optional<Format> find_format(std::string_view name);

// What a document's check gave, with what is needed to show it.
struct Shown {
  std::string source;
  std::string_view text;  // for the source line; may be empty
  checker::Report report;
};

// The verdict and every diagnostic with its source line and a caret.
std::string render_human(const Shown& shown, bool colour);
// Only the diagnostics, for commands that have no verdict.
std::string render_human(const std::vector<Diagnostic>& diagnostics, std::string_view source, std::string_view text,
                         bool colour);

std::string render_json(const Shown& shown);  // one line
std::string render_github(const std::vector<Diagnostic>& diagnostics, std::string_view source);

struct SarifDocument {
  std::string source, text;  // the text to count columns in
  std::vector<Diagnostic> diagnostics;
};
// One SARIF 2.1.0 log over all documents.
std::string render_sarif(const std::vector<SarifDocument>& documents);

// Takes secrets out of a diagnostic's texts.
Diagnostic redacted(Diagnostic diagnostic);
json::Value redacted(const json::Value& value);

}  // namespace baton::cli
