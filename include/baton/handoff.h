// SPDX-License-Identifier: Apache-2.0
// libbaton: the one Handoff value, and translation between its dialects.
#pragma once

#include "handoff/handoff.h"
#include "translate/translate.h"
