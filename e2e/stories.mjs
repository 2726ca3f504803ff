// SPDX-License-Identifier: Apache-2.0
// A story: calls to one MCP server and what is to come of them, written once in cases/*.json and told through every
// client.
//
//   purpose      what the case is for
//   server       everything, filesystem or memory
//   pack         contract pack: the story goes through the proxy, under it. Without: directly
//   clients      who tells it; see CLIENTS
//   files        what is in the folder at first
//   tools        {has, lacks}: what the client, or its model, is shown at first
//   steps        [{call, arguments, error, has, lacks}]: is the result an error, which texts are in it, which are not
//   approvals    how many calls a person has to approve
//   files_after  what is in files then; null: there is none
import fs from 'node:fs';
import path from 'node:path';
import { PROXY, World, listen_env, listen_headers } from './baton.mjs';
import * as agent from './clients/agent.mjs';
import * as inspector from './clients/inspector.mjs';
import * as sdk_v1 from './clients/sdk_v1.mjs';
import * as sdk_v2 from './clients/sdk_v2.mjs';
import { write_text } from './files.mjs';
import { ROOT } from './installed.mjs';
import { free_port, listening, start, stop, within } from './processes.mjs';
import { http_server, stdio_server } from './servers.mjs';

// By group: who can tell a story. `version` is what has to be agreed on, where the client says it.
export const CLIENTS = {
  sdk: {
    v1: { run: sdk_v1.run },
    'v1-http': { run: sdk_v1.run, http: true },
    v2: { run: sdk_v2.run, version: /^2025-/ },
    'v2-auto': { run: sdk_v2.run, negotiate: 'auto' },
    'v2-http': { run: sdk_v2.run, http: true, version: /^2025-/ },
    'v2-auto-http': { run: sdk_v2.run, http: true, negotiate: 'auto' },
  },
  inspector: { cli: { run: inspector.run, entry: 'clients/launcher/build/index.js' } },
  agents: {
    claude: { run: agent.run, agent: 'claude' },
    codex: { run: agent.run, agent: 'codex' },
    gemini: { run: agent.run, agent: 'gemini' },
  },
};

const SECONDS = 150;

// Tells one story through one client; what is wrong comes back as a list of sentences.
export async function tell(story, client, folder) {
  const work = path.join(folder, 'work');
  const home = path.join(folder, 'home');
  for (const one of [work, home]) fs.mkdirSync(one, { recursive: true });
  for (const [name, text] of Object.entries(story.files ?? {})) write_text(path.join(work, name), text);

  const world = story.pack ? new World(folder) : null;
  const started = [];
  try {
    await world?.begin(path.join(ROOT, story.pack));
    const approving = story.approvals ? world.approve_what_comes() : null;
    const calls = story.steps.map(({ call, arguments: given }) => ({ tool: call, arguments: given }));
    const session = { ...client, calls, work, home, log: folder, server_name: story.server };
    if (client.http) {
      session.url = await listen(story, world, { work, folder, started });
      if (world) session.headers = listen_headers;
    } else {
      session.server = command_of(story, world, work);
    }
    const seen = await within(SECONDS, client.run(session), new Error(`the client was not done after ${SECONDS} s`));
    fs.writeFileSync(path.join(folder, 'seen.json'), JSON.stringify(seen, null, 1));
    await world?.approved();
    return [...judge(story, client, seen), ...judge_after(story, work, approving)];
  } finally {
    started.reverse().forEach(stop);
    await world?.end();
  }
}

// What a client starts: the server, or the proxy with the server behind it.
function command_of(story, world, work) {
  const server = stdio_server(story.server, work);
  if (!world) return server;
  const [command, ...args] = through(PROXY.stdio_stdio, { pack: world.pack }, server);
  return { command, args, env: { ...server.env, ...world.env } };
}

async function listen(story, world, { work, folder, started }) {
  const port = await free_port();
  const launch = world ? listening_proxy(story, world, work, port) : http_server(story.server, port);
  const env = { PATH: process.env.PATH, HOME: path.join(folder, 'home'), ...launch.env };
  const child = start(launch.words, { cwd: work, env, log: path.join(folder, 'server.log') });
  started.push(child);
  await listening(port, child);
  return `http://127.0.0.1:${port}/mcp`;
}

function listening_proxy(story, world, work, port) {
  const server = stdio_server(story.server, work);
  const words = through(PROXY.http_stdio, { pack: world.pack, port }, server);
  return { words, env: { ...server.env, ...world.env, ...listen_env } };
}

// Fills in a command line of the proxy. What the server needs of the environment is named: nothing else is passed on.
export function through(template, values, server) {
  return template.flatMap((word) => {
    if (word === '--') return [...Object.keys(server.env ?? {}).flatMap((name) => ['--env', name]), word];
    if (word === '{server}') return [server.command, ...server.args];
    return [word.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole)];
  });
}

function judge(story, client, seen) {
  const wrong = [];
  if (!seen.tools.length) wrong.push('no tools were seen');
  if (seen.status) wrong.push(`the agent ended with ${seen.status}`);
  if (client.version && !client.version.test(seen.version))
    wrong.push(`agreed on ${seen.version}, not on ${client.version}`);
  const shown = (name) => seen.tools.includes(seen.spell?.(name) ?? name);
  for (const name of story.tools?.has ?? []) {
    if (!shown(name)) wrong.push(`${name} is not among the tools: ${seen.tools.join(' ')}`);
  }
  for (const name of story.tools?.lacks ?? []) {
    if (shown(name)) wrong.push(`${name} is among the tools`);
  }
  story.steps.forEach((step, index) => {
    const result = seen.results[index];
    const where = `step ${index + 1}, ${step.call}`;
    if (!result) return wrong.push(`${where}: no result was seen`);
    // Some models are not told in so many words that a result is an error.
    if (result.error !== null && result.error !== step.error)
      wrong.push(`${where}: error is ${result.error}: ${result.text}`);
    for (const text of step.has ?? []) {
      if (!result.text.includes(text)) wrong.push(`${where}: the result has no \`${text}\`: ${result.text}`);
    }
    for (const text of step.lacks ?? []) {
      if (result.text.includes(text)) wrong.push(`${where}: the result has \`${text}\``);
    }
  });
  if (seen.results.length > story.steps.length)
    wrong.push(`${seen.results.length} results of ${story.steps.length} calls`);
  return wrong;
}

function judge_after(story, work, approving) {
  const wrong = [];
  if (approving && approving.approved !== story.approvals)
    wrong.push(`${approving.approved} calls were approved, not ${story.approvals}`);
  for (const [name, want] of Object.entries(story.files_after ?? {})) {
    const file = path.join(work, name);
    const is = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : null;
    if (is !== want) wrong.push(`${name} is ${JSON.stringify(is)}, not ${JSON.stringify(want)}`);
  }
  return wrong;
}
