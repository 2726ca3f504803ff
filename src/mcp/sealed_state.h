// SPDX-License-Identifier: Apache-2.0
// The requestState of the modern era, authenticated: what a client is given with an `input_required` result and has to bring back.
// It is readable (nothing in it is secret) and cannot be made or changed by whoever has not the key, which lives as long as the
// process. It says which call of which session it is about, so that it is good for that call alone.
//
//   bs1.<base64url of {"a":APPROVAL,"c":CALL_ID,"d":ARGUMENTS,"e":EXPIRES,"n":NUMBER,"s":SESSION,"t":TOOL,"u":UPSTREAM}>.<base64url of HMAC-SHA256>
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/sha256.h"

namespace baton::mcp {

using SealKey = std::array<std::uint8_t, 32>;

Sha256 hmac_sha256(const SealKey& key, std::string_view text);

struct SealedState {
  std::string session, tool, arguments_sha256;  // what it is bound to
  std::string call_id, approval_id;             // approval_id empty: the server asked, not Baton
  std::string upstream;                         // the server's own requestState
  bool has_upstream = false;                    // it may be empty, and may be none
  std::int64_t expires_ms = 0;
  std::uint64_t number = 0;  // of the round: each is good once
};

std::string seal(const SealKey& key, const SealedState& state);
// Nothing: not ours, or not as it was sealed.
std::optional<SealedState> unseal(const SealKey& key, std::string_view text);
// Does it look like one of ours? A server's own does not begin so.
bool is_sealed(std::string_view text);

}  // namespace baton::mcp
