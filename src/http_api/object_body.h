// SPDX-License-Identifier: Apache-2.0
// Bodies that are nested as deeply as tools and roles want them: read as documents, not member by member (http_api/members.h). What is
// wrong is answered here.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http_api/asked.h"
#include "json/document.h"
#include "runtime/use_cases.h"

namespace baton::http_api {

// The body as an object; nothing when it is none, and then the request is answered.
std::optional<json::Document> object_in(const AskedPtr& asked);

// A member that is none of these is a mistake that must not pass unseen. False: it is answered.
bool has_only(const AskedPtr& asked, json::Node object, std::initializer_list<std::string_view> names);

// What is absent, or no text, is empty.
std::string text_in(json::Node object, std::string_view name);
std::vector<std::string> texts_in(json::Node object, std::string_view name);

// How a governed session is opened: session_id, labels, mode, gate, principal, unwrapped. Nothing: it is answered.
std::optional<runtime::OpenSession> session_in(const AskedPtr& asked, json::Node object);

}  // namespace baton::http_api
