// SPDX-License-Identifier: Apache-2.0
// libbaton: the exit signal. Build it, check it, write it, parse it, parse it only when the flag is on, and make the
// completed event. Everything is in baton::agent_exit; an example is in examples/exit_signal.
#pragma once

#include "dialects/agent_exit/phase.h"
#include "dialects/agent_exit/signal.h"
