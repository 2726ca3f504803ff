// SPDX-License-Identifier: Apache-2.0
#include "runtime/seen_calls.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/limits.h"
#include "base/sha256.h"
#include "diagnostics/diagnostic.h"
#include "json/decimal.h"
#include "json/parse.h"
#include "ledger/streams.h"
#include "runtime/session_events.h"
#include "runtime/work_events.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

using claims::SeenCall;
using json::Node;
using json::Value;
using State = SeenCall::State;

std::string text_of(Node node) { return node.is_string() ? std::string(node.string()) : std::string(); }

std::optional<int> whole(Node node) {
  if (!node.is_number()) return std::nullopt;
  const auto value = json::to_int64(node.number_text());
  return value && *value >= -1'000'000 && *value <= 1'000'000 ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

// Where whoever made the call did not say it: servers that run commands have it in their answers.
std::optional<int> exit_in(Node output) {
  for (const Node place : {output, output["structuredContent"], output["metadata"]})
    for (const std::string_view name : {"exit_code", "exitCode", "exit_status", "returncode"})
      if (const auto code = whole(place[name])) return code;
  return std::nullopt;
}

// From the newest entry to the first: how a call ended is known before what it was.
class Reading {
 public:
  explicit Reading(store::Reader& reader) : reader_(reader) {}

  Result<claims::Seen> run(const std::string& session_id) {
    auto read = ledger::read_stream_backwards(reader_, session_stream(session_id), [&](const store::EntryRow& row) {
      if (row.type == kSessionOpened) return false;
      bytes_ += row.payload.size();
      if (++entries_ > limits::kClaimEntriesMax || bytes_ > limits::kClaimBytesMax ||
          seen_.calls.size() >= limits::kClaimCallsMax) {
        seen_.cut = true;
        return false;
      }
      if (const auto payload = json::parse(row.payload)) take(row.type, payload->root());
      return !problem_;
    });
    if (!read) return tl::make_unexpected(read.error());
    if (problem_) return tl::make_unexpected(*problem_);
    std::ranges::reverse(seen_.calls);
    return std::move(seen_);
  }

 private:
  // What is known of a call from later entries.
  struct Known {
    std::optional<State> state;
    std::optional<int> exit_code;
    std::string refused_by;
    std::optional<Value> arguments;  // other ones than were proposed
  };

  void take(std::string_view type, Node payload) {
    const std::string id = text_of(payload["call_id"]);
    if (type == kCallSettled) {
      Known& known = known_[id];
      if (known.state) return;
      const Node result = payload["result"];
      known.exit_code = whole(payload["exit_code"]);
      if (!known.exit_code) known.exit_code = exit_in(payload["output"]);
      const bool is_bad = result.is_text("error") || known.exit_code.value_or(0) != 0;
      known.state = is_bad ? State::Failed : result.is_text("ok") ? State::Ended : State::Unknown;
    } else if (type == kCallStarted) {
      Known& known = known_[id];
      const bool begun = payload["verdict"].is_text("allow");
      if (begun) known.arguments = arguments_of(payload);
      if (!known.state) known.state = begun ? State::Open : State::Refused;
      if (!begun && known.refused_by.empty()) known.refused_by = text_of(payload["failures"].element(0)["code"]);
    } else if (type == kSessionRuled) {
      for (const Node call : payload["calls"].elements()) {
        Known& known = known_[text_of(call["call_id"])];
        if (known.state || !call["verdict"].is_text("block")) continue;
        known.state = State::Refused;
        known.refused_by = text_of(call["failures"].element(0)["code"]);
      }
    } else if (type == kSessionStep) {
      std::vector<SeenCall> calls;
      for (const Node call : payload["calls"].elements()) calls.push_back(call_of(call));
      std::ranges::move(calls.rbegin(), calls.rend(), std::back_inserter(seen_.calls));
    }
  }

  SeenCall call_of(Node call) {
    SeenCall out;
    out.id = text_of(call["call_id"]);
    out.tool = text_of(call["tool"]);
    // An id may be used again once its call is over.
    const auto found = known_.find(out.id);
    Known known = found == known_.end() ? Known() : std::move(found->second);
    if (found != known_.end()) known_.erase(found);
    auto own = known.arguments ? std::move(known.arguments) : arguments_of(call);
    out.arguments = own ? std::move(*own) : Value::object();
    const bool blocked = call["verdict"].is_text("block");
    out.state = known.state.value_or(blocked ? State::Refused : State::NotBegun);
    out.exit_code = known.exit_code;
    out.refused_by = std::move(known.refused_by);
    if (out.state == State::Refused && out.refused_by.empty())
      out.refused_by = text_of(call["failures"].element(0)["code"]);
    return out;
  }

  std::optional<Value> arguments_of(Node of) {
    if (of["arguments"].is_object()) {
      Value out = Value::copy(of["arguments"]);
      for (const std::string_view name : {"command", "cmd", "script"})
        if (const Node long_one = of["arguments"][name]; long_one.is_object())
          if (auto text = content_of(long_one)) out.set(name, *text);
      return out;
    }
    const Node given = of["arguments_text"];
    if (!given) return std::nullopt;
    const std::optional<std::string> text = given.is_string() ? std::optional(text_of(given)) : content_of(given);
    const auto document = text ? json::parse(*text) : tl::unexpected(json::ParseError{});
    return document && document->root().is_object() ? std::optional(Value::copy(document->root())) : std::nullopt;
  }

  // What lies beside the ledger; nothing when it was erased.
  std::optional<std::string> content_of(Node reference) {
    const Node sha256 = reference["blob"]["sha256"];
    if (!sha256.is_string()) return std::nullopt;
    const auto row = reader_.get(store::tables::kBlobs, {std::string(sha256.string())});
    if (!row) {
      problem_ = row.error();
      return std::nullopt;
    }
    const auto* bytes = *row ? std::get_if<std::string>(&(**row)[1]) : nullptr;
    if (bytes == nullptr) return std::nullopt;
    if (sha256_hex(*bytes) != sha256.string()) {
      problem_ = failure_of(Code::LEDGER_PROJECTION, "reading a blob",
                            {{"table", store::tables::kBlobs.name},
                             {"problem", "the row `" + std::string(sha256.string()) + "` has other content"}})
                     .value();
      return std::nullopt;
    }
    bytes_ += bytes->size();
    return *bytes;
  }

  store::Reader& reader_;
  claims::Seen seen_;
  std::map<std::string, Known> known_;
  std::size_t entries_ = 0, bytes_ = 0;
  std::optional<Failure> problem_;
};

}  // namespace

Result<claims::Seen> seen_calls(store::Reader& reader, const std::string& session_id) {
  return Reading(reader).run(session_id);
}

}  // namespace baton::runtime
