// SPDX-License-Identifier: Apache-2.0
// What an operator does to the ledger itself: notes, keys, witnesses, blobs.
#include <algorithm>

#include "base/limits.h"
#include "base/sha256.h"
#include "base/text.h"
#include "http_api/handlers.h"
#include "runtime/notes.h"
#include "store/tables.h"

namespace baton::http_api::handlers {
namespace {

// Only operators come this far.
ledger::Actor actor_of(const Asked& asked) { return {asked.caller.actor.id, ledger::ActorKind::Operator}; }

// Does what waits for the commit and for files on a thread that may, and answers with the entry.
void record(const AskedPtr& asked, std::function<Result<runtime::Acknowledgement>(Asked&, runtime::Ledger&)> act) {
  read_then(asked, [act = std::move(act)](const AskedPtr& by) {
    const auto done = act(*by, by->workings().around.ledger);
    if (!done) return by->fail(done.error());
    runtime::Answer answer;
    answer.entry = done->entries.back();
    by->settle(answer);
  });
}

}  // namespace

void append_notes(const AskedPtr& asked) {
  const std::string stream = asked->query.text("stream"), type = asked->query.text("type");
  if (stream.empty())
    return asked->refuse({report(Code::REQUEST_QUERY, {}, {{"name", "stream"}, {"problem", "is missing"}})});
  auto notes = runtime::read_notes(asked->request().body);
  if (!notes) return asked->fail(notes.error());
  runtime::Mutation by = asked->mutation();
  // Where they go is part of what is asked for.
  if (!by.request_sha256.empty()) by.request_sha256 = sha256_hex(by.request_sha256 + "\n" + asked->request().query);
  asked->workings().around.cases.note(by, stream, type.empty() ? "note" : type, std::move(*notes), settle(asked));
}

void rotate_key(const AskedPtr& asked) {
  record(asked, [](Asked& by, runtime::Ledger& ledger) { return ledger.rotate_key(actor_of(by)); });
}

void admit_key(const AskedPtr& asked) {
  record(asked, [](Asked& by, runtime::Ledger& ledger) {
    json::Value request = json::Value::object();
    request.set("key", by.body.text("key"));
    request.set("signature", by.body.text("signature"));
    return ledger.admit_key(actor_of(by), json::write(request));
  });
}

void retire_key(const AskedPtr& asked) {
  record(asked, [](Asked& by, runtime::Ledger& ledger) { return ledger.retire_key(actor_of(by), by.id); });
}

void add_witness(const AskedPtr& asked) {
  record(asked,
         [](Asked& by, runtime::Ledger& ledger) { return ledger.add_witness(actor_of(by), by.body.text("witness")); });
}

void remove_witness(const AskedPtr& asked) {
  record(asked, [](Asked& by, runtime::Ledger& ledger) {
    return ledger.remove_witness(actor_of(by), by.body.text("witness"));
  });
}

void accept_restore(const AskedPtr& asked) {
  record(asked,
         [](Asked& by, runtime::Ledger& ledger) { return ledger.accept_restore(actor_of(by), by.body.text("note")); });
}

void erase_blob(const AskedPtr& asked) {
  read_then(asked, [](const AskedPtr& by) {
    const auto reader = by->workings().around.store.reader();
    if (!reader) return by->fail(reader.error());
    const bool is_hash = by->id.size() == 64 && std::ranges::all_of(by->id, is_lower_hex);
    const auto row = is_hash ? (*reader)->get(store::tables::kBlobs, {by->id}) : std::optional<store::Row>();
    if (!row) return by->fail(row.error());
    if (!*row)
      return by->refuse({report(Code::REQUEST_NOT_FOUND, {}, {{"what", "blob"}, {"name", printable(by->id, 80)}})});
    record(by, [](Asked& a, runtime::Ledger& ledger) {
      return ledger.erase_blob(actor_of(a), a.id, a.body.text("reason"));
    });
  });
}

}  // namespace baton::http_api::handlers
