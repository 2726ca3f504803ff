// SPDX-License-Identifier: Apache-2.0
// The governed session of a conversation: asked for when it is needed, or joined by the token that a message names. What is promised
// about it stands in mcp/conversation.h.
#include <algorithm>

#include "mcp/core.h"

namespace baton::mcp {

namespace {

constexpr std::string_view kAnother = "the session that `dev.baton/session` names is not the one of this conversation";
constexpr std::string_view kNoToken = "`dev.baton/session` is not the token of a session";
constexpr std::string_view kMustName =
    "the session that was named could not be joined; another is not opened in its place";

}  // namespace

// The name is out of the message before it is looked at: no way from here on has it.
void Conversation::Core::named_from_client(Stream stream, Message& message, std::uint64_t batch) {
  const json::Node name = message.meta()[kMetaSession];
  std::string token = name.is_string() ? std::string(name.string()) : std::string();
  const Sha256 hash = sha256(token);
  Message bare(splice(message.bytes(), {removing(message.meta(), kMetaSession)}), options.client_bytes_max);
  // Who answers a server has nothing to choose any more.
  if (!bare.is_request() && bare.kind() != Message::Kind::Notification) return take_in(stream, bare, batch);
  const auto refused = [&](std::string_view why) { refuse(stream, bare, batch, kInvalidParams, why); };
  if (token.empty()) {
    must_name = must_name || (bare.is_request() && !options.session_is_given);
    return refused(kNoToken);
  }
  if (options.session_is_given) {
    if (hash != options.given_token) return refused(kAnother);
  } else if (standing != Standing::None) {
    if (named != hash) return refused(kAnother);
  } else if (bare.is_request()) {
    named = hash;
    return hold(stream, bare, std::move(token));
  } else {
    return refused(kAnother);  // nothing has begun that it could belong to
  }
  if (standing != Standing::Open && waits_for_session(bare)) return hold(stream, bare, {});
  take_in(stream, bare, batch);
}

bool Conversation::Core::waits_for_session(const Message& message) const {
  switch (message.kind()) {
    case Message::Kind::Broken:
    case Message::Kind::Batch: return false;  // answered so, whatever there is
    default: break;
  }
  if (standing == Standing::Asked) return true;  // all else comes in its order
  if (message.method() == "server/discover") return options.discover_needs_session;
  return message.is_request() && message.method() != "ping";
}

void Conversation::Core::hold(Stream stream, Message& message, std::string token) {
  if (standing == Standing::None && token.empty() && must_name)
    return refuse(stream, message, 0, kInvalidParams, kMustName);
  const std::size_t size = message.bytes().size();
  if (held.size() >= options.held_max || (!held.empty() && held_bytes + size > options.held_bytes_max))
    return refuse(stream, message, 0, kInternalError, "too many requests are open");
  const Era era = era_of(message);
  held_bytes += size;
  held.push_back({stream, message.take_bytes(), std::exchange(given_headers, std::nullopt), era});
  if (standing == Standing::Asked) return;
  standing = Standing::Asked;
  out->push_back(OpenSession{std::move(token)});
}

// A request is told why; a notification is as good as never said.
void Conversation::Core::refuse(Stream stream, const Message& message, std::uint64_t batch, int code,
                                std::string_view why) {
  if (!message.is_request()) {
    ++counts.unexpected;
    if (batch == 0 && !open_on_stream.contains(stream)) out->push_back(Accepted{stream});
    return;
  }
  OpenRequest request;
  request.stream = stream;
  request.batch = batch;
  request.id = message.id_text();
  request.method = message.method();
  request.era = era_of(message);
  if (const Ticket ticket = open(std::move(request)); ticket != 0) answer_error(ticket, code, why);
}

void Conversation::Core::hold_to(Session session) {
  governed = std::move(session);
  catalogue.hold_to(governed.held);
  if (governed.contracts) contract_names = *governed.contracts;
  if (governed.body_bytes_max != 0)
    options.output_bytes_max = std::min(options.output_bytes_max, governed.body_bytes_max);
}

void Conversation::Core::session_opened(Session session) {
  if (standing != Standing::Asked) return;
  standing = Standing::Open;
  must_name = false;
  hold_to(std::move(session));
  std::deque<HeldMessage> waiting = std::exchange(held, {});
  held_bytes = 0;
  for (HeldMessage& one : waiting) {
    given_headers = std::move(one.headers);
    taken_in = one.stream;
    from_client(one.stream, std::move(one.bytes), 0);
  }
  given_headers.reset();
  taken_in = kAside;
}

void Conversation::Core::session_refused(std::string_view why) {
  if (standing != Standing::Asked) return;
  standing = Standing::None;
  const bool was_named = std::exchange(named, std::nullopt).has_value();
  must_name = must_name || was_named;
  const std::deque<HeldMessage> waiting = std::exchange(held, {});
  held_bytes = 0;
  for (const HeldMessage& one : waiting) {
    if (client_is_gone) return;
    const Message message(one.bytes, options.client_bytes_max);
    refuse(one.stream, message, 0, was_named ? kInvalidParams : kInternalError, why);
  }
}

}  // namespace baton::mcp
