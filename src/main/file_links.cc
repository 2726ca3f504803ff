// SPDX-License-Identifier: Apache-2.0
#include "main/file_links.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <deque>

#include "base/text.h"

namespace baton::main {
namespace {

constexpr int kLinksMax = 40;             // as Linux follows
constexpr std::size_t kNamesMax = 1'024;  // of a path with all that its links put in

// The open files of a process: for this one they are others than for the command that names them.
bool is_own_stream(std::string_view path, const std::deque<std::string>& left) {
  if (path == "/dev/fd") return left.size() == 1 && std::ranges::all_of(left.front(), is_digit);
  return left.empty() && (path == "/dev/stdin" || path == "/dev/stdout" || path == "/dev/stderr");
}

// From the end on, so that they are taken in their order.
void put_first(std::deque<std::string>& left, std::string_view path) {
  const auto names = split(path, '/');
  for (auto one = names.rbegin(); one != names.rend(); ++one)
    if (!one->empty() && *one != ".") left.emplace_front(*one);
}

}  // namespace

// Not realpath(): it needs a path that is there, and a link to a file that is not there yet leads somewhere as well.
std::string FileLinks::resolved(const std::string& path) const {
  std::deque<std::string> left;
  put_first(left, path);
  std::string out;
  int links = 0;
  for (std::size_t names = 0; !left.empty(); ++names) {
    if (names == kNamesMax) return {};
    const std::string name = std::move(left.front());
    left.pop_front();
    if (name == "..") {
      out.resize(out.empty() ? 0 : out.rfind('/'));
      continue;
    }
    const std::string here = out + "/" + name;
    if (is_own_stream(here, left)) {
      out = left.empty() ? here : here + "/" + left.front();
      break;
    }
    char target[PATH_MAX];
    const ssize_t size = links < kLinksMax ? ::readlink(here.c_str(), target, sizeof target) : -1;
    if (size <= 0) {
      out = here;
      continue;
    }
    ++links;
    if (target[0] == '/') out.clear();
    put_first(left, std::string_view(target, static_cast<std::size_t>(size)));
  }
  return out.empty() ? "/" : out;
}

}  // namespace baton::main
