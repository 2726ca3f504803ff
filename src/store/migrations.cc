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

constexpr std::array kMigrations = {
    Migration{1, "the ledger and its tables", kFirst},
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
