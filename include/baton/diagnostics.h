// SPDX-License-Identifier: Apache-2.0
// libbaton: diagnostics as data, and the catalogue of all codes.
#pragma once

#include "diagnostics/diagnostic.h"
