// SPDX-License-Identifier: Apache-2.0
#include "proxy/words.h"

#include <string>

#include "json/decimal.h"
#include "json/parse.h"
#include "json/value.h"

namespace baton::proxy {
namespace {

std::string text_in(json::Node node, std::string_view name) {
  const json::Node there = node[name];
  if (!there || there.is_null()) return {};
  return there.is_string() ? std::string(there.string()) : json::write(there);
}

std::string names(json::Node list) {
  std::string out;
  for (const json::Node one : list.elements())
    if (one.is_string()) (out += out.empty() ? "" : ", ") += one.string();
  return out;
}

// What is left of each limit: {"steps": 3, ...}.
json::Value left_of(json::Node session) {
  json::Value out = json::Value::object();
  const json::Node limits = session["limits"], counters = session["counters"];
  const auto left = [&](std::string_view limit, std::string_view counter, std::string_view before) {
    if (!limits[limit].is_number() || !counters[counter].is_number()) return;
    json::Decimal rest = json::Decimal::from_number(limits[limit].number_text());
    rest = rest - json::Decimal::from_number(counters[counter].number_text());
    if (counters[before].is_number()) rest = rest - json::Decimal::from_number(counters[before].number_text());
    out.set(counter, json::Value::number(rest.text()));
  };
  left("max_steps", "steps", "");
  left("max_tool_calls", "tool_calls", "tool_calls_before");
  left("max_cost_per_session", "cost", "cost_before");
  return out;
}

}  // namespace

mcp::NodeAnswer status_answer(int status, std::string_view body) {
  if (status < 200 || status >= 300) return {false, refusal_text(status, body)};
  const auto document = json::parse(body);
  const json::Node whole = document ? document->root()["session"] : json::Node(), session = whole["governed"];
  if (!session.is_object()) return {false, "the node's answer could not be read"};
  json::Value out = json::Value::object();
  if (whole["id"]) out.set("id", json::Value::copy(whole["id"]));
  for (const std::string_view member :
       {"standing", "ended_because", "mode", "phase", "may_end", "paused", "cancel_requested"})
    if (const json::Node there = session[member]) out.set(member, json::Value::copy(there));
  const json::Node tools = session["tools"];
  if (tools) out.set("callable", json::Value::copy(tools));
  if (session["forbidden"].size() != 0) out.set("forbidden", json::Value::copy(session["forbidden"]));
  if (session["counters"]) out.set("used", json::Value::copy(session["counters"]));
  json::Value left = left_of(session);
  if (session["open_calls"].size() != 0) out.set("open_calls", json::Value::copy(session["open_calls"]));

  std::string text = "The session is " + text_in(session, "standing");
  if (const std::string because = text_in(session, "ended_because"); !because.empty()) text += " (" + because + ")";
  if (const std::string phase = text_in(session, "phase"); !phase.empty()) text += ", in the phase `" + phase + "`";
  if (session["paused"].is_true()) text += ", and waits for a person";
  text += ".\n";
  const std::string callable = names(tools);
  text += callable.empty() ? "No tool can be called now.\n" : "Callable now: " + callable + ".\n";
  std::string budgets;
  for (const auto& [name, value] : left.members())
    budgets +=
        (budgets.empty() ? "" : ", ") + json::write(value) + " " + (name == "tool_calls" ? "calls" : std::string(name));
  text += budgets.empty() ? "No budget is set.\n" : "Left: " + budgets + ".\n";
  if (!left.members().empty()) out.set("left", std::move(left));
  return {true, text + json::write(out)};
}

mcp::NodeAnswer handoff_answer(int status, std::string_view body) {
  if (status < 200 || status >= 300) return {false, "The handoff was not accepted. " + refusal_text(status, body)};
  const auto document = json::parse(body);
  if (!document) return {false, "the node's answer could not be read"};
  const json::Node root = document->root(), handoff = root["handoff"];
  std::string text = "Handed over";
  if (const std::string id = text_in(handoff, "id"); !id.empty()) text += " as " + id;
  if (const std::string next = text_in(root, "next_phase"); !next.empty()) text += "; next is " + next;
  if (const std::string sequence = text_in(root["receipt"], "sequence"); !sequence.empty())
    text += ". Receipt: entry " + sequence + ", " + text_in(root["receipt"], "hash");
  text += ".";
  for (const json::Node warning : root["warnings"].elements())
    text += "\nwarning " + text_in(warning, "code") + ": " + text_in(warning, "message");
  return {true, text};
}

std::string refusal_text(int status, std::string_view body) {
  if (status == 0) return "the node could not be reached: " + std::string(body);
  const auto document = json::parse(body);
  std::string text;
  if (document)
    for (const json::Node one : document->root()["diagnostics"].elements()) {
      text += (text.empty() ? "" : "\n") + text_in(one, "code") + ": " + text_in(one, "message");
      if (const std::string pointer = text_in(one, "pointer"); !pointer.empty()) text += " (at " + pointer + ")";
      if (const std::string help = text_in(one, "help"); !help.empty()) text += "; " + help;
    }
  if (text.empty() && document) text = text_in(document->root(), "detail");
  return text.empty() ? "the node answered with status " + std::to_string(status) : text;
}

}  // namespace baton::proxy
