// SPDX-License-Identifier: Apache-2.0
#include "base/ids.h"

#include <array>

#include "base/text.h"

namespace baton {

std::string mint_id(std::string_view prefix, Random& random) {
  std::array<std::uint8_t, 16> bits{};
  random.fill(bits);
  return std::string(prefix) + hex(bits);
}

std::string mint_uuid(Random& random) {
  std::array<std::uint8_t, 16> bits{};
  random.fill(bits);
  bits[6] = static_cast<std::uint8_t>((bits[6] & 0x0f) | 0x40);  // version 4
  bits[8] = static_cast<std::uint8_t>((bits[8] & 0x3f) | 0x80);  // RFC 9562 variant
  std::string text = hex(bits);
  for (const std::size_t at : {8, 13, 18, 23}) text.insert(at, 1, '-');
  return text;
}

}  // namespace baton
