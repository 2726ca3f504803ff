// SPDX-License-Identifier: Apache-2.0
// How a program of the sandbox says that it ran (stub.cc writes it, sandbox.cc reads it): one line for each, its name, then each
// argument after a mark. Control characters and backslashes are written as a backslash and two hexadecimal digits.
#pragma once

namespace baton::shell {

constexpr const char* kLog = "/.log/log";
constexpr const char* kReal = "/.real/";  // the real programs, by name
constexpr char kArgumentMark = '\x1f';
constexpr char kCutMark = '\x1e';  // the arguments were too long: the rest is missing
constexpr long kLogBytesMax = 16'000;

}  // namespace baton::shell
