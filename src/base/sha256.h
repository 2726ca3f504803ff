// SPDX-License-Identifier: Apache-2.0
// SHA-256, from OpenSSL, with what is costly about it (looking the algorithm up, making a context) done once per thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace baton {

using Sha256 = std::array<std::uint8_t, 32>;

Sha256 sha256(std::string_view bytes);

// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace baton
