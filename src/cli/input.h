// SPDX-License-Identifier: Apache-2.0
// Reading what a command is pointed at: files, or standard input as `-`. Bounded, and with errors that say what to do.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/world.h"

namespace baton::cli {

// "<stdin>" for `-`.
std::string source_name(std::string_view path);

// All of it, at most `bytes_max`.
Result<std::string> read_document(World& world, const std::string& path, std::size_t bytes_max);

// In pieces, whatever the size; `take` is called for each.
Result<void> read_stream(World& world, const std::string& path, const std::function<void(std::string_view)>& take);

// As read_document, but beyond `bytes_max` the pieces go on to `take` instead of failing, beginning with what was read.
// True when the document is complete in `document`.
Result<bool> read_document_or_stream(World& world, const std::string& path, std::size_t bytes_max,
                                     std::string& document, const std::function<void(std::string_view)>& take);

}  // namespace baton::cli
