// SPDX-License-Identifier: Apache-2.0
// The key with which a node signs what it answers to hooks (hooks/signed_answer.h). It is derived from the ledger's redaction key, so that every
// node of a ledger has the same one, it survives a rotation of the seal key, and there is no further file to keep
// (docs/decisions/0062-the-node-signs-what-hooks-are-told.md). It signs nothing else.
#pragma once

#include <string>

#include "ledger/key_files.h"

namespace baton::ledger {

SigningKey answer_key(const RedactionKey& key);
// The public half, as it is on the command lines of hooks.
std::string answer_key_text(const SigningKey& key);

}  // namespace baton::ledger
