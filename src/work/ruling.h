// SPDX-License-Identifier: Apache-2.0
// How the rules say what they say: refusals, events and the texts in them. Internal to work/.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "diagnostics/diagnostic.h"
#include "work/rules.h"

namespace baton::work {

// `time` later by `nanoseconds`, or the last time there is.
Time later(Time time, std::int64_t nanoseconds);

// A lone refusal.
Ruling refuse(Diagnostic diagnostic);
Ruling refuse(Code code, std::initializer_list<Argument> arguments);
// WORK_FIELD: `field` is the name the person who wrote it knows.
Diagnostic bad_field(std::string_view field, std::string_view problem);

// LEASE_TTL when nobody may ask for a lease of that time. 0, which asks for none in particular, is fine.
std::optional<Diagnostic> check_lease_ttl(std::int64_t ttl, const Policy& policy);

// Builds an event of one item.
class Happens {
 public:
  Happens(std::string_view type, const Item& item, Time now) : Happens(type, item.id, now) {}
  Happens(std::string_view type, std::string_view work_id, Time now);
  // Of the session that holds the item's lease: `session_id` and `fence`.
  Happens(std::string_view type, const Item& item, const Lease& lease, Time now);

  Happens&& with(std::string_view name, json::Value value) &&;
  // Left out when it is empty.
  Happens&& with_text(std::string_view name, std::string_view text) &&;

  operator Event() && { return std::move(event_); }
  operator Ruling() &&;  // allowed, and this happens

 private:
  Event event_;
};

// --- texts that people and agents write -------------------------------------------------------------------------------

// What is wrong with it, for a message (`is empty`); empty when nothing is. Texts may have several lines.
std::string problem_with_text(std::string_view text);

// Fits for an event: valid UTF-8, at most `bytes_max`. Of a text that is longer the beginning or the end is kept, and what
// was left out is said.
std::string beginning_of(std::string_view text, std::size_t bytes_max);
std::string end_of(std::string_view text, std::size_t bytes_max);

}  // namespace baton::work
