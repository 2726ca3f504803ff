// SPDX-License-Identifier: Apache-2.0
// What webhooks are signed with, in either direction: a secret both sides know, and HMAC-SHA-256.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace baton::runtime {

// The secret in a file, without the line end after it. `file` is relative to `folder`. WEBHOOK_SECRET when it cannot be read,
// is too short, or can be read by everyone.
Result<std::string> read_webhook_secret(const std::filesystem::path& folder, const std::string& file);

// HMAC-SHA-256, in lower-case hexadecimal.
std::string hmac_sha256_hex(std::string_view key, std::string_view text);

// In a time that does not depend on where they differ.
bool same_in_constant_time(std::string_view left, std::string_view right);

}  // namespace baton::runtime
