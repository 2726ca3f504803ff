// SPDX-License-Identifier: Apache-2.0
#include "http_api/problem.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"
#include "http_api/api.h"
#include "secrets/detector.h"

namespace baton::http_api {
namespace {

struct StatusRow {
  std::string_view prefix;  // of codes; the longest that fits counts
  unsigned status;
};
// What a code means to a program that knows only HTTP. Whatever is not listed is about a document: 422.
constexpr std::array kStatuses = {
    StatusRow{"", 422},
    // Who is it, and may they?
    StatusRow{"ACCESS_", 403},
    StatusRow{"ACCESS_NO_TOKEN", 401},
    StatusRow{"ACCESS_SESSION", 401},
    StatusRow{"ACCESS_TOKEN", 401},
    StatusRow{"ACCESS_UNAVAILABLE", 503},
    StatusRow{"EXIT_CI_ACTOR", 403},
    StatusRow{"READ_LABELLED", 403},
    StatusRow{"REQUEST_PROCESS", 403},
    StatusRow{"REQUEST_SESSION", 403},
    StatusRow{"SESSION_NOT_YOURS", 403},
    StatusRow{"UAIX_UNATTRIBUTED", 403},
    StatusRow{"WEBHOOK_SIGNATURE", 401},
    StatusRow{"kill_not_permitted", 403},
    // Is the request one?
    StatusRow{"HTTP_", 400},
    StatusRow{"HTTP_BODY_TOO_LARGE", 413},
    StatusRow{"HTTP_CONNECTIONS", 503},
    StatusRow{"HTTP_HEADER_TOO_LARGE", 431},
    StatusRow{"HTTP_HOST", 403},
    StatusRow{"HTTP_ORIGIN", 403},
    StatusRow{"HTTP_TIMEOUT", 408},
    StatusRow{"HTTP_UNANSWERED", 500},
    StatusRow{"REQUEST_", 400},
    StatusRow{"IDEMPOTENCY_KEY", 400},
    StatusRow{"REQUEST_METHOD", 405},
    StatusRow{"REQUEST_TYPE", 415},
    // Is there such a thing?
    StatusRow{"REQUEST_NOT_FOUND", 404},
    StatusRow{"REQUEST_ROUTE", 404},
    StatusRow{"SESSION_UNKNOWN", 404},
    StatusRow{"APPROVAL_UNKNOWN", 404},
    StatusRow{"PACK_UNKNOWN", 404},
    StatusRow{"ARTIFACT_UNKNOWN", 404},
    StatusRow{"HANDOFF_UNKNOWN", 404},
    StatusRow{"TOKEN_UNKNOWN", 404},
    StatusRow{"WORKFLOW_UNKNOWN", 404},
    StatusRow{"WORK_UNKNOWN", 404},
    // Does the state allow it?
    StatusRow{"ACTOR_ITEMS", 409},
    StatusRow{"ANSWER_", 409},
    StatusRow{"APPROVAL_", 409},
    StatusRow{"APPROVAL_OWN", 403},
    StatusRow{"approval_queue_full", 409},
    StatusRow{"CALL_", 409},
    StatusRow{"call_not_open", 409},
    StatusRow{"CLAIM_", 409},
    StatusRow{"CLAIM_CONTRADICTED", 422},  // of a handoff, not of an item
    StatusRow{"CLAIM_UNPROVEN", 422},
    StatusRow{"CLAIM_UNSEEN", 422},
    StatusRow{"EXIT_CALLS_OPEN", 409},
    StatusRow{"EXIT_CI_CHECKS", 409},
    StatusRow{"EXIT_DISABLED", 409},
    StatusRow{"EXIT_LEASE", 409},
    StatusRow{"EXIT_NO_ACTIVE_PHASE", 409},
    StatusRow{"EXIT_PHASE_MISMATCH", 409},
    StatusRow{"EXIT_SESSION_PHASE", 409},
    StatusRow{"EXIT_SUBAGENTS_OPEN", 409},
    StatusRow{"EXIT_TERMINAL", 409},
    StatusRow{"IDEMPOTENCY_", 409},
    StatusRow{"LEASE_", 409},
    StatusRow{"SESSION_", 409},
    StatusRow{"SESSION_OPTIONS", 422},
    StatusRow{"STORE_CONFLICT", 409},
    StatusRow{"UAIX_IDEMPOTENCY_CONFLICT", 409},
    StatusRow{"UAIX_REPLAY", 409},
    StatusRow{"UNBLOCK_", 409},
    StatusRow{"handoff_not_open", 409},
    StatusRow{"kill_scope_disabled", 409},
    StatusRow{"lease_stale", 409},
    StatusRow{"session_closed", 409},
    StatusRow{"session_killed", 409},
    StatusRow{"workflow_", 409},
    StatusRow{"WORK_CLOSED", 409},
    StatusRow{"WORK_EXISTS", 409},
    // Is it too much?
    StatusRow{"EXIT_TOO_LARGE", 413},
    StatusRow{"HANDOFF_TOO_LARGE", 413},
    StatusRow{"LEDGER_TOO_LARGE", 413},
    StatusRow{"UAIX_TOO_LARGE", 413},
    StatusRow{"ACTOR_BYTES", 429},
    StatusRow{"ACTOR_REQUESTS", 429},
    StatusRow{"STORE_BUSY", 429},
    StatusRow{"WAITING_FULL", 429},
    // Can the node do it now?
    StatusRow{"LEDGER_", 503},
    StatusRow{"LEDGER_DRAFT", 422},
    StatusRow{"LEDGER_SECRET", 422},
    StatusRow{"NODE_", 503},
    StatusRow{"STORE_", 503},
    StatusRow{"STORE_DISK_LOW", 507},
};

// "CLAIM_HELD" in words: the same for every occurrence, as a title has to be.
std::string title_of(std::string_view code) {
  std::string out = to_lower_ascii(code);
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

net::ServerResponse written(unsigned status, std::string_view code, std::string_view detail, std::string_view help,
                            json::Value diagnostics) {
  json::Value body = json::Value::object();
  body.set("type", "urn:baton:problem:" + std::string(code));
  body.set("title", title_of(code));
  body.set("status", status);
  body.set("detail", secrets::redact(detail));
  body.set("code", code);
  body.set("help", secrets::redact(help));
  body.set("diagnostics", std::move(diagnostics));
  net::ServerResponse response{status, "application/problem+json", json::write(body)};
  if (status == 401) response.headers.push_back({"WWW-Authenticate", "Bearer"});
  if (status == 429 || status == 503) response.headers.push_back({"Retry-After", "1"});
  return response;
}

json::Value one_diagnostic(std::string_view code, std::string_view detail, std::string_view help) {
  json::Value only = json::Value::object(), all = json::Value::array();
  only.set("code", code);
  only.set("severity", "error");
  only.set("message", secrets::redact(detail));
  only.set("help", secrets::redact(help));
  all.push(std::move(only));
  return all;
}

}  // namespace

unsigned status_of(std::string_view code) {
  const StatusRow* best = &kStatuses.front();
  for (const StatusRow& row : kStatuses)
    if (code.starts_with(row.prefix) && row.prefix.size() >= best->prefix.size()) best = &row;
  return best->status;
}

json::Value diagnostic_json(const Diagnostic& diagnostic) {
  json::Value out = json::Value::object();
  out.set("code", info(diagnostic.code).name);
  out.set("severity", severity_name(diagnostic.severity));
  out.set("message", secrets::redact(diagnostic.message));
  out.set("help", secrets::redact(diagnostic.help));
  if (!diagnostic.place.pointer.empty()) out.set("pointer", secrets::redact(diagnostic.place.pointer));
  if (diagnostic.place.line > 0) {
    out.set("line", diagnostic.place.line);
    out.set("column", diagnostic.place.column);
  }
  return out;
}

net::ServerResponse problem_of(const std::vector<Diagnostic>& refused) {
  CHECK(!refused.empty());
  const auto error =
      std::find_if(refused.begin(), refused.end(), [](const Diagnostic& d) { return d.severity == Severity::Error; });
  const Diagnostic& first = error == refused.end() ? refused.front() : *error;
  json::Value all = json::Value::array();
  for (const Diagnostic& diagnostic : refused) all.push(diagnostic_json(diagnostic));
  const std::string_view code = info(first.code).name;
  return written(status_of(code), code, first.message, first.help, std::move(all));
}

net::ServerResponse problem_of(const Failure& failure) {
  const CodeInfo* known = failure.code.empty() ? nullptr : find_code(failure.code);
  if (known == nullptr)
    return problem(500, info(Code::HTTP_UNANSWERED).name, "the node could not do it, and its log says why");
  return problem(status_of(known->name), known->name, failure.reason);
}

net::ServerResponse problem(unsigned status, std::string_view code, std::string_view detail) {
  const CodeInfo* known = find_code(code);
  const std::string help = known != nullptr ? plain_pattern(known->help) : std::string();
  return written(status, code, detail, help, one_diagnostic(code, detail, help));
}

}  // namespace baton::http_api
