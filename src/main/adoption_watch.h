// SPDX-License-Identifier: Apache-2.0
// Looks whether coding agents that are wired to the node's store still are: when the node starts, once a minute, and whenever somebody asks. What has
// changed is recorded (runtime/adoptions.h). Nothing is repaired: whose files they are decides that.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "json/value.h"
#include "runtime/adoptions.h"

namespace baton::main {

class AdoptionWatch {
 public:
  using Log = std::function<void(std::string_view line)>;
  // `store`: its folder, absolute. The log outlives this.
  AdoptionWatch(std::string store, runtime::AdoptionLog& record, Log log);
  ~AdoptionWatch();

  // {"adoptions": [{id, client, project, role, pack, whole, findings, unreadable}]}; what is new about them is recorded by then. Any thread.
  Result<json::Value> look();

 private:
  void work();

  const std::string store_;
  runtime::AdoptionLog& record_;
  const Log log_;
  std::mutex looking_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace baton::main
