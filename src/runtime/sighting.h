// SPDX-License-Identifier: Apache-2.0
// A call as the hook of a coding agent sees it, before it is made and afterwards; and which open call of a session it is. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "session/rules.h"
#include "session/state.h"

namespace baton::runtime {

struct Sighting {
  std::string call_id = {};           // the client's own id of the call; empty: the client has none
  std::string tool = {};              // the canonical name
  std::string input_sha256 = {};      // of the tool and its input as the client says it (sighted_digest)
  std::string arguments_sha256 = {};  // of the arguments as contracts see them: what a call is known by that no hook proposed
  bool confirms = false;              // another door begins the call: it may have another id there
};

// What is kept of the sighting that proposed or began an open call, in the session's row and in the entry.
struct Sighted {
  std::string call_id, input_sha256;
};
using SightedCalls = std::map<std::string, Sighted, std::less<>>;  // by the id of the open call

// Digest of a tool and its input: equal for the same JSON, however it is laid out.
std::string sighted_digest(std::string_view tool, const json::Value& input);

struct Match {
  const session::OpenCall* call = nullptr;  // null: this is none of the open calls
  bool is_changed = false;                  // it is that call, and something else was done than was judged
};

// The open call of a sighting afterwards: the one with the client's id; else one with the same tool and the same arguments whose own id the
// client has not told, or that still waits for its approval. Never another one, also where only one is open.
Match find_sighted(const session::Rules& rules, const session::State& state, const SightedCalls& sighted,
                   const Sighting& seen);

}  // namespace baton::runtime
