// SPDX-License-Identifier: Apache-2.0
// Signed notes, checkpoints, the keys of a ledger and their files.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "ledger/key_files.h"
#include "memory_ledger.h"

namespace baton::ledger {
namespace {

// --- base64, notes, checkpoints -----------------------------------------------------------------------------------------

TEST(LedgerNote, Base64) {
  const std::pair<const char*, const char*> rfc4648[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : rfc4648) {
    const std::vector<std::uint8_t> bytes(plain, plain + std::string_view(plain).size());
    EXPECT_EQ(base64(bytes), coded);
    EXPECT_EQ(parse_base64(coded), bytes);
  }
  for (const char* bad :
       {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm9v\n", " Zm9v", "Zm-v", "Zm9v=", "Zm=v"})
    EXPECT_FALSE(parse_base64(bad)) << bad;
  EXPECT_FALSE(parse_base64(std::string_view("Zm9\0", 4)));
}

constexpr std::string_view kPeter = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
constexpr std::string_view kEnoch = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop";
constexpr std::string_view kPeterText =
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
constexpr std::string_view kPeterLine =
    "\xe2\x80\x94 PeterNeumann "
    "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
constexpr std::string_view kEnochLine =
    "\xe2\x80\x94 EnochRoot "
    "rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n";

std::string join(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) out += part;
  return out;
}

// The note that golang.org/x/mod/sumdb/note publishes.
TEST(LedgerNote, PublishedNote) {
  const auto peter = VerifierKey::parse(kPeter), enoch = VerifierKey::parse(kEnoch);
  ASSERT_TRUE(peter && enoch);
  EXPECT_EQ(peter->text(), kPeter);
  EXPECT_EQ(peter->id(), 0xc74f20a3u);
  const auto note = parse_note(join({kPeterText, "\n", kPeterLine, kEnochLine}));
  ASSERT_TRUE(note);
  EXPECT_EQ(note->text, kPeterText);
  ASSERT_EQ(note->signatures.size(), 2u);
  EXPECT_TRUE(is_signed_by(*note, *peter));
  EXPECT_TRUE(is_signed_by(*note, *enoch));
  EXPECT_TRUE(is_signed_by(*note, VerifierKey{"", peter->bytes}));
  EXPECT_FALSE(is_signed_by(*note, VerifierKey{"PeterNeuman", peter->bytes}));
  EXPECT_FALSE(is_signed_by(*parse_note(join({kPeterText, "\n", kEnochLine})), *peter));

  // The seed is published, too (PRIVATE+KEY+PeterNeumann+c74f20a3+AYEK...): signing gives the same note.
  const auto seed = parse_base64("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz");
  ASSERT_TRUE(seed && seed->size() == 33);
  const SigningKey key = SigningKey::from_seed("PeterNeumann", std::span(*seed).subspan<1, 32>());
  EXPECT_EQ(key.verifier(), *peter);
  const SigningKey* const keys[] = {&key};
  EXPECT_EQ(sign_note(kPeterText, keys), join({kPeterText, "\n", kPeterLine}));
}

TEST(LedgerNote, NothingElseIsANote) {
  const std::string good = join({kPeterText, "\n", kPeterLine});
  ASSERT_TRUE(parse_note(good));
  const std::string name = "PeterNeumann";
  const auto with_name = [&](std::string_view other) {
    std::string text = good;
    return text.replace(text.find(name), name.size(), other);
  };
  EXPECT_TRUE(parse_note(with_name("Peter/N.")));
  for (const char* bad : {"", "Bad Name", "a+b",
                          "a\xc2\xa0"
                          "b",
                          "a\xe2\x80\x83"
                          "b",
                          "a\x7f"})
    EXPECT_FALSE(parse_note(with_name(bad))) << bad;
  EXPECT_FALSE(parse_note(kPeterText));
  EXPECT_FALSE(parse_note(join({kPeterText, "\n"})));
  EXPECT_FALSE(parse_note(good.substr(0, good.size() - 1)));
  EXPECT_FALSE(parse_note("\x01" + good));
  EXPECT_FALSE(parse_note("\r\n" + good));
  EXPECT_FALSE(parse_note("\xff" + good));
  EXPECT_FALSE(parse_note(good + "Unexpected line.\n"));
  EXPECT_FALSE(parse_note(good + "\n"));
  EXPECT_FALSE(parse_note(""));
  std::string many = join({kPeterText, "\n"});
  for (int i = 0; i < 101; ++i) many += kPeterLine;
  EXPECT_FALSE(parse_note(many));
  EXPECT_TRUE(parse_note(many.substr(0, many.size() - kPeterLine.size())));
  // Signatures of another kind are other people's: left out, not refused. A key id alone is none.
  const auto with_other = parse_note(join({kPeterText, "\n\xe2\x80\x94 witness AAAAAAEB\n", kPeterLine}));
  ASSERT_TRUE(with_other);
  EXPECT_EQ(with_other->signatures.size(), 1u);
  EXPECT_FALSE(parse_note(join({kPeterText, "\n\xe2\x80\x94 witness AAAAAA==\n", kPeterLine})));
  // The last empty line parts text and signatures; the text may have others.
  const auto poem = parse_note(
      "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned \xc3\xa8 subito sera.\n\n"
      "\xe2\x80\x94 quasimodo.example/salvatore "
      "NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n");
  ASSERT_TRUE(poem);
  EXPECT_TRUE(poem->text.ends_with("subito sera.\n"));
}

// Any changed byte of a note by one key is seen: it is no note any more, or not signed.
TEST(LedgerNote, EveryByteCounts) {
  const auto peter = VerifierKey::parse(kPeter);
  const std::string good = join({kPeterText, "\n", kPeterLine});
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const int flip : {0x01, 0x04, 0x20, 0x80}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      const auto note = parse_note(bad);
      EXPECT_FALSE(note && is_signed_by(*note, *peter)) << at;
    }
  // A second signature by the same key that does not hold spoils the first.
  std::string other(kPeterLine);
  other[40] ^= 1;
  const auto note = parse_note(join({kPeterText, "\n", kPeterLine, other}));
  ASSERT_TRUE(note);
  EXPECT_FALSE(is_signed_by(*note, *peter));
}

TEST(LedgerNote, VerifierKeysAreStrict) {
  for (std::size_t first = 0; first <= kPeter.size(); ++first)
    for (std::size_t last = first; last <= kPeter.size(); ++last)
      if (first != 0 || last != kPeter.size()) {
        ASSERT_FALSE(VerifierKey::parse(kPeter.substr(first, last - first))) << kPeter.substr(first, last - first);
      }
  for (std::size_t i = 0; i < kPeter.size(); ++i) {
    std::string bad(kPeter);
    ++bad[i];
    EXPECT_FALSE(VerifierKey::parse(bad)) << bad;
  }
  // From Go's tests: a wrong length and another algorithm, the id made to fit. And an id in capitals.
  EXPECT_FALSE(VerifierKey::parse("PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY=="));
  EXPECT_FALSE(VerifierKey::parse("PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"));
  EXPECT_FALSE(VerifierKey::parse("PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"));
}

TEST(LedgerNote, PublicKeyFiles) {
  // The example of RFC 8410, 10.1.
  const std::string pem =
      "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC "
      "KEY-----\n";
  const std::string digits = "19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1";
  const auto from_pem = VerifierKey::parse_file(pem), from_hex = VerifierKey::parse_file(digits + "\n"),
             from_base64 = VerifierKey::parse_file("Gb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=");
  ASSERT_TRUE(from_pem && from_hex && from_base64);
  EXPECT_EQ(hex(from_pem->bytes), digits);
  EXPECT_EQ(from_pem->name, "");
  EXPECT_EQ(*from_hex, *from_pem);
  EXPECT_EQ(*from_base64, *from_pem);
  EXPECT_EQ(from_pem->pem(), pem);
  const auto named = VerifierKey::parse_file(std::string(kPeter) + "\n");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->name, "PeterNeumann");
  std::string carriage = pem;
  carriage.insert(carriage.find('\n'), "\r");
  EXPECT_TRUE(VerifierKey::parse_file(carriage));
  for (std::string bad :
       {std::string(), std::string("x"), digits + "0", pem.substr(1), "\xff" + digits,
        std::string("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n"), std::string(1u << 20, 'a')})
    EXPECT_FALSE(VerifierKey::parse_file(bad)) << bad.substr(0, 80);
  std::string rsa = pem;
  rsa[rsa.find("MCow") + 3] = 'x';
  EXPECT_FALSE(VerifierKey::parse_file(rsa));
}

// RFC 8032, 7.1, test 1.
TEST(LedgerNote, PublishedSignature) {
  const std::string seed = unhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
  std::array<std::uint8_t, 32> bytes;
  std::copy(seed.begin(), seed.end(), bytes.begin());
  SigningKey key = SigningKey::from_seed("n", bytes);
  EXPECT_EQ(hex(key.verifier().bytes), "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  const Signature signature = key.sign("");
  EXPECT_EQ(
      hex(signature),
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24"
      "655141438e7a100b");
  EXPECT_TRUE(key.verifier().verifies("", signature));
  EXPECT_FALSE(key.verifier().verifies("x", signature));
  const SigningKey moved = std::move(key);
  EXPECT_EQ(moved.sign(""), signature);
  EXPECT_TRUE(std::all_of(key.seed().begin(), key.seed().end(), [](auto byte) { return byte == 0; })) << "left behind";
}

TEST(LedgerNote, Checkpoints) {
  // The example of c2sp.org/tlog-checkpoint.
  const std::string text = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
  const auto checkpoint = parse_checkpoint(text);
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checkpoint->origin, "example.com/behind-the-sofa");
  EXPECT_EQ(checkpoint->size, 20852163u);
  EXPECT_EQ(checkpoint_text(*checkpoint), text);
  EXPECT_TRUE(parse_checkpoint(text + "an extension\n"));
  const std::string root = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
  EXPECT_TRUE(parse_checkpoint("o\n0\n" + root));
  EXPECT_TRUE(parse_checkpoint("o\n18446744073709551615\n" + root));
  for (const std::string& bad :
       {std::string(), std::string("o\n"), std::string("o\n1\n"), "\n1\n" + root, "o\n01\n" + root, "o\n00\n" + root,
        "o\n+1\n" + root, "o\n-1\n" + root, "o\n1 \n" + root, "o\n\n" + root, "o\n18446744073709551616\n" + root,
        "o\n1\n" + root.substr(0, root.size() - 1), "o\n1\n" + root + "\n", "o\n1\n" + root + "x",
        std::string("o\n1\nCsUY\n"), std::string("o\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2J=\n")})
    EXPECT_FALSE(parse_checkpoint(bad)) << bad;
}

// --- statements about keys ----------------------------------------------------------------------------------------------

class LedgerKeys : public testing::Test {
 protected:
  LedgerKeys() { EXPECT_FALSE(state.apply(kCreated, created_payload(kTestOrigin, first, kTestRedactionKeyId))); }

  // What check_seal says of a seal by these keys: "" when it holds, "foreign" for a key that may not sign.
  std::string seal_by(std::vector<const SigningKey*> keys, std::string origin = std::string(kTestOrigin)) const {
    const Checkpoint checkpoint{std::move(origin), 3, {}};
    const auto note = parse_note(sign_note(checkpoint_text(checkpoint), keys));
    const auto fault = state.check_seal(*note, checkpoint);
    return !fault ? "" : fault->foreign_key ? "foreign" : fault->problem;
  }
  std::string admit(const SigningKey& added, const SigningKey& by) {
    return state
        .apply(kKeyAdmitted, admitted_payload(kTestOrigin, added.verifier(), sign_admission(kTestOrigin, added), by))
        .value_or("");
  }

  SigningKey first = test_key(1), second = test_key(40), third = test_key(80);
  KeyState state;
};

TEST_F(LedgerKeys, Created) {
  EXPECT_EQ(state.origin(), kTestOrigin);
  EXPECT_EQ(state.redaction_key_id(), kTestRedactionKeyId);
  ASSERT_EQ(state.keys().size(), 1u);
  EXPECT_EQ(seal_by({&first}), "");
  EXPECT_EQ(seal_by({&second}), "foreign");
  EXPECT_EQ(seal_by({&second, &first}), "") << "a witness may sign, too";
  EXPECT_NE(seal_by({&first}, "baton/ledger/other"), "");
  EXPECT_TRUE(state.apply(kCreated, created_payload(kTestOrigin, first, kTestRedactionKeyId))) << "twice";
  KeyState other;
  EXPECT_TRUE(other.apply(kKeyRetired, "{}")) << "before it was created";
  EXPECT_FALSE(other.apply("work.claimed", "not even JSON")) << "not about keys";
  EXPECT_TRUE(other.apply(kCreated, created_payload("baton/ledger/other", first, kTestRedactionKeyId)))
      << "the key's name is not the origin";
  EXPECT_TRUE(other.apply(kCreated, created_payload(kTestOrigin, first, "0123")));
  EXPECT_TRUE(state.apply("ledger.key_borrowed", "{}")) << "unknown: nobody knows which keys count then";
}

// Each member changed, dropped or joined by another: refused, and nothing has happened.
TEST_F(LedgerKeys, StatementsAreStrict) {
  ASSERT_EQ(admit(second, first), "");
  const std::pair<std::string_view, std::string> statements[] = {
      {kCreated, created_payload(kTestOrigin, first, kTestRedactionKeyId)},
      {kKeyAdmitted, admitted_payload(kTestOrigin, third.verifier(), sign_admission(kTestOrigin, third), first)},
      {kKeyRotated, rotated_payload(kTestOrigin, first, third)},
      {kKeyRetired, retired_payload(kTestOrigin, second.verifier(), first)}};
  for (const auto& [type, payload] : statements) {
    const auto fresh = [&] { return type == kCreated ? KeyState() : state; };
    ASSERT_FALSE(fresh().apply(type, payload)) << payload;
    ASSERT_TRUE(check_draft(test_draft("ledger", std::string(type), payload))) << "is canonical";
    for (std::size_t at = 0; at < payload.size(); ++at) {
      std::string bad = payload;
      bad[at] = bad[at] == 'A' ? 'B' : 'A';
      KeyState after = fresh();
      ASSERT_TRUE(after.apply(type, bad)) << bad;
      ASSERT_EQ(after.keys().size(), fresh().keys().size());
      bad = payload;
      bad.erase(at, 1);
      ASSERT_TRUE(fresh().apply(type, bad)) << bad;
    }
    std::string more = payload;
    more.insert(1, "\"a\":\"b\",");
    EXPECT_TRUE(fresh().apply(type, more));
    for (const char* bad : {"", "{}", "[]", "1", "{\"key\":1}"}) EXPECT_TRUE(fresh().apply(type, bad)) << bad;
    // No statement can stand for one of another kind.
    for (const auto& [other, unused] : statements)
      if (other != type) {
        EXPECT_TRUE(fresh().apply(other, payload)) << type << " as " << other;
      }
  }
}

TEST_F(LedgerKeys, Admitted) {
  EXPECT_EQ(admit(second, first), "");
  EXPECT_EQ(seal_by({&second}), "");
  EXPECT_EQ(seal_by({&first}), "");
  EXPECT_NE(admit(second, first), "") << "twice";
  EXPECT_NE(admit(test_key(99), third), "") << "by a stranger";
  EXPECT_EQ(admit(third, second), "") << "by one that was admitted";
  // Asked for in another ledger.
  const SigningKey fourth = test_key(120);
  EXPECT_TRUE(state.apply(kKeyAdmitted, admitted_payload(kTestOrigin, fourth.verifier(),
                                                         sign_admission("baton/ledger/other", fourth), first)));
}

TEST_F(LedgerKeys, RotationNeedsBothKeysOnce) {
  ASSERT_FALSE(state.apply(kKeyRotated, rotated_payload(kTestOrigin, first, second)));
  EXPECT_NE(seal_by({&first}), "");
  EXPECT_NE(seal_by({&second}), "");
  EXPECT_EQ(seal_by({&first, &second}), "");
  EXPECT_EQ(seal_by({&second, &first}), "");
  state.sealed();
  EXPECT_EQ(seal_by({&second}), "");
  EXPECT_EQ(seal_by({&first}), "foreign");
  EXPECT_TRUE(state.apply(kKeyRotated, rotated_payload(kTestOrigin, first, third))) << "by a key that is gone";
  EXPECT_TRUE(state.apply(kKeyRotated, rotated_payload(kTestOrigin, second, first))) << "back to a key that is gone";
}

TEST_F(LedgerKeys, TwoRotationsBeforeASeal) {
  ASSERT_FALSE(state.apply(kKeyRotated, rotated_payload(kTestOrigin, first, second)));
  ASSERT_FALSE(state.apply(kKeyRotated, rotated_payload(kTestOrigin, second, third)));
  EXPECT_NE(seal_by({&first, &third}), "");
  EXPECT_NE(seal_by({&first, &second}), "");
  EXPECT_EQ(seal_by({&first, &second, &third}), "");
}

TEST_F(LedgerKeys, Retired) {
  ASSERT_EQ(admit(second, first), "");
  EXPECT_TRUE(state.apply(kKeyRetired, retired_payload(kTestOrigin, first.verifier(), first))) << "itself";
  ASSERT_FALSE(state.apply(kKeyRetired, retired_payload(kTestOrigin, second.verifier(), first)));
  EXPECT_EQ(seal_by({&second}), "foreign");
  EXPECT_EQ(seal_by({&first}), "");
  EXPECT_NE(admit(second, first), "") << "a key does not come back";
  EXPECT_TRUE(state.apply(kKeyRetired, retired_payload(kTestOrigin, first.verifier(), second)))
      << "by one that is gone";
}

// --- key files ----------------------------------------------------------------------------------------------------------

class LedgerKeyFiles : public testing::Test {
 protected:
  LedgerKeyFiles() {
    std::string pattern = testing::TempDir() + "baton_keys_XXXXXX";
    root = mkdtemp(pattern.data());
  }
  ~LedgerKeyFiles() override { std::filesystem::remove_all(root); }

  static mode_t mode_of(const std::filesystem::path& path) {
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
  }
  void write(const std::string& name, std::string_view text, mode_t mode = 0600) {
    std::ofstream(root / "keys" / name, std::ios::binary) << text;
    ::chmod((root / "keys" / name).c_str(), mode);
  }
  std::string seal_key_failure() {
    const auto key = KeyFiles::open(root / "keys", {})->seal_key();
    if (key) return *key ? "a key" : "nothing";
    return std::string(key.error().code);
  }

  std::filesystem::path root;
};

TEST_F(LedgerKeyFiles, WrittenAndRead) {
  const auto files = KeyFiles::open(root / "deep" / "keys", root / "store");
  ASSERT_TRUE(files) << files.error().text();
  EXPECT_FALSE(std::filesystem::exists(root / "deep")) << "only a key makes the folder";
  EXPECT_FALSE(files->seal_key().value());
  EXPECT_FALSE(files->redaction_key().value());
  const SigningKey key = test_key(1), next = test_key(50);
  ::umask(0);
  ASSERT_TRUE(files->write_seal_key(key));
  ::umask(022);
  EXPECT_EQ(mode_of(files->folder()), 0700u);
  EXPECT_EQ(mode_of(files->folder() / "seal.key"), 0600u);
  ASSERT_TRUE(files->seal_key().value());
  EXPECT_EQ((*files->seal_key())->verifier(), key.verifier());
  EXPECT_EQ((*files->seal_key())->sign("x"), key.sign("x"));

  const auto again = files->write_seal_key(next);
  ASSERT_FALSE(again) << "never over a file that is there";
  EXPECT_EQ(again.error().code, "LEDGER_KEY_FILE");
  EXPECT_EQ((*files->seal_key())->verifier(), key.verifier());

  ASSERT_TRUE(files->write_next_seal_key(next));
  EXPECT_EQ((*files->next_seal_key())->verifier(), next.verifier());
  ASSERT_TRUE(files->finish_rotation());
  EXPECT_EQ((*files->seal_key())->verifier(), next.verifier());
  EXPECT_FALSE(files->next_seal_key().value());
  EXPECT_FALSE(files->finish_rotation()) << "there is none to finish";

  RedactionKey redaction{};
  for (std::size_t i = 0; i < redaction.size(); ++i) redaction[i] = static_cast<std::uint8_t>(i);
  ASSERT_TRUE(files->write_redaction_key(redaction));
  EXPECT_EQ(files->redaction_key().value(), redaction);
  EXPECT_FALSE(files->write_redaction_key(redaction));
  // Python: hashlib.sha256(b'baton.ledger.redaction_key.v1\n' + bytes(range(32))).hexdigest()[:16]
  EXPECT_EQ(redaction_key_id(redaction), "462254d1ef5cc371");
  std::size_t names = 0;
  for (const auto& entry : std::filesystem::directory_iterator(files->folder())) names += entry.is_regular_file();
  EXPECT_EQ(names, 2u) << "no draft is left behind";
}

TEST_F(LedgerKeyFiles, WhatIsNotAKeyIsRefused) {
  std::filesystem::create_directory(root / "keys");
  const std::string good = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz\n";
  EXPECT_EQ(seal_key_failure(), "nothing");
  write("seal.key", good);
  EXPECT_EQ(seal_key_failure(), "a key");
  for (const mode_t mode : {0640u, 0604u, 0660u, 0620u, 0601u}) {
    write("seal.key", good, mode);
    EXPECT_EQ(seal_key_failure(), "LEDGER_KEY_MODE") << mode;
  }
  std::string bad_id = good;
  bad_id[bad_id.find("c74f")] = 'd';
  for (const std::string& bad :
       {std::string(), std::string("\n"), std::string("x\n"), good.substr(0, good.size() - 1), good + "\n",
        good.substr(1), bad_id, std::string(5000, 'a') + "\n", good.substr(0, good.size() - 5) + "\n"}) {
    write("seal.key", bad);
    EXPECT_EQ(seal_key_failure(), "LEDGER_KEY_FILE") << bad;
    const auto key = KeyFiles::open(root / "keys", {})->seal_key();
    EXPECT_EQ(key.error().text().find("AYEK"), std::string::npos) << "a secret in a message";
  }
  std::filesystem::remove(root / "keys" / "seal.key");
  std::ofstream(root / "elsewhere") << good;
  ::chmod((root / "elsewhere").c_str(), 0600);
  std::filesystem::create_symlink(root / "elsewhere", root / "keys" / "seal.key");
  EXPECT_EQ(seal_key_failure(), "LEDGER_KEY_FILE");
  std::filesystem::remove(root / "keys" / "seal.key");
  std::filesystem::create_directory(root / "keys" / "seal.key");
  EXPECT_EQ(seal_key_failure(), "LEDGER_KEY_FILE");
  std::filesystem::remove(root / "keys" / "seal.key");
  ASSERT_EQ(::mkfifo((root / "keys" / "seal.key").c_str(), 0600), 0);
  EXPECT_EQ(seal_key_failure(), "LEDGER_KEY_FILE") << "and does not wait for a writer";

  write("redaction.key", "baton-redaction-key+462254d1ef5cc372+AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n");
  EXPECT_EQ(KeyFiles::open(root / "keys", {})->redaction_key().error().code, "LEDGER_KEY_FILE") << "another id";
  write("redaction.key", "baton-redaction-key+462254d1ef5cc371+AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n");
  EXPECT_TRUE(KeyFiles::open(root / "keys", {})->redaction_key().value());
}

TEST_F(LedgerKeyFiles, AFolderThatOthersWriteToIsRefused) {
  std::filesystem::create_directory(root / "keys");
  ::chmod((root / "keys").c_str(), 0770);
  const auto files = KeyFiles::open(root / "keys", {});
  EXPECT_FALSE(files->write_seal_key(test_key(1)));
  EXPECT_FALSE(std::filesystem::exists(root / "keys" / "seal.key"));
}

TEST_F(LedgerKeyFiles, NeverInTheStoresFolder) {
  std::filesystem::create_directories(root / "store" / "inner");
  std::filesystem::create_directory_symlink(root / "store" / "inner", root / "looks_apart");
  std::filesystem::create_directory_symlink(root / "store", root / "other_name");
  const auto code = [&](const std::filesystem::path& folder, const std::filesystem::path& store) {
    const auto files = KeyFiles::open(folder, store);
    return files ? std::string() : std::string(files.error().code);
  };
  EXPECT_EQ(code(root / "store", root / "store"), "LEDGER_KEY_PLACE");
  EXPECT_EQ(code(root / "store" / "keys", root / "store"), "LEDGER_KEY_PLACE");
  EXPECT_EQ(code(root / "store" / "keys" / "", root / "store" / ""), "LEDGER_KEY_PLACE");
  EXPECT_EQ(code(root / "store" / ".." / "store" / "keys", root / "store"), "LEDGER_KEY_PLACE");
  EXPECT_EQ(code(root / "looks_apart" / "keys", root / "store"), "LEDGER_KEY_PLACE");
  EXPECT_EQ(code(root / "store" / "keys", root / "other_name"), "LEDGER_KEY_PLACE");
  EXPECT_EQ(code(root / "store_keys", root / "store"), "");
  EXPECT_EQ(code(root / "keys", root / "store"), "");
  EXPECT_EQ(code(root / "store" / "keys", {}), "");
}

}  // namespace
}  // namespace baton::ledger
