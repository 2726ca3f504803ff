// SPDX-License-Identifier: Apache-2.0
#include "main/file_links.h"

#include <limits.h>
#include <unistd.h>

#include <deque>

#include "base/text.h"

namespace baton::main {
namespace {

constexpr int kLinksMax = 40;             // as Linux follows
constexpr std::size_t kNamesMax = 8'192;  // of a path with all that its links put in

}  // namespace

// Not realpath(): it needs a path that is there, and a link to a file that is not there yet leads somewhere as well.
std::string FileLinks::resolved(const std::string& path) const {
  std::deque<std::string> left;
  for (const std::string_view name : split(path, '/')) left.emplace_back(name);
  std::string out;
  int links = 0;
  for (std::size_t names = 0; !left.empty() && names < kNamesMax; ++names) {
    const std::string name = std::move(left.front());
    left.pop_front();
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      out.resize(out.empty() ? 0 : out.rfind('/'));
      continue;
    }
    const std::string here = out + "/" + name;
    char target[PATH_MAX];
    const ssize_t size = links < kLinksMax ? ::readlink(here.c_str(), target, sizeof target) : -1;
    if (size <= 0) {
      out = here;
      continue;
    }
    ++links;
    if (target[0] == '/') out.clear();
    const auto names_of = split(std::string_view(target, static_cast<std::size_t>(size)), '/');
    for (auto one = names_of.rbegin(); one != names_of.rend(); ++one) left.emplace_front(*one);
  }
  return out.empty() ? "/" : out;
}

}  // namespace baton::main
