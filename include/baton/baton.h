// SPDX-License-Identifier: Apache-2.0
// libbaton: everything.
#pragma once

#include "baton/check.h"
#include "baton/diagnostics.h"
#include "baton/exit_signal.h"
#include "baton/handoff.h"
#include "baton/json.h"
#include "baton/session.h"
