// SPDX-License-Identifier: Apache-2.0
#include "hooks/paths.h"

#include <vector>

#include "base/text.h"

namespace baton::hooks {

std::string absolute_path(std::string_view path, std::string_view cwd) {
  std::string whole;
  if (path.starts_with('/')) {
    whole = path;
  } else {
    if (path.starts_with('~') || !cwd.starts_with('/')) return std::string(path);
    whole = std::string(cwd) + "/" + std::string(path);
  }
  std::vector<std::string_view> kept;
  for (const std::string_view part : split(whole, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") kept.push_back(part);
    else if (!kept.empty()) kept.pop_back();
  }
  std::string out;
  for (const std::string_view part : kept) out.append("/").append(part);
  return out.empty() ? "/" : out;
}

}  // namespace baton::hooks
