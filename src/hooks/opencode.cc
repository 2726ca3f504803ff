// SPDX-License-Identifier: Apache-2.0
#include "hooks/opencode.h"

namespace baton::hooks {
namespace {

constexpr std::string_view kPlugin =
#include "hooks/opencode_plugin.inc"
    ;

// A string of JavaScript in single quotes. Paths with line ends have no business here, but must not end the string either.
std::string quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') out += "\\n";
    else if (c == '\r') out += "\\r";
    else out.append(c == '\'' || c == '\\' ? "\\" : "").append(1, c);
  }
  return out;
}

void fill(std::string& text, std::string_view place, const std::string& with) {
  if (const std::size_t at = text.find(place); at != std::string::npos) text.replace(at, place.size(), with);
}

}  // namespace

std::string opencode_plugin(std::string_view hook, std::span<const std::string> arguments) {
  std::string more;
  for (const std::string& argument : arguments)
    more.append(more.empty() ? "'" : ", '").append(quoted(argument)).append("'");
  std::string out(kPlugin);
  // The arguments first: what is put in is not looked through for the other place.
  fill(out, "@BATON_ARGUMENTS@", more);
  fill(out, "@BATON_HOOK@", quoted(hook));
  return out;
}

}  // namespace baton::hooks
