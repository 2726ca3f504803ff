// SPDX-License-Identifier: Apache-2.0
// A model on loopback that does exactly what a case says: one tool call after the other, then a closing word. So a real
// agent can be run without a model, without the internet, and with the same end every time.
//
// What it says, turn by turn:
//
//   {call, arguments}   a tool of the MCP server
//   {shell}             a command line, by the tool that the agent has for them
//   {own, arguments}    another tool of the agent's own
//   {say}               words and no call: the agent takes that for the end, unless somebody sends it on
//
// It speaks the dialects of the agents in agents/. What it was shown is kept: the tools that were offered, and every
// tool result that reached it, which is what the agent's model would have seen.
import http from 'node:http';
import * as anthropic from './anthropic.mjs';
import * as chat from './chat.mjs';
import { new_id, send_json } from './dialect.mjs';
import * as gemini from './gemini.mjs';
import * as responses from './responses.mjs';

const DIALECTS = [anthropic, responses, gemini, chat];

// Stands in the prompt of the agent: requests without it are about titles, summaries and the like.
export const MARK = 'BATON-E2E';
const STEP = /E2E-STEP-(\d+)/g;

export class ScriptedModel {
  tools = []; // as first offered
  results = []; // {error, text} of each call, in the order of the calls
  heard = ''; // what it was told since its last words
  requests = []; // for the log

  // `agent`: how it spells what (agents/*.mjs); `server`: what it calls the MCP server; `before(turn, index)`: what has
  // to happen before a turn is taken; `words(text, shown)`: what to make of the words of a turn, given all that the
  // model was shown.
  constructor({ turns, server, agent, before = async () => {}, words = (text) => text }) {
    Object.assign(this, { turns, server, agent, before, words, begun: [] });
    this.http = http.createServer((request, response) => {
      this.#answer(request, response).catch((error) => {
        this.requests.push({ failure: String(error.stack ?? error) });
        if (!response.headersSent) send_json(response, { error: { type: 'api_error', message: String(error) } }, 500);
      });
    });
  }

  async listen() {
    await new Promise((resolve) => this.http.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${this.http.address().port}`;
  }

  close() {
    this.http.closeAllConnections();
    this.http.close();
  }

  async #answer(request, response) {
    const parts = [];
    for await (const part of request) parts.push(part);
    const text = Buffer.concat(parts).toString('utf8');
    const path = request.url.split('?')[0];
    const dialect = DIALECTS.find((one) => one.matches(path));
    if (!dialect) return this.#aside(request, response, path);
    const body = text ? JSON.parse(text) : {};
    const view = dialect.view(body);
    const reply = await this.#reply(view, text);
    this.requests.push({ path, tools: view.tools, results: view.results, heard: this.heard, reply });
    return dialect.send({ response, body, path, reply });
  }

  // Where the conversation is can be read from what was said in it, so nothing is kept that a repeated request would
  // upset.
  async #reply(view, shown) {
    const all = view.texts.join('\n');
    if (!all.includes(MARK) || !view.tools.length)
      return { text: '{"title":"a run","next_speaker":"user","reasoning":"done"}', calls: [] };
    if (!this.tools.length) this.tools = view.tools;
    const done = Math.max(0, ...[...all.matchAll(STEP)].map((match) => Number(match[1])));
    const calls = this.turns.slice(0, done).filter((turn) => turn.say === undefined).length;
    this.results = view.results.slice(0, calls).map(({ error, text }) => ({ error, text }));
    // What it was told since it spoke last.
    this.heard = view.texts.slice(view.texts.findLastIndex((text) => text.includes(`E2E-STEP-${done}`)) + 1).join('\n');
    const turn = this.turns[done];
    // Asked again, for instance because it took long: what has to happen before happens once.
    await (this.begun[done] ??= this.before(turn, done));
    if (!turn) return { text: 'all calls were made', calls: [] };
    const step = `E2E-STEP-${done + 1}`;
    if (turn.say !== undefined) return { text: `${step} ${this.words(turn.say, shown)}`, calls: [] };
    return { text: step, calls: [{ id: new_id('call'), ...this.#call(turn, view.tools) }] };
  }

  // Each agent has its own way to name an MCP tool: mcp__server__tool, mcp_server_tool, server-tool, or a namespace.
  #call(turn, tools) {
    if (turn.shell !== undefined) return this.agent.shell(turn.shell);
    if (turn.own !== undefined) return { name: turn.own, arguments: turn.arguments };
    const spelled = this.spell(turn.call);
    const namespace = `mcp__${this.server}`;
    if (this.agent.namespaces) return { name: spelled, namespace, arguments: turn.arguments };
    const known = tools.find((name) => this.bare(name) === spelled);
    return { name: known ?? `${namespace}__${spelled}`, arguments: turn.arguments };
  }

  spell(name) {
    return this.agent.spell?.(name) ?? name;
  }

  // The tool's name as the agent spells it, or null for one that is not the server's.
  bare(name) {
    return new RegExp(`^(?:mcp__?)?${this.server}(?:__?|-)(.+)$`).exec(name)?.[1] ?? null;
  }

  // What agents ask beside: token counts, models, whether anybody is there.
  #aside(request, response, path) {
    this.requests.push({ path, method: request.method });
    if (/count_?tokens/i.test(path)) return send_json(response, { input_tokens: 10, totalTokens: 10 });
    if (path.endsWith('/models'))
      return send_json(response, { object: 'list', data: [{ id: 'scripted', object: 'model' }], models: [] });
    return send_json(response, {}, request.method === 'HEAD' ? 200 : 404);
  }
}
