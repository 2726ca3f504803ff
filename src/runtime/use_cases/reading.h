// SPDX-License-Identifier: Apache-2.0
// Who reads, and what it is told of what it may not read: the shell around work/reading.h. And which roles a caller may take.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "runtime/use_cases.h"
#include "runtime/use_cases/engine.h"
#include "store/store.h"

namespace baton::runtime {

// The roles that a caller may take; nothing: any.
std::optional<std::vector<std::string>> roles_of(const Caller& caller, const work::Policy& policy);
// ACCESS_ROLE, unless it is one of them. `roles` may not be empty.
std::optional<Diagnostic> check_role(std::string_view role, const std::vector<std::string>& roles);

// The session that a caller is an agent of, by its token or by its processes; empty: none.
const std::string& session_of(const Caller& caller);

Result<ReadingAs> reading_as(store::Reader& reader, const work::Policy& policy, const Caller& caller, bool can_gain);

// The labels of a session and of its item, of an item, of all sessions of a workflow; sorted. None where there is no such thing.
Result<std::vector<std::string>> labels_of_session(store::Reader& reader, const std::string& session_id);
Result<std::vector<std::string>> labels_of_item(store::Reader& reader, const std::string& work_id);
Result<std::vector<std::string>> labels_of_workflow(store::Reader& reader, const std::string& workflow_id);

// What a session reads, `read` (a stream's name; empty: what it was given), leaves its labels with it, and with the item that it
// holds (null: none). False: nobody is there to have them, or there would be too many.
Result<bool> gain_labels_in(Act& act, const work::Session& session, work::Item* item,
                            const std::vector<std::string>& labels, std::string_view read);

// READ_LABELLED: why something is not shown. `what` as in "the section `plan`".
Diagnostic withheld_because(std::string_view what, const work::ReadDecision& decision);
// The same as a member `withheld` of what is shown in its place: {code, labels[], problem, help}.
json::Value shown_withheld(const Diagnostic& why, const std::vector<std::string>& labels);

}  // namespace baton::runtime
