// SPDX-License-Identifier: Apache-2.0
#include "mcp/revision.h"

#include <array>

namespace baton::mcp {
namespace {

// Name, era; has it batches, structured content, elicitation, tasks?
constexpr std::array<Revision, 5> kRevisions = {{
    {"2024-11-05", Era::Legacy, false, false, false, false},
    {"2025-03-26", Era::Legacy, true, false, false, false},
    {"2025-06-18", Era::Legacy, false, true, true, false},
    {"2025-11-25", Era::Legacy, false, true, true, true},
    {"2026-07-28", Era::Modern, false, true, true, true},
}};

}  // namespace

std::span<const Revision> revisions() { return kRevisions; }

const Revision* find_revision(std::string_view name) {
  for (const Revision& one : kRevisions)
    if (one.name == name) return &one;
  return nullptr;
}

// Names are dates.
const Revision& older(const Revision& left, const Revision& right) { return left.name < right.name ? left : right; }

int http_status_of(int error_code) {
  switch (error_code) {
    case 0: return 200;
    case kMethodNotFound: return 404;
    case kParseError:
    case kInvalidRequest:
    case kInvalidParams:
    case kHeaderMismatch:
    case kMissingCapability:
    case kUnsupportedVersion: return 400;
    default: return 200;
  }
}

}  // namespace baton::mcp
