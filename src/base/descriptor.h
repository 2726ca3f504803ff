// SPDX-License-Identifier: Apache-2.0
// A file descriptor that is closed when it goes, and writing all of a text to one.
#pragma once

#include <string_view>
#include <utility>

namespace baton {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = other.release();
    }
    return *this;
  }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }
  void reset();

 private:
  int number_ = -1;
};

// Goes on after an interruption and after a part. False, and errno says why, when not all of it could be written.
bool write_all(int descriptor, std::string_view bytes);

}  // namespace baton
