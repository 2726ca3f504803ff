// SPDX-License-Identifier: Apache-2.0
// Facts: what Baton derives from a call of a coding agent's own tool, as opposed to what the model wrote. A command line gives programs,
// paths and writes; a file tool gives absolute paths; both give the folder of the call.
//
// The arguments that a contract judges hold the facts in one member, `dev.baton`. Only the reader of a client's own event adds it
// (hooks/read.h), for the client's own tools. A tool of an MCP server has no facts, whatever its name.
#pragma once

#include <cstdint>
#include <string_view>

namespace baton::hooks {

inline constexpr std::string_view kFacts = "dev.baton";

// The kind of facts of a client's own tool, by its name in contracts.
enum class FactsOf : std::uint8_t { None, Command, Files };
FactsOf facts_of(std::string_view tool);

// Is it a name that a fact of this kind had at the top of the arguments, before facts had a member of their own? Contracts may still use it,
// so that the input of such a tool must not have a member of that name.
bool is_fact_name(FactsOf of, std::string_view name);

}  // namespace baton::hooks
