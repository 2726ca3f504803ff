// SPDX-License-Identifier: Apache-2.0
// A folder for one test, gone with all that is in it when the test ends.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/check.h"

namespace baton {

class TemporaryFolder {
 public:
  enum class Place {
    Disk,
    Memory,  // where there is such a file system: for tests that sync often and do not mean it
  };

  explicit TemporaryFolder(Place place = Place::Disk) {
    const std::filesystem::path memory = "/dev/shm";
    const bool in_memory = place == Place::Memory && ::access(memory.c_str(), W_OK) == 0;
    std::string name = ((in_memory ? memory : std::filesystem::temp_directory_path()) / "baton-test-XXXXXX").string();
    CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace baton
