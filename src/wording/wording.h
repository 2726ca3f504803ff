// SPDX-License-Identifier: Apache-2.0
// Texts that try to speak to a model behind the user's back: in the definitions of MCP servers (descriptions, titles, schemas,
// instructions), and in what one agent wrote and another reads. Pure. What is found is a reason to look, not a proof;
// docs/reference/mcp.md lists what is looked for.
//
// Phrases are looked for in a text without invisible characters, in lower case, with runs of blanks, line ends and marks of emphasis as one
// blank, so that `i<zero width space>gnore **previous** instructions` is found. Other spellings of letters are not undone.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/document.h"

namespace baton::wording {

struct Suspicion {
  enum class Kind : std::uint8_t {
    Invisible,      // characters that nobody sees: zero width, tags, runs of variation selectors
    Bidirectional,  // characters that change the order of what is read
    Control,        // escape sequences and other control characters
    Gap,            // text pushed out of sight by blanks or empty lines
    Override,       // "ignore previous instructions"
    Secrecy,        // "do not tell the user"
    HiddenTag,      // <IMPORTANT>, <system>, [INST], markers of chat templates
    Role,           // "you are now a ...", "from now on you ..."
    Prompt,         // "repeat your system prompt"
    Secrets,        // "pass the contents of ~/.ssh/id_rsa"
  };
  Kind kind;
  std::string place;    // description, inputSchema/properties/path/description, instructions
  std::string excerpt;  // printable, short
};

std::string_view name_of(Suspicion::Kind kind);  // "override"
std::string_view about(
    Suspicion::Kind kind);                  // "they try to override other instructions": without a word of the server's
std::string text_of(const Suspicion& one);  // "description tries to override other instructions: `ignore previous...`"

// Each kind at most once for a text.
std::vector<Suspicion> suspicions_in_text(std::string_view text, std::string_view place);
// The members of a tool, a prompt or a resource that have texts. A client gets no others (mcp/definitions.cc).
inline constexpr std::array<std::string_view, 13> kTextParts = {
    "name",  "title", "description", "annotations", "inputSchema", "outputSchema", "execution",
    "icons", "_meta", "arguments",   "uri",         "uriTemplate", "mimeType"};
// Every text in these members of a definition. At most 32.
std::vector<Suspicion> suspicions_in(json::Node definition, std::span<const std::string_view> parts = kTextParts);
// Every text in a value.
std::vector<Suspicion> suspicions_in_value(json::Node value, std::string_view place);

}  // namespace baton::wording
