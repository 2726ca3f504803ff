// SPDX-License-Identifier: Apache-2.0
#include "mcp/sealed_state.h"

#include "base/text.h"
#include "json/decimal.h"
#include "json/parse.h"
#include "json/value.h"

namespace baton::mcp {
namespace {

constexpr std::string_view kBegin = "bs1.";
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string base64url(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : bytes) {
    held = (held << 8) | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) out += kLetters[(held >> (bits - 6)) & 63];
  }
  if (bits > 0) out += kLetters[(held << (6 - bits)) & 63];
  return out;
}

std::optional<std::string> from_base64url(std::string_view text) {
  std::string out;
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : text) {
    const std::size_t value = kLetters.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    held = (held << 6) | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>((held >> bits) & 255);
    }
  }
  return out;
}

std::string_view bytes_of(const Sha256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

bool same_digest(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  unsigned char differ = 0;
  for (std::size_t i = 0; i < left.size(); ++i) differ |= static_cast<unsigned char>(left[i] ^ right[i]);
  return differ == 0;
}

std::string text_in(json::Node root, std::string_view name) {
  return root[name].is_string() ? std::string(root[name].string()) : std::string();
}

}  // namespace

Sha256 hmac_sha256(const SealKey& key, std::string_view text) {
  constexpr std::size_t kBlock = 64;
  std::string inner(kBlock, '\x36'), outer(kBlock, '\x5c');
  for (std::size_t i = 0; i < key.size(); ++i) {
    inner[i] = static_cast<char>(inner[i] ^ static_cast<char>(key[i]));
    outer[i] = static_cast<char>(outer[i] ^ static_cast<char>(key[i]));
  }
  inner += text;
  outer += bytes_of(sha256(inner));
  return sha256(outer);
}

std::string seal(const SealKey& key, const SealedState& state) {
  json::Value value = json::Value::object();
  value.set("a", state.approval_id);
  value.set("c", state.call_id);
  value.set("d", state.arguments_sha256);
  value.set("e", state.expires_ms);
  value.set("n", state.number);
  value.set("s", state.session);
  value.set("t", state.tool);
  if (state.has_upstream) value.set("u", state.upstream);
  std::string out(kBegin);
  out += base64url(json::write(value));
  const Sha256 tag = hmac_sha256(key, out);
  out += '.';
  out += base64url(bytes_of(tag));
  return out;
}

std::optional<SealedState> unseal(const SealKey& key, std::string_view text) {
  if (!is_sealed(text)) return std::nullopt;
  const std::size_t dot = text.rfind('.');
  if (dot < kBegin.size()) return std::nullopt;
  // The tag is compared as text: a last letter with other unused bits is another text.
  if (!same_digest(base64url(bytes_of(hmac_sha256(key, text.substr(0, dot)))), text.substr(dot + 1)))
    return std::nullopt;
  const auto body = from_base64url(text.substr(kBegin.size(), dot - kBegin.size()));
  if (!body) return std::nullopt;
  const auto document = json::parse(*body);
  if (!document) return std::nullopt;
  const json::Node root = document->root();
  SealedState out;
  out.session = text_in(root, "s");
  out.tool = text_in(root, "t");
  out.arguments_sha256 = text_in(root, "d");
  out.call_id = text_in(root, "c");
  out.approval_id = text_in(root, "a");
  out.upstream = text_in(root, "u");
  out.has_upstream = root["u"].is_string();
  if (root["e"].is_number()) out.expires_ms = json::to_int64(root["e"].number_text()).value_or(0);
  if (root["n"].is_number())
    out.number = static_cast<std::uint64_t>(json::to_int64(root["n"].number_text()).value_or(0));
  return out;
}

bool is_sealed(std::string_view text) { return text.starts_with(kBegin); }

}  // namespace baton::mcp
