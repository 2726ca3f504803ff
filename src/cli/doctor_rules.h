// SPDX-License-Identifier: Apache-2.0
// What is not safe in an installation. Pure: facts that doctor.cc gathered go in, findings come out, in the order of the facts below.
//
// Facts (JSON; a member that is missing was not looked at, `null` could not be found out):
//   uid, root
//   operator_token   {path, sealed} | {}: there is none
//   node             {running, uid, version}; version (of this program)
//   folders[]        {what: store | config | keys | settings, path, mode: "0755", uid}
//   witnesses[]      names
//   adoptions[]      {client, project, whole, version: text | null, signed}
//   packs[]          {role, servers[], locked}
//   proxies[]        {pid, without_token}: that listen for clients
//   kernel           {landlock_abi, user_namespaces, ptrace_scope}
//   clock            {behind_record_seconds}
//   disk             {free_bytes, floor_bytes}
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "json/document.h"

namespace baton::cli {

struct Finding {
  enum class State : std::uint8_t { Fine, Note, Problem, Unknown };
  std::string check;  // a stable name: operator_token, folders, ...
  State state = State::Fine;
  std::string says;
  std::string fix = {};  // the smallest change that helps; empty: nothing is to be done
};
std::string_view name_of(Finding::State state);

std::vector<Finding> examine(json::Node facts);

}  // namespace baton::cli
