// SPDX-License-Identifier: Apache-2.0
// The parts of `bench engine` that need a node: calls that are recorded before they begin, and decisions over HTTP beside Cerbos.
#pragma once

#include <vector>

#include "report.h"

namespace baton::bench {

// Calls a second, each proposed and begun in one commit and settled in another, on SQLite.
void measure_durable(std::vector<Row>& rows);
// Reads a second, begun and settled over the fast lane, and all of them recorded when the clock stops.
void measure_fast_lane(std::vector<Row>& rows);
// Requests a second.
void measure_http_decisions(std::vector<Row>& rows);

}  // namespace baton::bench
