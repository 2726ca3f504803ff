// SPDX-License-Identifier: Apache-2.0
// Every table of a store beside the ledger itself. A capability that needs one adds it here, with a migration that
// makes it (store/migrations.cc) and a fold that fills it.
#pragma once

#include <span>

#include "store/value.h"

namespace baton::store {

namespace tables {

// Keys that may seal this ledger, or once could: key_id, key (a C2SP verifier key), state (`active`, `retired`).
extern const Table kLedgerKeys;

// Second places the newest seal is kept in: witness (a URI).
extern const Table kLedgerWitnesses;

// Blobs whose content was erased: sha256, reason.
extern const Table kLedgerErasures;

// What is too large for an entry, or must be erasable: sha256 (of the stored bytes), bytes (nothing once erased), key
// (of an encrypted one; nothing when plain or erased). Not a projection: entries hold the hash only.
extern const Table kBlobs;

}  // namespace tables

std::span<const Table* const> all_tables();

}  // namespace baton::store
