// SPDX-License-Identifier: Apache-2.0
// What is in a file, by its digest: an approval is bound to it.
#pragma once

#include <string>

namespace baton::main {

// SHA-256 in hexadecimal digits; else "absent", "folder", "unreadable" (also what is no plain file), "too large" (over 8 MiB).
std::string digest_of_file(const std::string& path);

}  // namespace baton::main
