// SPDX-License-Identifier: Apache-2.0
// A model on loopback that does exactly what a case says: one tool call after the other, then a closing word. So a real
// agent can be run without a model, without the internet, and with the same end every time.
//
// What it says, turn by turn:
//
//   {call, arguments}   a tool of the MCP server
//   {shell}             a command line, by the tool that the agent has for them
//   {delegate}          a task for a subagent, by the tool that the agent has for that; {wait}: until it is done, where
//                       the agent has to ask
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
const SUBAGENT_MARK = 'BATON-DELEGATED'; // in that of a subagent

// One conversation: that of the agent, or that of its subagent. Where it is can be read from what was said in it, so
// nothing is kept that a repeated request would upset.
class Script {
  tools = []; // as first offered
  results = []; // {error, text} of each call, in the order of the calls
  asked = []; // by turn that was to be the last one: what the model was told instead
  begun = []; // by turn: what has to happen before

  constructor(mark, turns) {
    Object.assign(this, { mark, turns });
  }

  // How many turns were taken; what the model was shown of them is kept.
  take(view) {
    if (!this.tools.length) this.tools = view.tools;
    const said = [...view.texts.join('\n').matchAll(new RegExp(`${this.mark}-STEP-(\\d+)`, 'g'))];
    const done = Math.max(0, ...said.map((match) => Number(match[1])));
    const is_call = (turn) => turn.say === undefined;
    const calls = this.turns.slice(0, done).filter(is_call).length;
    this.results = view.results.slice(0, calls).map(({ error, text }) => ({ error, text }));
    if (done && this.turns[done - 1] && !is_call(this.turns[done - 1])) {
      const last = view.texts.findLastIndex((text) => text.includes(this.step(done)));
      this.asked[done - 1] = view.texts.slice(last + 1).join('\n');
    }
    return done;
  }

  step(number) {
    return `${this.mark}-STEP-${number}`;
  }
}

export class ScriptedModel {
  requests = []; // for the log

  // `agent`: how it spells what (agents/*.mjs); `server`: what it calls the MCP server; `before(turn)`: what has to
  // happen before a turn is taken; `words(text, shown)`: what to make of the words of a turn, given all that the model
  // was shown.
  constructor({ turns, subagent = [], server, agent, before = async () => {}, words = (text) => text }) {
    Object.assign(this, { server, agent, before, words });
    this.main = new Script(MARK, turns);
    this.subagent = new Script(SUBAGENT_MARK, subagent);
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
    this.requests.push({ path, tools: view.tools, results: view.results, reply });
    return dialect.send({ response, body, path, reply });
  }

  async #reply(view, shown) {
    const all = view.texts.join('\n');
    const script = [this.main, this.subagent].find(({ mark }) => all.includes(mark));
    if (!script || !view.tools.length)
      return { text: '{"title":"a run","next_speaker":"user","reasoning":"done"}', calls: [] };
    const done = script.take(view);
    const turn = script.turns[done];
    // Asked again, for instance because it took long: what has to happen before happens once.
    await (script.begun[done] ??= this.before(turn));
    if (!turn) return { text: 'all calls were made', calls: [] };
    const step = script.step(done + 1);
    if (turn.say !== undefined) return { text: `${step} ${this.words(turn.say, shown)}`, calls: [] };
    return { text: step, calls: [{ id: new_id('call'), ...this.#call(turn, view, shown) }] };
  }

  // Each agent has its own way to name an MCP tool: mcp__server__tool, mcp_server_tool, server-tool, or a namespace.
  #call(turn, { tools, results }, shown) {
    if (turn.shell !== undefined) return this.agent.shell(turn.shell);
    if (turn.delegate !== undefined) return this.agent.delegate(`${SUBAGENT_MARK} ${turn.delegate}`);
    if (turn.wait !== undefined) return this.agent.wait(results.at(-1).text);
    const spelled = this.spell(turn.call);
    const namespace = `mcp__${this.server}`;
    const filled = (value) => (typeof value === 'string' ? this.words(value, shown) : value);
    const given = Object.fromEntries(Object.entries(turn.arguments).map(([name, value]) => [name, filled(value)]));
    if (this.agent.namespaces) return { name: spelled, namespace, arguments: given };
    const known = tools.find((name) => this.bare(name) === spelled);
    return { name: known ?? `${namespace}__${spelled}`, arguments: given };
  }

  spell(name) {
    return this.agent.spell?.(name) ?? name;
  }

  // What the agent's own model was shown.
  get tools() {
    return this.main.tools;
  }
  get results() {
    return this.main.results;
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
