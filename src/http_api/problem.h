// SPDX-License-Identifier: Apache-2.0
// Refusals on the wire: problem documents (RFC 9457) made of diagnostics and failures, and the one table that says which
// code has which HTTP status.
//
// Every text in one passes the secret detector: a diagnostic may quote what somebody sent.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "diagnostics/diagnostic.h"
#include "json/value.h"
#include "net/http_server.h"

namespace baton::http_api {

// Of a name of the catalogue.
unsigned status_of(std::string_view code);

// The first error decides title, detail and status; all are listed.
net::ServerResponse problem_of(const std::vector<Diagnostic>& refused);

// A failure with a code is that problem. One without is nobody's business but the node's: 500, and a plain sentence.
net::ServerResponse problem_of(const Failure& failure);

// One diagnostic as it stands in a problem, and in `warnings`: code, severity, message, help, pointer?, line?, column?.
json::Value diagnostic_json(const Diagnostic& diagnostic);

}  // namespace baton::http_api
