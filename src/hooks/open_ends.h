// SPDX-License-Identifier: Apache-2.0
// When a client lets a call run although its hook did not decide it: measured with real clients (docs/reference/hooks-clients.md,
// `./dev e2e hooks`).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hooks/event.h"

namespace baton::hooks {

struct OpenEnds {
  bool is_measured = false;        // false: nobody has measured this client, so nothing is known
  std::string measured_with = {};  // the version that was measured
  std::vector<std::string> ways =
      {};  // "the hook ends with status 1"; without those that need another program in the hook's place
};

// `version` as the client prints it; empty: not known, and then the worst version that was measured counts.
OpenEnds open_ends(Client client, std::string_view version);

// The first version in a text such as `2.1.325 (Claude Code)`; empty: there is none.
std::string version_in(std::string_view text);

}  // namespace baton::hooks
