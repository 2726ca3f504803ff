// SPDX-License-Identifier: Apache-2.0
// Which streams a block of 256 entries belongs to, small enough to be kept beside the block's tree node: so that the
// entries of one stream are found without an index that every append would have to touch at another place.
//
// The set is the sorted 32-bit FNV-1a hashes of the streams' names, 4 bytes each, big end first. Two names may share a
// hash: a set says "perhaps" or "no".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/store.h"

namespace baton::ledger {

void add_stream(std::string& set, std::string_view stream);
bool may_hold_stream(std::string_view set, std::string_view stream);

// The entries of one stream, the newest first, until `take` gives false. Blocks that cannot hold it are passed over.
Result<void> read_stream_backwards(store::Reader& reader, std::string_view stream, const store::TakeEntry& take);

}  // namespace baton::ledger
