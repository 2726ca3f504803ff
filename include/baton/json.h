// SPDX-License-Identifier: Apache-2.0
// libbaton: strict JSON. Parsing into an immutable tree, building values, canonical form, pointers, paths, decimals.
#pragma once

#include "json/canonical.h"
#include "json/decimal.h"
#include "json/document.h"
#include "json/parse.h"
#include "json/path.h"
#include "json/pointer.h"
#include "json/value.h"
