// SPDX-License-Identifier: Apache-2.0
// What no agent may touch: any call, and every spelling of a protected path. Whatever they are:
//   judging a call ends, gives the same answer twice, and names what is touched
//   a protected path is refused however it is spelled, in a string of any tool at any depth, and as a word of a command line
//   what only adds to a call never makes it harmless: another member, another command, another element
//   a path that has nothing of a protected name or place in it is not refused, as far as it is spelled plainly
// The first byte chooses what is tried; then come choices for the spelling, and texts.
#include <array>
#include <set>

#include "properties.h"
#include "protection/protection.h"

namespace baton::fuzz {
namespace {

using protection::Paths;
using protection::Touch;

// `here` leads to the store, `around` to the project.
class SomeLinks final : public protection::Links {
 public:
  std::string resolved(const std::string& path) const override {
    for (const auto& [link, target] :
         {std::pair<std::string_view, std::string_view>{"/srv/app/here", "/srv/app/.baton"},
          {"/srv/around", "/srv/app"}})
      if (path == link || path.starts_with(std::string(link) + "/"))
        return std::string(target) + path.substr(link.size());
    return path;
  }
};

const Paths& paths() {
  static const Paths kPaths = {{"/srv/app/.baton", "/home/ida/.config/baton", "/var/lib/keys"},
                               {"/usr/local/bin/baton", "/srv/app/contracts"},
                               "/home/ida",
                               std::make_shared<SomeLinks>()};
  return kPaths;
}

constexpr std::string_view kFolder = "/srv/app";
// Secret: not even read. Their folder comes first.
constexpr std::array<std::string_view, 6> kSecrets = {
    "/srv/app/.baton/config.yaml", "/srv/app/.baton",      "/home/ida/.config/baton/operator.token",
    "/var/lib/keys/seal.key",      "/srv/app/here/a/file", "/srv/around/.baton/ledger.db"};

std::string read_as_text(const std::optional<Touch>& touch) {
  return touch ? (touch->always ? "always " : "writing ") + touch->path : "nothing";
}

std::optional<Touch> judged(std::string_view tool, const json::Value& arguments, std::string_view cwd = kFolder) {
  const std::string text = json::write(arguments);
  const json::Document document = parsed(text, "arguments are JSON");
  auto touch = protection::touched(paths(), tool, document.root(), cwd);
  require(!touch || !touch->path.empty(), "what is touched is named", text);
  require(read_as_text(touch) == read_as_text(protection::touched(paths(), tool, document.root(), cwd)),
          "the same call has the same answer", text);
  return touch;
}

json::Value command(std::string_view line) {
  json::Value facts = json::Value::object(), out = json::Value::object();
  facts.set("command", line);
  facts.set("cwd", kFolder);
  out.set("dev.baton", std::move(facts));
  return out;
}

// Relative to the folder, when it is in there.
std::string relative(std::string_view path) {
  return path.starts_with("/srv/app/") ? std::string(path.substr(kFolder.size() + 1)) : std::string(path);
}

// One spelling that every tool may undo: the path stays the same.
std::string respelled(std::string path, std::uint8_t how, std::uint8_t where) {
  const std::size_t at = path.empty() ? 0 : where % path.size();
  const std::size_t slash = path.find('/', at);
  switch (how % 12) {
    case 0: return slash == path.npos ? path : path.substr(0, slash) + "/." + path.substr(slash);
    case 1: return slash == path.npos ? path : path.substr(0, slash) + "//" + path.substr(slash + 1);
    case 2: return slash == path.npos ? path : path.substr(0, slash) + "/zzz/.." + path.substr(slash);
    case 3:
      for (char& c : path) c = is_lower(c) && where % 2 ? static_cast<char>(c - 'a' + 'A') : c;
      return path;
    case 4: return path + (where % 2 ? "/" : "/.");
    case 5: return relative(path);
    case 6: return path.starts_with('/') ? path : "./" + path;
    case 7: return path.starts_with('/') ? path : std::string(kFolder) + "/" + path;
    case 8: return path.empty() || !is_alphanumeric(path.back()) ? path : path + (where % 2 ? "." : " ");
    case 9: return path.starts_with("/home/ida/") ? "~" + path.substr(9) : path;
    case 10:
      return slash == path.npos ? path
                                : path.substr(0, slash) + std::string(1 + where % 64, '/') + path.substr(slash + 1);
    default: return path;
  }
}

// Of a string of a call alone.
std::string wrapped(std::string path, std::uint8_t how, std::uint8_t where) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::size_t at = path.empty() ? 0 : where % path.size();
  switch (how % 9) {
    case 0: return path.starts_with('/') ? "file://" + path : path;
    case 1: {  // one character, percent-encoded
      if (path.empty()) return path;
      const auto byte = static_cast<unsigned char>(path[at]);
      return path.substr(0, at) + "%" + kDigits[byte >> 4] + kDigits[byte & 15] + path.substr(at + 1);
    }
    case 2: return "notes\n" + path;
    case 3: return path + "\nnotes";
    case 4: return path + std::string(1, '\0') + ".txt";
    case 5: return " " + path + " ";
    case 6: std::ranges::replace(path, '/', '\\'); return path;
    case 7: return "\"" + path + "\"";
    default: return path;
  }
}

// Of a word of a command line alone: quotes in it, and a wildcard in the place of a letter.
std::string quoted(std::string_view path, std::uint8_t how, std::uint8_t where) {
  const std::size_t at = path.empty() ? 0 : where % path.size();
  const std::string front(path.substr(0, at)), back(path.substr(at));
  switch (how % 6) {
    case 0: return "'" + std::string(path) + "'";
    case 1: return front + "''" + back;
    case 2: return front + "\"" + back + "\"";
    case 3: return back.empty() || !is_alphanumeric(back[0]) ? std::string(path) : front + "\\" + back;
    // Not the first letter of a name: a wildcard fits no dot there.
    case 4:
      return back.empty() || !is_alphanumeric(back[0]) || front.ends_with('/') || front.empty()
                 ? std::string(path)
                 : front + "?" + back.substr(1);
    default: return std::string(path);
  }
}

json::Value nested(std::string text, Input& input) {
  json::Value out(std::move(text));
  for (int depth = input.choice() % 4; depth > 0; --depth) {
    if (input.choice() % 2) {
      json::Value list = json::Value::array();
      list.push("a");
      list.push(std::move(out));
      out = std::move(list);
    } else {
      json::Value object = json::Value::object();
      object.set("nested", std::move(out));
      out = std::move(object);
    }
  }
  return out;
}

// A protected path in any spelling is refused.
void spelled(Input input) {
  const std::uint8_t what = input.choice();
  std::string path(kSecrets[what % kSecrets.size()]);
  for (int count = input.choice() % 6; count > 0; --count) {
    const std::uint8_t how = input.choice(), where = input.choice();
    path = respelled(std::move(path), how, where);
  }
  const bool is_link = path.find("here") != path.npos || path.find("around") != path.npos ||
                       path.find("HERE") != path.npos || path.find("AROUND") != path.npos;
  if (what % 2 == 0) {
    // A link is what the file system says it is: a name in upper case, or with a dot behind it, is another one.
    if (is_link) path = std::string(kSecrets[what % kSecrets.size()]);
    std::string text = path;
    for (int count = input.choice() % 3; count > 0; --count) {
      const std::uint8_t how = input.choice(), where = input.choice();
      text = wrapped(std::move(text), how, where);
    }
    constexpr std::array<std::string_view, 6> kMembers = {"path", "relative_path", "x", "query", "target", "url"};
    json::Value arguments = json::Value::object();
    arguments.set("name", "anything");
    arguments.set(kMembers[input.choice() % kMembers.size()], nested(text, input));
    const auto touch = judged("server/anything", arguments);
    require(touch && touch->always, "a protected path is refused in every spelling", json::write(arguments));
    // Another member changes nothing about it.
    arguments.set("content", std::string(input.rest().substr(0, find_invalid_utf8(input.rest()))));
    require(judged("server/anything", arguments).has_value(), "another member makes nothing harmless",
            json::write(arguments));
    return;
  }
  if (is_link) path = std::string(kSecrets[what % kSecrets.size()]);
  std::string word;
  for (const char c : path) word += c == ' ' ? std::string("\\ ") : std::string(1, c);
  const std::uint8_t how = input.choice(), where = input.choice();
  // What a link is called has no wildcard here: what there is in the folder is the file system's to say.
  if (word.find(' ') == word.npos && !word.starts_with('~'))
    word = quoted(word, is_link && how % 6 == 4 ? 0 : how, where);
  constexpr std::array<std::string_view, 9> kLines = {"cat @",
                                                      "cp @ /tmp/x",
                                                      "ls; cat @",
                                                      "cat < @",
                                                      "prog --config=@",
                                                      "head -1 @",
                                                      "(cd src; cat ../x; cat @)",
                                                      "if ls; then cat @; fi",
                                                      "tar cf /tmp/x.tar @"};
  std::string line(kLines[input.choice() % kLines.size()]);
  // A word that begins with a quote, or is below home, is not what stands behind an option.
  if (line == "prog --config=@" && (word[0] == '~' || is_link)) line = "cat @";
  line.replace(line.find('@'), 1, word);
  require(judged("Bash", command(line)).has_value(), "a protected path is refused in every command", line);
  require(judged("Bash", command("echo a; " + line + "\necho b")).has_value(), "another command makes nothing harmless",
          line);
}

// Any arguments of any tool.
void any(Input input) {
  const std::string tool(input.part());
  const std::string text(input.rest());
  const auto document = json::parse(text);
  if (!document || !document->root().is_object()) return;
  const auto touch = protection::touched(paths(), tool, document->root(), kFolder);
  require(read_as_text(touch) == read_as_text(protection::touched(paths(), tool, document->root(), kFolder)),
          "the same call has the same answer", text);
  // With a protected path beside all that, it is refused.
  if (tool == "Bash" && document->root()["dev.baton"]["command"].is_string()) return;
  json::Value more = json::Value::copy(document->root());
  more.set("zzz_path", "/srv/app/.baton/config.yaml");
  require(judged(tool, more).has_value(), "another member makes nothing harmless", json::write(more));
}

// Any command line.
void line(Input input) {
  std::string text(input.rest());
  if (find_invalid_utf8(text) != text.size()) return;
  const auto touch = judged("Bash", command(text));
  require(!touch || touch->always, "what a line touches it must not touch whatever its contract says", text);
}

// Plain names of nothing that is protected.
void harmless(Input input) {
  std::string path = "/srv/app";
  for (const char c : input.rest().substr(0, 60)) path += is_alphanumeric(c) ? to_lower(c) : '/';
  static const std::array<std::string_view, 6> kTouchy = {"contracts", "here", "plugin", "baton", "around", "proc"};
  for (const std::string_view one : kTouchy)
    if (path.find(one) != path.npos) return;
  json::Value arguments = json::Value::object();
  arguments.set("path", path);
  require(!judged("server/read", arguments), "an ordinary path is not refused", path);
  require(!judged("Bash", command("cat " + path)), "an ordinary path is not refused", path);
}

void run(Input input) {
  switch (input.choice() % 4) {
    case 0: return any(input);
    case 1: return line(input);
    case 2: return harmless(input);
    default: return spelled(input);
  }
}

}  // namespace
}  // namespace baton::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return baton::fuzz::fuzz_one([&] { baton::fuzz::run(baton::fuzz::Input(data, size)); });
}
