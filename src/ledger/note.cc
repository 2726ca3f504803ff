// SPDX-License-Identifier: Apache-2.0
#include "ledger/note.h"

#include <sodium.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/check.h"
#include "base/limits.h"
#include "base/text.h"

namespace baton::ledger {
namespace {

constexpr std::uint8_t kEd25519 = 0x01;              // C2SP's byte for the signature type
constexpr std::string_view kDash = "\xe2\x80\x94 ";  // U+2014 and a space: how a signature line begins
constexpr std::size_t kKeyIdBytes = 4;

// What stands before the 32 bytes of an Ed25519 key in its SubjectPublicKeyInfo (RFC 8410): a SEQUENCE of 42 bytes, in it
// the algorithm 1.3.101.112 and a BIT STRING of 33 bytes whose last byte is full.
constexpr std::array<std::uint8_t, 12> kSpkiPrefix = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                                      0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
constexpr std::string_view kPemBegin = "-----BEGIN PUBLIC KEY-----";
constexpr std::string_view kPemEnd = "-----END PUBLIC KEY-----";

void need_sodium() {
  static const bool ready = sodium_init() >= 0;  // finds the machine's instructions and the kernel's randomness
  CHECK(ready);
}

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::optional<std::array<std::uint8_t, 32>> as_key(std::span<const std::uint8_t> bytes) {
  std::array<std::uint8_t, 32> key;
  if (bytes.size() != key.size()) return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return key;
}

std::optional<std::array<std::uint8_t, 32>> parse_hex_key(std::string_view text) {
  std::array<std::uint8_t, 32> key;
  if (text.size() != 2 * key.size()) return std::nullopt;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    key[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return key;
}

std::optional<std::array<std::uint8_t, 32>> parse_pem_key(std::string_view text) {
  std::string body;
  const std::vector<std::string_view> lines = split(text, '\n');
  if (lines.size() < 3 || trim(lines.front()) != kPemBegin || trim(lines.back()) != kPemEnd) return std::nullopt;
  for (std::size_t i = 1; i + 1 < lines.size(); ++i) body += trim(lines[i]);
  const auto der = parse_base64(body);
  if (!der || der->size() != kSpkiPrefix.size() + 32 ||
      !std::equal(kSpkiPrefix.begin(), kSpkiPrefix.end(), der->begin()))
    return std::nullopt;
  return as_key(std::span(*der).subspan(kSpkiPrefix.size()));
}

bool is_note_text(std::string_view text) {
  if (find_invalid_utf8(text) != text.size()) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x20 || c == '\n'; });
}

// One line below the text, without its line feed. `signature` stays unset when it is well-formed but not Ed25519.
struct SignatureLine {
  bool well_formed = false;
  std::optional<NoteSignature> signature;
};
SignatureLine parse_signature_line(std::string_view line) {
  if (!line.starts_with(kDash)) return {};
  line.remove_prefix(kDash.size());
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || !is_key_name(line.substr(0, space))) return {};
  const auto bytes = parse_base64(line.substr(space + 1));
  if (!bytes || bytes->size() <= kKeyIdBytes) return {};
  if (bytes->size() != kKeyIdBytes + sizeof(Signature)) return {true, std::nullopt};
  NoteSignature signature{std::string(line.substr(0, space)), 0, {}};
  for (std::size_t i = 0; i < kKeyIdBytes; ++i) signature.key_id = signature.key_id << 8 | (*bytes)[i];
  std::copy(bytes->begin() + kKeyIdBytes, bytes->end(), signature.signature.begin());
  return {true, std::move(signature)};
}

// Takes the line at the front of `text` off it; nothing when no line feed ends it.
std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

}  // namespace

// --- base64 -------------------------------------------------------------------------------------------------------------

namespace {
constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int base64_value(char c) {
  if (is_upper(c)) return c - 'A';
  if (is_lower(c)) return c - 'a' + 26;
  if (is_digit(c)) return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}
}  // namespace

std::string base64(std::span<const std::uint8_t> bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) bits = bits << 8 | (i < count ? bytes[at + i] : 0u);
    for (std::size_t i = 0; i < 4; ++i) out.push_back(i <= count ? kBase64[bits >> (18 - 6 * i) & 63] : '=');
  }
  return out;
}

std::optional<std::vector<std::uint8_t>> parse_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::vector<std::uint8_t> out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    std::size_t padding = 0;
    if (at + 4 == text.size()) padding = text[at + 3] != '=' ? 0 : text[at + 2] != '=' ? 1 : 2;
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const int value = i < 4 - padding ? base64_value(text[at + i]) : 0;
      if (value < 0) return std::nullopt;
      bits = bits << 6 | static_cast<std::uint32_t>(value);
    }
    // The bits that no byte takes are zero, so that bytes have one spelling only.
    if ((bits & ((1u << 8 * padding) - 1)) != 0) return std::nullopt;
    for (std::size_t i = 0; i < 3 - padding; ++i) out.push_back(static_cast<std::uint8_t>(bits >> (16 - 8 * i)));
  }
  return out;
}

// --- keys ---------------------------------------------------------------------------------------------------------------

bool is_key_name(std::string_view name) {
  if (name.empty() || find_invalid_utf8(name) != name.size()) return false;
  for (std::size_t at = 0; at < name.size();) {
    const char32_t c = next_character(name, at);
    if (c == '+' || is_control(c) || is_blank(c)) return false;
  }
  return true;
}

std::uint32_t VerifierKey::id() const {
  std::string text = name;
  text.push_back('\n');
  text.push_back(static_cast<char>(kEd25519));
  text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const Sha256 hash = sha256(text);
  return std::uint32_t{hash[0]} << 24 | std::uint32_t{hash[1]} << 16 | std::uint32_t{hash[2]} << 8 | hash[3];
}

std::string VerifierKey::id_text() const {
  const std::uint32_t value = id();
  const std::uint8_t parts[] = {static_cast<std::uint8_t>(value >> 24), static_cast<std::uint8_t>(value >> 16),
                                static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
  return hex(parts);
}

std::string VerifierKey::text() const {
  std::vector<std::uint8_t> typed = {kEd25519};
  typed.insert(typed.end(), bytes.begin(), bytes.end());
  return name + "+" + id_text() + "+" + base64(typed);
}

std::string VerifierKey::pem() const {
  std::vector<std::uint8_t> der(kSpkiPrefix.begin(), kSpkiPrefix.end());
  der.insert(der.end(), bytes.begin(), bytes.end());
  return std::string(kPemBegin) + "\n" + base64(der) + "\n" + std::string(kPemEnd) + "\n";
}

bool VerifierKey::verifies(std::string_view text, const Signature& signature) const {
  need_sodium();
  return crypto_sign_verify_detached(signature.data(), bytes_of(text), text.size(), bytes.data()) == 0;
}

std::optional<VerifierKey> VerifierKey::parse(std::string_view text) {
  const std::size_t first = text.find('+');
  if (first == std::string_view::npos || !is_key_name(text.substr(0, first))) return std::nullopt;
  const std::size_t second = text.find('+', first + 1);  // the base64 after it may hold further ones
  if (second == std::string_view::npos) return std::nullopt;
  const auto typed = parse_base64(text.substr(second + 1));
  if (!typed || typed->empty() || typed->front() != kEd25519) return std::nullopt;
  const auto bytes = as_key(std::span(*typed).subspan(1));
  if (!bytes) return std::nullopt;
  VerifierKey key{std::string(text.substr(0, first)), *bytes};
  if (text.substr(first + 1, second - first - 1) != key.id_text()) return std::nullopt;
  return key;
}

Result<VerifierKey> VerifierKey::parse_file(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  text = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  if (find_invalid_utf8(text) == text.size() && text.size() <= limits::kKeyFileBytesMax) {
    if (auto key = parse(text)) return std::move(*key);
    if (const auto bytes = parse_pem_key(text)) return VerifierKey{"", *bytes};
    if (const auto bytes = parse_hex_key(text)) return VerifierKey{"", *bytes};
    if (const auto decoded = parse_base64(text))
      if (const auto bytes = as_key(*decoded)) return VerifierKey{"", *bytes};
  }
  return failure("reading a public key",
                 "it is not a verifier key, a PEM public key (Ed25519), or 32 bytes in hexadecimal or base64");
}

SigningKey SigningKey::make(std::string name, Random& random) {
  std::array<std::uint8_t, 32> seed;
  random.fill(seed);
  SigningKey key = from_seed(std::move(name), seed);
  sodium_memzero(seed.data(), seed.size());
  return key;
}

SigningKey SigningKey::from_seed(std::string name, std::span<const std::uint8_t, 32> seed) {
  need_sodium();
  SigningKey key;
  key.verifier_.name = std::move(name);
  CHECK(crypto_sign_seed_keypair(key.verifier_.bytes.data(), key.secret_.data(), seed.data()) == 0);
  return key;
}

SigningKey::~SigningKey() { sodium_memzero(secret_.data(), secret_.size()); }

SigningKey::SigningKey(SigningKey&& other) noexcept : verifier_(std::move(other.verifier_)), secret_(other.secret_) {
  sodium_memzero(other.secret_.data(), other.secret_.size());
}

SigningKey& SigningKey::operator=(SigningKey&& other) noexcept {
  if (this == &other) return *this;
  verifier_ = std::move(other.verifier_);
  secret_ = other.secret_;
  sodium_memzero(other.secret_.data(), other.secret_.size());
  return *this;
}

Signature SigningKey::sign(std::string_view text) const {
  need_sodium();
  Signature signature;
  CHECK(crypto_sign_detached(signature.data(), nullptr, bytes_of(text), text.size(), secret_.data()) == 0);
  return signature;
}

std::span<const std::uint8_t, 32> SigningKey::seed() const { return std::span(secret_).first<32>(); }

// --- notes --------------------------------------------------------------------------------------------------------------

std::string sign_note(std::string_view text, std::span<const SigningKey* const> keys) {
  CHECK(!keys.empty() && text.ends_with('\n') && is_note_text(text));
  std::string note(text);
  note += '\n';
  for (const SigningKey* key : keys) {
    const VerifierKey& verifier = key->verifier();
    CHECK(is_key_name(verifier.name));
    const std::uint32_t id = verifier.id();
    std::vector<std::uint8_t> bytes = {static_cast<std::uint8_t>(id >> 24), static_cast<std::uint8_t>(id >> 16),
                                       static_cast<std::uint8_t>(id >> 8), static_cast<std::uint8_t>(id)};
    const Signature signature = key->sign(text);
    bytes.insert(bytes.end(), signature.begin(), signature.end());
    note += kDash;
    note += verifier.name;
    note += ' ';
    note += base64(bytes);
    note += '\n';
  }
  return note;
}

std::optional<Note> parse_note(std::string_view text) {
  if (text.size() > limits::kNoteBytesMax || !is_note_text(text)) return std::nullopt;
  const std::size_t gap = text.rfind("\n\n");
  if (gap == std::string_view::npos) return std::nullopt;
  Note note{std::string(text.substr(0, gap + 1)), {}};
  std::string_view rest = text.substr(gap + 2);
  std::size_t lines = 0;
  while (!rest.empty()) {
    const auto line = take_line(rest);
    if (!line || ++lines > limits::kNoteSignaturesMax) return std::nullopt;
    SignatureLine parsed = parse_signature_line(*line);
    if (!parsed.well_formed) return std::nullopt;
    if (parsed.signature) note.signatures.push_back(std::move(*parsed.signature));
  }
  if (lines == 0) return std::nullopt;
  return note;
}

bool is_signed_by(const Note& note, const VerifierKey& key) {
  bool found = false;
  for (const NoteSignature& signature : note.signatures) {
    // A key without a name goes by whatever name the signature gives, which the id covers.
    const VerifierKey named{key.name.empty() ? signature.name : key.name, key.bytes};
    if (signature.name != named.name || signature.key_id != named.id()) continue;
    // One that claims to be by this key and is not spoils the note, whatever else stands below it.
    if (!named.verifies(note.text, signature.signature)) return false;
    found = true;
  }
  return found;
}

// --- checkpoints --------------------------------------------------------------------------------------------------------

std::string checkpoint_text(const Checkpoint& checkpoint) {
  return checkpoint.origin + "\n" + std::to_string(checkpoint.size) + "\n" + base64(checkpoint.root) + "\n";
}

std::optional<Checkpoint> parse_checkpoint(std::string_view text) {
  const auto origin = take_line(text);
  const auto size = origin ? take_line(text) : std::nullopt;
  const auto root = size ? take_line(text) : std::nullopt;
  if (!root || origin->empty() || size->empty()) return std::nullopt;
  Checkpoint checkpoint{std::string(*origin), 0, {}};
  if (size->size() > 1 && size->front() == '0') return std::nullopt;
  const auto end = std::from_chars(size->data(), size->data() + size->size(), checkpoint.size);
  if (end.ec != std::errc() || end.ptr != size->data() + size->size()) return std::nullopt;
  const auto bytes = parse_base64(*root);
  if (!bytes || bytes->size() != checkpoint.root.size()) return std::nullopt;
  std::copy(bytes->begin(), bytes->end(), checkpoint.root.begin());
  while (!text.empty()) {
    const auto extension = take_line(text);
    if (!extension || extension->empty()) return std::nullopt;
  }
  return checkpoint;
}

}  // namespace baton::ledger
