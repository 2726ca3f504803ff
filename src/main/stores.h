// SPDX-License-Identifier: Apache-2.0
// The stores there are: the only place that names the backends.
#pragma once

#include "base/clock.h"
#include "cli/stores.h"

namespace baton::main {

class RealStores final : public cli::Stores {
 public:
  explicit RealStores(Clock& clock) : clock_(clock) {}
  Result<std::unique_ptr<store::Store>> open(const std::string& location, Access access) override;
  std::unique_ptr<store::Store> in_memory() override;

 private:
  Clock& clock_;
};

}  // namespace baton::main
