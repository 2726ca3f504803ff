// SPDX-License-Identifier: Apache-2.0
#include "http_api/api.h"

#include "http_api/asked.h"

namespace baton::http_api {

struct Api::Inside {
  std::shared_ptr<Workings> workings;
};

Api::Api(Surroundings surroundings)
    : inside_(std::make_unique<Inside>(Inside{std::make_shared<Workings>(std::move(surroundings))})) {}

namespace {

void go_on(const AskedPtr& asked) {
  const auto faults = asked->understand();
  if (!faults.empty()) return asked->refuse(faults);
  asked->route().handler(asked);
}

}  // namespace

Api::~Api() { inside_->workings->end(); }

void Api::handle(std::shared_ptr<net::Exchange> exchange) {
  const auto asked = std::make_shared<Asked>(inside_->workings, std::move(exchange));
  if (const auto faults = asked->find(); !faults.empty()) return asked->refuse(faults);
  // Who asks may be in the store alone, and this is a thread of the server's.
  if (asked->needs_store()) read_then(asked, go_on);
  else go_on(asked);
}

bool Api::admits(const net::ServerRequest& head) const {
  const Found found = find_route(head.method, head.path);
  if (found.route == nullptr || found.route->takes == Takes::Nothing) return false;
  return found.route->door == Door::Open || inside_->workings->around.access.recognises(presented_by(head));
}

std::size_t Api::busy() const {
  return inside_->workings->being_answered.load(std::memory_order_relaxed) + inside_->workings->events->open();
}

void Api::close_streams() { inside_->workings->events->close_streams(); }

}  // namespace baton::http_api
