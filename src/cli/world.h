// SPDX-License-Identifier: Apache-2.0
// What a command is given of the outside: clock, randomness, its three streams. main/ makes the real one.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"

namespace baton::cli {

// What an exit status means, in every command.
enum Status : int {
  kYes = 0,       // it holds; it was done
  kNo = 1,        // it does not hold
  kCouldNot = 2,  // it could not be told: unreadable, not understood, wrong use
};

class World {
 public:
  World(Clock& clock, Random& random, int in, int out, int err, bool colour, bool colour_errors)
      : clock(clock), random(random), in_(in), out_(out), err_(err), colour(colour), colour_errors(colour_errors) {}

  Clock& clock;
  Random& random;

  // Buffered; flush() says whether everything arrived.
  void print(std::string_view text);
  bool flush();
  // At once.
  void print_error(std::string_view text);
  int in() const { return in_; }

 private:
  int in_, out_, err_;
  std::string buffer_;
  bool broken_ = false;

 public:
  bool colour;         // standard output is a terminal that shows colour
  bool colour_errors;  // the same of standard error
};

}  // namespace baton::cli
