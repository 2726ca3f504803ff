// SPDX-License-Identifier: Apache-2.0
// What a command is given of the outside: clock, randomness, stores, nodes, proxies, supervisors, environment, its three streams.
// main/ makes the real one.
#pragma once

#include <functional>
#include <optional>
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

class Nodes;        // cli/nodes.h
class Proxies;      // cli/proxies.h
class Stores;       // cli/stores.h
class Supervisors;  // cli/supervisors.h

// What kind of thing the streams lead to.
struct Streams {
  int in, out, err;
  bool colour;                // standard output is a terminal that shows colour
  bool colour_errors;         // the same of standard error
  bool errors_to_a_terminal;  // somebody watches: progress can be shown
};

class World {
 public:
  using Environment = std::function<std::optional<std::string>(const char* name)>;

  World(Clock& clock, Random& random, Stores& stores, Nodes& nodes, Proxies& proxies, Supervisors& supervisors,
        Environment environment, const Streams& streams)
      : clock(clock),
        random(random),
        stores(stores),
        nodes(nodes),
        proxies(proxies),
        supervisors(supervisors),
        environment(std::move(environment)),
        colour(streams.colour),
        colour_errors(streams.colour_errors),
        errors_to_a_terminal(streams.errors_to_a_terminal),
        in_(streams.in),
        out_(streams.out),
        err_(streams.err) {}

  Clock& clock;
  Random& random;
  Stores& stores;
  Nodes& nodes;
  Proxies& proxies;
  Supervisors& supervisors;
  const Environment environment;
  const bool colour, colour_errors, errors_to_a_terminal;

  // Buffered; flush() says whether everything arrived.
  void print(std::string_view text);
  bool flush();
  // At once.
  void print_error(std::string_view text);
  int in() const { return in_; }
  int out() const { return out_; }

 private:
  int in_, out_, err_;
  std::string buffer_;
  bool broken_ = false;
};

}  // namespace baton::cli
