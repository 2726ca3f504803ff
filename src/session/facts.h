// SPDX-License-Identifier: Apache-2.0
// What the rules of a session remember of a value: its exact canonical JSON. Two values are equal when their facts are, whatever
// the order of their members and the spelling of their numbers.
//
// A value of more than a KiB is remembered by its hash; a number is remembered as it is, however long.
//
// State and ledger must never hold a secret. Whoever keeps facts gives a Hiding: what it recognises is kept as a keyed hash, which
// can be compared for equality and for nothing else. Rules that remember values only ever compare them, or add up numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/plan.h"
#include "json/decimal.h"
#include "json/document.h"

namespace baton::session {

using Fact = std::string;  // empty: there is no such value

class Hiding {
 public:
  virtual ~Hiding() = default;
  // What is kept of a value; nothing when it may be kept as it is. `name`: what it is called where it stands.
  virtual std::optional<std::string> hidden(json::Node value, std::string_view name) const = 0;
  // What is kept of a text that is a secret whatever it looks like.
  virtual std::string keyed(std::string_view text) const = 0;
};

// `hiding` may be null: then nothing is.
Fact fact_of(json::Node value, const contract::PathAt& at, const Hiding* hiding);

inline bool is_there(const Fact& fact) { return !fact.empty(); }
inline bool is_null(const Fact& fact) { return fact == "null"; }
inline bool is_number(const Fact& fact) {
  return !fact.empty() && (fact[0] == '-' || (fact[0] >= '0' && fact[0] <= '9'));
}
// Is it a hash, in the place of a secret or of something long? Then it can be compared for equality only.
bool is_hidden(const Fact& fact);
// A string, a number or a boolean; of a hidden one it is taken to be.
bool is_scalar(const Fact& fact);
// Can it name an entity: one value, of this type of a JSON Schema?
bool is_entity(const Fact& fact, std::string_view type);
// Nothing when it is no number, or one of too many digits to be added up (limits::kNumberDigitsMax).
std::optional<json::Decimal> number_of(const Fact& fact);

// A call's arguments, or an output: a document, or what an entry recorded of one ({path: value}, for the paths that the
// contract looks at). Paths into the arguments of a call may be old names of facts (contract/facts.h).
class Values {
 public:
  Values() = default;
  static Values of_document(json::Node root) { return Values(root, false); }
  static Values of_call(json::Node arguments);
  // The result of a tool that is text: an object with that text as its member `text`. `$` is the text, as `$.text` is.
  static Values of_text_result(json::Node root) {
    Values out(root, false);
    out.is_text_ = true;
    return out;
  }
  static Values of_record(json::Node values) { return Values(values, true); }
  // The same, with the document as far as it was recorded, for paths that nobody looked at then.
  static Values of_record(json::Node values, json::Node document) {
    Values out(values, true);
    out.document_ = document;
    return out;
  }

  json::Node at(const contract::PathAt& path) const;
  // Was this value recorded as a hash? Then it can be compared for equality only.
  bool is_hidden(json::Node value) const;
  bool is_record() const { return record_; }
  // Does the path read what Baton derived, rather than what the caller chose?
  bool names_fact(const contract::PathAt& path) const;
  json::Node root() const { return root_; }

 private:
  Values(json::Node root, bool record) : root_(root), record_(record) {}
  json::Node root_ = {}, document_ = {}, facts_ = {};
  bool record_ = false, is_text_ = false;
};

}  // namespace baton::session
