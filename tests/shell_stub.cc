// SPDX-License-Identifier: Apache-2.0
// A program that only says that it was run: it adds its name to the file named by STUB_LOG. Called `no` it fails, under any other name
// it succeeds; when the file has grown long it does either, so that every loop ends.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

int main(int, char** argv) {
  const char* slash = std::strrchr(argv[0], '/');
  const char* name = slash != nullptr ? slash + 1 : argv[0];
  const char* log = std::getenv("STUB_LOG");
  if (log == nullptr) return 3;
  const int file = ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return 3;
  char line[256] = {};
  std::strncpy(line, name, sizeof(line) - 2);
  line[std::strlen(line)] = '\n';
  struct stat status{};
  const bool is_long = ::fstat(file, &status) == 0 && status.st_size > 2000;
  if (!is_long && ::write(file, line, std::strlen(line)) < 0) return 3;
  if (is_long) return ::getpid() % 2;
  return std::strcmp(name, "no") == 0 ? 1 : 0;
}
