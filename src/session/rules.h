// SPDX-License-Identifier: Apache-2.0
// A plan made ready for deciding: which values of a call's arguments the state has to do with, and who watches whose calls. Made
// once for a pack and shared by all its sessions.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "contract/plan.h"

namespace baton::session {

using contract::PhaseId;
using contract::Plan;
using contract::SlotId;
using contract::ToolId;

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

// A precondition on a prior tool, as its calls are seen: when one commits, what it said is judged then and there.
struct Watch {
  ToolId prior = 0, dependent = 0;
  std::uint32_t precondition = 0;
  bool by_entity = false;  // its record is kept for each value of its resource
};

struct ToolRules {
  std::vector<contract::PathAt>
      paths;  // of the arguments: what the state has to do with; a call's facts are in this order
  struct Ref {
    std::uint32_t invariant, fact;
  };
  std::vector<Ref> refs;
  struct Need {                                 // one for each precondition
    std::uint32_t watch = kNone, fact = kNone;  // kNone: it is about steps; it has no resource
  };
  std::vector<Need> needs;
  struct Told {  // a watch on this tool's calls
    std::uint32_t watch, fact;
  };
  std::vector<Told> told;
  std::vector<std::uint32_t> aggregates;  // the fact of each of the tool's aggregates, or kNone
  struct Stage {
    std::uint32_t envelope, stage, fact;  // kNone: from the output
  };
  std::vector<Stage> stages;
  struct Shared {  // a value that names a shared resource of the workflow
    std::uint32_t resource, fact;
  };
  std::vector<Shared> shared;              // by alias, which is the order of acquiring
  std::vector<std::uint32_t> forbids_per;  // the fact of each of the tool's forbids of one entity
  struct Bar {                             // such a forbid of another tool, or of its own, that is about this tool
    ToolId by;
    std::uint32_t index, fact;  // among those of the other; the fact of the own call
  };
  std::vector<Bar> bars;
  std::vector<std::uint32_t> binds;         // the fact of each bind, or kNone: from the output
  std::vector<contract::PathAt> looked_at;  // everything of the arguments that any rule of the tool looks at
  std::vector<contract::PathAt> request_paths,
      response_paths;                          // the same of what the model was asked, and of what it said
  std::vector<contract::PathAt> output_paths;  // the same of its output
  // It only reads, and no rule of the pack remembers or counts its calls by themselves: what they leave behind is a step, a call and an
  // entry of the loop's window. Such reads go on while others wait for approval.
  bool is_unremembered_read = false;
  // And no rule of the pack guards them either.
  bool is_plain_read = false;
  bool reads_facts = false;  // a rule of the tool reads what Baton derives of a call (contract/facts.h)
};

struct Rules {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const contract::WorkflowPlan> workflow;  // the one whose role the pack is; null: none
  std::vector<ToolRules> tools;                            // by ToolId
  std::vector<Watch> watches;

  const contract::Tool& tool(ToolId id) const { return plan->tools[id]; }
};

// `workflow` says what is shared.
std::shared_ptr<const Rules> make_rules(std::shared_ptr<const Plan> plan,
                                        std::shared_ptr<const contract::WorkflowPlan> workflow = nullptr);

}  // namespace baton::session
