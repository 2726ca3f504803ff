// SPDX-License-Identifier: Apache-2.0
// What an entry means to those who wait for something to claim. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace baton::runtime {

// What an entry says about one item.
struct Opening {
  std::string work_id;
  std::uint64_t sequence = 0;  // of the entry
  bool taken = false;          // somebody has claimed it: whoever was looking for it need not
  // The queue (work/item.h) it has come into. Empty: none, which concerns only those who wait for this very item. Nothing:
  // the entry does not say.
  std::optional<std::string> queue = {};
};
// Nothing when the entry changes nothing for those who wait.
std::optional<Opening> opening_of(std::uint64_t sequence, std::string_view type, std::string_view payload);

}  // namespace baton::runtime
