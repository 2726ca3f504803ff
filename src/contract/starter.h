// SPDX-License-Identifier: Apache-2.0
// A pack to start from: an annotated example, or a contract for each tool of a list of definitions.
//
// What is written compiles. Every comment says what is to be decided; every guess says what it was guessed from, after the word
// REVIEW. A guess is never the milder of two: a hint that a tool only reads does not outweigh a name that says otherwise, for
// hints come from whoever wrote the tool. What is not known to read is left blocked by risk_defaults.
//
// A list of tools comes from a server. Names with which it would permit something else get no contract: those with `:` (a tool of another
// server, or an operation such as `server:sampling`), and those of coding agents' own tools.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/findings.h"
#include "contract/plan.h"
#include "json/document.h"

namespace baton::contract {

struct StarterFile {
  std::string name, text;
};

struct Starter {
  std::vector<StarterFile> files;
  std::vector<std::string> skipped;  // for each tool that got no contract: its name, and why
};

Starter starter_pack(std::string_view agent);

// `definitions`: an MCP tools/list result, or OpenAI's or Anthropic's definitions. What is none of them is reported.
Starter starter_from_tools(Findings& findings, std::string_view agent, json::Node definitions);

// What a tool does, as far as its name and its MCP annotations tell, and what that was taken from.
struct Guess {
  SideEffect side_effect;
  std::string because;
};
Guess guess_side_effect(std::string_view name, json::Node annotations);

// A text as a YAML scalar that reads back as this text, whatever it holds.
std::string yaml_quoted(std::string_view text);

}  // namespace baton::contract
