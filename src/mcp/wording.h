// SPDX-License-Identifier: Apache-2.0
// Suspicious texts of MCP servers: the rule is in wording/wording.h, by the name that the proxy's parts use.
#pragma once

#include "wording/wording.h"

namespace baton::mcp {

using wording::about;
using wording::kTextParts;
using wording::name_of;
using wording::Suspicion;
using wording::suspicions_in;
using wording::suspicions_in_text;
using wording::suspicions_in_value;
using wording::text_of;

}  // namespace baton::mcp
