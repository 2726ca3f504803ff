// SPDX-License-Identifier: Apache-2.0
// The peer of `bench mcp` that a proxy in Node would be at best: reads every message, writes it again, decides nothing.
//
//   node mcp_relay.mjs COMMAND [ARGUMENT...]
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const [command, ...rest] = process.argv.slice(2);
const server = spawn(command, rest, { stdio: ['pipe', 'pipe', 'inherit'] });

function pass(from, to) {
  const lines = createInterface({ input: from });
  lines.on('line', (line) => to.write(`${JSON.stringify(JSON.parse(line))}\n`));
  lines.on('close', () => to.end?.());
}

pass(process.stdin, server.stdin);
pass(server.stdout, process.stdout);
server.on('exit', (code) => process.exit(code ?? 1));
