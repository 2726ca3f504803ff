// SPDX-License-Identifier: Apache-2.0
// The tools of a server that runs, read once: for writing contracts about them, and for approving them.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "proxy/options.h"

namespace baton::proxy {

// Starts the server (or calls it), reads its list of tools to the last page and ends it. {"tools":[...],"instructions":"..."}, as the server says them; a
// server without instructions has no such member.
// Legacy servers and modern ones. Blocks, at most `timeout`.
Result<std::string> read_tools(Clock& clock, Random& random, const ServerOptions& server,
                               std::chrono::milliseconds timeout, const std::function<void(std::string_view)>& report);

}  // namespace baton::proxy
