// SPDX-License-Identifier: Apache-2.0
// Inside the detector: `password = value`, that is, which names announce a secret and whether the value after one is
// it. The keywords are those of secrets/rules.def; finding them in a text is the first look's part.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace baton::secrets {

// Text is what it seems. In the raw text of a JSON document white space may be long, a list may stand before its first
// element, and a backslash may stand for anything: the answer there may be too often yes, never too often no.
enum class Reading { Text, Document };

struct Place {
  std::size_t offset;
  std::size_t length;  // 0 when a document leaves it open
};

// The parts of a place that are hidden: what a shell takes for structure stays, and so does a plain word after it (`;reboot`), so that
// no command can pass for a part of a password.
std::vector<Place> hidden_parts(std::string_view text, Place place);

// The secret value assigned to the keyword that ends at `at`.
std::optional<Place> assigned_value(std::string_view text, std::size_t at, Reading reading);

// A `key` that ends at `at` counts only after one of the words of KEY_OF.
bool is_secret_key(std::string_view text, std::size_t at);

// A keyword in the name whose rest goes on to the name's end without making it a reference.
bool names_secret(std::string_view name);

}  // namespace baton::secrets
