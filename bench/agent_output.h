// SPDX-License-Identifier: Apache-2.0
// Made-up output of agents, the same in every run.
#pragma once

#include <string>

namespace baton::bench {

// Lines of a build and test log; every tenth or so is a JSON object of a structured logger. Ends with a line end.
std::string log_text(std::size_t bytes);

// Sentences of ordinary English in paragraphs, with numbers, paths and addresses in them.
std::string prose_text(std::size_t bytes);

// The JSON lines of a coding agent: what the model said, what tools answered. No signal and no block in them.
std::string transcript_text(std::size_t bytes);

}  // namespace baton::bench
