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

// --- YAML -----------------------------------------------------------------------------------------------------------

// Stated for contracts. Files that people write; the tree of the largest is some tens of megabytes.
constexpr std::size_t kYamlBytesMax = 1u << 20;
constexpr std::size_t kYamlDepthMax = 64;  // stated for contracts
// Digits of a number in base 8 or 16: turning them into decimal ones takes the square of the time.
constexpr std::size_t kYamlRadixDigitsMax = 64;

// --- diagnostics ----------------------------------------------------------------------------------------------------

// Findings of one document that are reported. Whoever has more of them mends these first; and finding the place of each
// takes a walk, so that a small document made of nothing but faults would cost seconds.
constexpr std::size_t kDiagnosticsMax = 256;
constexpr std::size_t kContractFindingsMax = 2'000;  // of a whole pack

// --- command lines of shells ---------------------------------------------------------------------------------------

// A longer one is opaque, as is one that nests deeper or holds more commands: nobody could judge it, and reading costs time before
// every call.
constexpr std::size_t kShellCommandBytesMax = 64u << 10;
constexpr std::size_t kShellDepthMax = 32;
constexpr std::size_t kShellCommandsMax = 1'000;
constexpr std::size_t kShellWordsMax = 100'000;       // of all commands: each launcher's words count again behind it
constexpr std::size_t kShellUsesBytesMax = 1u << 20;  // of all names in `uses`: each flag repeats its program's
constexpr std::size_t kShellFoldersMax =
    8;  // in which a command may run, as `cd` allows several; beyond it the folder is unknown
constexpr std::size_t kShellPathBytesMax = 4096;       // of one path: Linux opens no longer one
constexpr std::size_t kShellPathsBytesMax = 1u << 20;  // of all paths of a line: beyond it the rest is unknown
constexpr std::size_t kShellUsesMax = 20'000;  // written paths that are compared with links which the line makes

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

// --- the network ----------------------------------------------------------------------------------------------------
// What a server holds its clients to is in its options (net/http_server.h).

// One server-sent event that is read, and one line of it: an entry of the ledger in JSON, with room.
constexpr std::size_t kSseEventBytesMax = 1u << 20;
// The head of an answer that the client reads: what common servers send at most.
constexpr std::size_t kHttpAnswerHeadBytesMax = 64u << 10;
// What a client may send ahead while its request is being answered; beyond it the server does not read on.
constexpr std::size_t kHttpReadAheadBytesMax = 16u << 10;
// After a refusal, what the client still sends is read and dropped, so that it sees the refusal and not a reset. At
// most so much, and for a second.
constexpr std::size_t kHttpDroppedBytesMax = 4u << 20;
// How many processes are looked at on the way from one to the first.
constexpr std::size_t kProcessStepsMax = 128;

// --- work -----------------------------------------------------------------------------------------------------------

constexpr std::size_t kWorkIdBytesMax = 64;           // a branch, a folder or a label can be named after it
constexpr std::size_t kWorkTitleCharactersMax = 200;  // one line of a list
// What people and agents write about an item (its text, a question, an answer, a reason) lies in its row, which every
// claim reads: no more than what an entry holds inline.
constexpr std::size_t kWorkTextBytesMax = kLedgerInlineBytesMax;
constexpr std::size_t kWorkOutputBytesMax = 4u << 10;  // stated: the end of a silent session's output
constexpr std::size_t kWorkDependenciesMax = 64;       // an item that waits for more is a plan, not an item
constexpr std::size_t kWorkLabelsMax = 64;
constexpr std::size_t kWorkLabelBytesMax = 64;
constexpr std::size_t kWorkNameBytesMax = 256;  // a check of CI, a delivery, whom an item is offered to

// --- use cases ------------------------------------------------------------------------------------------------------

// An answer that is kept for its idempotency key: an entry holds it, with room for everything else.
constexpr std::size_t kAnswerKeptBytesMax = 16u << 10;
// A text that is sent as a handoff: a message with a block in it. The largest document has 256 KiB.
constexpr std::size_t kHandoffTextBytesMax = 1u << 20;
constexpr std::size_t kContextNameBytesMax = 128;           // of a section; a stream is named after it
constexpr std::size_t kContextSectionBytesMax = 48u << 10;  // an entry holds the whole section
constexpr std::size_t kContextUpdatesMax = 64;              // of one handoff; each reads and writes a row
constexpr std::size_t kContextAnswerBytesMax = 512u << 10;  // what a claim gives of it; the rest can be asked for
constexpr std::size_t kTokenNameBytesMax = 128;             // an actor, a scope, a name it speaks for
constexpr std::size_t kTokenListMax = 64;
constexpr std::size_t kTokenNoteBytesMax = 500;
constexpr std::size_t kForgottenMax = 1024;      // keys that one sweep forgets: an entry lists them
constexpr std::size_t kRefusalsKeptMax = 4096;   // actors and sessions whose refusals are counted apart
constexpr std::size_t kRefusalsFlushedMax = 64;  // entries about refusals that one sweep makes

// --- the node -------------------------------------------------------------------------------------------------------

// Entries that the feed reads and hands on at once: a node that fell behind catches up in steps of some megabytes.
constexpr std::size_t kFeedEntriesMax = 1024;
// Claims that waiting callers have with the writer at one time: a part of its queue, so that others get in.
constexpr std::size_t kWaitingLooksMax = 128;
constexpr std::size_t kSweepItemsMax = 256;           // items of one sweep: as much as a commit has use cases
constexpr std::size_t kWebhookSecretBytesMin = 32;    // stated
constexpr std::size_t kWebhookSecretBytesMax = 4096;  // what anybody would type or generate
// An event is at most an entry; GitHub's own are up to 25 MB, but those that tell of CI have some tens of kilobytes.
constexpr std::size_t kWebhookBytesMax = 1u << 20;  // stated
constexpr std::size_t kWebhookDepthMax = 32;        // GitHub's nest about eight deep
constexpr std::size_t kWebhookPullRequestsMax = 100;
// Entries read at once for a target, and those among them that are kept to be sent.
constexpr std::size_t kOutboxEntriesMax = 4096;
constexpr std::size_t kOutboxBatchMax = 64;
constexpr std::size_t kOutboxAnswerBytesMax = 64u << 10;  // nobody reads what a target answers beside its status
// Sessions whose actor is remembered, so that not every request of a session reads the store.
constexpr std::size_t kSessionActorsMax = 4096;

// --- sessions and their calls ----------------------------------------------------------------------------------------

constexpr std::size_t kCallArgumentsBytesMax = 1u << 20;  // a whole file that is written is far below
constexpr std::size_t kCallArgumentsDepthMax = 64;        // as of contracts
// Of a body that tells of calls: arguments and outputs are a few levels deep in it, at most three in the bodies of the MCP proxy.
constexpr std::size_t kCallBodyDepthMax = kCallArgumentsDepthMax + 8;
// Stated: of a number in a call's arguments, when it is written out. A few characters (1e999999999) can name a number that
// nobody can add up.
constexpr std::size_t kNumberDigitsMax = 10'000;
constexpr std::size_t kCallOutputBytesMax = 4u << 20;              // of a receipt: rules look at few values of it
constexpr std::size_t kStepCallsMax = 64;                          // calls of one response
constexpr std::size_t kCallIdBytesMax = 128;                       // clients' own ids of calls
constexpr std::size_t kOpenCallsMax = 256;                         // of a session: beyond it settle some first
constexpr std::int64_t kApprovalSecondsMax = 10 * 366 * 86'400LL;  // a contract that says longer waits this long
// Actors whose use is measured at one time. An actor that would need one more takes the place of the one that used least of late.
constexpr std::size_t kActorsMeasuredMax = 4096;
constexpr std::int64_t kDiskLookNanoseconds = 1'000'000'000;  // the free space is asked for at most this often
constexpr std::size_t kArtifactsMax = 64;                     // of one handoff of a workflow
constexpr std::size_t kArtifactNameBytesMax = 128;
constexpr std::size_t kArtifactBytesMax = 1u << 20;
constexpr std::size_t kWorkflowDepthMax = 10'000;      // sessions above one another: no walk up is longer
constexpr std::size_t kPrincipalBytesMax = 16u << 10;  // a document about who somebody is
constexpr std::size_t kPackSourceBytesMax = 4u << 20;  // all files of a pack that is activated
// A value that rules remember and that is longer is kept as a hash: it can be compared, and a state stays small.
constexpr std::size_t kFactBytesMax = 1024;

// --- hooks of coding agents ------------------------------------------------------------------------------------------

// One event: a call with its arguments and its output, both in the spelling of JSON.
constexpr std::size_t kHookEventBytesMax = 8u << 20;
// Subagents of a session that its row has: each is written again with every call. Those that have ended make room; more that are
// open at once than this are a runaway.
constexpr std::size_t kSubagentsMax = 64;
constexpr std::size_t kHookEventDepthMax = kCallArgumentsDepthMax + 8;  // the arguments stand a few levels deep in it
constexpr std::size_t kHookNameBytesMax = 256;                          // ids and names of clients, servers and tools
// Why a call is denied: clients cut, or put into a file, what is beyond ten thousand characters.
constexpr std::size_t kHookReasonCharactersMax = 8'000;

// --- claims of a handoff -----------------------------------------------------------------------------------------------

// How many of a block are judged: what is beyond that counts as unproven.
constexpr std::size_t kClaimsMax = 200;
// The newest calls of a session that they are held against, and what of its record is read for that: some days of work.
constexpr std::size_t kClaimCallsMax = 2'000;
constexpr std::size_t kClaimEntriesMax = 10'000;
constexpr std::size_t kClaimBytesMax = 64u << 20;
// How many of them are told as diagnostics, one each, and how much of the list stands in the entry of the handoff, which has to hold it.
constexpr std::size_t kClaimDiagnosticsMax = 20;
constexpr std::size_t kClaimsListBytesMax = 16u << 10;

// --- the HTTP API ---------------------------------------------------------------------------------------------------
// How large a request may be is the configuration's (workspace/config.h); these are about what is in it.

// Bodies are flat: an object of texts, numbers and lists.
constexpr std::size_t kRequestDepthMax = 8;
constexpr std::size_t kRequestParametersMax = 64;         // of a query; event streams name several streams and types
constexpr std::size_t kRequestListedCharactersMax = 256;  // one text of a list: a label, an id, a scope
constexpr std::size_t kRequestIdBytesMax = 256;           // an id in a path, decoded: all of them are names
constexpr std::size_t kIdempotencyKeyBytesMax = 128;      // stated by the API
constexpr std::size_t kListedItemsMax = 500;              // stated by the API: work items of one answer
// Readings that wait for a thread: beyond it the node cannot keep up, and says so.
constexpr std::size_t kReadingsQueuedMax = 4096;
// What is read of the ledger at once for one event stream that catches up: enough to be quick, little enough that
// streams take turns and that a page is far below what may wait for a client (ServerLimits::stream_backlog_bytes).
constexpr std::uint64_t kCatchUpEntriesMax = 1024;
constexpr std::size_t kCatchUpBytesMax = 256u << 10;
constexpr std::uint64_t kNodeLogBytesMax = 8u << 20;  // a node's log file, before it is put aside; one old one is kept

// --- the command line -----------------------------------------------------------------------------------------------

// One document read whole by a command. Above what every format allows, so that the format's own limit is what is
// reported, and far below what a machine can hold.
constexpr std::size_t kCliDocumentBytesMax = 64u << 20;
// One line of a --batch run: a document and its options.
constexpr std::size_t kCliBatchLineBytesMax = 16u << 20;
// A file with a token: one line, sealed or not, with room.
constexpr std::size_t kTokenFileBytesMax = 4u << 10;
constexpr std::size_t kPassphraseBytesMax = 1u << 10;  // of a line somebody types
// What a sealed token may ask for before it is opened: beyond it a damaged file would take minutes, or all memory.
constexpr std::uint64_t kSealedTokenOperationsMax = 20;
constexpr std::uint64_t kSealedTokenMemoryMax = 1u << 30;
// An answer of a node that is read whole: a page of 500 work items with long texts.
constexpr std::size_t kNodeAnswerBytesMax = 64u << 20;
// Pages of a list that are asked for one after the other: half a million items.
constexpr int kNodePagesMax = 1000;

}  // namespace baton::limits
