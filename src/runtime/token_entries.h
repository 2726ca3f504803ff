// SPDX-License-Identifier: Apache-2.0
// What the ledger says of tokens. The table of tokens is for lists; who is let in follows from the entries.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "json/document.h"
#include "json/value.h"
#include "runtime/use_cases.h"
#include "store/store.h"

namespace baton::runtime {

// The entries about tokens behind the sequence `after`, the oldest first; how many entries the ledger has. LEDGER_CONTENT: one
// of them was altered, and then none is given.
using TakeTokenEntry = std::function<void(std::string_view type, std::string_view payload)>;
Result<std::uint64_t> read_token_entries(store::Reader& reader, std::uint64_t after, const TakeTokenEntry& take);

// The kind of a token as people say it, `host` included, and what it grants: in entries and in rows. Members that say nothing are not
// written, so that older entries read the same. False: one of them is not what it has to be.
std::string_view kind_name(const Token& token);
bool read_kind_and_grant(json::Node object, Token& token);
void write_grant(json::Value& object, const TokenGrant& grant);

// Was there ever an operator's token? Also one that was revoked counts: otherwise a first operator could be made twice.
Result<bool> has_operator_token(store::Reader& reader);

}  // namespace baton::runtime
