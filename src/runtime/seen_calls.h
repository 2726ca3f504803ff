// SPDX-License-Identifier: Apache-2.0
// The calls of a governed session as its entries have them, for whoever judges what is claimed of them (claims/claims.h). From the record
// alone: hooks and proxy have told it everything they saw, and a node that was started since knows as much.
#pragma once

#include <string>

#include "base/result.h"
#include "claims/claims.h"
#include "store/store.h"

namespace baton::runtime {

// The newest of them, as limits::kClaim* let; in the order in which they were proposed.
Result<claims::Seen> seen_calls(store::Reader& reader, const std::string& session_id);

}  // namespace baton::runtime
