// SPDX-License-Identifier: Apache-2.0
// Contract packs and the session engine, for programs that decide tool calls themselves: compile a pack, open a session, and for each
// response decide, take what was decided, begin, settle. Pure: no clock, no file, no record; `baton serve` adds those.
#pragma once

#include "contract/compile.h"
#include "session/decide.h"
#include "session/door.h"
#include "session/happenings.h"
#include "session/settle.h"
#include "session/shown.h"
#include "session/way_out.h"
