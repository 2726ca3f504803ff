// SPDX-License-Identifier: Apache-2.0
// Notes of people, all or none.
#include "runtime/notes.h"

#include "base/limits.h"
#include "base/text.h"
#include "json/parse.h"
#include "runtime/use_cases/inside.h"

namespace baton::runtime {
namespace {

// {sequence, hash} of each: the first is the one with the receipt, and the others follow it without a gap.
Result<void> tell_entries(store::Reader& reader, Answer& answer) {
  json::Value* told = answer.body.find("entries");
  if (told == nullptr || !told->is_array() || !answer.entry) return {};
  const std::uint64_t first = answer.entry->sequence, count = told->elements().size();
  json::Value entries = json::Value::array();
  auto read = reader.entries(first, first + count - 1, [&](const store::EntryRow& row) {
    json::Value entry = json::Value::object();
    entry.set("sequence", row.sequence);
    entry.set("hash", hex({reinterpret_cast<const std::uint8_t*>(row.hash.data()), row.hash.size()}));
    entries.push(std::move(entry));
    return true;
  });
  *told = std::move(entries);
  return read;
}

}  // namespace

bool is_note(std::string_view type) { return type == "note" || type.starts_with("note."); }

Result<std::vector<json::Value>> read_notes(std::string_view text) {
  std::vector<json::Value> notes;
  std::size_t number = 0;
  const auto wrong = [](std::string reason) {
    Failure out{"reading notes", std::move(reason)};
    out.code = info(Code::LEDGER_DRAFT).name;
    return tl::make_unexpected(std::move(out));
  };
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (is_blank_text(line)) continue;
    const auto document = json::parse(line, {.depth_max = limits::kLedgerPayloadDepthMax});
    if (!document || !document->root().is_object())
      return wrong("line " + std::to_string(number) +
                   (document ? " is no JSON object" : ": " + std::string(document.error().what)) +
                   "; nothing was recorded");
    notes.push_back(json::Value::copy(document->root()));
  }
  if (notes.empty()) return wrong("there is no JSON object; nothing was recorded");
  return notes;
}

void UseCases::note(const Mutation& by, std::string stream, std::string type, std::vector<json::Value> notes,
                    Answered done) {
  inside_->run(
      by,
      [stream = std::move(stream), type = std::move(type), notes = std::move(notes)](Act& act) -> Result<void> {
        if (!is_note(type))
          return act.refuse(report(Code::LEDGER_DRAFT, {},
                                   {{"problem", "has a type that is neither `note` nor begins with `note.`"}})),
                 Result<void>();
        for (const json::Value& note : notes)
          if (auto appended = act.append(stream, type, note, Act::Is::Main); !appended) return appended;
        // As many as there will be: where they are is known after the commit.
        act.answer.created = true;
        act.answer.body.set("entries", json::Value::Array(notes.size()));
        act.finish_with(tell_entries);
        return {};
      },
      std::move(done), {.finish_replay = tell_entries, .adds = Engine::Adds::Work});
}

}  // namespace baton::runtime
