// SPDX-License-Identifier: Apache-2.0
// The client of `bench mcp`: as little as can speak MCP of the legacy era, over stdio and over Streamable HTTP, so that
// what is measured is what lies behind it. `call(id)` is one `tools/call` of echo; the answer is looked at, every time.
import { spawn } from 'node:child_process';
import http from 'node:http';

const OPENING = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'baton-bench', version: '1' },
};
const message = (id, method, params) => JSON.stringify({ jsonrpc: '2.0', id, method, params });
const echo = (id) => message(id, 'tools/call', { name: 'echo', arguments: { message: `tide ${id}` } });

function look(answer, id) {
  if (answer.result?.content?.[0]?.text !== `Echo: tide ${id}`)
    throw new Error(`a wrong answer: ${JSON.stringify(answer)}`);
}

export class StdioWire {
  #waiting = new Map(); // id -> {resolve, reject}
  #rest = '';

  constructor(words, options = {}) {
    this.child = spawn(words[0], words.slice(1), { stdio: ['pipe', 'pipe', 'ignore'], ...options });
    this.child.stdout.setEncoding('utf8').on('data', (text) => this.#read(text));
    this.child.on('exit', (code, signal) => this.#fail(new Error(`${words[0]} ended with ${code ?? signal}`)));
    this.child.on('error', (error) => this.#fail(error));
    this.child.stdin.on('error', () => {}); // told by its end
  }

  async open() {
    await this.#request(0, message(0, 'initialize', OPENING));
    this.child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  }

  async call(id) {
    look(await this.#request(id, echo(id)), id);
  }

  close() {
    this.child.kill('SIGKILL');
  }

  #request(id, text) {
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.child.stdin.write(`${text}\n`);
    });
  }

  #read(text) {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop();
    for (const line of lines) {
      const answer = JSON.parse(line);
      if (answer.method !== undefined) continue; // a notification, or a request that nobody here answers
      this.#waiting.get(answer.id)?.resolve(answer);
      this.#waiting.delete(answer.id);
    }
  }

  #fail(error) {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

export class HttpWire {
  #agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
  #session = {};

  // `headers`: what the server wants to see in every request, such as a token.
  constructor(url, headers = {}) {
    this.url = url;
    this.#session = { ...headers };
  }

  async open() {
    const { headers, answer } = await this.#post(message(0, 'initialize', OPENING));
    if (!answer?.result) throw new Error(`${this.url} does not open: ${JSON.stringify(answer)}`);
    if (headers['mcp-session-id']) this.#session['mcp-session-id'] = headers['mcp-session-id'];
    this.#session['mcp-protocol-version'] = answer.result.protocolVersion;
    await this.#post('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  }

  async call(id) {
    const { answer } = await this.#post(echo(id));
    look(answer, id);
  }

  close() {
    this.#agent.destroy();
  }

  #post(body) {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      accept: 'application/json, text/event-stream',
      ...this.#session,
    };
    return new Promise((resolve, reject) => {
      const request = http.request(this.url, { method: 'POST', agent: this.#agent, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece) => (text += piece));
        response.on('error', reject);
        response.on('end', () => {
          const stream = response.headers['content-type']?.startsWith('text/event-stream');
          resolve({ headers: response.headers, answer: stream ? answer_in(text) : text && JSON.parse(text) });
        });
      });
      request.on('error', reject);
      request.end(body);
    });
  }
}

// The one response in a stream of events.
function answer_in(text) {
  const events = text.split('\n').filter((line) => line.startsWith('data:') && line.length > 6);
  return events
    .map((line) => JSON.parse(line.slice(5)))
    .find((one) => one.id !== undefined && one.method === undefined);
}
