// SPDX-License-Identifier: Apache-2.0
// A handoff as it was sent: recognised, checked and reduced to what the use case needs, before any transaction. Pure, but for the
// time it is given.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "diagnostics/diagnostic.h"
#include "handoff/handoff.h"
#include "workspace/config.h"

namespace baton::runtime {

struct Document {
  Handoff handoff;
  std::vector<Diagnostic> warnings;
  std::string raw;            // as it came
  std::string digest;         // SHA-256 of that, hexadecimal
  std::string canonical;      // exact canonical JSON of the document
  std::string replay_digest;  // uaix: what tells a retry from a replay

  Dialect dialect() const { return handoff.dialect; }
};

struct ReadDocument {
  std::vector<Diagnostic> refused;  // flag, size, JSON, fields: in that order
  std::optional<Document> document;
};
// Two handoffs that differ, or text after one, are refused: nobody may guess which was meant.
ReadDocument read_document(std::string text, const workspace::Config& config, Time now);

// What the fields that are lists or objects say, for a person to read.
std::string words_of(const json::Value* value);

}  // namespace baton::runtime
