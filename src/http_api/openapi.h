// SPDX-License-Identifier: Apache-2.0
// The OpenAPI 3.1 document of the API, written from the table of routes (http_api/routes.h) and the forms of answers
// (http_api/shapes.h). Pure.
#pragma once

#include <string_view>

#include "json/value.h"

namespace baton::http_api {

json::Value openapi_document(std::string_view version);

}  // namespace baton::http_api
