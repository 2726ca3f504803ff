// SPDX-License-Identifier: Apache-2.0
// Notes: what people record in a ledger themselves, one JSON object a line. Everything else is recorded by what does it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace baton::runtime {

// `note`, or a type that begins with `note.`
bool is_note(std::string_view type);

// The objects of a text, one a line, blank lines passed over; all of them or none. Failures: LEDGER_DRAFT, with a reason that
// begins with the number of the line.
Result<std::vector<json::Value>> read_notes(std::string_view text);

}  // namespace baton::runtime
