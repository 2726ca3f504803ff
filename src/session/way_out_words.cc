// SPDX-License-Identifier: Apache-2.0
#include "session/way_out_words.h"

#include <algorithm>
#include <array>

namespace baton::session {
namespace {

using json::Value;

constexpr std::array<std::string_view, 4> kDocuments = {"arguments", "output", "request", "response"};
constexpr std::size_t kListedMax = 8, kLiteralMax = 80;

std::string_view name_of(Change::In in) { return kDocuments[static_cast<std::size_t>(in)]; }

std::string literal(const Value& value) {
  std::string text = json::write(value);
  return text.size() <= kLiteralMax ? text : text.substr(0, kLiteralMax - 3) + "...";
}

std::string listed(const Value& list) {
  std::string out;
  std::size_t count = 0;
  for (const Value& one : list.elements()) {
    if (count++ == kListedMax) return out + ", ...";
    out.append(out.empty() ? "" : ", ").append(literal(one));
  }
  return out;
}

std::string in_words(const Must& must) {
  const Value& value = must.value;
  const auto text = [&] { return value.string(); };
  if (must.op == "exists") return value.boolean() ? "given" : "left out";
  if (must.op == "equals" || must.op == "exact_match") return "= " + literal(value);
  if (must.op == "one_of") return "one of " + listed(value);
  if (must.op == "type")
    return (text() == "integer" || text() == "array" || text() == "object" ? "an " : "a ") + text();
  if (must.op == "gte") return "at least " + literal(value);
  if (must.op == "lte") return "at most " + literal(value);
  if (must.op == "length_gte") return "of length " + literal(value) + " or more";
  if (must.op == "length_lte") return "of length " + literal(value) + " or less";
  if (must.op == "contains") return "containing " + literal(value);
  if (must.op == "regex") return "matching " + literal(value);
  if (must.op == "equals_env") return "as the variable " + text();
  if (must.op == "equals_slot") return "as the slot " + text();
  if (must.op == "counted_by") return "one that " + text() + " has counted";
  if (must.op == "not_counted_by") return "one that " + text() + " has not counted";
  if (must.op == "same_as") return "as " + session::in_words(std::string_view(text())) + " of this call";
  if (must.op == "scalar") return "a string, a number or a boolean";
  return must.op;
}

std::string in_words(const Change& change) {
  std::string what = change.place.empty() ? "the " + std::string(name_of(change.in)) : session::in_words(change.place);
  std::string out;
  for (const Must& must : change.must) out.append(out.empty() ? " " : " and ").append(in_words(must));
  if (change.may_be_left_out) out += " or left out";
  return what + out;
}

std::string in_words(const CallBefore& call) {
  std::string out = call.tool;
  for (const CallBefore::Same& same : call.same) {
    if (!same.as_this.empty()) {
      out += " for the same " + session::in_words(std::string_view(same.as_this));
      if (same.place != same.as_this) out += " as " + session::in_words(std::string_view(same.place));
    } else if (!same.known_to.empty()) {
      const std::string what = session::in_words(std::string_view(same.place));
      constexpr std::string_view kVowels = "aeio";
      out += (kVowels.find(what.front()) != std::string_view::npos ? " for an " : " for a ") + what + " that " +
             same.known_to + " was called for";
    } else {
      out += " for the same " + session::in_words(std::string_view(same.before_place)) + " as before";
    }
  }
  std::string wants;
  for (const Change& one : call.wanted)
    wants.append(wants.empty() ? " (with " : ", ")
        .append(one.in == Change::In::Arguments ? "" : "an output whose ")
        .append(in_words(one));
  if (!wants.empty()) out += wants + ")";
  if (call.asks) out += " (a person must approve it)";
  if (call.under_way) out += " (one is under way: wait for it)";
  return out;
}

std::string in_words(const WayOption& option) {
  if (option.alone) return "propose it by itself";
  if (option.wait_for == "call")
    return "wait until the open call that forbids it has ended; if that failed or was cancelled, propose it again";
  if (!option.wait_for.empty()) return "wait until the " + option.wait_for + " is decided, then propose it again";
  std::string out;
  for (const Change& change : option.changes) out.append(out.empty() ? "" : " and ").append(in_words(change));
  if (option.other_arguments) out.append(out.empty() ? "" : " and ").append("other arguments than these");
  std::string calls;
  std::size_t responses = 0;
  for (const CallBefore& call : option.calls) {
    if (call.tool.empty()) ++responses;
    else calls.append(calls.empty() ? "call " : ", then ").append(in_words(call));
  }
  if (!calls.empty()) out.append(out.empty() ? "" : " and ").append(calls).append(" first");
  if (!option.moved.empty()) {
    std::string moved;
    for (const std::string& one : option.moved) moved.append(moved.empty() ? "" : ", ").append(one);
    out += " (which counts for " + moved + ")";
  }
  if (responses > 0)
    out.append(out.empty() ? "" : " and ")
        .append("let " + std::to_string(responses) + " other response" + (responses == 1 ? "" : "s") +
                " come before it");
  return out;
}

Value shown(const Change& change) {
  Value out = Value::object();
  out.set("in", name_of(change.in));
  out.set("place", change.place);
  Value must = Value::array();
  for (const Must& one : change.must) {
    Value entry = Value::object();
    entry.set("op", one.op);
    entry.set("value", one.value);
    must.push(std::move(entry));
  }
  out.set("must", std::move(must));
  if (change.nearest) out.set("nearest", *change.nearest);
  if (change.may_be_left_out) out.set("may_be_left_out", true);
  return out;
}

Value shown(const CallBefore& call) {
  Value out = Value::object();
  if (call.tool.empty()) {
    out.set("any_response", true);
    return out;
  }
  out.set("tool", call.tool);
  if (!call.same.empty()) {
    Value list = Value::array();
    for (const CallBefore::Same& same : call.same) {
      Value one = Value::object();
      one.set("place", same.place);
      if (!same.as_this.empty()) one.set("as_this", same.as_this);
      if (same.before) {
        one.set("as_call", *same.before);
        one.set("at", same.before_place);
      }
      if (!same.known_to.empty()) one.set("known_to", same.known_to);
      list.push(std::move(one));
    }
    out.set("same", std::move(list));
  }
  if (!call.wanted.empty()) {
    Value list = Value::array();
    for (const Change& one : call.wanted) list.push(shown(one));
    out.set("wanted", std::move(list));
  }
  if (call.asks) out.set("asks", true);
  if (call.under_way) out.set("under_way", true);
  return out;
}

}  // namespace

std::string in_words(std::string_view place) {
  if (place.empty()) return "the arguments";
  std::string out;
  for (std::size_t i = 1; i < place.size(); ++i) {
    if (place[i] == '/') out.push_back('.');
    else if (place[i] == '~' && i + 1 < place.size()) out.push_back(place[++i] == '0' ? '~' : '/');
    else out.push_back(place[i]);
  }
  return out;
}

std::string in_words(const WayOut& way) {
  std::string out;
  for (const WayOption& option : way.options) out.append(out.empty() ? "" : ", or ").append(in_words(option));
  return out;
}

Value shown(const WayOption& option) {
  Value out = Value::object();
  Value changes = Value::array();
  for (const Change& change : option.changes) changes.push(shown(change));
  out.set("changes", std::move(changes));
  Value calls = Value::array();
  for (const CallBefore& call : option.calls) calls.push(shown(call));
  out.set("calls", std::move(calls));
  if (!option.moved.empty()) {
    Value moved = Value::array();
    for (const std::string& one : option.moved) moved.push(one);
    out.set("moved", std::move(moved));
  }
  if (option.other_arguments) out.set("other_arguments", true);
  if (option.alone) out.set("alone", true);
  if (!option.wait_for.empty()) out.set("wait_for", option.wait_for);
  return out;
}

Value shown(const WayOut& way) {
  constexpr std::array<std::string_view, 3> kStatuses = {"found", "none", "unknown"};
  Value out = Value::object();
  out.set("status", kStatuses[static_cast<std::size_t>(way.status)]);
  out.set("text", way.text);
  Value options = Value::array();
  for (const WayOption& option : way.options) options.push(shown(option));
  out.set("options", std::move(options));
  return out;
}

}  // namespace baton::session
