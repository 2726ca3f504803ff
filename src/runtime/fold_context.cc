// SPDX-License-Identifier: Apache-2.0
#include "runtime/fold_parts.h"
#include "runtime/work_rows.h"
#include "store/tables.h"

namespace baton::runtime {

Result<void> fold_context_updated(const Event& event, json::Node payload, store::Transaction& transaction) {
  ContextSection section;
  if (!read_text(payload, "section", section.section) || !read_number(payload, "version", section.version) ||
      !payload["value"].is_object() || !read_text(payload, "author", section.author) ||
      !read_text(payload, "session_id", section.session_id) || !read_text(payload, "work_id", section.work_id) ||
      !read_texts(payload, "labels", section.labels) || !read_time(payload, "at", section.changed_at))
    return malformed(event, "complete section");
  section.value = json::Value::copy(payload["value"]);
  return put(transaction, store::tables::kContextSections, row_of(section));
}

}  // namespace baton::runtime
