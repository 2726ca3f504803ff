#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A release from start to end, typed by an operator, an orchestrator and three workers. Makes a store of its own in a temporary folder,
# and takes it away again.
#
#     examples/workflows/release-train/run.sh [PATH/TO/baton]
set -eu
baton=${1:-baton}
here=$(cd "$(dirname "$0")" && pwd)
place=$(mktemp -d)
finish() {
  status=$?
  unset BATON_SESSION_TOKEN
  "$baton" stop > /dev/null 2>&1 || true
  # The node keeps its last seal as it ends.
  rm -rf "$place" 2> /dev/null || { sleep 1; rm -rf "$place"; }
  exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM
mkdir "$place/home"
cd "$place"
export HOME="$place/home"
unset BATON_NODE BATON_STORE BATON_TOKEN BATON_SESSION_TOKEN BATON_IN_PROCESS XDG_CONFIG_HOME 2> /dev/null || true

say() { printf '\n== %s\n' "$*"; }
# What must be refused.
refused() { if "$@"; then echo "this was not refused: $*" >&2; exit 1; fi; }
# In the session whose token comes first.
as() (
  export BATON_SESSION_TOKEN="$1"
  shift
  "$baton" "$@"
)
id_in() { sed -n 's/.*"handoff":{"id":"\([^"]*\)".*/\1/p'; }

say "the operator makes a store, activates the workflow and starts it"
"$baton" init > /dev/null
"$baton" contract activate "$here"
eval "$("$baton" workflow start release-train --label release-7.1 --format env)"
workflow=$BATON_WORKFLOW orchestrator=$BATON_SESSION orchestrator_token=$BATON_SESSION_TOKEN
unset BATON_SESSION_TOKEN

say "the orchestrator reads the plan and offers three tasks; a fourth would be one too many"
as "$orchestrator_token" session call "$orchestrator" read_plan --arguments '{"release":"7.1"}' --id plan --start
as "$orchestrator_token" session settle "$orchestrator" plan --result ok --output '{"services":["web","api","jobs"]}'
handoffs=
for service in web api jobs; do
  handoff=$(as "$orchestrator_token" handoff offer --to worker --artifact "task={\"service\":\"$service\",\"version\":\"7.1\"}" \
    --format json | id_in)
  handoffs="$handoffs $handoff"
done
refused as "$orchestrator_token" handoff offer --to worker --artifact task=more
"$baton" handoff list --role worker

say "three workers claim them; each reads its task and deploys its own service"
number=0
for handoff in $handoffs; do
  number=$((number + 1))
  eval "$("$baton" handoff claim "$handoff" --format env)"
  session=$BATON_SESSION token=$BATON_SESSION_TOKEN
  unset BATON_SESSION_TOKEN
  eval "session_$number=\$session token_$number=\$token"
  task=$(as "$token" handoff artifact task)
  service=$(printf '%s' "$task" | sed 's/.*"service":"\([^"]*\)".*/\1/')
  as "$token" session call "$session" get_status --arguments "{\"service\":\"$service\"}" --id look --start
  as "$token" session settle "$session" look --result ok --output '{"version":"7.0"}'
  as "$token" session call "$session" deploy --arguments "$task" --id deploy --start
done

say "the second worker wants the first one's service: reading is free, writing is not"
as "$token_2" session call "$session_2" get_status --arguments '{"service":"web"}' --id look_web --start
as "$token_2" session settle "$session_2" look_web --result ok --output '{"version":"7.1"}'
refused as "$token_2" session call "$session_2" deploy --arguments '{"service":"web","version":"6.9"}'

say "who does what now"
"$baton" workflow tree "$workflow"

say "the workers are done, the orchestrator announces it, and the workflow has ended"
for number in 1 2 3; do
  eval "session=\$session_$number token=\$token_$number"
  as "$token" session settle "$session" deploy --result ok --output '{"running":true}'
  as "$token" session close "$session"
done
as "$orchestrator_token" session call "$orchestrator" announce --arguments '{"release":"7.1"}' --id announce --start
as "$orchestrator_token" session settle "$orchestrator" announce --result ok --output '{"announced":true}' | grep -q 'is committed'
as "$orchestrator_token" session close "$orchestrator"
"$baton" workflow tree "$workflow"
"$baton" workflow list --format json | grep -q '"standing":"ended"'
"$baton" ledger verify > /dev/null
echo "released"
