// SPDX-License-Identifier: Apache-2.0
// Command lines that are drawn from a wide grammar of the shell and then damaged.
//
// A line depends on the seed and the index only, not on the parser or on the lines before it.
#pragma once

#include <cstdint>
#include <string>

namespace baton::shell {

std::string drawn_line(std::uint64_t seed, std::uint64_t index);

}  // namespace baton::shell
