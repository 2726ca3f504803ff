// SPDX-License-Identifier: Apache-2.0
#include "http_api/api.h"

#include "http_api/asked.h"

namespace baton::http_api {

struct Api::Inside {
  std::shared_ptr<Workings> workings;
};

Api::Api(Surroundings surroundings)
    : inside_(std::make_unique<Inside>(Inside{std::make_shared<Workings>(std::move(surroundings))})) {}

Api::~Api() { inside_->workings->end(); }

void Api::handle(std::shared_ptr<net::Exchange> exchange) {
  const auto asked = std::make_shared<Asked>(inside_->workings, std::move(exchange));
  const auto faults = asked->understand();
  if (!faults.empty()) return asked->refuse(faults);
  asked->route().handler(asked);
}

std::size_t Api::busy() const {
  return inside_->workings->being_answered.load(std::memory_order_relaxed) + inside_->workings->events->open();
}

void Api::close_streams() { inside_->workings->events->close_streams(); }

}  // namespace baton::http_api
