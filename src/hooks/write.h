// SPDX-License-Identifier: Apache-2.0
// Says what was decided, in the words of the client that asked.
//
// Clients fail open: a hook that ends in another way than theirs, prints something they do not understand or says something they
// do not support lets the call through. So a denial is said three times, and each alone is enough: as the client's JSON on standard
// output, as a text on standard error, and by exit status 2. All five clients that were run take it so and show the model the reason
// once, from the JSON (docs/reference/hooks-clients.md has what was seen). A denial always has a reason, because Codex lets a call through
// that is denied without one.
//
// A change of the client's settings is never let through while it runs, whatever the reply.
//
// What a client has no words for is left unsaid, never said in another client's: Codex knows neither `allow` nor `ask` and takes
// both for a broken hook.
#pragma once

#include <string>
#include <string_view>

#include "hooks/event.h"

namespace baton::hooks {

struct Reply {
  enum class Kind : std::uint8_t {
    Pass,      // nothing to say: the client goes on as it would without a hook, its own rules and questions included
    Allow,     // may be done, and the client need not ask its user
    Deny,      // is not done; before a call this blocks it, after one its output is withheld where the client can
    AskAgain,  // of a stop: the agent goes on, with `text` as what it is told
    Context,   // `text` is for the model, and nothing is decided
  };
  Kind kind = Kind::Pass;
  std::string text;  // for the model; of Allow, perhaps why
};

// What the process that the client started is to print and to end with.
struct Written {
  std::string out, err;
  int exit = 0;
  bool operator==(const Written&) const = default;
};

// `event_name` as the client calls it; its kind decides what can be said. Text that is not UTF-8 is made visible, and a long
// one is cut.
Written write(Client client, std::string_view event_name, const Reply& reply);
Written write(const Event& event, const Reply& reply);

// What is said when nobody could be asked, or an event could not be read: whatever can be denied at this event is, with `why`.
// The end of an agent is not held up by it: it would never end.
Written write_failure(Client client, std::string_view event_name, std::string_view why);

// Does a Deny (of a stop: an AskAgain) at this event stop what it is about, in this client?
bool can_block(Client client, std::string_view event_name);

}  // namespace baton::hooks
