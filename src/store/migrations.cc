// SPDX-License-Identifier: Apache-2.0
#include "store/migrations.h"

#include <array>

#include "base/check.h"

namespace baton::store {
namespace {

constexpr std::string_view kFirst[] = {
    "CREATE TABLE entries (sequence {integer} NOT NULL PRIMARY KEY, stream {text} NOT NULL, type {text} NOT NULL, "
    "actor_id {text} NOT NULL, actor_kind {text} NOT NULL, time {integer} NOT NULL, previous {bytes} NOT NULL, "
    "hash {bytes} NOT NULL, payload {text} NOT NULL){strict}",  // payload last: a hash is read without it
    "CREATE TABLE tree (level {integer} NOT NULL, position {integer} NOT NULL, hash {bytes} NOT NULL, "
    "streams {bytes} NOT NULL, PRIMARY KEY (level, position)){strict}{keyed}",
    "CREATE TABLE seals (size {integer} NOT NULL PRIMARY KEY, note {text} NOT NULL){strict}",
    "CREATE TABLE head (one {integer} NOT NULL PRIMARY KEY, size {integer} NOT NULL, hash {bytes} NOT NULL, "
    "time {integer} NOT NULL, peaks {bytes} NOT NULL, open_streams {bytes} NOT NULL){strict}",
    "CREATE TABLE ledger_keys (key_id {text} NOT NULL PRIMARY KEY, key {text} NOT NULL, state {text} NOT "
    "NULL){strict}{keyed}",
    "CREATE TABLE ledger_witnesses (witness {text} NOT NULL PRIMARY KEY){strict}{keyed}",
    "CREATE TABLE ledger_erasures (sha256 {text} NOT NULL PRIMARY KEY, reason {text} NOT NULL){strict}{keyed}",
    "CREATE TABLE blobs (sha256 {text} NOT NULL PRIMARY KEY, bytes {bytes}, key {bytes}){strict}",
};

// Rows that hold JSON are not `keyed`: they would fill the inner pages of the key's tree. The columns of the key stand in
// each index, because that is the order rows are asked for in.
constexpr std::string_view kWork[] = {
    "CREATE TABLE work_items (work_id {text} NOT NULL PRIMARY KEY, queue {text} NOT NULL, rank {integer} NOT NULL, "
    "deadline {integer} NOT NULL, pull_request {text} NOT NULL, phase {text} NOT NULL, item {text} NOT NULL){strict}",
    "CREATE INDEX work_items_by_queue ON work_items (queue, rank, work_id)",
    "CREATE INDEX work_items_by_deadline ON work_items (deadline, work_id)",
    "CREATE INDEX work_items_by_pull_request ON work_items (pull_request, work_id)",
    "CREATE INDEX work_items_by_phase ON work_items (phase, work_id)",
    "CREATE TABLE sessions (session_id {text} NOT NULL PRIMARY KEY, work_id {text} NOT NULL, state {text} NOT NULL, "
    "session {text} NOT NULL){strict}",
    "CREATE INDEX sessions_by_work ON sessions (work_id, session_id)",
    "CREATE TABLE work_dependencies (depends_on {text} NOT NULL, work_id {text} NOT NULL, PRIMARY KEY (depends_on, "
    "work_id)){strict}{keyed}",
    "CREATE TABLE counters (name {text} NOT NULL PRIMARY KEY, value {integer} NOT NULL){strict}{keyed}",
    "CREATE TABLE tokens (token_id {text} NOT NULL PRIMARY KEY, token {text} NOT NULL){strict}",
    "CREATE TABLE answers (key {text} NOT NULL, actor_id {text} NOT NULL, expires_at {integer} NOT NULL, "
    "request_sha256 {text} NOT NULL, answer {text} NOT NULL, PRIMARY KEY (key, actor_id)){strict}",
    "CREATE INDEX answers_by_expiry ON answers (expires_at, key, actor_id)",
    "CREATE TABLE deliveries (delivery_id {text} NOT NULL PRIMARY KEY, received_at {integer} NOT NULL){strict}{keyed}",
    "CREATE INDEX deliveries_by_time ON deliveries (received_at, delivery_id)",
    "CREATE TABLE supervised_processes (boot_id {text} NOT NULL, pid {integer} NOT NULL, started {integer} NOT NULL, "
    "session_id {text} NOT NULL, PRIMARY KEY (boot_id, pid, started)){strict}{keyed}",
    "CREATE TABLE context_sections (section {text} NOT NULL PRIMARY KEY, version {integer} NOT NULL, content {text} "
    "NOT "
    "NULL){strict}",
    "CREATE TABLE uaix_messages (message_id {text} NOT NULL, source_id {text} NOT NULL, idempotency_key {text} NOT "
    "NULL, "
    "digest {text} NOT NULL, work_id {text} NOT NULL, expires_at {integer} NOT NULL, PRIMARY KEY (message_id, "
    "source_id)){strict}{keyed}",
    "CREATE INDEX uaix_messages_by_key ON uaix_messages (source_id, idempotency_key, message_id)",
    "CREATE INDEX uaix_messages_by_expiry ON uaix_messages (expires_at, message_id, source_id)",
    "CREATE TABLE webhook_cursors (target {text} NOT NULL PRIMARY KEY, sequence {integer} NOT NULL, owner {text} NOT "
    "NULL, owned_until {integer} NOT NULL, failures {integer} NOT NULL, next_at {integer} NOT NULL){strict}{keyed}",
};

constexpr std::string_view kSessions[] = {
    "CREATE TABLE pack_parts (pack {text} NOT NULL, part {integer} NOT NULL, text {text} NOT NULL, PRIMARY KEY (pack, "
    "part)){strict}",
    "CREATE TABLE pack_roles (role {text} NOT NULL PRIMARY KEY, pack {text} NOT NULL, content {text} NOT NULL){strict}",
    "CREATE TABLE session_states (session_id {text} NOT NULL PRIMARY KEY, standing {text} NOT NULL, pack {text} NOT "
    "NULL, "
    "deadline {integer} NOT NULL, content {text} NOT NULL){strict}",
    "CREATE INDEX session_states_by_standing ON session_states (standing, session_id)",
    "CREATE INDEX session_states_by_deadline ON session_states (deadline, session_id)",
    "CREATE TABLE approvals (approval_id {text} NOT NULL PRIMARY KEY, state {text} NOT NULL, deadline {integer} NOT "
    "NULL, "
    "session_id {text} NOT NULL, content {text} NOT NULL){strict}",
    "CREATE INDEX approvals_by_state ON approvals (state, approval_id)",
    "CREATE INDEX approvals_by_deadline ON approvals (deadline, approval_id)",
    "CREATE INDEX approvals_by_session ON approvals (session_id, approval_id)",
};

constexpr std::string_view kWorkflows[] = {
    "CREATE TABLE workflows (workflow_id {text} NOT NULL PRIMARY KEY, standing {text} NOT NULL, content {text} NOT "
    "NULL){strict}",
    "CREATE TABLE workflow_members (session_id {text} NOT NULL PRIMARY KEY, workflow_id {text} NOT NULL, parent {text} "
    "NOT NULL, content {text} NOT NULL){strict}",
    "CREATE INDEX workflow_members_by_workflow ON workflow_members (workflow_id, session_id)",
    "CREATE INDEX workflow_members_by_parent ON workflow_members (parent, session_id)",
    "CREATE TABLE workflow_handoffs (handoff_id {text} NOT NULL PRIMARY KEY, workflow_id {text} NOT NULL, from_session "
    "{text} NOT NULL, stage {text} NOT NULL, to_role {text} NOT NULL, deadline {integer} NOT NULL, content {text} NOT "
    "NULL){strict}",
    "CREATE INDEX workflow_handoffs_by_workflow ON workflow_handoffs (workflow_id, handoff_id)",
    "CREATE INDEX workflow_handoffs_by_from ON workflow_handoffs (from_session, handoff_id)",
    "CREATE INDEX workflow_handoffs_by_stage ON workflow_handoffs (stage, to_role, handoff_id)",
    "CREATE INDEX workflow_handoffs_by_deadline ON workflow_handoffs (deadline, handoff_id)",
    "CREATE TABLE workflow_holds (workflow_id {text} NOT NULL, resource {integer} NOT NULL, value {text} NOT NULL, "
    "owner {text} NOT NULL, content {text} NOT NULL, PRIMARY KEY (workflow_id, resource, value)){strict}",
    "CREATE INDEX workflow_holds_by_owner ON workflow_holds (owner, workflow_id, resource, value)",
};

constexpr std::array kMigrations = {
    Migration{1, "the ledger and its tables", kFirst},
    Migration{2, "work, sessions, tokens and context", kWork},
    Migration{3, "packs, governed sessions and approvals", kSessions},
    Migration{4, "workflows, their handoffs and what they share", kWorkflows},
};

}  // namespace

std::span<const Migration> migrations() { return kMigrations; }

int schema_version() { return kMigrations.back().number; }

std::string in_words(std::string_view statement, const SqlWords& words) {
  std::string out;
  while (true) {
    const std::size_t open = statement.find('{');
    out += statement.substr(0, open);
    if (open == std::string_view::npos) return out;
    const std::size_t close = statement.find('}', open);
    CHECK(close != std::string_view::npos);
    const std::string_view word = statement.substr(open + 1, close - open - 1);
    if (word == "integer") {
      out += words.integer;
    } else if (word == "text") {
      out += words.text;
    } else if (word == "bytes") {
      out += words.bytes;
    } else if (word == "strict") {
      out += words.strict;
    } else {
      CHECK(word == "keyed");
      out += words.keyed;
    }
    statement.remove_prefix(close + 1);
  }
}

}  // namespace baton::store
