// SPDX-License-Identifier: Apache-2.0
#include "http_api/object_body.h"

#include <algorithm>

#include "json/parse.h"

namespace baton::http_api {

std::optional<json::Document> object_in(const AskedPtr& asked) {
  auto document = json::parse(asked->request().body);
  if (document && document->root().is_object()) return std::move(*document);
  asked->refuse(
      {report(Code::SESSION_OPTIONS, {},
              {{"problem", document ? "the body is no object" : "the body is not JSON: " + document.error().what}})});
  return std::nullopt;
}

std::string text_in(json::Node object, std::string_view name) {
  return object[name].is_string() ? std::string(object[name].string()) : std::string();
}

std::vector<std::string> texts_in(json::Node object, std::string_view name) {
  std::vector<std::string> out;
  for (const json::Node one : object[name].elements())
    if (one.is_string()) out.emplace_back(one.string());
  return out;
}

bool has_only(const AskedPtr& asked, json::Node object, std::initializer_list<std::string_view> names) {
  for (const json::Member member : object.members())
    if (std::find(names.begin(), names.end(), member.name()) == names.end()) {
      asked->refuse({report(Code::SESSION_OPTIONS, {},
                            {{"problem", "there is no member `" + std::string(member.name()) + "`"}})});
      return false;
    }
  return true;
}

std::optional<runtime::OpenSession> session_in(const AskedPtr& asked, json::Node object) {
  runtime::OpenSession open;
  open.session_id = text_in(object, "session_id");
  open.labels = texts_in(object, "labels");
  open.unwrapped = texts_in(object, "unwrapped");
  const auto mode =
      object["mode"] ? session::mode_named(text_in(object, "mode")) : std::optional(session::Mode::Enforce);
  const auto gate =
      object["gate"] ? session::gate_named(text_in(object, "gate")) : std::optional(session::Gate::RejectAll);
  if (!mode || !gate) {
    asked->refuse({report(
        Code::SESSION_OPTIONS, {},
        {{"problem", "`mode` is enforce, shadow or log-only; `gate` reject_all, strip_partial or strip_blocked"}})});
    return std::nullopt;
  }
  open.mode = *mode;
  open.gate = *gate;
  if (object["principal"]) open.principal = json::Value::copy(object["principal"]);
  return open;
}

}  // namespace baton::http_api
