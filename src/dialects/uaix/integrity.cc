// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "base/sha256.h"
#include "base/text.h"
#include "dialects/uaix/packet.h"
#include "json/canonical.h"
#include "json/parse.h"

namespace baton::uaix {

std::optional<std::string_view> sealed_bytes(json::Node packet) {
  thread_local std::string buffer;  // a packet is some kilobytes: the room is made once
  buffer.clear();
  if (!json::append_canonical(buffer, packet, json::Numbers::Rfc8785, packet["integrity"]["checksum"]))
    return std::nullopt;
  return buffer;
}

std::optional<std::string> checksum(json::Node packet) {
  const auto bytes = sealed_bytes(packet);
  return bytes ? std::optional("sha256:" + sha256_hex(*bytes)) : std::nullopt;
}

bool states(std::string_view stated, const Sha256& hash) {
  return stated.substr(std::string_view("sha256:").size()) == hex(hash);
}

std::optional<std::string> replay_digest(json::Node packet) {
  json::Value copy = json::Value::copy(packet);
  if (json::Value* delivery = copy.find("delivery"); delivery != nullptr && delivery->is_object()) {
    delivery->erase("retry_count");
    delivery->erase("lifecycle");
  }
  const std::string text = json::write(copy);
  const auto document = json::parse(text);
  CHECK(document.has_value());
  return checksum(document->root());
}

std::optional<json::Value> seal(const json::Value& packet) {
  json::Value sealed = packet;
  json::Value* integrity = sealed.find("integrity");
  if (integrity == nullptr || !integrity->is_object()) return std::nullopt;
  integrity->set("checksum", nullptr);
  const std::string text = json::write(sealed);
  const auto document = json::parse(text);
  if (!document) return std::nullopt;
  const auto computed = checksum(document->root());
  if (!computed) return std::nullopt;
  integrity->set("checksum", *computed);
  return sealed;
}

}  // namespace baton::uaix
