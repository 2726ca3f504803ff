// SPDX-License-Identifier: Apache-2.0
// What a person is shown of what they decide on: secrets replaced by marks that say what and how much is hidden, and the reasons why it
// may not be approved at all. Pure. Decision: docs/decisions/0058-what-a-person-is-shown.md
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace baton::runtime {

// Replaces every secret by `[REDACTED:rule, 23 characters]` and returns how many there were. Names of members are not changed: a secret
// in one refuses the entry.
std::size_t mark_secrets(json::Value& value);

struct NotShown {
  std::string pointer;  // where, in the subject
  std::string problem;  // `is executed, and a part of it is hidden`
};

// Why what stands in this subject, in which secrets are marked, cannot be approved; empty: it can. A mark may stand for the whole value
// of a member that is not executed, and for nothing else. `executed` is the name of the member that the contract says is executed; the
// usual names (`command`, `script`, ...) always are.
std::vector<NotShown> not_shown(const json::Value& subject, std::string_view executed = {});

json::Value to_json(const std::vector<NotShown>& problems);  // [{pointer, problem}]

// The strings of the subject with characters that only look like others, or like nothing, marked `<U+0430>` (base/look_alikes.h):
// [{pointer, text}]; those without such characters are left out.
json::Value look_alikes(const json::Value& subject);

}  // namespace baton::runtime
