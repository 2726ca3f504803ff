// SPDX-License-Identifier: Apache-2.0
#include "dialects/handoff_spec/spec.h"

namespace baton::handoff_spec {
namespace {

constexpr Row kRows[] = {
    {Field::work_id, "/task_slug"},
    {Field::surfaces, "/surfaces"},
    {Field::approval, "/operator_approval"},
    {Field::linked_card, "/linked_card"},
    {Field::expected_runtime, "/expected_runtime"},
    {Field::expires_at, "/ttl_expires_at"},
    {Field::ttl_hours, "/ttl_hours"},
    {Field::repo, "/repo"},
    {Field::owner, "/owner"},
    {Field::mcp_tools, "/mcp_tools"},
    {Field::aws_inline_policy, "/aws_inline_policy"},
};

}  // namespace

std::span<const Row> rows() { return kRows; }

Handoff to_handoff(json::Node root, std::string_view raw) {
  Handoff handoff = read_rows(Dialect::HandoffSpec, kRows, root, raw);
  handoff.mode = Mode::Grant;
  handoff.outcome = Outcome::Offered;
  return handoff;
}

json::Value from_handoff(const Handoff& handoff) { return write_rows(kRows, handoff); }

}  // namespace baton::handoff_spec
