// SPDX-License-Identifier: Apache-2.0
// The secret detector: finds access tokens, private keys and passwords in text, so that they are refused at the door and
// never reach a ledger, a log or a console.
//
// What it knows is one table, secrets/rules.def: the shapes of some ninety kinds of token, two that count only beside a
// name (`cloudflare`, `heroku`), user:password in a URL, in a netrc file, behind `curl -u` and in base64, the Authorization header,
// `password = value` with a random looking value or one with punctuation, and long runs that are random by themselves. UUIDs and
// hexadecimal digests are no secrets: a UUID counts only near `heroku`, hexadecimal only where a keyword or a token's own prefix says so.
// Nor are digests of lock files, certificates, public keys and pictures in base64.
//
// No finding extends over what a shell takes for structure (`| ; & $ ( ) < >`, blanks, line breaks, quotes, a backslash): a secret with
// such characters is several findings, and the characters between them stay, with a plain word behind one (`x;reboot`). So what is taken
// out of a command line hides no command. Only a private key extends over its line breaks.
//
// How it works: one vectorised pass looks for the literals no token of a kind can do without, and only the rules whose
// literal was seen, with enough of the right characters after it, are tried in full.
//
// A finding says where and by which rule, never what. Text may be any bytes. All functions may be called from any thread;
// the tables are built at the first call.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/stepped_sha256.h"

namespace baton::secrets {

struct Finding {
  std::string_view rule;  // a stable name, "github-token"; lives as long as the program
  std::size_t offset;     // of the secret part: of the value in `password = value`, of user:password in a URL
  std::size_t length;

  bool operator==(const Finding&) const = default;
};

// Every finding, in order and apart from each other: those that overlap are one, under the most specific rule.
// For one text: a member's name or its value, a line, a message. For a JSON document, ask for each string in it.
std::vector<Finding> find(std::string_view text);

bool holds_secret(std::string_view text);

// For structured data, where find() sees name and value apart: a member whose name says that its value is secret
// (`client_secret`, `apiKey`, `Authorization`) and whose value looks like it. The place is that in `value`, the rule is
// `keyword-assignment` or that of the context. References are not values: `credential_ref`, a URN, a URL, a path.
std::optional<Finding> find_assigned(std::string_view name, std::string_view value);

// The first look, at several GB/s. False proves that find() finds nothing in the text nor in any part of it, and, if the
// text is a JSON document, nothing in any of its strings once unescaped, and that find_assigned() finds nothing for any
// of its members, nor for the first string in a list that is one. True proves nothing.
// `meanwhile` goes a step on with every 64 bytes or so.
bool may_hold_secret(std::string_view text, SteppedSha256* meanwhile = nullptr);

// The text with `[REDACTED:rule]` in place of every finding.
std::string redact(std::string_view text);

// All rules, the most specific first.
std::span<const std::string_view> rule_names();

}  // namespace baton::secrets
