// SPDX-License-Identifier: Apache-2.0
// A receipt: an entry, the proof that it is in the tree, and the checkpoint that signs the tree. One JSON file that anyone
// can check offline with nothing but the public key.
// Byte format: docs/formats/ledger.md
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "diagnostics/diagnostic.h"
#include "ledger/entry.h"
#include "ledger/merkle.h"
#include "ledger/note.h"
#include "store/store.h"

namespace baton::ledger {

// How proofs get at subtrees in a store: from the kept nodes, and from entries' hashes below them.
Subtree subtree_of(store::Reader& reader);

// The receipt of an entry under the newest seal that covers it; JSON text, pretty-printed. Failure when there is no such
// entry or seal.
Result<std::string> make_receipt(store::Reader& reader, std::uint64_t sequence);

// That the ledger of `old_size` entries is the beginning of today's: JSON with both checkpoints' sizes, roots, the path and
// the newest seal.
Result<std::string> make_consistency_proof(store::Reader& reader, std::uint64_t old_size);

struct ReceiptVerdict {
  std::vector<Diagnostic> diagnostics;  // none: it holds
  Entry entry;                          // what the receipt is about, as far as it could be read
  Checkpoint checkpoint;
};
ReceiptVerdict verify_receipt(std::string_view text, const VerifierKey& key);

// The same of a consistency proof: that the older ledger is the beginning of the one the checkpoint signs. `kept`, when
// given, is what was kept of the older one; without it the proof only says that some ledger of that root is.
struct ConsistencyVerdict {
  std::vector<Diagnostic> diagnostics;  // none: it holds
  std::uint64_t old_size = 0;
  Checkpoint checkpoint;
};
bool is_consistency_proof(std::string_view text);
ConsistencyVerdict verify_consistency_proof(std::string_view text, const VerifierKey& key,
                                            const std::optional<Checkpoint>& kept);

}  // namespace baton::ledger
