// SPDX-License-Identifier: Apache-2.0
// Paths as contracts see them: absolute and normalised by their text alone. Nobody looks at a disk here, so `a/../b` is `b` also
// where `a` is a symbolic link; what must hold for the file itself is the sandbox's to hold.
#pragma once

#include <string>
#include <string_view>

namespace baton::hooks {

// `path`, seen from `cwd`, without `.`, `..` and doubled slashes. What cannot be known stays as it is, so that no rule for
// absolute paths takes it for one: `~/x` (the client would put somebody's home there), and a relative path when `cwd` is
// not absolute.
std::string absolute_path(std::string_view path, std::string_view cwd);

}  // namespace baton::hooks
