// SPDX-License-Identifier: Apache-2.0
// What can be asked of a node: one table. A request finds its handler in it, is checked against it, and the OpenAPI
// document is written from it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http_api/members.h"
#include "runtime/access.h"

namespace baton::http_api {

class Asked;  // http_api/asked.h
using Handler = void (*)(const std::shared_ptr<Asked>&);

// Who is let in.
enum class Door {
  Open,             // anyone: nothing is told, or the request proves itself by a signature
  Action,           // whoever may do the action
  OwnSession,       // the same, with the token of the very session the path names; or an operator who only looks
  ActionOrSession,  // whoever may do the action, or any session: the use case looks whether it is about its own
  Stop,             // whoever may do the action, or the node's own user by the socket when a client started the node
};

enum class Takes {
  Nothing,
  Json,  // an object of `body`'s members
  Text,  // whatever it is: a handoff as it was written, a webhook as it was signed
};

// A way to answer. `shape` is a name of http_api/shapes.h; empty: the content is no JSON.
struct Reply {
  unsigned status;
  std::string_view shape;
  std::string_view says;
  std::string_view content_type = "application/json";
};

struct Route {
  std::string_view method;
  std::string_view path;  // segments; `{id}` stands for one of any text
  std::string_view name;  // of the operation, for programs
  std::string_view says;
  Door door;
  runtime::Action action;
  Members query;
  Takes takes;
  Members body;
  std::vector<Reply> replies;
  Handler handler;
  bool replays = true;  // the same Idempotency-Key gives the first answer again

  // The name in braces; empty when there is none.
  std::string_view parameter() const;
  // Does it change something?
  bool is_mutation() const { return method == "POST"; }
  // May it carry an Idempotency-Key?
  bool takes_key() const { return is_mutation() && replays; }
};

const std::vector<Route>& routes();

// Which route a request is for. `route` is null when there is none; `allowed` then has the methods the path takes, empty when there
// is no such path at all.
struct Found {
  const Route* route = nullptr;
  std::string parameter;  // decoded
  std::vector<std::string_view> allowed;
};
Found find_route(std::string_view method, std::string_view path);

}  // namespace baton::http_api
