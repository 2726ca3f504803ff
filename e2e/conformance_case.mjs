// SPDX-License-Identifier: Apache-2.0
// The cases of cases/conformance.json.
//
//   name, purpose
//   revision     which requirements
//   server       `fixture` (of tests/mcp) or `reference` (the suite's own, from CONFORMANCE_SERVER_SRC)
//   scored       without anything in between: how many scored scenarios pass; all of them have to
//   proxy        name of a command line in baton.mjs: through it nothing may be worse than directly
//   relay        arguments of relay.mjs: the same through that; `worse` are the scenarios that it has to be caught with
//   except       {scenario: {checks, reason}}: which checks need not be as good there, and why
import fs from 'node:fs';
import path from 'node:path';
import { PROXY, World, without_token, write_open_pack } from './baton.mjs';
import * as sdk_v1 from './clients/sdk_v1.mjs';
import { scored_server, server_words, worse } from './conformance.mjs';
import { write_json } from './files.mjs';
import { ROOT } from './installed.mjs';

export async function check_conformance(one, folder) {
  const { revision } = one;
  // An empty source is the server of tests/mcp, whatever the environment says.
  const source = one.server === 'reference' ? process.env.CONFORMANCE_SERVER_SRC : '';
  const direct = await scored_server({ revision, folder: path.join(folder, 'direct'), source });
  write_json(path.join(folder, 'direct.json'), direct);
  if (one.scored !== undefined) return judge_direct(one, direct);

  const through = await scored_through(one, { revision, folder: path.join(folder, 'through'), source });
  write_json(path.join(folder, 'through.json'), through);
  const found = worse(direct, through).filter(({ scenario, check }) => !one.except?.[scenario]?.checks.includes(check));
  if (one.worse) return judge_spoiled(one, found);
  return found.map(
    ({ scenario, check, direct: was, through: is }) => `${scenario}, ${check}: directly ${was}, through it ${is}`,
  );
}

async function scored_through(one, options) {
  if (one.relay) {
    const command = [process.execPath, path.join(ROOT, 'e2e/relay.mjs'), '{port}', '{upstream}', ...one.relay];
    return scored_server({ ...options, command });
  }
  fs.mkdirSync(options.folder, { recursive: true });
  const world = new World(options.folder);
  try {
    await world.begin(write_open_pack(path.join(options.folder, 'pack'), await tools_of_fixture(options.folder)));
    // The suite has no option for a header of its own.
    const command = without_token(PROXY[one.proxy]).map((word) => word.replaceAll('{pack}', world.pack));
    return await scored_server({ ...options, command, env: { ...process.env, ...world.env } });
  } finally {
    await world.end();
  }
}

// The reference server has the same tools: the suite asks both for them. Some come and go.
async function tools_of_fixture(log) {
  const { words } = server_words('stdio', '');
  const server = { command: words[0], args: words.slice(1), env: process.env };
  const { tools } = await sdk_v1.run({
    server,
    work: ROOT,
    log,
    calls: [{ tool: 'test_trigger_tool_change', arguments: {} }],
  });
  return [...new Set([...tools, 'test_changing_tool'])];
}

function judge_direct(one, direct) {
  const wrong = Object.entries(direct.scenarios)
    .filter(([, { scored, failed, passed }]) => scored && (failed || !passed))
    .map(
      ([name, { checks }]) =>
        `${name}: ${Object.values(checks)
          .filter((said) => said !== 'SUCCESS')
          .join('; ')}`,
    );
  if (direct.scored.passed !== one.scored)
    wrong.push(`${direct.scored.passed} scored scenarios pass, not ${one.scored}`);
  return wrong;
}

function judge_spoiled(one, found) {
  const scenarios = [...new Set(found.map(({ scenario }) => scenario))].sort();
  const want = [...one.worse].sort();
  if (scenarios.join() === want.join()) return [];
  return [`what was spoiled is ${want.join(', ')}, and the comparison finds ${scenarios.join(', ') || 'nothing'}`];
}
