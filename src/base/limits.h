// SPDX-License-Identifier: Apache-2.0
// Every limit on what comes from outside, in one place, each with its reason. A limit that a published format states
// says so; the others are ours.
#pragma once

#include <cstddef>
#include <cstdint>

namespace baton::limits {

// --- JSON -----------------------------------------------------------------------------------------------------------

// Any document: node places are 32-bit offsets, and nothing Baton reads whole is larger than this.
constexpr std::size_t kJsonBytesMax = 64u << 20;
// Any document whose format names no depth. Deep enough for what people write, shallow enough that recursion over a tree
// stays far from the end of a stack.
constexpr std::size_t kJsonDepthMax = 512;
// Members of one object or elements of one array; bounds the table that looks for duplicate keys.
constexpr std::size_t kJsonMembersMax = 1u << 20;

// How deep JSON that is only followed, not kept, may nest: one byte is remembered for each level.
constexpr std::size_t kJsonTrackedDepthMax = 65'536;

// --- diagnostics ----------------------------------------------------------------------------------------------------

// Findings of one document that are reported. Whoever has more of them mends these first; and finding the place of each
// takes a walk, so that a small document made of nothing but faults would cost seconds.
constexpr std::size_t kDiagnosticsMax = 256;

// --- agent-exit -----------------------------------------------------------------------------------------------------

constexpr std::size_t kExitSignalBytesMax = 65'536;  // stated by the format; also the largest candidate a scan keeps
constexpr std::size_t kExitVersionBytesMax = 64;     // stated
constexpr std::size_t kExitPrUrlBytesMax = 2'048;    // stated
constexpr std::size_t kExitEvidenceRefBytesMax = 2'048;  // stated
constexpr std::size_t kExitNotesBytesMax = 10'240;       // stated

// --- agent-contract -------------------------------------------------------------------------------------------------

constexpr std::size_t kContractBytesMax = 256u << 10;  // stated
constexpr std::size_t kContractDepthMax = 64;          // stated

// --- uaix -----------------------------------------------------------------------------------------------------------

constexpr std::size_t kUaixBytesMax = 256u << 10;        // stated
constexpr std::size_t kUaixDepthMax = 32;                // stated
constexpr std::size_t kUaixListItemsMax = 100;           // stated for the optional lists of a handoff body
constexpr std::int64_t kUaixIssuedLeadSecondsMax = 300;  // stated: clocks of two machines may differ by this much
constexpr std::int64_t kUaixSafeInteger = 9'007'199'254'740'992;  // 2^53: beyond it a double loses digits

// --- handoff-spec ---------------------------------------------------------------------------------------------------

constexpr std::size_t kSpecBytesMax = 65'536;               // stated
constexpr std::size_t kSpecDepthMax = 64;                   // an IAM policy nests about six deep
constexpr std::size_t kSpecToolsMax = 64;                   // stated
constexpr std::size_t kSpecApprovalCharactersMax = 256;     // stated
constexpr std::size_t kSpecAwsPolicyCharactersMax = 2'048;  // stated by AWS STS
constexpr std::int64_t kSpecTtlSecondsMax = 24 * 3600;      // stated
constexpr std::int64_t kSpecRuntimeGraceSeconds = 15 * 60;  // stated: provisioning takes time off the clock

// --- the command line -----------------------------------------------------------------------------------------------

// One document read whole by a command. Above what every format allows, so that the format's own limit is what is
// reported, and far below what a machine can hold.
constexpr std::size_t kCliDocumentBytesMax = 64u << 20;
// One line of a --batch run: a document and its options.
constexpr std::size_t kCliBatchLineBytesMax = 16u << 20;

}  // namespace baton::limits
