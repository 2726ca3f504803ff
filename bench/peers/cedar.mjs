// SPDX-License-Identifier: Apache-2.0
// The peer of `bench engine` in Node: Cedar with the nearest policy to `refund_order` of the reference pack, parsed beforehand.
//
//   node cedar.mjs ARGUMENTS       (a file with the arguments that Baton decides about)
//
// Says one line of JSON when it is ready ({"node","cedar"} or {"error"}), then answers every line `all N` or `facts N` on its input
// with the CPU nanoseconds that one of N decisions took; `all` gives Cedar the whole arguments, `facts` only what its policy looks at.
// What Cedar does not know of itself (the phase, which calls there were, the sum) comes with the context. It has no regular
// expressions: `like` stands for one. Money is in cents, as whole numbers, which is the cheapest that Cedar has.
// cedar-wasm is found by NODE_PATH.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const require = createRequire(import.meta.url);
const say = (value) => process.stdout.write(JSON.stringify(value) + '\n');

const POLICY = `
permit(principal, action == Action::"refund_order", resource)
when {
  context.phase == "approved" &&
  context.looked_up &&
  context.approved &&
  context.amount >= 1 && context.amount <= 50000 &&
  ["EUR", "USD", "GBP"].contains(context.currency) &&
  ["chat", "mail", "phone"].contains(context.channel.kind) &&
  context.channel.turn >= 1 && context.channel.turn <= 1000 &&
  context.email like "*@*.*" &&
  context.refunded + context.amount <= 100000000000000
};`;

// Cedar has whole numbers alone; each number of the arguments is a hundred times itself but for those that count something.
function inCents(value, name) {
  if (typeof value === 'number') return name === 'turn' || name === 'quantity' ? value : Math.round(value * 100);
  if (Array.isArray(value)) return value.map((one) => inCents(one, name));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inCents(one, key)]));
}

function start() {
  const cedar = require('@cedar-policy/cedar-wasm/nodejs');
  const parsed = cedar.preparsePolicySet('bench', { staticPolicies: POLICY });
  if (parsed.type !== 'success') throw new Error('the policy cannot be parsed: ' + JSON.stringify(parsed));
  const given = inCents(JSON.parse(readFileSync(process.argv[2], 'utf8')), '');
  const state = { phase: 'approved', looked_up: true, approved: true, refunded: 36250 };
  const { amount, currency, channel, email } = given;
  const callWith = (context) => ({
    principal: { type: 'Agent', id: 'support' },
    action: { type: 'Action', id: 'refund_order' },
    resource: { type: 'Order', id: given.order_id },
    context,
    preparsedPolicySetId: 'bench',
    validateRequest: false,
    entities: [],
  });
  const calls = {
    all: callWith({ ...state, ...given }),
    facts: callWith({ ...state, amount, currency, channel: { kind: channel.kind, turn: channel.turn }, email }),
  };
  const allows = (call) => {
    const answer = cedar.statefulIsAuthorized(call);
    return answer.type === 'success' && answer.response.decision === 'allow' && answer.response.diagnostics.errors.length === 0;
  };
  // It is measured only if it checks: every fact that is wrong turns the answer.
  const wrong = { phase: 'closed', looked_up: false, approved: false, amount: 50001, currency: 'CHF', email: 'nobody', refunded: 1e14 };
  for (const [name, call] of Object.entries(calls)) {
    if (!allows(call)) throw new Error('Cedar does not allow the call: ' + JSON.stringify(cedar.statefulIsAuthorized(call)));
    for (const [fact, value] of Object.entries(wrong))
      if (allows({ ...call, context: { ...call.context, [fact]: value } })) throw new Error(`Cedar allows a wrong ${fact} (${name})`);
  }
  for (let i = 0; i < 3000; ++i) allows(calls.all), allows(calls.facts); // until it is compiled and hot

  say({ node: process.versions.node, cedar: cedar.getCedarVersion?.() ?? require('@cedar-policy/cedar-wasm/package.json').version });
  createInterface({ input: process.stdin }).on('line', (line) => {
    const [name, number] = line.split(' ');
    const count = Number(number);
    let allowed = 0;
    const before = process.cpuUsage();
    for (let i = 0; i < count; ++i) allowed += allows(calls[name]) ? 1 : 0;
    const spent = process.cpuUsage(before);
    if (allowed !== count) throw new Error('Cedar refused the call while it was measured');
    say({ ns: ((spent.user + spent.system) * 1000) / count });
  });
}

try {
  start();
} catch (error) {
  say({ error: String(error.message ?? error).split('\n')[0] });
}
