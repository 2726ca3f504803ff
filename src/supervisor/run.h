// SPDX-License-Identifier: Apache-2.0
// One item of `baton run`, carried out: Life (supervisor/life.h) says what is to be done, and here it is, with a process, a node and a screen.
//
// Begins when the item is claimed: the session is held to its pack, the agent's files are written, and the agent is started behind its gate
// until the node knows its process. Ends with one call of `done`, from the loop, after which the Run may be destroyed. A Run that is
// destroyed before ends its agent at once and tells the node nothing.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/random.h"
#include "json/document.h"
#include "net/async_client.h"
#include "supervisor/options.h"
#include "supervisor/screen.h"
#include "supervisor/words.h"

namespace baton::supervisor {

// What all items of the process have in common; outlives them.
struct Shared {
  boost::asio::io_context& context;
  Clock& clock;
  Random& random;
  const Options& options;
  net::AsyncPlace& node;
  Screen& screen;
  std::string temporary_folder;  // where the run's own folder is made
  std::size_t columns = 80;
};

class Run {
 public:
  // `claim`: what the node answered to it.
  Run(Shared& shared, json::Document claim, std::function<void(Outcome)> done);
  ~Run();
  Run(const Run&) = delete;

  void begin();
  // Said again: without grace.
  void stop();

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace baton::supervisor
