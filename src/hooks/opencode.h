// SPDX-License-Identifier: Apache-2.0
// The plugin by which OpenCode asks baton-hook (opencode_plugin.js), as a text to be written into a file.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace baton::hooks {

// `hook`: the program; `arguments`: what it is given beside the client and the event.
std::string opencode_plugin(std::string_view hook, std::span<const std::string> arguments = {});

}  // namespace baton::hooks
