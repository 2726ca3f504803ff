// SPDX-License-Identifier: Apache-2.0
#include "runtime/data_source.h"

#include <mutex>
#include <unordered_map>

#include "base/sha256.h"
#include "base/text.h"
#include "wording/data.h"

namespace baton::runtime {
namespace {

using json::Value;

// A section is given with every claim and changes seldom: what was found in it is remembered by its bytes.
class Found {
 public:
  Value in(const ContextSection& section) {
    constexpr std::size_t kKnownMax = 512;
    const std::string key = sha256_hex(section.section + "\n" + json::write(section.value));
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = known_.find(key); known != known_.end()) return known->second;
    }
    Value found = wording::suspicious_in(section.value, "value");
    if (Value name = wording::suspicious_in(Value(section.section), "section"); !name.elements().empty())
      for (Value& one : name.elements()) found.push(std::move(one));
    const std::lock_guard lock(mutex_);
    if (known_.size() >= kKnownMax) known_.clear();
    known_.insert_or_assign(key, found);
    return found;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, Value> known_;
};

Found& found() {
  static Found all;
  return all;
}

}  // namespace

Value source_of(const ContextSection& section) {
  Value out = Value::object();
  out.set("author", section.author);
  out.set("labels", texts_value(section.labels));
  out.set("version", section.version);
  out.set("changed_at", format_time(section.changed_at));
  out.set("session_id", section.session_id);
  out.set("work_id", section.work_id);
  if (Value suspicious = found().in(section); !suspicious.elements().empty())
    out.set("suspicious", std::move(suspicious));
  return out;
}

void GivenContext::add(ContextSection section) {
  sources.set(section.section, source_of(section));
  sections.set(section.section, std::move(section.value));
}

void GivenContext::set_in(Value& answer) const {
  answer.set("context", sections);
  answer.set("context_sources", sources);
  answer.set("data_notice", wording::kDataNotice);
}

void flag_item(Value& shown) {
  Value texts = Value::object();
  for (const char* const name :
       {"title", "text", "question", "answer", "blocked_because", "pr_url", "evidence_bundle_ref"})
    if (const Value* const there = shown.find(name)) texts.set(name, *there);
  wording::flag(shown, texts, "work");
  if (shown.find("question") != nullptr || shown.find("blocked_because") != nullptr)
    shown.set("data_notice", wording::kDataNotice);
}

}  // namespace baton::runtime
