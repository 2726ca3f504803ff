// SPDX-License-Identifier: Apache-2.0
// Baton in a case: how the proxy is started, a store of the case's own with an active pack, its node, and the operator
// who approves.
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ROOT } from './installed.mjs';
import { say_of, start, stop } from './processes.mjs';

export const BATON = process.env.BATON ?? path.join(ROOT, 'build/release/baton');
export const HOOK = path.join(path.dirname(BATON), 'baton-hook');

// The one place that knows the proxy's command line. {server} is the command of the server, {upstream} the URL of one
// that runs already, {port} where to listen, {pack} the hash of the active pack.
const MCP = [BATON, 'mcp', '--pack', '{pack}'];
const LISTEN = ['--listen', '127.0.0.1:{port}'];
// What clients of a proxy that listens present: given to it by the environment, as `listen_env`.
export const LISTEN_TOKEN = crypto.randomBytes(32).toString('hex');
export const listen_env = { BATON_MCP_TOKEN: LISTEN_TOKEN };
export const listen_headers = { Authorization: `Bearer ${LISTEN_TOKEN}` };
// For a client that cannot send a header.
export const without_token = (words) =>
  words.flatMap((word) => (word === '--listen' ? ['--listen-without-token', word] : [word]));
export const PROXY = {
  stdio_stdio: [...MCP, '--', '{server}'],
  http_stdio: [...MCP, ...LISTEN, '--', '{server}'],
  http_http: [...MCP, ...LISTEN, '--upstream', '{upstream}'],
  stdio_http: [...MCP, '--upstream', '{upstream}'],
  // The suite speaks HTTP only: stdio in front is reached through another proxy that listens.
  http_stdio_stdio: [...MCP, ...LISTEN, '--env', 'BATON_STORE', '--', ...MCP, '--', '{server}'],
  http_stdio_http: [...MCP, ...LISTEN, '--env', 'BATON_STORE', '--', ...MCP, '--upstream', '{upstream}'],
};

// Is there a proxy at all? Nothing, or why not.
export async function no_proxy() {
  if (!fs.existsSync(BATON)) return `there is no ${path.relative(ROOT, BATON)}`;
  const said = await say_of([BATON, 'mcp', '--help'], { env: process.env });
  // A baton without it prints the help of the whole, and that is no error.
  return said.status === 0 && said.stdout.includes('Usage: baton mcp') ? undefined : 'this baton has no `mcp` yet';
}

// Is there a program for hooks, and `baton run`? Nothing, or why not.
export async function no_hooks() {
  if (!fs.existsSync(HOOK)) return 'there is no baton-hook beside baton';
  const said = await say_of([BATON, 'run', '--help'], { env: process.env });
  return said.status === 0 && said.stdout.includes('Usage: baton run') ? undefined : 'this baton has no `run` yet';
}

// A store with one active pack, and its operator.
export class World {
  // What whoever starts the proxy has to give it. The operator's token is not part of it.
  env;
  node = null; // where the case starts one itself
  #operator;
  #approving = null;

  constructor(folder) {
    this.folder = folder;
    this.env = { BATON_STORE: path.join(folder, 'store') };
    this.#operator = {
      PATH: process.env.PATH,
      HOME: path.join(folder, 'operator'),
      BATON_STORE: path.join(folder, 'store'),
      BATON_KEYS: path.join(folder, 'operator/keys'),
    };
  }

  // `settings` is added to the configuration of the store. With `own_node` the node is a process of the case, which can
  // be stopped and killed; else it is one that the first command starts.
  async begin(pack, settings = '', own_node = false) {
    fs.mkdirSync(this.#operator.HOME, { recursive: true });
    await this.operate('init', '--actor', 'e2e-operator', '--format', 'json');
    fs.appendFileSync(path.join(this.env.BATON_STORE, 'config.yaml'), settings);
    if (own_node) await this.serve();
    const active = await this.operate('contract', 'activate', pack, '--format', 'json');
    this.pack = JSON.parse(active).pack;
  }

  async serve() {
    const socket = this.socket;
    const log = path.join(this.folder, 'node.log');
    this.node = start([BATON, 'serve', '--socket', socket], { cwd: this.folder, env: this.#operator, log });
    const answers = async () => (await this.#say('status', '--node', `unix:${socket}`)).status === 0;
    await until('the node answers', 90, answers);
  }

  get socket() {
    return path.join(this.env.BATON_STORE, 'node.sock');
  }

  // What `baton run` is started with: the operator's, but for the home, which is the agent's.
  env_of_run(home) {
    return { ...this.#operator, HOME: home, BATON_NODE: `unix:${this.socket}` };
  }

  #say(...words) {
    return say_of([BATON, ...words], { cwd: this.folder, env: this.#operator });
  }

  async operate(...words) {
    const said = await this.#say(...words);
    // Nothing was said: the operator looked, and nothing waited.
    const text = said.stdout + said.stderr;
    if (text) fs.appendFileSync(path.join(this.folder, 'operator.log'), `${words.join(' ')}: ${said.status}\n${text}`);
    if (said.status !== 0) throw new Error(`baton ${words.join(' ')} ended with ${said.status}: ${said.stderr.trim()}`);
    return said.stdout;
  }

  // Says yes to whatever waits, from now on, and counts what it said yes to.
  approve_what_comes() {
    const loop = { on: true, approved: 0 };
    this.#approving = loop;
    loop.done = (async () => {
      while (loop.on) {
        loop.approved += await this.approve();
        await pause(200);
      }
    })();
    return loop;
  }

  // Says yes to what waits now; how many that were.
  async approve() {
    const waiting = (await this.operate('approvals', 'list', '--format', 'json')).split('\n').filter(Boolean);
    for (const line of waiting) {
      const { id, digest } = JSON.parse(line);
      await this.operate('approvals', 'approve', id, '--digest', digest, '--note', 'the case says so');
    }
    return waiting.length;
  }

  // Ends that, when what is being said has been said: a call may be done before the operator knows that it was approved.
  async approved() {
    if (!this.#approving) return;
    this.#approving.on = false;
    await this.#approving.done.catch(() => {});
  }

  async end() {
    await this.approved();
    await this.operate('stop').catch(() => {}); // the node may have ended by itself
    if (this.node) stop(this.node);
  }
}

// Waits until `check` has something to give, and gives that.
export async function until(what, seconds, check) {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const found = await check();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`after ${seconds} s: not yet that ${what}`);
    await pause(50);
  }
}

// Writes a pack that allows every one of these tools: the conformance suite is about what passes, not about what is
// refused.
export function write_open_pack(folder, tools) {
  fs.mkdirSync(folder, { recursive: true });
  const write = (name, value) => fs.writeFileSync(path.join(folder, `${name}.yaml`), JSON.stringify(value, null, 1));
  write('session', {
    schema_version: '1.0',
    agent: 'conformance',
    phases: [
      { name: 'open', initial: true },
      { name: 'closed', terminal: true },
    ],
    transitions: { open: ['closed'] },
    risk_defaults: { read: 'allow', write: 'allow' },
    schema_derived: false,
    mcp: { unlisted: 'record' },
  });
  const contract = {
    side_effect: 'read',
    evidence_class: 'ack_only',
    commit_requirement: 'none',
    timeouts: { total_ms: 60000 },
    retries: { max_attempts: 1, retry_on: [] },
    rate_limits: { on_429: { respect_retry_after: true, max_sleep_seconds: 1 } },
    assertions: { input_invariants: [], output_invariants: [] },
    golden_cases: [],
    allowed_errors: [],
  };
  for (const tool of tools) write(tool, { tool, ...contract });
  write('e2e_done', { tool: 'e2e_done', ...contract, side_effect: 'write', transitions: { advances_to: 'closed' } });
  return folder;
}
