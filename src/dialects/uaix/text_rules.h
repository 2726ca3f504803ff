// SPDX-License-Identifier: Apache-2.0
// Rules about what a packet's texts say: claims about UAIX, private addresses, error traces, unattended execution.
//
// Words are judged sentence by sentence, after NFKC, removal of zero-width characters and case folding, so that a claim
// cannot hide in look-alike spelling. They are review material, not proof: double negation and claims spread over
// sentences get through.
#pragma once

#include <string_view>

#include "base/stepped_sha256.h"

namespace baton::uaix {

// Claims that UAIX hosts, syncs, orchestrates, writes repositories, certifies ... in a sentence without a negator.
bool claims_unsupported(std::string_view text);

// An http(s) address of this machine or of a private network.
bool holds_private_endpoint(std::string_view text);

// The head of a Python traceback, a JavaScript stack line, a panic, a core dump.
bool holds_local_trace(std::string_view text);

// Tells the reader to run something unattended (for exact_next_action).
bool demands_unattended_execution(std::string_view text);

// The first look over a whole document of ASCII: false proves that none of the first three can be true of any part of it.
// (Beyond ASCII a claim can hide in look-alike letters: such strings have to be read one by one.)
// `meanwhile` goes a step on with every 64 bytes or so.
bool may_break_text_rules(std::string_view text, SteppedSha256* meanwhile = nullptr);

}  // namespace baton::uaix
