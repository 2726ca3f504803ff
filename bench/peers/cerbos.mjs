// SPDX-License-Identifier: Apache-2.0
// The peer of `bench engine` over HTTP: a Cerbos server with the nearest policy to `refund_order` of the reference pack.
//
//   node cerbos.mjs
//
// Says one line of JSON when the server answers ({"cerbos"} or {"error"}), and {"port"} to every line on its input. The end of its
// input ends the server. What Cerbos does not know of itself (the phase, which calls there were, the sum) comes with the principal.
// cerbos is found by NODE_PATH.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const require = createRequire(import.meta.url);
const say = (value) => process.stdout.write(JSON.stringify(value) + '\n');

const POLICY = {
  apiVersion: 'api.cerbos.dev/v1',
  resourcePolicy: {
    resource: 'order',
    version: 'default',
    rules: [
      {
        actions: ['refund_order'],
        effect: 'EFFECT_ALLOW',
        roles: ['support'],
        condition: {
          match: {
            all: {
              of: [
                'P.attr.phase == "approved"',
                'P.attr.looked_up',
                'P.attr.approved',
                'R.attr.amount >= 0.01 && R.attr.amount <= 500.0',
                'R.attr.currency in ["EUR", "USD", "GBP"]',
                'R.attr.channel.kind in ["chat", "mail", "phone"]',
                'R.attr.channel.turn >= 1.0 && R.attr.channel.turn <= 1000.0',
                'R.attr.email.matches("^[a-z0-9.]+@[a-z0-9-]+(\\\\.[a-z0-9-]+)+$")',
                'P.attr.refunded + R.attr.amount <= 1000000000000.0',
              ].map((expr) => ({ expr })),
            },
          },
        },
      },
    ],
  },
};

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function check(port, turn) {
  const body = {
    principal: { id: 'a', roles: ['support'], attr: { phase: 'approved', looked_up: true, approved: true, refunded: 1 } },
    resources: [
      {
        actions: ['refund_order'],
        resource: {
          kind: 'order',
          id: 'o',
          attr: { amount: 12.5, currency: 'EUR', email: 'jo.doe@example.org', channel: { kind: 'chat', turn } },
        },
      },
    ],
  };
  const answer = await fetch(`http://127.0.0.1:${port}/api/check/resources`, { method: 'POST', body: JSON.stringify(body) });
  return (await answer.json()).results?.[0]?.actions?.refund_order;
}

async function start() {
  const program = require.resolve(`@cerbos/cerbos-${process.platform}-${process.arch}/cerbos-${process.platform}-${process.arch}`);
  const folder = mkdtempSync(join(tmpdir(), 'baton-bench-cerbos-'));
  const [port, grpc] = [await freePort(), await freePort()];
  writeFileSync(join(folder, 'refund.json'), JSON.stringify(POLICY));
  const settings = {
    server: { httpListenAddr: `127.0.0.1:${port}`, grpcListenAddr: `127.0.0.1:${grpc}` },
    storage: { driver: 'disk', disk: { directory: folder, watchForChanges: false } },
    telemetry: { disabled: true },
    audit: { enabled: false },
  };
  // Not in the folder of policies, where every file is one.
  const config = folder + '.config.json';
  writeFileSync(config, JSON.stringify(settings));
  const server = spawn(program, ['server', `--config=${config}`, '--log-level=error'], { stdio: ['ignore', 'ignore', 'inherit'] });
  let ended = false;
  server.on('exit', () => (ended = true));
  const clear = () => {
    server.kill();
    rmSync(folder, { recursive: true, force: true });
    rmSync(config, { force: true });
  };
  try {
    let verdict;
    for (let i = 0; i < 100 && !ended && verdict === undefined; ++i) {
      verdict = await check(port, 14).catch(() => undefined);
      if (verdict === undefined) await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // It is measured only if it checks.
    if (verdict !== 'EFFECT_ALLOW') throw new Error('Cerbos does not allow the call: ' + verdict);
    if ((await check(port, 1001)) !== 'EFFECT_DENY') throw new Error('Cerbos allows what it should not');
  } catch (error) {
    clear();
    throw error;
  }
  say({ cerbos: require('cerbos/package.json').version });
  const input = createInterface({ input: process.stdin });
  input.on('line', () => say({ port }));
  input.on('close', () => {
    clear();
    process.exit(0);
  });
}

start().catch((error) => {
  say({ error: String(error.message ?? error).split('\n')[0] });
  process.exit(0);
});
