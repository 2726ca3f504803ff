// SPDX-License-Identifier: Apache-2.0
#include "http_api/openapi.h"

#include <string>
#include <utility>

#include "base/limits.h"
#include "base/text.h"
#include "http_api/routes.h"
#include "http_api/shapes.h"

namespace baton::http_api {
namespace {

using json::Value;

Value object(std::initializer_list<std::pair<std::string_view, Value>> members) {
  Value out = Value::object();
  for (const auto& [name, value] : members) out.set(name, value);
  return out;
}

Value list(std::initializer_list<Value> elements) { return Value(Value::Array(elements)); }

Value reference(std::string_view kind, std::string_view name) {
  return object({{"$ref", "#/components/" + std::string(kind) + "/" + std::string(name)}});
}

// --- requests -------------------------------------------------------------------------------------------------------------

Value parameters_of(const Route& route) {
  Value out = Value::array();
  if (!route.parameter().empty())
    out.push(object(
        {{"name", route.parameter()},
         {"in", "path"},
         {"required", true},
         {"schema", object({{"type", "string"}, {"minLength", 1}, {"maxLength", limits::kRequestIdBytesMax}})}}));
  for (const Member& member : route.query) {
    Value schema = schema_of(member);
    schema.erase("description");
    if (member.repeated) schema = object({{"type", "array"}, {"items", std::move(schema)}});
    Value parameter = object({{"name", member.name}, {"in", "query"}, {"required", member.required}});
    if (!member.says.empty()) parameter.set("description", member.says);
    parameter.set("schema", std::move(schema));
    out.push(std::move(parameter));
  }
  if (route.takes_key() && route.door != Door::Open) out.push(reference("parameters", "IdempotencyKey"));
  if (route.name == "follow_events") out.push(reference("parameters", "LastEventId"));
  if (route.name == "take_github_webhook")
    for (const char* name : {"X-Hub-Signature-256", "X-GitHub-Event", "X-GitHub-Delivery"})
      out.push(
          object({{"name", name}, {"in", "header"}, {"required", true}, {"schema", object({{"type", "string"}})}}));
  return out;
}

Value request_body_of(const Route& route) {
  bool required = false;
  for (const Member& member : route.body) required = required || member.required;
  if (route.takes == Takes::Json)
    return object({{"required", required},
                   {"content", object({{"application/json", object({{"schema", schema_of(route.body)}})}})}});
  return object(
      {{"required", true}, {"content", object({{"*/*", object({{"schema", object({{"type", "string"}})}})}})}});
}

// --- answers --------------------------------------------------------------------------------------------------------------

Value response_of(const Route& route, const Reply& reply) {
  Value schema = reply.shape.empty() ? object({{"type", "string"}}) : reference("schemas", reply.shape);
  Value out = object({{"description", reply.says},
                      {"content", object({{reply.content_type, object({{"schema", std::move(schema)}})}})}});
  if (route.is_mutation() && route.door != Door::Open) {
    Value headers = object({{"Baton-Sequence", reference("headers", "BatonSequence")}});
    if (route.takes_key()) headers.set("Idempotency-Replayed", reference("headers", "IdempotencyReplayed"));
    if (reply.status == 201 && route.name == "create_work") headers.set("Location", reference("headers", "Location"));
    out.set("headers", std::move(headers));
  }
  return out;
}

struct ProblemRow {
  unsigned status;
  std::string_view name, says;
  bool (*applies)(const Route& route);
};
bool always(const Route&) { return true; }
bool is_guarded(const Route& route) { return route.door != Door::Open; }
bool has_input(const Route& route) { return !route.query.empty() || route.takes != Takes::Nothing; }
bool changes(const Route& route) { return route.is_mutation(); }
// Which refusals a route has.
const std::vector<ProblemRow>& problems() {
  static const std::vector<ProblemRow> all = {
      {400, "NotUnderstood", "The request is not understood.",
       [](const Route& route) { return has_input(route) || changes(route); }},
      {401, "NoToken", "No token, or none that is valid; a signature that is not right.",
       [](const Route& route) { return is_guarded(route) || route.takes == Takes::Text; }},
      {403, "NotAllowed", "Not for this actor.", is_guarded},
      {404, "NoSuchThing", "There is no such thing.", [](const Route& route) { return !route.parameter().empty(); }},
      {409, "NotNow", "The state does not allow it: a lease, a phase, a conflict.", changes},
      {413, "TooLarge", "Too large.", [](const Route& route) { return route.takes != Takes::Nothing; }},
      {415, "NotJson", "The body is not JSON.", [](const Route& route) { return route.takes == Takes::Json; }},
      {422, "NotValid", "The document is not valid.", changes},
      {429, "TooMuchWaits", "Too much waits already: come again.", always},
      {503, "CannotNow", "The store cannot be read or written now.", always},
  };
  return all;
}

Value responses_of(const Route& route) {
  Value out = Value::object();
  for (const Reply& reply : route.replies) out.set(std::to_string(reply.status), response_of(route, reply));
  for (const ProblemRow& row : problems())
    if (row.applies(route)) out.set(std::to_string(row.status), reference("responses", row.name));
  return out;
}

Value security_of(const Route& route) {
  const Value bearer = object({{"token", Value::array()}}), session = object({{"session", Value::array()}});
  switch (route.door) {
    case Door::Open: return Value::array();
    case Door::OwnSession: return list({session, object({{"token", Value::array()}, {"session", Value::array()}})});
    case Door::ActionOrSession: return list({bearer, session});
    case Door::Action:
    case Door::Stop: break;
  }
  // By the socket the caller is known without a token, as an agent: that is enough where agents may.
  Value out = list({bearer});
  const auto& kinds = runtime::permission_of(route.action).kinds;
  for (const work::ActorKind kind : kinds)
    if (kind == work::ActorKind::Agent) out.push(Value::object());
  return out;
}

std::string who_may(const Route& route) {
  if (route.door == Door::Open) return "Open to anyone.";
  const runtime::Permission& permission = runtime::permission_of(route.action);
  std::vector<std::string> kinds;
  for (const work::ActorKind kind : permission.kinds) kinds.emplace_back(agent_exit::actor_kind_name(kind));
  std::string out = "For " + join(kinds, ", ") + "; a token needs the scope `" + std::string(permission.scope) + "`.";
  if (route.door == Door::OwnSession) out += " With the token of that session in Baton-Session.";
  if (route.door == Door::ActionOrSession) out += " Or for a session of it, by its token.";
  if (route.door == Door::Stop) out += " Or for the node's own user by the socket, when a client started the node.";
  return out;
}

Value operation_of(const Route& route) {
  Value out = object({{"operationId", route.name}, {"summary", route.says}, {"description", who_may(route)}});
  if (Value parameters = parameters_of(route); !parameters.elements().empty())
    out.set("parameters", std::move(parameters));
  if (route.takes != Takes::Nothing) out.set("requestBody", request_body_of(route));
  out.set("responses", responses_of(route));
  out.set("security", security_of(route));
  return out;
}

// --- what they have in common ---------------------------------------------------------------------------------------------

Value header(std::string_view says, std::string_view type) {
  return object({{"description", says}, {"schema", object({{"type", type}})}});
}

Value components() {
  Value responses = Value::object();
  const Value problem = object({{"application/problem+json", object({{"schema", reference("schemas", "Problem")}})}});
  for (const ProblemRow& row : problems())
    responses.set(row.name, object({{"description", row.says}, {"content", problem}}));
  return object({
      {"securitySchemes",
       object({{"token", object({{"type", "http"},
                                 {"scheme", "bearer"},
                                 {"description", "Who calls: a token of `baton init` or `baton token create`."}})},
               {"session", object({{"type", "apiKey"},
                                   {"in", "header"},
                                   {"name", "Baton-Session"},
                                   {"description", "On behalf of which session: the token a claim gave."}})}})},
      {"parameters",
       object({{"IdempotencyKey",
                object({{"name", "Idempotency-Key"},
                        {"in", "header"},
                        {"required", false},
                        {"description",
                         "The same key with the same request gives the first answer again; kept for 24 hours."},
                        {"schema", object({{"type", "string"},
                                           {"minLength", 1},
                                           {"maxLength", limits::kIdempotencyKeyBytesMax},
                                           {"pattern", "^[!-~]+$"}})}})},
               {"LastEventId", object({{"name", "Last-Event-ID"},
                                       {"in", "header"},
                                       {"required", false},
                                       {"description", "Goes on behind this entry; wins over `from`."},
                                       {"schema", object({{"type", "integer"}, {"minimum", 0}})}})}})},
      {"headers", object({{"BatonSequence", header("The entry that records it.", "integer")},
                          {"IdempotencyReplayed", header("`true`: this is the first answer, again.", "string")},
                          {"Location", header("Where the new item is.", "string")}})},
      {"responses", std::move(responses)},
      {"schemas", shape_schemas()},
  });
}

}  // namespace

Value openapi_document(std::string_view version) {
  Value paths = Value::object();
  for (const Route& route : routes()) {
    Value* path = paths.find(route.path);
    if (path == nullptr) path = &paths.set(route.path, Value::object());
    path->set(to_lower_ascii(route.method), operation_of(route));
  }
  return object({{"openapi", "3.1.0"},
                 {"info", object({{"title", "Baton node"},
                                  {"version", version},
                                  {"description", "The handoff runtime for AI agents, by HTTP."},
                                  {"license", object({{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}})}})},
                 {"paths", std::move(paths)},
                 {"components", components()}});
}

}  // namespace baton::http_api
