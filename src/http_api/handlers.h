// SPDX-License-Identifier: Apache-2.0
// What answers each route: values out of the request into a use case, and its answer back. The table (http_api/routes.cc)
// says which is for which.
#pragma once

#include "http_api/asked.h"

namespace baton::http_api::handlers {

// work_handlers.cc
void create_work(const AskedPtr& asked);
void list_work(const AskedPtr& asked);
void show_work(const AskedPtr& asked);
void claim_next(const AskedPtr& asked);
void claim_work(const AskedPtr& asked);
void unblock_work(const AskedPtr& asked);
void answer_work(const AskedPtr& asked);
void abort_work(const AskedPtr& asked);
void report_ci(const AskedPtr& asked);
void see_commit(const AskedPtr& asked);
void hand_off_as_ci(const AskedPtr& asked);
void take_github_webhook(const AskedPtr& asked);

// session_handlers.cc
void show_session(const AskedPtr& asked);
void renew_session(const AskedPtr& asked);
void release_session(const AskedPtr& asked);
void hand_off(const AskedPtr& asked);
void end_session(const AskedPtr& asked);
void register_process(const AskedPtr& asked);
void list_context(const AskedPtr& asked);
void show_context(const AskedPtr& asked);
void context_history(const AskedPtr& asked);

// govern_handlers.cc
void activate_pack(const AskedPtr& asked);
void list_packs(const AskedPtr& asked);
void open_session(const AskedPtr& asked);
void list_sessions(const AskedPtr& asked);
void govern_call(const AskedPtr& asked);
void preflight(const AskedPtr& asked);
void show_session_mcp(const AskedPtr& asked);
void start_call(const AskedPtr& asked);
void settle_call(const AskedPtr& asked);
void add_label(const AskedPtr& asked);
void report_cost(const AskedPtr& asked);
void kill_session(const AskedPtr& asked);
void resume_session(const AskedPtr& asked);
void close_session(const AskedPtr& asked);
void list_approvals(const AskedPtr& asked);
void show_approval(const AskedPtr& asked);
void decide_approval(const AskedPtr& asked);

// hook_handlers.cc
void take_hook(const AskedPtr& asked);

// workflow_handlers.cc
void start_workflow(const AskedPtr& asked);
void list_workflows(const AskedPtr& asked);
void show_workflow(const AskedPtr& asked);
void kill_workflow(const AskedPtr& asked);
void offer(const AskedPtr& asked);
void show_artifacts(const AskedPtr& asked);
void list_handoffs(const AskedPtr& asked);
void claim_handoff(const AskedPtr& asked);
void acknowledge_handoff(const AskedPtr& asked);
void decline_handoff(const AskedPtr& asked);
void cancel_handoff(const AskedPtr& asked);

// ledger_handlers.cc
void append_notes(const AskedPtr& asked);
void rotate_key(const AskedPtr& asked);
void admit_key(const AskedPtr& asked);
void retire_key(const AskedPtr& asked);
void add_witness(const AskedPtr& asked);
void remove_witness(const AskedPtr& asked);
void accept_restore(const AskedPtr& asked);
void erase_blob(const AskedPtr& asked);

// node_handlers.cc
void follow_events(const AskedPtr& asked);
void create_token(const AskedPtr& asked);
void list_tokens(const AskedPtr& asked);
void revoke_token(const AskedPtr& asked);
void show_status(const AskedPtr& asked);
void show_health(const AskedPtr& asked);
void show_metrics(const AskedPtr& asked);
void show_openapi(const AskedPtr& asked);
void look_at_adoptions(const AskedPtr& asked);
void stop_node(const AskedPtr& asked);

}  // namespace baton::http_api::handlers
