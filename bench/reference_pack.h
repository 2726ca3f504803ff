// SPDX-License-Identifier: Apache-2.0
// The pack that `bench engine` decides by, and a session of it in memory: refunds of orders, in phases. `refund_order` has what a
// guarded tool has: a phase, two preconditions (this order was looked up, and its refund approved), four invariants and a regex on
// its arguments, one total over the session.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "contract/compile.h"
#include "json/parse.h"
#include "session/decide.h"
#include "session/settle.h"

namespace baton::bench {

struct PackShape {
  std::size_t tools = 10;                // at least the four that the story needs
  std::size_t aggregates = 1;            // on `refund_order`: sums
  std::size_t aggregates_elsewhere = 0;  // on tools that the measured call is none of
  bool distinct = false;                 // and `refund_order` counts its distinct orders
  bool loop = false;                     // and calls that repeat are looked for, which hashes the arguments
};
contract::PackSource pack_source(const PackShape& shape = {});

// "ord-0000042"
std::string order_id(std::size_t number);
// Arguments of `refund_order`, 1 KB of JSON. What `refused_arguments` has is wrong in every way that the pack knows.
std::string refund_arguments(std::size_t order);
std::string refused_arguments(std::size_t order);
// Of `lookup_order` and `approve_refund`.
std::string order_arguments(std::size_t order);

// A call that was read: its text and its document stay where they are.
class ReadCall {
 public:
  ReadCall(std::string_view tool, std::string arguments);
  ReadCall(const ReadCall&) = delete;
  ReadCall& operator=(const ReadCall&) = delete;

  const session::Proposal& proposal() const { return proposal_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::unique_ptr<json::Document> document_;
  session::Proposal proposal_;
};

std::shared_ptr<const session::Rules> rules_of(const PackShape& shape);

// A call through the whole of the engine: decided, taken, settled with an output that says yes. It must be allowed.
void carry_out(const session::Rules& rules, session::State& state, const session::Proposal& proposal,
               bool settles = true);
void carry_out(const session::Rules& rules, session::State& state, std::string_view tool, const std::string& arguments,
               bool settles = true);

// A session in which the orders 1 to `orders` were looked up and approved, and all but the last one refunded.
session::State session_with(const session::Rules& rules, std::size_t orders);

}  // namespace baton::bench
