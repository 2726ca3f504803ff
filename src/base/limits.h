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

// --- the ledger -----------------------------------------------------------------------------------------------------

// The canonical payload of one entry. Whatever is larger belongs beside the ledger, by its hash: an entry is read by
// everyone who verifies.
constexpr std::size_t kLedgerPayloadBytesMax = 64u << 10;
// A string in a payload above this goes into a blob by itself.
constexpr std::size_t kLedgerInlineBytesMax = 8u << 10;
constexpr std::size_t kLedgerBlobBytesMax = 16u << 20;  // held in memory while it is redacted, hashed and written
constexpr std::size_t kLedgerNameBytesMax = 256;        // a stream, a type, an actor's id: names, not content
constexpr std::size_t kLedgerPayloadDepthMax = 64;

// A signed note: a checkpoint and some dozens of witnesses' signatures, post-quantum ones of 5 kB among them.
constexpr std::size_t kNoteBytesMax = 256u << 10;
constexpr std::size_t kNoteSignaturesMax = 100;     // what Go's note package takes; the format asks for at least 16
constexpr std::size_t kKeyFileBytesMax = 4u << 10;  // a name and 32 bytes in base64
constexpr std::size_t kReceiptBytesMax = 1u << 20;  // an entry, 64 hashes and a note, with room for a pretty layout
constexpr std::size_t kExportLineBytesMax = 512u << 10;  // a note in JSON, where a character takes up to two

// Use cases that wait for the writer. At some ten thousand a second this is a tenth of a second of waiting; whoever comes
// beyond it is told to come again rather than kept longer.
constexpr std::size_t kWriterQueueMax = 1024;
// Use cases of one commit. Beyond some hundreds a larger batch gains little and makes everyone in it wait.
constexpr std::size_t kWriterBatchMax = 256;
// How often a use case that lost against another node's is run again.
constexpr int kWriterRetriesMax = 8;
// A difference between what the wall clock and the steady clock say has passed is a jump from here on; less is the
// ordinary correction of a clock.
constexpr std::int64_t kClockJumpNanoseconds = 5'000'000'000;
// And what two clocks may drift apart beside that: a part in so many of the time that passed (200 ppm).
constexpr std::int64_t kClockDriftDivisor = 5'000;

constexpr std::size_t kWitnessNoteBytesMax = 64u << 10;  // a checkpoint has some hundred bytes; cosignatures add lines

// --- the command line -----------------------------------------------------------------------------------------------

// One document read whole by a command. Above what every format allows, so that the format's own limit is what is
// reported, and far below what a machine can hold.
constexpr std::size_t kCliDocumentBytesMax = 64u << 20;
// One line of a --batch run: a document and its options.
constexpr std::size_t kCliBatchLineBytesMax = 16u << 20;

}  // namespace baton::limits
