// SPDX-License-Identifier: Apache-2.0
// What UseCases keeps to itself.
#pragma once

#include "runtime/use_cases.h"
#include "runtime/use_cases/engine.h"

namespace baton::runtime {

struct UseCases::Inside : Engine {
  using Engine::Engine;
};

}  // namespace baton::runtime
