// SPDX-License-Identifier: Apache-2.0
// `./dev bench mcp`: what a hop costs. Round trips of `tools/call echo` to server-everything: directly, through relays,
// through the governed proxy, and over HTTP against other proxies.
//
//   node --import ./e2e/installed.mjs bench/mcp_bench.mjs [OPTIONS]
//
//   --calls N             round trips of each path (default 3000), in turns of 100
//   --flight N            how many calls are in flight for the throughput (default 64)
//   --governed            the proxy, strict and with the fast lane for reads, over stdio and HTTP, each with its own store
//   --relay COMMAND       a bare relay of bytes; the server's words are put after it
//   --stdio LABEL=COMMAND one more path over stdio; may be repeated. {server} stands for the server's words
//   --http LABEL=COMMAND  one more path over HTTP; may be repeated. It listens on {port}, the path is /mcp
//   --only TEXT           only paths whose label has this in it, and what they are compared with
//   --out FILE            the rows as JSON
//
// A COMMAND is split at spaces. All paths are up at once and take turns, so that what else the machine does falls on
// all of them. The client is ours (mcp_wire.mjs), since the SDK's own time would hide the hop. Exit status: 0, or 1
// when a path failed.
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { PROXY, World, listen_env, listen_headers, no_proxy, write_open_pack } from '../e2e/baton.mjs';
import { ROOT, installed } from '../e2e/installed.mjs';
import { free_port, listening, start, stop } from '../e2e/processes.mjs';
import { HttpWire, StdioWire } from './mcp_wire.mjs';

const TURN = 100;
const WARM = 200;
const NODE = process.execPath;
const EVERYTHING = installed('mcp', '@modelcontextprotocol/server-everything/dist/index.js');
const SERVER = [NODE, EVERYTHING, 'stdio'];
const LOGS = path.join(ROOT, 'build/bench/mcp-logs');

const { values: options } = parseArgs({
  options: {
    calls: { type: 'string', default: '3000' },
    flight: { type: 'string', default: '64' },
    governed: { type: 'boolean', default: false },
    relay: { type: 'string' },
    stdio: { type: 'string', multiple: true, default: [] },
    http: { type: 'string', multiple: true, default: [] },
    only: { type: 'string' },
    out: { type: 'string' },
  },
});

// {label, words, env?} of stdio paths; of HTTP ones `words` and `env` get the port. `ours`: compared with the other
// proxies.
function paths(governed) {
  const peer = (...parts) => [NODE, installed('peers', ...parts)];
  const named = (text) => [
    text.slice(0, text.indexOf('=')),
    text
      .slice(text.indexOf('=') + 1)
      .split(' ')
      .filter(Boolean),
  ];
  const filled = (words, port = '', pack = '') =>
    words.flatMap((word) =>
      word === '{server}' ? SERVER : [word.replaceAll('{port}', String(port)).replaceAll('{pack}', pack)],
    );
  const stdio = [
    { label: 'stdio, directly', words: SERVER },
    ...(options.relay ? [{ label: 'stdio, bare relay', words: [...options.relay.split(' '), ...SERVER] }] : []),
    { label: 'stdio, relay in Node', words: [NODE, path.join(ROOT, 'bench/peers/mcp_relay.mjs'), ...SERVER] },
    ...governed.map(({ name, world }) => ({
      label: `stdio, governed, ${name}`,
      words: filled(PROXY.stdio_stdio, '', world.pack),
      env: () => world.env,
    })),
    ...options.stdio.map(named).map(([label, words]) => ({ label: `stdio, ${label}`, words: filled(words) })),
  ];
  const http = [
    {
      label: 'HTTP, directly',
      words: () => [NODE, EVERYTHING, 'streamableHttp'],
      env: (port) => ({ PORT: String(port) }),
    },
    {
      label: 'HTTP, supergateway',
      words: (port) => [
        ...peer('supergateway/dist/index.js'),
        '--stdio',
        SERVER.join(' '),
        '--outputTransport',
        'streamableHttp',
        '--stateful',
        '--logLevel',
        'none',
        '--port',
        String(port),
      ],
    },
    {
      label: 'HTTP, mcp-proxy',
      words: (port) => [
        ...peer('mcp-proxy/dist/bin/mcp-proxy.mjs'),
        '--host',
        '127.0.0.1',
        '--port',
        String(port),
        '--server',
        'stream',
        '--',
        ...SERVER,
      ],
    },
    ...governed.map(({ name, world }) => ({
      label: `HTTP, governed, ${name}`,
      // One client, as fast as it can: what a stranger is held to would be measured otherwise.
      words: (port) => filled(PROXY.http_stdio, port, world.pack).toSpliced(2, 0, '--requests-per-second', '0'),
      env: () => ({ ...world.env, ...listen_env }),
      headers: listen_headers,
      ours: true,
    })),
    ...options.http
      .map(named)
      .map(([label, words]) => ({ label: `HTTP, ${label}`, words: (port) => filled(words, port), ours: true })),
  ];
  const all = [...stdio.map((one) => ({ ...one, kind: 'stdio' })), ...http.map((one) => ({ ...one, kind: 'http' }))];
  const wanted = ({ label }) =>
    !options.only || label.includes(options.only) || label.endsWith('directly') || label.endsWith('bare relay');
  return all.filter(wanted);
}

// Stores under a pack that allows echo: reads are recorded before they are answered, or soon after.
async function worlds() {
  const said = await no_proxy();
  if (said) throw new Error(`nothing is governed: ${said}`);
  const all = [];
  for (const [name, settings] of [
    ['strict', ''],
    ['fast lane', 'fast_lane: {reads: true}\n'],
  ]) {
    const folder = path.join(LOGS, name.replaceAll(' ', '_'));
    fs.rmSync(folder, { recursive: true, force: true });
    const world = new World(folder);
    await world.begin(write_open_pack(path.join(folder, 'pack'), ['echo']), settings);
    all.push({ name, world });
  }
  return all;
}

async function open(one) {
  if (one.kind === 'stdio') {
    one.wire = new StdioWire(one.words, { cwd: LOGS, env: { ...process.env, ...one.env?.() } });
  } else {
    const port = await free_port();
    const log = path.join(LOGS, `${one.label.replaceAll(/\W+/g, '_')}.log`);
    const env = { ...process.env, ...one.env?.(port) };
    one.child = start(one.words(port), { cwd: LOGS, env, log });
    await listening(port, one.child);
    one.wire = new HttpWire(`http://127.0.0.1:${port}/mcp`, one.headers);
  }
  await one.wire.open();
}

function close(one) {
  one.wire?.close();
  if (one.child) stop(one.child);
}

let id = 0;

async function turn(one) {
  for (let count = 0; count < TURN; count += 1) {
    const begun = process.hrtime.bigint();
    await one.wire.call((id += 1));
    one.times.push(Number(process.hrtime.bigint() - begun) / 1000);
  }
}

// Calls a second with so many in flight.
async function throughput(one, calls, flight) {
  let left = calls;
  const begun = process.hrtime.bigint();
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      await one.wire.call((id += 1));
    }
  };
  await Promise.all(Array.from({ length: flight }, lane));
  return calls / (Number(process.hrtime.bigint() - begun) / 1e9);
}

function share(sorted, part) {
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
}

async function measure(all) {
  for (const one of all) {
    one.times = [];
    for (let count = 0; count < WARM; count += 1) await one.wire.call((id += 1));
  }
  for (let round = 0; round < Number(options.calls) / TURN; round += 1) {
    for (const one of all) await turn(one);
  }
  for (const one of all) {
    const sorted = one.times.sort((a, b) => a - b);
    one.median = share(sorted, 0.5);
    one.p99 = share(sorted, 0.99);
    one.rate = await throughput(one, Number(options.calls), Number(options.flight));
  }
}

function show(all) {
  const find = (label) => all.find((one) => one.label === label);
  const table = [
    ['path', 'median us', 'p99 us', 'added us', 'x directly', 'x bare relay', `calls/s, ${options.flight} in flight`],
  ];
  const rows = [];
  const remarks = [];
  for (const one of all) {
    const direct = find(`${one.kind === 'stdio' ? 'stdio' : 'HTTP'}, directly`);
    const relay = one.kind === 'stdio' ? find('stdio, bare relay') : null;
    const ratio = (base) => (base && base !== one ? (one.median / base.median).toFixed(2) : '');
    const added = direct && direct !== one ? (one.median - direct.median).toFixed(0) : '';
    table.push([
      one.label,
      one.median.toFixed(0),
      one.p99.toFixed(0),
      added,
      ratio(direct),
      ratio(relay),
      one.rate.toFixed(0),
    ]);
    const peer = relay && relay !== one ? relay : direct === one ? null : direct;
    rows.push(row(`${one.label}, median`, one.median, 'us', peer, peer?.median));
    rows.push(row(`${one.label}, p99`, one.p99, 'us', peer, peer?.p99));
    rows.push(row(`${one.label}, ${options.flight} in flight`, one.rate, 'calls/s', peer, peer?.rate));
    for (const other of one.ours ? all.filter(({ label }) => /supergateway|mcp-proxy/.test(label)) : []) {
      // How many times faster the hop is.
      rows.push({
        ...row(`${one.label}, median`, one.median, 'us', other, other.median),
        ratio: Number((other.median / one.median).toFixed(2)),
      });
      remarks.push(`${one.label}: ${(other.median / one.median).toFixed(2)} times as fast as ${other.label}`);
    }
  }
  const widths = table[0].map((_, column) => Math.max(...table.map((line) => line[column].length)));
  for (const line of table) {
    console.log(
      line.map((cell, column) => (column ? cell.padStart(widths[column]) : cell.padEnd(widths[0]))).join('  '),
    );
  }
  remarks.forEach((remark) => console.log(remark));
  if (options.out) fs.writeFileSync(options.out, `${JSON.stringify(rows, null, 1)}\n`);
}

function row(metric, value, unit, peer, peer_value) {
  const round = (number) => Number(number.toPrecision(4));
  return peer
    ? {
        metric,
        value: round(value),
        unit,
        peer: peer.label,
        peer_value: round(peer_value),
        ratio: round(value / peer_value),
      }
    : { metric, value: round(value), unit };
}

fs.mkdirSync(LOGS, { recursive: true });
const governed = options.governed ? await worlds() : [];
const all = paths(governed);
try {
  for (const one of all) await open(one).catch((error) => Promise.reject(new Error(`${one.label}: ${error.message}`)));
  await measure(all);
  show(all);
} catch (error) {
  console.error(`mcp_bench.mjs: ${error.message}`);
  process.exitCode = 1;
} finally {
  all.forEach(close);
  for (const { world } of governed) await world.end();
}
