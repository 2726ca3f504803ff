// SPDX-License-Identifier: Apache-2.0
#include "mcp/node.h"

#include <algorithm>

#include "diagnostics/diagnostic.h"
#include "json/decimal.h"
#include "json/parse.h"
#include "mcp/message.h"

namespace baton::mcp {
namespace {

std::string text_in(json::Node node, std::string_view name) {
  const json::Node there = node[name];
  return there.is_string() ? std::string(there.string()) : std::string();
}

Denial denial_of(const Diagnostic& diagnostic) {
  return {std::string(info(diagnostic.code).name), diagnostic.message, diagnostic.help};
}

Denial unreachable(std::string_view problem) {
  return denial_of(report(Code::node_unreachable, {}, {{"problem", problem}}));
}

// Why the first of `failures` (or `diagnostics`) refuses, and all of them as data.
Denial denial_in(json::Node failures, std::string_view reason) {
  Denial out;
  out.rule = reason;
  for (const json::Node one : failures.elements()) {
    if (!out.why.empty() || (!reason.empty() && !one["code"].is_text(reason))) continue;
    out.rule = text_in(one, "code");
    out.why = text_in(one, "message");
    out.instead = text_in(one, "help");
  }
  if (out.rule.empty()) out.rule = "engine_error";
  if (out.why.empty()) out.why = "the node says no more";
  if (failures.is_array()) out.details.set("failures", json::Value::copy(failures));
  return out;
}

// What the node refuses to look at: a problem (RFC 9457) with its diagnostics.
Denial denial_of_problem(int status, std::string_view body) {
  const auto document = json::parse(body);
  if (!document || !document->root()["diagnostics"].is_array() || document->root()["diagnostics"].size() == 0)
    return unreachable(status == 0 ? body : "it answered with status " + std::to_string(status));
  Denial out = denial_in(document->root()["diagnostics"], {});
  out.details = json::Value::object();  // about the request, which is Baton's own
  // Its help is about a command that no agent has.
  if (out.rule == info(Code::SESSION_OPTIONS).name)
    return denial_of(report(Code::engine_error, {}, {{"problem", "the node did not accept it: " + out.why}}));
  return out;
}

void read_carrying_out(Verdict& out, json::Node call) {
  const json::Node how = call["execution"];
  const auto whole = [&](std::string_view name) {
    return how[name].is_number() ? json::to_int64(how[name].number_text()) : std::nullopt;
  };
  out.total_ms = std::max<std::int64_t>(whole("total_ms").value_or(0), 0);
  out.retries.max_attempts = std::max<std::int64_t>(whole("max_attempts").value_or(1), 1);
  for (const json::Node one : how["retry_on"].elements())
    if (one.is_string()) out.retries.retry_on.emplace_back(one.string());
  if (how["respect_retry_after"].is_boolean()) out.retries.respect_retry_after = how["respect_retry_after"].boolean();
  if (how["max_sleep_seconds"].is_number())
    out.retries.max_sleep_seconds = json::Decimal::from_number(how["max_sleep_seconds"].number_text());
}

// The limit in "... more than 1048576 bytes".
std::size_t bytes_max_in(std::string_view text) {
  constexpr std::string_view kBefore = "more than ";
  const std::size_t at = text.find(kBefore);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = text.substr(at + kBefore.size());
  const auto number = json::to_int64(rest.substr(0, rest.find_first_not_of("0123456789")));
  return number && *number > 0 ? static_cast<std::size_t>(*number) : 0;
}

// The size that the node accepts, where the body was too large for it; else 0.
std::size_t body_bytes_max(int status, const Denial& denial) {
  return status == 413 && denial.rule == info(Code::HTTP_BODY_TOO_LARGE).name ? bytes_max_in(denial.why) : 0;
}

// A way out in words is more to the point than what the rule's help says in general.
void use_way_out(Denial& denial, json::Node way) {
  if (!way.is_object()) return;
  if (std::string text = text_in(way, "text"); !text.empty() && way["status"].is_text("found"))
    denial.instead = std::move(text);
  denial.details.set("way_out", json::Value::copy(way));
}

}  // namespace

// --- said ---------------------------------------------------------------------------------------------------------------------------

std::string proposal_body(std::string_view call_id, std::string_view tool, std::string_view arguments) {
  std::string out = R"({"calls":[{"call_id":)" + quoted(call_id) + R"(,"tool":)" + quoted(tool) + R"(,"arguments":)";
  out += arguments;
  out += R"(}],"start":true})";
  return out;
}

std::string too_deep(std::size_t depth) {
  return "nested " + std::to_string(depth) + " levels deep, and at most " + std::to_string(kJudgedDepthMax) +
         " can be judged";
}

std::string start_body(std::string_view call_id) { return R"({"call_id":)" + quoted(call_id) + "}"; }

std::string settle_body(std::string_view call_id, const Outcome& outcome) {
  std::string out = R"({"call_id":)" + quoted(call_id) + R"(,"result":)";
  switch (outcome.kind) {
    case Outcome::Kind::Ok: out += R"("ok")"; break;
    case Outcome::Kind::Error: out += R"("error")"; break;
    case Outcome::Kind::Timeout: out += R"("timeout")"; break;
    case Outcome::Kind::Unknown: out += R"("unknown")"; break;
  }
  const auto append_output = [&](const JudgedOutput& one) {
    out += R"("output":)";
    out += one.json;
    if (one.is_text) out += R"(,"text_result":true)";
  };
  if (outcome.kind == Outcome::Kind::Ok && !outcome.output.json.empty()) {
    out += ',';
    append_output(outcome.output);
  }
  if (!outcome.also.empty() && (outcome.kind == Outcome::Kind::Ok || outcome.kind == Outcome::Kind::Error)) {
    out += R"(,"also":[)";
    bool is_first = true;
    for (const JudgedOutput& one : outcome.also) {
      out += is_first ? "{" : ",{";
      is_first = false;
      append_output(one);
      out += '}';
    }
    out += ']';
  }
  if (outcome.kind == Outcome::Kind::Error) {
    out += R"(,"error":{"code":)" + quoted(outcome.error_code) + R"(,"class":)" + quoted(outcome.error_class);
    if (outcome.http_status) out += R"(,"http_status":)" + std::to_string(*outcome.http_status);
    if (!outcome.error_message.empty()) out += R"(,"message":)" + quoted(outcome.error_message);
    if (!outcome.output.json.empty()) {
      out += ',';
      append_output(outcome.output);
    }
    out += '}';
  }
  out += '}';
  return out;
}

// --- heard --------------------------------------------------------------------------------------------------------------------------

Verdict read_verdict(int status, std::string_view body) {
  Verdict out;
  if (status < 200 || status >= 300) {
    out.denial = denial_of_problem(status, body);
    out.bytes_max = body_bytes_max(status, out.denial);
    if (out.denial.rule != info(Code::node_unreachable).name) out.kind = Verdict::Kind::Refused;
    return out;
  }
  const auto document = json::parse(body);
  const json::Node call = document ? document->root()["calls"].element(0) : json::Node();
  if (!call.is_object()) {
    out.denial = unreachable("its answer is none");
    return out;
  }
  out.call_id = text_in(call, "call_id");
  read_carrying_out(out, call);
  const json::Node started = call["started"];
  // In shadow a call is begun whatever the verdict is.
  if (started.is_true()) {
    out.kind = Verdict::Kind::Begun;
  } else if (call["verdict"].is_text("allow")) {
    out.kind = Verdict::Kind::Allowed;
  } else if (call["verdict"].is_text("checkpoint") && !text_in(call["approval"], "id").empty()) {
    out.kind = Verdict::Kind::Waits;
    out.approval_id = text_in(call["approval"], "id");
    out.approval_digest = text_in(call["approval"], "digest");
    const json::Node not_shown = call["approval"]["not_shown"];
    out.can_be_approved = !not_shown || not_shown.size() == 0;
    for (const json::Node one : call["request_approval"]["checkpoints"].elements())
      if (one.is_string()) out.checkpoints.emplace_back(one.string());
  } else {
    out.kind = Verdict::Kind::Refused;
    out.denial = denial_in(call["failures"], text_in(call, "reason"));
    use_way_out(out.denial, call["way_out"]);
  }
  return out;
}

Verdict read_started(int status, std::string_view body) {
  Verdict out;
  if (status < 200 || status >= 300) {
    out.denial = denial_of_problem(status, body);
    out.kind =
        out.denial.rule == info(Code::node_unreachable).name ? Verdict::Kind::Unreachable : Verdict::Kind::Refused;
    return out;
  }
  const auto document = json::parse(body);
  if (!document || !document->root()["verdict"].is_string()) {
    out.kind = Verdict::Kind::Unreachable;
    out.denial = unreachable("its answer is none");
  } else if (document->root()["verdict"].is_text("allow")) {
    out.kind = Verdict::Kind::Begun;
    out.call_id = text_in(document->root(), "call_id");
    read_carrying_out(out, document->root());
  } else {
    out.kind = Verdict::Kind::Refused;
    out.denial = denial_in(document->root()["failures"], text_in(document->root(), "reason"));
  }
  return out;
}

Settled read_settled(int status, std::string_view body) {
  Settled out;
  if (status < 200 || status >= 300) {
    out.denial = denial_of_problem(status, body);
    out.bytes_max = body_bytes_max(status, out.denial);
    return out;
  }
  const auto document = json::parse(body);
  if (!document || !document->root()["state"].is_string()) {
    out.denial = unreachable("its answer is none");
    return out;
  }
  const json::Node root = document->root();
  out.recorded = true;
  out.state = text_in(root, "state");
  for (const json::Node one : root["failures"].elements())
    out.output_blocked = out.output_blocked || one["code"].is_text(info(Code::output_assertion_failed).name);
  if (out.output_blocked) {
    out.denial = denial_in(root["failures"], info(Code::output_assertion_failed).name);
    out.denial.details.set("state", out.state);
  }
  return out;
}

Callable read_callable(int status, std::string_view body) {
  Callable out;
  const auto document = status >= 200 && status < 300 ? json::parse(body) : tl::make_unexpected(json::ParseError{});
  if (!document || !document->root()["tools"].is_array()) return out;
  const json::Node root = document->root();
  out.known = true;
  for (const json::Node one : root["tools"].elements())
    if (one.is_string()) out.kept.emplace(one.string());
  if (root["verdict"].is_text("block")) out.refused = text_in(root, "reason");
  for (const json::Node one : root["removed"].elements()) {
    out.removed.emplace_back(text_in(one, "tool"), text_in(one, "reason"));
    if (one["in_flight"].is_true()) out.in_flight.insert(text_in(one, "tool"));
  }
  return out;
}

Decision read_decision(int status, std::string_view body) {
  Decision out;
  const auto document = json::parse(body);
  if (status < 200 || status >= 300 || !document) {
    out.kind = Decision::Kind::Unreachable;
    return out;
  }
  const json::Node approval = document->root()["approval"] ? document->root()["approval"] : document->root();
  const std::string state = text_in(approval, "state");
  out.note = text_in(approval, "note");
  if (state == "approved") out.kind = Decision::Kind::Approved;
  else if (state == "denied") out.kind = Decision::Kind::Denied;
  else if (state == "pending") out.kind = Decision::Kind::Open;
  else if (state.empty()) out.kind = Decision::Kind::Unreachable;
  else if (state == "spent") out.kind = Decision::Kind::Spent;
  else out.kind = Decision::Kind::Lapsed;  // expired, cancelled, lapsed
  return out;
}

}  // namespace baton::mcp
