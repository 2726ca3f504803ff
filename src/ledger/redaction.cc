// SPDX-License-Identifier: Apache-2.0
#include "ledger/redaction.h"

#include <sodium.h>

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "base/text.h"
#include "diagnostics/diagnostic.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "json/pointer.h"
#include "secrets/detector.h"

namespace baton::ledger {
namespace {

constexpr std::string_view kDoing = "recording an entry";

using json::Kind;
using json::Value;

// Where a secret stands: the pointer is that of the object when it stands in a member's name, for the name is the secret.
struct Found {
  std::string_view rule;
  std::string pointer;
};

// Walks every string of a payload, with the name it is assigned to: of the member, or of the member whose list it is in.
class Walk {
 public:
  explicit Walk(std::span<const std::string_view> exempt) : exempt_(exempt) {}

  // Takes out what can be taken out, and moves long strings into `blobs`, when given.
  void redact(Value& value, std::string_view name, std::vector<Blob>* blobs) {
    switch (value.kind()) {
      case Kind::String: redact_string(value, name, blobs); return;
      case Kind::Array:
        for (std::size_t i = 0; i < value.elements().size(); ++i)
          within(std::to_string(i), [&] { redact(value.elements()[i], name, blobs); });
        return;
      case Kind::Object:
        for (auto& [member, inner] : value.members())
          within(member, [&, &member = member, &inner = inner] { redact(inner, member, blobs); });
        return;
      default: return;
    }
  }

  std::optional<Found> find(const Value& value, std::string_view name) {
    std::optional<Found> found;
    switch (value.kind()) {
      case Kind::String:
        if (is_exempt()) break;
        if (const auto findings = secrets::find(value.string()); !findings.empty())
          found = Found{findings.front().rule, pointer_};
        else if (const auto assigned = secrets::find_assigned(name, value.string()))
          found = Found{assigned->rule, pointer_};
        break;
      case Kind::Array:
        for (std::size_t i = 0; i < value.elements().size() && !found; ++i)
          within(std::to_string(i), [&] { found = find(value.elements()[i], name); });
        break;
      case Kind::Object:
        for (const auto& [member, inner] : value.members()) {
          if (const auto findings = secrets::find(member); !findings.empty())
            found = Found{findings.front().rule, pointer_};
          else within(member, [&, &member = member, &inner = inner] { found = find(inner, member); });
          if (found) break;
        }
        break;
      default: break;
    }
    return found;
  }

 private:
  template <class Body>
  void within(std::string_view token, Body body) {
    const std::size_t size = pointer_.size();
    json::append_pointer_token(pointer_, token);
    body();
    pointer_.resize(size);
  }

  bool is_exempt() const { return std::find(exempt_.begin(), exempt_.end(), pointer_) != exempt_.end(); }

  void redact_string(Value& value, std::string_view name, std::vector<Blob>* blobs) {
    if (!is_exempt()) {
      // Under a name that says so the whole value goes: what find_assigned points at may be only its first part.
      if (const auto assigned = secrets::find_assigned(name, value.string()))
        value = Value("[REDACTED:" + std::string(assigned->rule) + "]");
      else if (secrets::may_hold_secret(value.string())) value = Value(secrets::redact(value.string()));
    }
    if (blobs != nullptr && value.string().size() > limits::kLedgerInlineBytesMax) {
      Blob blob{sha256_hex(value.string()), value.string()};
      value = blob_reference(blob.sha256, blob.bytes.size());
      blobs->push_back(std::move(blob));
    }
  }

  std::span<const std::string_view> exempt_;
  std::string pointer_;
};

bool has_long_string(const Value& value) {
  switch (value.kind()) {
    case Kind::String: return value.string().size() > limits::kLedgerInlineBytesMax;
    case Kind::Array: return std::any_of(value.elements().begin(), value.elements().end(), has_long_string);
    case Kind::Object:
      return std::any_of(value.members().begin(), value.members().end(),
                         [](const auto& member) { return has_long_string(member.second); });
    default: return false;
  }
}

Result<std::string> canonical_text(const Value& value) {
  std::string out;
  if (const auto written = json::append_canonical(out, value, json::Numbers::Exact); !written)
    return failure_of(Code::LEDGER_DRAFT, std::string(kDoing), {{"problem", "holds a number beyond all bounds"}});
  return out;
}

}  // namespace

Result<Prepared> prepare_payload(const Value& payload, std::span<const std::string_view> exempt) {
  CHECK(payload.is_object());
  auto text = canonical_text(payload);
  if (!text) return tl::make_unexpected(text.error());
  // Nearly every payload: nothing in it can be a secret, nothing is long. The first look does not promise anything for the
  // further strings of a list, so lists are walked.
  const bool has_list = text->find('[') != std::string::npos;
  if (!secrets::may_hold_secret(*text) && (!has_list || !Walk(exempt).find(payload, {})) &&
      (text->size() <= limits::kLedgerInlineBytesMax || !has_long_string(payload)))
    return Prepared{std::move(*text), {}};

  Prepared prepared;
  Value redacted = payload;
  Walk(exempt).redact(redacted, {}, &prepared.blobs);
  if (const auto found = Walk(exempt).find(redacted, {}))
    return failure_of(Code::LEDGER_SECRET, std::string(kDoing), {{"rule", found->rule}, {"place", found->pointer}});
  text = canonical_text(redacted);
  if (!text) return tl::make_unexpected(text.error());
  prepared.payload = std::move(*text);
  return prepared;
}

Result<void> check_names(std::string_view stream, std::string_view actor) {
  for (const auto& [text, place] : {std::pair(stream, "stream"), std::pair(actor, "actor")}) {
    if (!secrets::may_hold_secret(text)) continue;
    if (const auto findings = secrets::find(text); !findings.empty())
      return failure_of(Code::LEDGER_SECRET, std::string(kDoing), {{"rule", findings.front().rule}, {"place", place}});
  }
  return {};
}

Value blob_reference(std::string_view sha256, std::size_t bytes) {
  Value inner = Value::object();
  inner.set("bytes", bytes);
  inner.set("sha256", sha256);
  Value outer = Value::object();
  outer.set("blob", std::move(inner));
  return outer;
}

std::vector<std::string> blob_references(std::string_view payload) {
  std::vector<std::string> out;
  // Canonical JSON has one spelling; most payloads have no such member, and then a search for it is all it costs.
  if (payload.find("{\"blob\":{") == std::string_view::npos) return out;
  const auto document = json::parse(payload);
  if (!document) return out;
  const std::function<void(json::Node)> walk = [&](json::Node node) {
    for (const json::Node element : node.elements()) walk(element);
    for (const auto& member : node.members()) walk(member.value);
    const json::Node blob = node["blob"];
    if (node.size() == 1 && blob.is_object() && blob["sha256"].is_string() && blob["bytes"].is_number())
      out.emplace_back(blob["sha256"].string());
  };
  walk(document->root());
  return out;
}

bool holds_secret(json::Node value, std::string_view name) {
  switch (value.kind()) {
    case Kind::String:
      // Names and values that nothing could be of are nearly all there are.
      return (secrets::may_hold_secret(value.string()) && !secrets::find(value.string()).empty()) ||
             secrets::find_assigned(name, value.string()).has_value();
    case Kind::Array:
      for (const json::Node element : value.elements())
        if (holds_secret(element, name)) return true;
      return false;
    case Kind::Object:
      for (const json::Member member : value.members())
        if (!secrets::find(member.name()).empty() || holds_secret(member.value, member.name())) return true;
      return false;
    default: return false;
  }
}

Value keyed_hash(const Value& value, const RedactionKey& key) {
  std::string text;
  CHECK(json::append_canonical(text, value, json::Numbers::Exact));
  Sha256 hash;
  static_assert(crypto_auth_hmacsha256_BYTES == 32 && crypto_auth_hmacsha256_KEYBYTES == 32);
  crypto_auth_hmacsha256(hash.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size(), key.data());
  Value out = Value::object();
  out.set("keyed_hash", "hmac-sha256:" + hex(hash));
  return out;
}

}  // namespace baton::ledger
