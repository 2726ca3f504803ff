// SPDX-License-Identifier: Apache-2.0
// libbaton: one door to the four dialects. baton::checker::check(text, options) recognises and checks; each dialect's own
// header has more (dialects/agent_contract/contract.h, dialects/uaix/packet.h, dialects/handoff_spec/spec.h).
#pragma once

#include "checker/checker.h"
#include "dialects/agent_contract/contract.h"
#include "dialects/handoff_spec/spec.h"
#include "dialects/uaix/packet.h"
