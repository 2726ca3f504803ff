// SPDX-License-Identifier: Apache-2.0
// The fold: how what happened becomes state. Every table that is a projection is written here and nowhere else, from an
// event alone (never from the clock, the entry's place or anything outside), so that replaying the ledger into an empty
// store makes the same rows again. What a rule needs to know later, a time for instance, is in the payload.
#pragma once

#include <string_view>

#include "base/result.h"
#include "json/document.h"
#include "ledger/entry.h"
#include "store/store.h"

namespace baton::runtime {

// What the fold sees of an entry.
struct Event {
  std::string_view stream;
  std::string_view type;
  std::string_view actor_id;
  std::string_view actor_kind;
  std::string_view payload;  // canonical JSON
};

// Does an event of this type change any table?
bool is_folded(std::string_view type);

Result<void> fold(const Event& event, store::Transaction& transaction);

}  // namespace baton::runtime
