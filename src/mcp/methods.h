// SPDX-License-Identifier: Apache-2.0
// The methods of the Model Context Protocol, and what the proxy does with each. One table: a method that is not in it is not known.
#pragma once

#include <optional>
#include <string_view>

#include "contract/plan.h"
#include "json/document.h"
#include "mcp/revision.h"

namespace baton::mcp {

// Requests of the client that need no verdict: they begin the conversation, list what there is, or ask about a call that was judged.
bool needs_no_verdict(std::string_view method);

// The operation by whose contract a request of the client is judged. tools/call is judged by the contract of its tool.
contract::ServerOperation operation_of_client(std::string_view method);
// The same for a request of a server; nothing: no server may send it.
std::optional<contract::ServerOperation> operation_of_server(std::string_view method);

// What a client has declared that servers may ask it for.
struct ClientAbilities {
  bool forms = false, links = false;  // elicitation, by its mode
  bool sampling = false, sampling_tools = false;
  bool roots = false;
};
ClientAbilities abilities_in(json::Node capabilities);
// What a request of a server needs and the client has not declared; empty: it has. `params` may be no node.
std::string_view undeclared(const ClientAbilities& client, contract::ServerOperation operation, json::Node params);

// Notifications that pass. Null is the era before the two sides agreed on a revision.
bool is_client_notification(std::string_view method, const Revision* revision);
bool is_server_notification(std::string_view method, const Revision* revision);

// The known method that a method differs from only in case, blanks or signs; empty: there is none. A server that is not strict
// could take one for the other.
std::string_view look_alike(std::string_view method);

}  // namespace baton::mcp
