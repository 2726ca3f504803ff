// SPDX-License-Identifier: Apache-2.0
// Command lines: any bytes. Whatever they are:
//   reading them ends, within its limits, and what a contract sees is JSON that can be made canonical
//   every program that is listed belongs to a command, and the lines of `lines` are as many as the items of the lists
//   a line that is read wholly hides nothing of what comes after it: a command on the next line is listed, or that is opaque
//   a line that is read wholly runs the same programs in brackets, in a branch, and as the text of `bash -c`
#include <set>

#include "base/limits.h"
#include "properties.h"
#include "shell/arguments.h"
#include "shell/effects.h"

namespace baton::fuzz {
namespace {

std::set<std::string> programs(const shell::Parsed& parsed) {
  const std::vector<std::string> all = shell::programs_of(parsed);
  return {all.begin(), all.end()};
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) c == '\'' ? out.append("'\\''") : out.append(1, c);
  return out + "'";
}

void check_same(const std::set<std::string>& want, const std::string& line, const char* extra) {
  const shell::Parsed parsed = shell::parse(line);
  if (parsed.opaque()) return;  // nested too deeply, for one
  std::set<std::string> got = programs(parsed), all = want;
  if (*extra != '\0') all.insert(extra);
  require(got == all, "a line runs the same programs wherever it stands", line);
}

void run(std::string_view text) {
  const shell::Parsed parsed = shell::parse(text);
  require(parsed.commands.size() <= limits::kShellCommandsMax + 1, "the commands are bounded");
  require(std::ranges::is_sorted(parsed.because), "the reasons are in order");
  const std::set<std::string> listed = programs(parsed);
  const json::Value seen = shell::arguments_of(parsed, "/srv/app");
  const std::string shown = json::write(seen);
  const json::Document document = baton::fuzz::parsed(shown, "what a contract sees is JSON");
  require(json::canonical(document.root(), json::Numbers::Exact).has_value(),
          "what a contract sees has a canonical form");
  for (const char* list : {"programs", "paths", "writes"}) {
    const std::string& lines = seen.find("lines")->find(list)->string();
    require(static_cast<std::size_t>(std::ranges::count(lines, '\n')) == seen.find(list)->elements().size(),
            "an item is a line", lines);
  }
  for (const json::Value& path : seen.find("writes")->elements())
    require(path.string().starts_with('/') && path.string().find("/../") == std::string::npos, "paths are normalised",
            path.string());
  if (parsed.opaque()) {
    require(seen.find("opaque")->boolean(), "a contract sees that a line is opaque");
    return;
  }
  std::string line(text);
  const shell::Parsed followed = shell::parse(line + "\nzzz");
  require(followed.opaque() || programs(followed).contains("zzz"), "what comes after a line is seen", line);
  check_same(listed, "{ " + line + "\n}", "");
  check_same(listed, "(" + line + "\n)", "");
  check_same(listed, "if zzz; then " + line + "\nfi", "zzz");
  check_same(listed, "zzz \"$(" + line + "\n)\"", "zzz");
  check_same(listed, "bash -c " + quoted(line), "bash");
}

}  // namespace
}  // namespace baton::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return baton::fuzz::fuzz_one([&] { baton::fuzz::run({reinterpret_cast<const char*>(data), size}); });
}
